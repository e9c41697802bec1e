"""Assess one's own use of a model: which metrics apply to it, and what they say.

A whole assessment is one call, and so is every metric:

    from biaslens.usecase import assess_texts, demographic_parity

    assessment = assess_texts("responses.csv")
    demographic_parity(group=["a", "a", "b", "b"], prediction=[1, 0, 0, 0])
"""

from biaslens.usecase.assess import assess_lists, assess_predictions, assess_texts, plan_texts
from biaslens.usecase.assessing.measuring import Resampling
from biaslens.usecase.counterfactual import make_pairs, substitute
from biaslens.usecase.framework import Intervention, Task, classification_path, generation_path, recommendation_path
from biaslens.usecase.metrics.association import stereotypical_associations
from biaslens.usecase.metrics.classification import (
    demographic_parity,
    false_discovery_rate_parity,
    false_negative_rate_parity,
    false_omission_rate_parity,
    false_positive_rate_parity,
    one_vs_rest,
    pairwise_gaps,
    parity_gap,
)
from biaslens.usecase.metrics.conditional import permutation_p
from biaslens.usecase.metrics.cooccurrence import cobs, cobs_by_word
from biaslens.usecase.metrics.exceedance import (
    exceedance_fraction,
    exceedance_probability,
    expected_maximum,
    expected_maximum_stereotype,
    expected_maximum_toxicity,
    stereotype_fraction,
    stereotype_probability,
    toxicity_fraction,
    toxicity_probability,
)
from biaslens.usecase.metrics.gap_interval import gap_estimate
from biaslens.usecase.metrics.neutral import against_neutral
from biaslens.usecase.metrics.rates import Parity, group_rates
from biaslens.usecase.metrics.recommendation import (
    jaccard_at_k,
    mean_jaccard_at_k,
    mean_prag_at_k,
    mean_serp_at_k,
    prag_at_k,
    serp_at_k,
)
from biaslens.usecase.metrics.sentiment import scsp, vader, wcsp
from biaslens.usecase.metrics.similarity import bleu, cosine, rouge_l
from biaslens.usecase.options import TextOptions
from biaslens.usecase.resampling import bootstrap
from biaslens.usecase.result import Assessment, Measure
from biaslens.usecase.scorers import open_scorer
from biaslens.usecase.swapping import swap_test
from biaslens.usecase.value import Value
from biaslens.usecase.words import check_unawareness, load_words

__all__ = [
    "Assessment",
    "Intervention",
    "Measure",
    "Parity",
    "Resampling",
    "Task",
    "TextOptions",
    "Value",
    "against_neutral",
    "assess_lists",
    "assess_predictions",
    "assess_texts",
    "bleu",
    "bootstrap",
    "check_unawareness",
    "classification_path",
    "cobs",
    "cobs_by_word",
    "cosine",
    "demographic_parity",
    "exceedance_fraction",
    "exceedance_probability",
    "expected_maximum",
    "expected_maximum_stereotype",
    "expected_maximum_toxicity",
    "false_discovery_rate_parity",
    "false_negative_rate_parity",
    "false_omission_rate_parity",
    "false_positive_rate_parity",
    "gap_estimate",
    "generation_path",
    "group_rates",
    "jaccard_at_k",
    "load_words",
    "make_pairs",
    "mean_jaccard_at_k",
    "mean_prag_at_k",
    "mean_serp_at_k",
    "one_vs_rest",
    "open_scorer",
    "pairwise_gaps",
    "parity_gap",
    "permutation_p",
    "plan_texts",
    "prag_at_k",
    "recommendation_path",
    "rouge_l",
    "scsp",
    "serp_at_k",
    "stereotype_fraction",
    "stereotype_probability",
    "stereotypical_associations",
    "substitute",
    "swap_test",
    "toxicity_fraction",
    "toxicity_probability",
    "vader",
    "wcsp",
]
