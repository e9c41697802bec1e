"""Score texts for toxicity, stereotypes and sentiment: offline, by a classifier, a service or a judge."""

from biaslens.usecase.scorers.base import BLANK, AnyScorer, Kind, RemoteScorer, Scorer
from biaslens.usecase.scorers.opening import DEFAULTS, open_scorer
from biaslens.usecase.scorers.scoring import TABLES, is_remote, score_key, score_texts

__all__ = [
    "BLANK",
    "DEFAULTS",
    "TABLES",
    "AnyScorer",
    "Kind",
    "RemoteScorer",
    "Scorer",
    "is_remote",
    "open_scorer",
    "score_key",
    "score_texts",
]
