"""What an assessment comes to: the way to its metrics, the metrics, and the examples behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isnan, nan

import numpy as np

from biaslens import __version__
from biaslens._util.text import finite
from biaslens.engine import this_command
from biaslens.errors import InputError
from biaslens.stats import Estimate, holm
from biaslens.stats.comparison import swap_p
from biaslens.stats.resampling import Fold, Sums, bootstrap

FEW = 30
"""Fewer units (prompts, rows, people) than this are marked: their interval is rough."""

SHOWN = 5
"""Examples of each sort."""


@dataclass(frozen=True, slots=True)
class Step:
    """One question on the way to the metrics, its answer, and what the answer rests on."""

    question: str
    answer: str
    because: str


@dataclass(frozen=True, slots=True)
class Family:
    """A family of metrics, whether it is measured, and why or why not."""

    name: str
    applies: bool
    reason: str


@dataclass(frozen=True, slots=True)
class GroupMention:
    """How the prompts name one group: counts of its words, the most frequent first, and ids of the prompts."""

    attribute: str
    group: str
    words: Mapping[str, int]
    prompts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric for one comparison."""

    #: "counterfactual", "ROUGE-L"
    family: str
    metric: str
    #: what is compared; empty where nothing is
    attribute: str = ""
    groups: tuple[str, ...] = ()
    estimate: Estimate
    #: how many of what it is resampled by: 40 "prompts"
    units: int
    unit: str = "prompts"
    smallest: int | None = None  #: how many the smallest group rests on, where that is what matters; None otherwise
    #: "lower is fairer", "higher is fairer", "0 is fair" or "1 is fair"; smallest and largest possible value
    direction: str
    bounds: tuple[float, float] = (0.0, 1.0)
    #: the same metric where there is no difference between the groups; None where there is no such thing
    baseline: Estimate | None = None
    #: of the test named that the groups are treated alike, alone and corrected for all tests of the assessment; NaN
    #: where there is none
    p: float = nan
    p_holm: float = nan
    test: str = ""
    scorer: str = ""
    note: str = ""  #: what else to know: counts of what was left out, and why something is not known

    @property
    def few(self) -> bool:
        """Whether it rests on so few units that its interval is rough."""
        return min(self.units, self.units if self.smallest is None else self.smallest) < FEW

    @property
    def comparison(self) -> str:
        return " / ".join(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standout:
    """A response, or a pair of them, that stands out: why ("toxicity 0.93"), what was asked and answered, of whom."""

    why: str
    score: float
    prompts: tuple[str, ...]
    texts: tuple[str, ...]
    groups: tuple[str, ...] = ()


class Worst:
    """The examples with the largest scores; of equal scores those that came first, and no example twice."""

    def __init__(self, size: int = SHOWN) -> None:
        self._size = size
        self._kept: list[tuple[float, Standout]] = []

    def wants(self, score: float) -> bool:
        """Whether an example of this score would be kept: it need not be made otherwise."""
        return not isnan(score) and (len(self._kept) < self._size or score > self._kept[-1][0])

    def add(self, example: Standout, score: float | None = None) -> None:
        """Offer an example; `score` is what it is ranked by, by default its own."""
        ranked = example.score if score is None else score
        # The same answer many times over would leave no room for others.
        if self.wants(ranked) and example not in self.examples():
            self._kept = sorted([*self._kept, (ranked, example)], key=lambda kept: -kept[0])[: self._size]

    def examples(self) -> list[Standout]:
        """What was kept, the worst first."""
        return [example for _, example in self._kept]


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals and tests are made: rounds of the bootstrap, random exchanges of a test, level and seed."""

    rounds: int = 2000
    exchanges: int = 9999
    level: float = 0.95
    seed: int = 0

    def estimate(self, metric: Sums, *, share: bool = False, fold: Fold | None = None) -> Estimate:
        return bootstrap(metric, rounds=self.rounds, level=self.level, seed=self.seed, share=share, fold=fold)

    def p(self, metric: Sums) -> float:
        """p-value of a metric that is large where groups are treated differently."""
        return float(swap_p(metric, rounds=self.exchanges, seed=self.seed))


def corrected(measures: Sequence[Measure]) -> list[Measure]:
    """The measures with their p-values corrected for all tests among them, after Holm."""
    adjusted = holm([measure.p for measure in measures]) if measures else np.empty(0)
    return [replace(measure, p_holm=float(p)) for measure, p in zip(measures, adjusted, strict=True)]


def record(**more: object) -> dict[str, object]:
    """What an assessment keeps of how it was made."""
    return {"command": this_command(), "package_version": __version__, **more}


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """What an assessment comes to."""

    task: str
    source: str  #: what was assessed, in words: the file, the model
    counts: Mapping[str, int]  #: how much of what was read, asked and left out, in the order to show it
    #: the decision path, and every family of metrics with the reason why it applies or not
    steps: Sequence[Step]
    families: Sequence[Family]
    measures: Sequence[Measure]
    #: protected words in the prompts, and the worst responses by heading
    mentions: Sequence[GroupMention] = ()
    examples: Mapping[str, Sequence[Standout]] = field(default_factory=dict)
    #: what a reader must know before using a number, and everything needed to repeat it
    warnings: Sequence[str] = ()
    record: Mapping[str, object] = field(default_factory=dict)
    missing: int = 0  #: responses that were asked for and have not come

    def measure(self, metric: str, *groups: str) -> Measure:
        """The measure of a metric, for these groups where there are several; InputError unless that is exactly one."""
        found = [m for m in self.measures if m.metric == metric and (not groups or m.groups == groups)]
        if len(found) == 1:
            return found[0]
        compared = [m.groups for m in self.measures if m.metric == metric]
        if not compared:
            known = ", ".join(dict.fromkeys(m.metric for m in self.measures)) or "none"
            raise InputError(f"{metric!r} is not measured here; measured: {known}")
        named = f"measure({', '.join(map(repr, (metric, *compared[0])))})"
        if groups:
            what = f"not measured for {' and '.join(groups)}; of its {len(compared)} comparisons one is {named}, and"
        else:
            what = f"measured for {len(compared)} pairs of groups; name one of them, such as {named};"
        raise InputError(f"{metric} is {what} `measures` lists all")

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON; NaN becomes None."""
        return {
            "task": self.task,
            "source": self.source,
            "counts": dict(self.counts),
            "decision_path": list(map(asdict, self.steps)),
            "families": list(map(asdict, self.families)),
            "protected_words": list(map(asdict, self.mentions)),
            "measures": [finite(_plain(measure)) for measure in self.measures],
            "warnings": list(self.warnings),
            "missing": self.missing,
            "record": dict(self.record),
        }


def _plain(measure: Measure) -> dict[str, object]:
    return {
        "family": measure.family,
        "metric": measure.metric,
        "attribute": measure.attribute or None,
        "groups": list(measure.groups),
        **_numbers("", measure.estimate),
        "units": measure.units,
        "unit": measure.unit,
        "few": measure.few,
        "direction": measure.direction,
        "smallest": measure.bounds[0],
        "largest": measure.bounds[1],
        **_numbers("baseline_", measure.baseline if measure.baseline is not None else Estimate.undefined("")),
        "p": measure.p,
        "p_holm": measure.p_holm,
        "test": measure.test or None,
        "scorer": measure.scorer or None,
        "note": measure.note or None,
        "reason": measure.estimate.reason or None,
    }


def _numbers(prefix: str, estimate: Estimate) -> dict[str, float]:
    return {f"{prefix}{name}": getattr(estimate, name) for name in ("value", "low", "high", "standard_error")}
