"""Pure array functions: shares, majorities, rates and means with role-clustered intervals, agreement, comparison."""

from biaslens.stats.agreement import (
    Coefficient,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    raw_agreement,
)
from biaslens.stats.comparison import (
    McNemar,
    Pair,
    compare_pairs,
    holm,
    mcnemar,
    rank_intervals,
    rank_shares,
    tied_groups,
    tied_with,
)
from biaslens.stats.correction import Accuracy, prediction_powered, rogan_gladen, verdict_accuracy
from biaslens.stats.estimate import (
    Estimate,
    Estimates,
    clustered_mean,
    clustered_rate,
    clustered_rates,
    mean_of_sums,
    weighted_share,
)
from biaslens.stats.trials import (
    Components,
    Patterns,
    biased_majority,
    biased_questions,
    components,
    coverage,
    flip_rate,
    majority_decided,
    majority_threshold,
    patterns,
    share,
    verdicts_changed,
)

__all__ = [
    "Accuracy", "Coefficient", "Components", "Estimate", "Estimates", "McNemar", "Pair", "Patterns", "agreement",
    "biased_majority", "biased_questions", "clustered_mean", "clustered_rate", "clustered_rates", "cohen_kappa",
    "compare_pairs", "components", "coverage", "fleiss_kappa", "flip_rate", "gwet_ac1", "holm", "krippendorff_alpha",
    "majority_decided", "majority_threshold", "mcnemar", "mean_of_sums", "patterns", "prediction_powered",
    "rank_intervals", "rank_shares", "raw_agreement", "rogan_gladen", "share", "tied_groups", "tied_with",
    "verdict_accuracy", "verdicts_changed", "weighted_share",
]  # fmt: skip
