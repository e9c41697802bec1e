"""Open a scorer by its name."""

from __future__ import annotations

from biaslens.errors import InputError
from biaslens.settings import Settings
from biaslens.usecase.scorers.base import KINDS, AnyScorer, Kind

DEFAULTS: dict[Kind, str] = {"toxicity": "offline", "stereotype": "offline", "sentiment": "vader"}
"""The scorer of each kind that needs no network, no key and no download."""

NAMES: dict[Kind, tuple[str, ...]] = {
    "toxicity": (
        "offline",
        "detoxify[:original|unbiased|multilingual]",
        "hf:NAME[:LABEL]",
        "moderation",
        "perspective",
        "judge:PROVIDER/MODEL",
    ),
    "stereotype": ("offline", "hf:NAME[:LABEL]", "judge:PROVIDER/MODEL"),
    "sentiment": ("vader", "hf:NAME[:LABEL]", "judge:PROVIDER/MODEL"),
}
"""The names that `open_scorer` takes, by kind."""


def open_scorer(kind: Kind, name: str, settings: Settings) -> AnyScorer:
    """Open a scorer; what only it needs is imported here, and no service is asked yet.

    Parameters
    ----------
    kind
        "toxicity", "stereotype" or "sentiment".
    name
        One of `NAMES`: "offline", "judge:openai/gpt-4o-mini", "hf:unitary/toxic-bert:toxic", "hf:./my-classifier".
    settings
        Keys of the services; a key that is missing is found out now, not after hours.

    Raises
    ------
    InputError
        When there is no such scorer, or what it needs is missing; the line says what there is, or what to install.
    """
    if kind not in KINDS:
        raise InputError(f"no kind of score {kind!r}; there are {', '.join(KINDS)}")
    scheme, _, rest = name.partition(":")
    found = _with_argument(kind, scheme, rest) if rest else _plain(kind, name, settings)
    if found is None:
        raise InputError(f"no {kind} scorer {name!r}; there are {', '.join(NAMES[kind])}")
    return found


def _plain(kind: Kind, name: str, settings: Settings) -> AnyScorer | None:
    match kind, name:
        case "toxicity", "offline":
            from biaslens.usecase.scorers.toxicity import OfflineToxicity

            return OfflineToxicity()
        case "stereotype", "offline":
            from biaslens.usecase.scorers.stereotype import OfflineStereotype

            return OfflineStereotype()
        case "sentiment", "vader":
            from biaslens.usecase.scorers.sentiment import VaderSentiment

            return VaderSentiment()
        case "toxicity", "detoxify":
            from biaslens.usecase.scorers.detoxified import DetoxifyScorer

            return DetoxifyScorer()
        case "toxicity", "moderation" | "perspective":
            return _service(name, settings)
    return None


def _with_argument(kind: Kind, scheme: str, rest: str) -> AnyScorer | None:
    match kind, scheme:
        case _, "hf":
            from biaslens.usecase.scorers.classifier import ClassifierScorer

            model, _, label = rest.rpartition(":")
            # A lone colon of a Windows path is no label's.
            return ClassifierScorer(kind, model, label) if len(model) > 1 else ClassifierScorer(kind, rest)
        case _, "judge":
            from biaslens.usecase.scorers.judge import JudgeScorer

            return JudgeScorer(kind, rest)
        case "toxicity", "detoxify":
            from biaslens.usecase.scorers.detoxified import DetoxifyScorer

            return DetoxifyScorer(rest)
    return None


def _service(name: str, settings: Settings) -> AnyScorer:
    from biaslens.models.endpoints import key_for
    from biaslens.usecase.scorers.services import ModerationScorer, PerspectiveScorer

    scorer: ModerationScorer | PerspectiveScorer = ModerationScorer() if name == "moderation" else PerspectiveScorer()
    key_for(scorer.model, settings)
    return scorer
