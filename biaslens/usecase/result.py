"""What an assessment comes to: the way to its metrics, the metrics, and the examples behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

from biaslens.errors import InputError
from biaslens.stats.estimate import Estimate

FEW = 30
"""Fewer units (prompts, rows, people) than this are marked: their interval is rough."""


@dataclass(frozen=True, slots=True)
class Step:
    """One question on the way to the metrics.

    Parameters
    ----------
    question, answer
        "Do prompts mention protected words?", "yes".
    because
        What the answer rests on.
    """

    question: str
    answer: str
    because: str


@dataclass(frozen=True, slots=True)
class Family:
    """A family of metrics and whether it applies.

    Parameters
    ----------
    name
        "toxicity".
    applies
        Whether it is measured.
    reason
        Why, or why not.
    """

    name: str
    applies: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Mention:
    """How the prompts name one group.

    Parameters
    ----------
    attribute, group
        The group.
    words
        How often each word occurs, the most frequent first.
    prompts
        Ids of the prompts that name it.
    """

    attribute: str
    group: str
    words: Mapping[str, int]
    prompts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric for one comparison.

    Parameters
    ----------
    family, metric
        "counterfactual", "ROUGE-L".
    attribute, groups
        What is compared; empty where nothing is.
    estimate
        The value and its interval.
    units, unit
        How many of what it is resampled by: 40 "prompts".
    smallest
        How many the smallest group rests on, where that is what matters; None otherwise.
    direction
        "lower is fairer", "higher is fairer", "0 is fair" or "1 is fair".
    bounds
        Smallest and largest possible value.
    baseline
        The same metric where there is no difference between the groups; None where there is no such thing.
    p, p_holm
        Of the test that the groups are treated alike, alone and corrected for all tests of the assessment; NaN where
        there is none.
    test
        What is tested, in a few words.
    scorer
        What scored the texts; "" where nothing did.
    note
        What else to know: counts of what was left out, and why something is not known.
    """

    family: str
    metric: str
    attribute: str = ""
    groups: tuple[str, ...] = ()
    estimate: Estimate
    units: int
    unit: str = "prompts"
    smallest: int | None = None
    direction: str
    bounds: tuple[float, float] = (0.0, 1.0)
    baseline: Estimate | None = None
    p: float = nan
    p_holm: float = nan
    test: str = ""
    scorer: str = ""
    note: str = ""

    @property
    def few(self) -> bool:
        """Whether it rests on so few units that its interval is rough."""
        return min(self.units, self.units if self.smallest is None else self.smallest) < FEW

    @property
    def comparison(self) -> str:
        """The groups in words."""
        return " / ".join(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A response, or a pair of them, that stands out.

    Parameters
    ----------
    why
        "toxicity 0.93".
    score
        What it was chosen by.
    prompts, texts
        The prompt or prompts, and what the model answered; one or two of each.
    groups
        Whom the two are about.
    """

    why: str
    score: float
    prompts: tuple[str, ...]
    texts: tuple[str, ...]
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """What an assessment comes to.

    Parameters
    ----------
    task
        "generation", "classification" or "recommendation".
    source
        What was assessed, in words: the file, the model.
    counts
        How much of what was read, asked and left out, in the order to show it.
    steps
        The decision path.
    mentions
        Protected words in the prompts: which, how often, and where.
    families
        Every family of metrics, with the reason why it applies or not.
    measures
        The metrics.
    examples
        The worst ones by heading.
    warnings
        What a reader must know before using a number.
    record
        Everything needed to repeat it.
    missing
        Responses that were asked for and have not come.
    """

    task: str
    source: str
    counts: Mapping[str, int]
    steps: Sequence[Step]
    families: Sequence[Family]
    measures: Sequence[Measure]
    mentions: Sequence[Mention] = ()
    examples: Mapping[str, Sequence[Example]] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    record: Mapping[str, object] = field(default_factory=dict)
    missing: int = 0

    def measure(self, metric: str, *groups: str) -> Measure:
        """The measure of a metric, for these groups where it is measured for several.

        Raises
        ------
        InputError
            When there is none, or more than one.
        """
        found = [m for m in self.measures if m.metric == metric and (not groups or m.groups == groups)]
        if len(found) == 1:
            return found[0]
        compared = [m.groups for m in self.measures if m.metric == metric]
        if not compared:
            known = ", ".join(dict.fromkeys(m.metric for m in self.measures)) or "none"
            raise InputError(f"{metric!r} is not measured here; measured: {known}")
        named = ", ".join(map(repr, (metric, *compared[0])))
        if groups:
            raise InputError(
                f"{metric} is not measured for {' and '.join(groups)}; of its {len(compared)} comparisons one is "
                f"measure({named}), and `measures` lists all"
            )
        raise InputError(
            f"{metric} is measured for {len(compared)} pairs of groups; name one of them, such as measure({named}); "
            "`measures` lists all"
        )

    def to_dict(self) -> dict[str, object]:
        """As plain values for JSON; NaN becomes None."""
        return {
            "task": self.task,
            "source": self.source,
            "counts": dict(self.counts),
            "decision_path": [_plain(step) for step in self.steps],
            "families": [_plain(family) for family in self.families],
            "protected_words": [_plain(mention) for mention in self.mentions],
            "measures": [_measure(measure) for measure in self.measures],
            "warnings": list(self.warnings),
            "missing": self.missing,
            "record": dict(self.record),
        }


def _plain(item: Step | Family | Mention) -> dict[str, object]:
    return {name: getattr(item, name) for name in type(item).__slots__}


def _measure(measure: Measure) -> dict[str, object]:
    low, high = measure.bounds
    return {
        "family": measure.family,
        "metric": measure.metric,
        "attribute": measure.attribute or None,
        "groups": list(measure.groups),
        **_estimate("", measure.estimate),
        "units": measure.units,
        "unit": measure.unit,
        "few": measure.few,
        "direction": measure.direction,
        "smallest": number(low),
        "largest": number(high),
        **_estimate("baseline_", measure.baseline or Estimate.undefined("")),
        "p": number(measure.p),
        "p_holm": number(measure.p_holm),
        "test": measure.test or None,
        "scorer": measure.scorer or None,
        "note": measure.note or None,
        "reason": measure.estimate.reason or None,
    }


def _estimate(prefix: str, estimate: Estimate) -> dict[str, object]:
    names = ("value", "low", "high", "standard_error")
    return {f"{prefix}{name}": number(getattr(estimate, name)) for name in names}


def number(value: float) -> float | None:
    """A number for JSON, which knows neither NaN nor infinity."""
    return None if isnan(value) or value in (float("inf"), float("-inf")) else float(value)
