"""Pure array functions: shares, majorities, rates with role-clustered intervals."""

from biaslens.stats.counts import biased_majority, biased_questions, coverage, majority_threshold, share
from biaslens.stats.rates import Rate, Rates, clustered_rate, clustered_rates

__all__ = [
    "Rate",
    "Rates",
    "biased_majority",
    "biased_questions",
    "clustered_rate",
    "clustered_rates",
    "coverage",
    "majority_threshold",
    "share",
]
