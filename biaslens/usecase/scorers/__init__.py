"""Score texts for toxicity, stereotypes and sentiment: offline, by a classifier, a service or a judge."""

from biaslens.usecase.scorers.base import BLANK, AnyScorer, Kind, RemoteScorer, Scorer
from biaslens.usecase.scorers.english import looks_english
from biaslens.usecase.scorers.opening import DEFAULTS, NAMES, open_scorer
from biaslens.usecase.scorers.scoring import TABLES, is_remote, score_key, score_texts

__all__ = [
    "BLANK",
    "DEFAULTS",
    "NAMES",
    "TABLES",
    "AnyScorer",
    "Kind",
    "RemoteScorer",
    "Scorer",
    "is_remote",
    "looks_english",
    "open_scorer",
    "score_key",
    "score_texts",
]
