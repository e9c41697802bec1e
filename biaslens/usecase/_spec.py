"""What a user can say about an assessment of generated texts, and who watches it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from biaslens.engine import Observer, Pace
from biaslens.errors import InputError
from biaslens.models import Params
from biaslens.usecase._framework import DecisionPath, UseCase
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import Response
from biaslens.usecase._result import Resampling
from biaslens.usecase.metrics import Variant
from biaslens.usecase.metrics._association import targets_or_default
from biaslens.usecase.scorers import DEFAULTS, AnyScorer, Kind

MAX_TOKENS = 512
"""Default limit of a response."""

RUN_FILE = "assessment.sqlite"
"""Name of the run file, in the folder of an assessment."""


class AssessmentWatcher(Observer):
    """Watches requests being asked and texts being scored, phase by phase; this one shows nothing."""

    def scored(self, done: int, total: int) -> None:
        """A local scorer has scored so many of so many texts."""


class Recorder:
    """Hears the score of every response and of every pair; this one keeps none."""

    def responses(self, part: Sequence[Response], scores: Mapping[str, Sequence[float]]) -> None:
        """Some responses with their scores by kind: NaN where one could not be scored, none outside the population."""

    def pairs(self, attribute: str, groups: tuple[str, str], rows: Mapping[str, Sequence[object]]) -> None:
        """All pairs of two groups: columns prompt_id and trial, and a score a metric."""


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How to assess generated texts.

    Parameters
    ----------
    task
        "generation" or "summarisation".
    model
        Whom to ask the prompts, by full name: "openai/gpt-4o-mini"; None to score responses that are there.
    out
        Folder of the run file and the report; a model and paid scorers need one, so that no answer is lost.
    attributes
        Protected attributes; None for those that the prompts mention.
    compare
        Groups to compare, by attribute; by default those that the word lists name.
    words, names
        Files of the user's own words, and whether given names count as words of gender and race.
    per_prompt
        Responses to each prompt; 25 is the convention.
    limit
        Only the first so many prompts.
    system, params
        System prompt and sampling parameters of the use case.
    request_seed
        Start of the requests' seeds, where the provider takes one.
    families
        Families of metrics to measure instead of those that apply.
    invariance
        Whether responses should be the same whatever the group.
    scorers
        Name of the scorer of each kind; by default those that work offline.
    targets
        Words whose association with groups is measured; None for those of the package.
    threshold
        Score from which on a response counts as toxic, as a stereotype, or as positive.
    variant
        "paper", or "langfair" to compare numbers with that toolkit.
    pace, scorer_pace
        How fast to ask the model, and a remote scorer.
    """

    task: UseCase = UseCase.GENERATION
    model: str | None = None
    out: Path | None = None
    attributes: Sequence[str] | None = None
    compare: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: Sequence[Path] = ()
    names: bool = False
    per_prompt: int = 25
    limit: int | None = None
    system: str = ""
    params: Params = field(default_factory=lambda: Params(max_tokens=MAX_TOKENS))
    request_seed: int = 0
    families: Sequence[str] | None = None
    invariance: bool = True
    scorers: Mapping[Kind, str] = field(default_factory=dict)
    targets: Sequence[str] | None = None
    threshold: float = 0.5
    variant: Variant = "paper"
    resampling: Resampling = field(default_factory=Resampling)
    pace: Pace = field(default_factory=Pace)
    scorer_pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        """Refuse what cannot go together."""
        if self.task not in (UseCase.GENERATION, UseCase.SUMMARISATION):
            raise InputError(f"texts are assessed for generation or summarisation, not for {self.task}")
        if self.model is not None and self.out is None:
            raise InputError("a model needs a folder for its answers; give out")
        if self.per_prompt < 1:
            raise InputError(f"responses per prompt must be at least 1, not {self.per_prompt}")
        try:
            targets_or_default(self.targets)
        except ValueError as error:
            raise InputError(str(error)) from None
        unknown = set(self.scorers) - set(DEFAULTS)
        if unknown:
            raise InputError(f"no kind of score {min(unknown)!r}; there are {', '.join(DEFAULTS)}")

    def scorer(self, kind: Kind) -> str:
        """Name of the scorer of a kind."""
        return self.scorers.get(kind, DEFAULTS[kind])


Score = Callable[[AnyScorer, Sequence[str]], Awaitable[NDArray[np.float64]]]
"""Scores texts, each different one once; NaN where it cannot."""


@dataclass(frozen=True, kw_only=True)
class TextSpec:
    """The options with what they came to: families that apply, words, groups to compare by attribute, open scorers."""

    options: TextOptions
    path: DecisionPath
    lexicon: Lexicon
    compared: Mapping[str, Sequence[str]]
    scorers: Mapping[Kind, AnyScorer]
