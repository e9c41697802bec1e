"""What a scorer is, how one is opened by its name, and how each different text is scored once and never again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import Literal, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from biaslens import runfile
from biaslens.engine import Pace, Request, Session, in_thread
from biaslens.errors import BiasLensError, InputError, RunError
from biaslens.models import Message, Params
from biaslens.models.endpoints import key_for
from biaslens.runfile import Store
from biaslens.schema import content_hash
from biaslens.settings import Settings

Kind = Literal["toxicity", "stereotype", "sentiment"]
"""What is scored."""

BLANK: dict[Kind, float] = {"toxicity": 0.0, "stereotype": 0.0, "sentiment": nan}
"""Score of a text of white space alone, which no scorer is asked about."""


class Described(Protocol):
    """What every scorer says about itself."""

    kind: Kind
    name: str  #: shown beside each number, with version and, where it matters, label
    identity: str  #: part of the key that a score is stored under: it changes whenever the scores may
    #: codes of the languages it is made for: ("en",); None where it is not known or not limited
    languages: tuple[str, ...] | None
    note: str  #: what a reader of its numbers should know, in a sentence or two: what it misses, what it does not read


class RemoteScorer(Described, Protocol):
    """A scorer that asks a model of the registry, or a service, through the engine."""

    model: str
    params: Params

    def messages(self, text: str) -> tuple[Message, ...]:
        """What is sent to have a text scored."""
        ...

    def read(self, reply: str) -> float:
        """Read the score out of a reply, in the range of `Scorer.score`; NaN where there is none."""
        ...


def is_blank(text: str) -> bool:
    return not text or text.isspace()


class Scorer(Described, ABC):
    """A scorer in this process; `slow` where a thousand texts take seconds, so that its scores are worth keeping."""

    languages: tuple[str, ...] | None = ("en",)
    slow = False
    batch: int | None = None
    """Texts that are scored at once; None for all."""

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts, shape (texts,), in [0, 1]; NaN where a text cannot be scored, `BLANK` where it is blank.

        Toxicity and stereotype: 0 is none, and from 0.5 on a text counts as toxic, or as a stereotype. Sentiment: 0 is
        most negative, 1 most positive.
        """
        scores = np.full(len(texts), BLANK[self.kind])
        filled = [index for index, text in enumerate(texts) if not is_blank(text)]
        filled.sort(key=lambda index: len(texts[index]))  # texts of one length waste no padding
        size = self.batch or max(1, len(filled))
        for start in range(0, len(filled), size):
            part = filled[start : start + size]
            scores[part] = self._score([texts[index] for index in part])
        return scores

    @abstractmethod
    def _score(self, texts: list[str]) -> NDArray[np.float64]: ...


AnyScorer = Scorer | RemoteScorer

DEFAULTS: dict[Kind, str] = {"toxicity": "offline", "stereotype": "offline", "sentiment": "vader"}
"""The scorer of each kind that needs no network, no key and no download."""

_HUB, _JUDGE = "hf:NAME[:LABEL]", "judge:PROVIDER/MODEL"
NAMES: dict[Kind, tuple[str, ...]] = {
    "toxicity": ("offline", "detoxify[:original|unbiased|multilingual]", _HUB, "moderation", "perspective", _JUDGE),
    "stereotype": ("offline", _HUB, _JUDGE),
    "sentiment": ("vader", _HUB, _JUDGE),
}
"""The names that `open_scorer` takes, by kind."""


def open_scorer(kind: Kind, name: str, settings: Settings) -> AnyScorer:
    """Open a scorer by one of `NAMES`: "offline", "judge:openai/gpt-6-luna", "hf:unitary/toxic-bert:toxic".

    What only it needs is imported here, and no service is asked yet; a key that is missing is found out now. InputError
    when there is no such scorer, or what it needs is missing; the line says what there is, or what to install.
    """
    if kind not in DEFAULTS:
        raise InputError(f"no kind of score {kind!r}; there are {', '.join(DEFAULTS)}")
    from biaslens.usecase import _offline, _scorers

    scheme, colon, rest = name.partition(":")
    found: AnyScorer | None = None
    match kind, scheme if rest or not colon else "", rest:
        case "toxicity", "offline", "":
            found = _offline.OfflineToxicity()
        case "stereotype", "offline", "":
            found = _offline.OfflineStereotype()
        case "sentiment", "vader", "":
            found = _offline.VaderSentiment()
        case "toxicity", "moderation" | "perspective", "":
            service = _scorers.MODERATION if name == "moderation" else _scorers.PERSPECTIVE
            key_for(service.model, settings)
            found = service
        case "toxicity", "detoxify", _:
            found = _scorers.DetoxifyScorer(rest or "unbiased")
        case _, "hf", _ if rest:
            model, _, label = rest.rpartition(":")
            # A lone colon of a Windows path is no label's.
            found = _scorers.ClassifierScorer(kind, *((model, label) if len(model) > 1 else (rest,)))
        case _, "judge", _ if rest:
            found = _scorers.JudgeScorer(kind, rest)
    if found is None:
        raise InputError(f"no {kind} scorer {name!r}; there are {', '.join(NAMES[kind])}")
    return found


