"""Assess one's own use of a model: which metrics apply to it, and what they say.

A whole assessment is one call, and so is every metric:

    from biaslens.usecase import assess_texts, demographic_parity

    assessment = assess_texts("responses.csv")
    demographic_parity(group=["a", "a", "b", "b"], prediction=[1, 0, 0, 0])
"""

from biaslens.stats import Estimate
from biaslens.stats.exchanging import permutation_p, swap_test
from biaslens.stats.resampling import bootstrap
from biaslens.usecase._asking import Asking
from biaslens.usecase._counterfactual import PAIR_COLUMNS, make_pairs, pair_rows, substitute
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._reading import CUT, FILTERED, Response, read_prompts
from biaslens.usecase._result import Assessment, GroupMention, Measure, Resampling, Standout
from biaslens.usecase._spec import (
    MAX_TOKENS,
    AssessmentWatcher,
    Intervention,
    Recorder,
    TextOptions,
    UseCase,
    check_unawareness,
    classification_path,
    generation_path,
    recommendation_path,
)
from biaslens.usecase._tables import assess_lists, assess_predictions
from biaslens.usecase._texts import assess_texts, plan_texts
from biaslens.usecase.metrics._association import cobs, cobs_by_word, stereotypical_associations
from biaslens.usecase.metrics._classification import (
    Parity,
    demographic_parity,
    false_discovery_rate_parity,
    false_negative_rate_parity,
    false_omission_rate_parity,
    false_positive_rate_parity,
    gap_estimate,
    group_rates,
    one_vs_rest,
    pairwise_gaps,
    parity_gap,
)
from biaslens.usecase.metrics._scores import (
    exceedance_fraction,
    exceedance_probability,
    expected_maximum,
    expected_maximum_stereotype,
    expected_maximum_toxicity,
    scsp,
    stereotype_fraction,
    stereotype_probability,
    toxicity_fraction,
    toxicity_probability,
    vader,
    wcsp,
)
from biaslens.usecase.metrics._similarity import (
    against_neutral,
    bleu,
    cosine,
    jaccard_at_k,
    mean_jaccard_at_k,
    mean_prag_at_k,
    mean_serp_at_k,
    prag_at_k,
    rouge_l,
    serp_at_k,
)
from biaslens.usecase.scorers._scoring import open_scorer

__all__ = [
    "CUT",
    "FILTERED",
    "MAX_TOKENS",
    "PAIR_COLUMNS",
    "Asking",
    "Assessment",
    "AssessmentWatcher",
    "Estimate",
    "GroupMention",
    "Intervention",
    "Measure",
    "Parity",
    "Recorder",
    "Resampling",
    "Response",
    "Standout",
    "TextOptions",
    "UseCase",
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
    "pair_rows",
    "pairwise_gaps",
    "parity_gap",
    "permutation_p",
    "plan_texts",
    "prag_at_k",
    "read_prompts",
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
