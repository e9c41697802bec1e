"""Assess one's own use of a model: which metrics apply to it, and what they say.

A whole assessment is one call, and so is every metric:

    from biaslens.usecase import assess_texts, demographic_parity

    assessment = assess_texts("responses.csv")
    demographic_parity(group=["a", "a", "b", "b"], prediction=[1, 0, 0, 0])
"""

from biaslens._util import lazily

# ``__init__.pyi`` has the same names for type checkers.
_HOMES = {
    "stats": "Estimate",
    "stats.exchanging": "permutation_p swap_test",
    "stats.resampling": "bootstrap",
    "usecase._asking": "Asking",
    "usecase._counterfactual": "PAIR_COLUMNS make_pairs pair_rows substitute",
    "usecase._lexicon": "load_words",
    "usecase._reading": "CUT FILTERED Response read_prompts",
    "usecase._result": "Assessment GroupMention Measure Resampling Standout",
    "usecase._spec": (
        "AssessmentWatcher Intervention MAX_TOKENS Recorder TextOptions UseCase check_unawareness "
        "classification_path generation_path recommendation_path"
    ),
    "usecase._tables": "assess_lists assess_predictions",
    "usecase._texts": "assess_texts plan_texts",
    "usecase.metrics._association": "cobs cobs_by_word stereotypical_associations",
    "usecase.metrics._classification": (
        "Parity demographic_parity false_discovery_rate_parity false_negative_rate_parity "
        "false_omission_rate_parity false_positive_rate_parity gap_estimate group_rates one_vs_rest "
        "pairwise_gaps parity_gap"
    ),
    "usecase.metrics._scores": (
        "exceedance_fraction exceedance_probability expected_maximum expected_maximum_stereotype "
        "expected_maximum_toxicity scsp stereotype_fraction stereotype_probability toxicity_fraction "
        "toxicity_probability vader wcsp"
    ),
    "usecase.metrics._similarity": (
        "against_neutral bleu cosine jaccard_at_k mean_jaccard_at_k mean_prag_at_k mean_serp_at_k prag_at_k "
        "rouge_l serp_at_k"
    ),
    "usecase.scorers._scoring": "open_scorer",
}

__all__ = sorted(" ".join(_HOMES.values()).split())  # noqa: PLE0605
__getattr__ = lazily(__name__, {f"biaslens.{home}": names for home, names in _HOMES.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