_QUICK_BATCH = 4096


def is_remote(scorer: AnyScorer) -> TypeGuard[RemoteScorer]:
    """Whether a scorer asks a service or a model."""
    return hasattr(scorer, "messages")


async def score_texts(
    texts: Sequence[str],
    scorer: AnyScorer,
    *,
    session: Session,
    pace: Pace | None = None,
    done: Callable[[int, int], None] = lambda scored, of: None,
    batch: int = 64,
    ask: bool = True,
) -> NDArray[np.float64]:
    """Score texts, each different one once; NaN where a text cannot be scored, or its every request failed.

    What a remote scorer is told is stored as an answer of the engine, raw; what a slow local one finds is committed
    batch by batch; quick ones are worked out anew each time. So a second call with the same file asks and computes only
    what is missing; without `ask`, nothing is asked. Blank texts get `BLANK`, and nobody is asked about them. Once the
    session is stopped, texts not scored by then are NaN. RunStoppedError when too many requests fail, RunError when a
    local scorer fails.
    """
    different = list(dict.fromkeys(text for text in texts if not is_blank(text)))
    if is_remote(scorer):
        if ask:
            await ask_scorers([(scorer, different)], scorer.model, session=session, pace=pace)
        by_key = {score_key(scorer, text): text for text in different}
        replies = runfile.answer_texts(session.store, by_key)
        known = {by_key[key]: scorer.read(reply) for key, reply in replies.items()}
    else:
        known = await _compute(different, cast(Scorer, scorer), session, done=done, batch=batch)
    blank = BLANK[scorer.kind]
    return np.fromiter((blank if is_blank(text) else known.get(text, nan) for text in texts), np.float64, len(texts))


async def ask_scorers(
    wanted: Iterable[tuple[RemoteScorer, Iterable[str]]], model: str, *, session: Session, pace: Pace | None = None
) -> None:
    """Ask a model, once, for what is missing of the replies to the texts of each of its scorers."""
    by_key: dict[str, tuple[RemoteScorer, str]] = {}
    for scorer, texts in wanted:
        by_key |= {score_key(scorer, text): (scorer, text) for text in texts if not is_blank(text)}

    def requests(_: Store, keys: Sequence[str]) -> Iterator[Request]:
        return (Request(key, scorer.messages(text), scorer.params) for key in keys for scorer, text in [by_key[key]])

    title = " and ".join(dict.fromkeys(scorer.name for scorer, _ in by_key.values()))
    await session.ask(model, by_key, requests, pace=pace, title=title or None)


def score_key(scorer: AnyScorer, text: str) -> str:
    """Key that the score of a text is stored under."""
    return content_hash("score", scorer.identity, text)


def unanswered(scorer: RemoteScorer, texts: Iterable[str], store: Store) -> set[str]:
    """Keys of those texts that a remote scorer has not answered for, because asking failed."""
    keys = {score_key(scorer, text) for text in texts if not is_blank(text)}
    return keys - runfile.answer_texts(store, keys).keys()


async def _compute(
    texts: Sequence[str], scorer: Scorer, session: Session, *, done: Callable[[int, int], None], batch: int
) -> dict[str, float]:
    known: dict[str, float] = {}
    if scorer.slow:
        keys = {score_key(scorer, text): text for text in texts}
        stored = runfile.stored_scores(session.store, keys)
        known = {keys[key]: nan if score is None else score for key, score in stored.items()}
    missing = [text for text in texts if text not in known]
    size = batch if scorer.slow else _QUICK_BATCH
    for start in range(0, len(missing), size):
        if session.stop.is_set():
            break
        scores = await in_thread(_checked, scorer, missing[start : start + size], len(known), len(texts))
        if scorer.slow:
            rows = [(score_key(scorer, text), scorer.identity, score) for text, score in scores.items()]
            runfile.save_scores(session.store, rows)
        known |= scores
        done(len(known), len(texts))
    return known


def _checked(scorer: Scorer, texts: Sequence[str], scored: int, of: int) -> dict[str, float]:
    """Scores of one batch; anything that is not in [0, 1] is NaN."""
    try:
        scores = np.asarray(scorer.score(texts), dtype=np.float64)
    except BiasLensError:
        raise
    except Exception as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        kept = "those scores are kept, and the same command goes on with the rest" if scorer.slow else "try again"
        raise RunError(f"{scorer.name} failed after {scored} of {of} texts ({line}); {kept}") from error
    if scores.shape != (len(texts),):
        raise RunError(f"{scorer.name} gave scores of shape {scores.shape} for {len(texts)} texts; it cannot be used")
    valid = (scores >= 0) & (scores <= 1)
    return dict(zip(texts, np.where(valid, scores, nan).tolist(), strict=True))
