"""How the numbers of an assessment are put."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan

from biaslens.stats import Estimate
from biaslens.usecase import Assessment, Measure

NOTHING = "–"
TINY = 1e-4
LEVEL = 0.95


def value(estimate: Estimate | None) -> str:
    """The value: three decimals, or a dash.

    Examples
    --------
    >>> value(Estimate(0.12345, 0.1, 0.2, 0.02, 40))
    '0.123'
    """
    return NOTHING if estimate is None or isnan(estimate.value) else f"{estimate.value:.3f}"


def interval(estimate: Estimate | None) -> str:
    """The interval, or a dash.

    Examples
    --------
    >>> interval(Estimate(0.12345, 0.1, 0.2, 0.02, 40))
    '0.100 to 0.200'
    """
    if estimate is None or isnan(estimate.low) or isnan(estimate.high):
        return NOTHING
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def level(assessment: Assessment) -> str:
    """The level of its intervals: "95 %"."""
    resampling = assessment.record.get("resampling")
    found = resampling.get("level", LEVEL) if isinstance(resampling, Mapping) else LEVEL
    return f"{100 * found:g} %"


def p_value(p: float) -> str:
    """A p-value with as many digits as say something.

    Examples
    --------
    >>> p_value(0.03127), p_value(0.00001), p_value(float("nan"))
    ('0.031', '< 0.0001', '–')
    """
    if isnan(p):
        return NOTHING
    return f"< {TINY}" if p < TINY else f"{p:.3f}" if p >= 0.001 else f"{p:.4f}"


def notes(measure: Measure) -> list[str]:
    """What a reader must know of one measure: why something is missing, that it rests on little, what was left out."""
    found = []
    if measure.few:
        count = measure.units if measure.smallest is None else min(measure.units, measure.smallest)
        found.append(f"only {count} {measure.unit}{' in a group' if count < measure.units else ''}: rough")
    if measure.estimate.reason:
        found.append(measure.estimate.reason)
    elif measure.baseline is not None and isnan(measure.baseline.value) and measure.baseline.reason:
        found.append(f"no baseline: {measure.baseline.reason}")
    if measure.note:
        found.append(measure.note)
    return found


def sections(measures: Sequence[Measure]) -> Iterator[tuple[str, list[Measure]]]:
    """The measures under headings: a family, an attribute, and for pairs of responses the two groups."""

    def place(measure: Measure) -> tuple[str, str, str]:
        return measure.family, measure.attribute, measure.comparison if measure.family == "counterfactual" else ""

    for (family, attribute, groups), found in groupby(measures, key=place):
        listed = list(found)
        # One comparison alone stands in the heading.
        alike = {measure.groups for measure in listed}
        parts = [attribute.replace("_", " "), groups or (listed[0].comparison if len(alike) == 1 else "")]
        yield family.capitalize() + "".join(f": {part}" for part in parts if part), listed


def remarks(measures: Sequence[Measure]) -> list[str]:
    """Notes of several measures in a line each: those that all of them share without their names."""
    by_note: dict[str, list[Measure]] = {}
    for measure in measures:
        for note in notes(measure):
            by_note.setdefault(note, []).append(measure)
    several = len({measure.groups for measure in measures}) > 1
    said = []
    for note, found in by_note.items():
        if note.startswith("only ") and all(measure.smallest is None for measure in found):
            continue
        names = [f"{m.metric} ({m.comparison})" if several and m.groups else m.metric for m in found]
        said.append(note if len(found) == len(measures) else f"{', '.join(names)}: {note}")
    return said


def in_words(said: object) -> str:
    """A part of the record as people read it.

    Examples
    --------
    >>> in_words({"gender": ["female", "male"], "age": ["young", "old"]})
    'gender: female, male; age: young, old'
    """
    if isinstance(said, Mapping):
        return "; ".join(f"{str(name).replace('_', ' ')}: {in_words(value)}" for name, value in said.items())
    if isinstance(said, (list, tuple)):
        return ", ".join(map(in_words, said))
    return str(said)
