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
    pairs_of,
    rank_intervals,
    tied_groups,
    tied_with,
)
from biaslens.stats.components import DOUBLED, Components, components
from biaslens.stats.correction import (
    Accuracy,
    LabelledRate,
    labelled_difference,
    labelled_rate,
    prediction_powered,
    rogan_gladen,
    verdict_accuracy,
    with_comparisons,
)
from biaslens.stats.crossed import (
    Clusters,
    Estimand,
    Layout,
    clustered_mean,
    clustered_rate,
    crossed_mean,
    crossed_rate,
    crossed_share,
)
from biaslens.stats.estimate import Estimate, Estimates, weighted_share
from biaslens.stats.pooling import Pooled, pooled_rates
from biaslens.stats.trials import (
    Patterns,
    Possible,
    biased_majority,
    biased_questions,
    coverage,
    flip_rate,
    majority_decided,
    majority_threshold,
    patterns,
    share,
    verdicts_changed,
)

__all__ = [
    "DOUBLED", "Accuracy", "Clusters", "Coefficient", "Components", "Estimand", "Estimate", "Estimates", "LabelledRate",
    "Layout", "McNemar", "Pair", "Patterns", "Pooled", "Possible", "agreement", "biased_majority", "biased_questions",
    "clustered_mean", "clustered_rate", "cohen_kappa", "compare_pairs", "components", "coverage", "crossed_mean",
    "crossed_rate", "crossed_share", "fleiss_kappa", "flip_rate", "gwet_ac1", "holm", "krippendorff_alpha",
    "labelled_difference", "labelled_rate", "majority_decided", "majority_threshold", "mcnemar", "pairs_of", "patterns",
    "pooled_rates", "prediction_powered", "rank_intervals", "raw_agreement", "rogan_gladen", "share", "tied_groups",
    "tied_with", "verdict_accuracy", "verdicts_changed", "weighted_share", "with_comparisons",
]  # fmt: skip
