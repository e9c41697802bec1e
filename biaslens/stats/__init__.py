"""Pure array functions: shares, majorities, rates and means with role-clustered intervals, agreement, comparison."""

from biaslens.stats.comparison import Pair, compare_pairs, rank_intervals, rank_shares, tied_groups, tied_with
from biaslens.stats.consistency import (
    Components,
    Patterns,
    components,
    fleiss_kappa,
    flip_rate,
    krippendorff_alpha,
    patterns,
    verdicts_changed,
)
from biaslens.stats.counts import biased_majority, biased_questions, coverage, majority_threshold, share
from biaslens.stats.means import Mean, clustered_mean, mean_of_sums
from biaslens.stats.multiple import holm
from biaslens.stats.paired import McNemar, mcnemar
from biaslens.stats.rates import Rate, Rates, clustered_rate, clustered_rates

__all__ = [
    "Components",
    "McNemar",
    "Mean",
    "Pair",
    "Patterns",
    "Rate",
    "Rates",
    "biased_majority",
    "biased_questions",
    "clustered_mean",
    "clustered_rate",
    "clustered_rates",
    "compare_pairs",
    "components",
    "coverage",
    "fleiss_kappa",
    "flip_rate",
    "holm",
    "krippendorff_alpha",
    "majority_threshold",
    "mcnemar",
    "mean_of_sums",
    "patterns",
    "rank_intervals",
    "rank_shares",
    "share",
    "tied_groups",
    "tied_with",
    "verdicts_changed",
]
