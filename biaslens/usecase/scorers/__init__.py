"""Score texts for toxicity, stereotypes and sentiment: offline, by a classifier, a service or a judge."""

from biaslens.usecase.scorers._offline import looks_english
from biaslens.usecase.scorers._scoring import (
    BLANK,
    DEFAULTS,
    NAMES,
    AnyScorer,
    Kind,
    RemoteScorer,
    Scorer,
    is_remote,
    open_scorer,
    score_key,
    score_texts,
    unanswered,
)

__all__ = [
    "BLANK",
    "DEFAULTS",
    "NAMES",
    "AnyScorer",
    "Kind",
    "RemoteScorer",
    "Scorer",
    "is_remote",
    "looks_english",
    "open_scorer",
    "score_key",
    "score_texts",
    "unanswered",
]
