"""Open a scorer by its name."""

from __future__ import annotations

from collections.abc import Callable

from biaslens.errors import InputError
from biaslens.settings import Settings
from biaslens.usecase.scorers.base import KINDS, AnyScorer, Kind

DEFAULTS: dict[Kind, str] = {"toxicity": "offline", "stereotype": "offline", "sentiment": "vader"}
"""The scorer of each kind that needs no network, no key and no download."""


def _offline_toxicity() -> AnyScorer:
    from biaslens.usecase.scorers.toxicity import OfflineToxicity

    return OfflineToxicity()


def _offline_stereotype() -> AnyScorer:
    from biaslens.usecase.scorers.stereotype import OfflineStereotype

    return OfflineStereotype()


def _vader() -> AnyScorer:
    from biaslens.usecase.scorers.sentiment import VaderSentiment

    return VaderSentiment()


_PLAIN: dict[Kind, dict[str, Callable[[], AnyScorer]]] = {
    "toxicity": {"offline": _offline_toxicity},
    "stereotype": {"offline": _offline_stereotype},
    "sentiment": {"vader": _vader},
}


def open_scorer(kind: Kind, name: str, settings: Settings) -> AnyScorer:
    """Open a scorer.

    Raises
    ------
    InputError
        When there is no such scorer.
    """
    if kind not in KINDS:
        raise InputError(f"no kind of score {kind!r}; there are {', '.join(KINDS)}")
    if name in _PLAIN[kind]:
        return _PLAIN[kind][name]()
    raise InputError(f"no {kind} scorer {name!r}; there are {', '.join(_PLAIN[kind])}")
