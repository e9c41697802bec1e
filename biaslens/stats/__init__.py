"""Pure array functions: shares, majorities, rates and means with role-clustered intervals, agreement, comparison."""

from biaslens.stats.agreement import agreement
from biaslens.stats.coefficients import (
    Coefficient,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
)
from biaslens.stats.comparison import Pair, compare_pairs, rank_intervals, rank_shares, tied_groups, tied_with
from biaslens.stats.consistency import (
    Components,
    Patterns,
    components,
    flip_rate,
    patterns,
    verdicts_changed,
)
from biaslens.stats.correction import prediction_powered, rogan_gladen
from biaslens.stats.counts import (
    biased_majority,
    biased_questions,
    coverage,
    majority_decided,
    majority_threshold,
    share,
)
from biaslens.stats.estimate import Estimate
from biaslens.stats.means import Mean, clustered_mean, mean_of_sums
from biaslens.stats.multiple import holm
from biaslens.stats.paired import McNemar, mcnemar
from biaslens.stats.rates import Rate, Rates, clustered_rate, clustered_rates
from biaslens.stats.shares import Accuracy, verdict_accuracy, weighted_share

__all__ = [
    "Accuracy",
    "Coefficient",
    "Components",
    "Estimate",
    "McNemar",
    "Mean",
    "Pair",
    "Patterns",
    "Rate",
    "Rates",
    "agreement",
    "biased_majority",
    "biased_questions",
    "clustered_mean",
    "clustered_rate",
    "clustered_rates",
    "cohen_kappa",
    "compare_pairs",
    "components",
    "coverage",
    "fleiss_kappa",
    "flip_rate",
    "gwet_ac1",
    "holm",
    "krippendorff_alpha",
    "majority_decided",
    "majority_threshold",
    "mcnemar",
    "mean_of_sums",
    "patterns",
    "prediction_powered",
    "rank_intervals",
    "rank_shares",
    "raw_agreement",
    "rogan_gladen",
    "share",
    "tied_groups",
    "tied_with",
    "verdict_accuracy",
    "verdicts_changed",
    "weighted_share",
]
