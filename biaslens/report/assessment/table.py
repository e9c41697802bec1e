"""The readable table of an assessment, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from biaslens.report.assessment.words import interval, notes, p_value, value
from biaslens.report.table import printable
from biaslens.usecase.result import Assessment, Measure

_LEGEND = (
    "Intervals are 95 %, resampled by the unit named. Baseline: the same metric where nothing was changed between the "
    "two sides; a value means nothing without it. p: corrected for all tests of this assessment after Holm. "
    "† marks few units."
)


def print_assessment(assessment: Assessment, console: Console | None = None) -> None:
    """Print an assessment: the decision path, the metrics, what a reader must know.

    Parameters
    ----------
    assessment
        What to print.
    console
        Where to; standard output by default.
    """
    console = console or Console()
    for renderable in render(assessment):
        console.print(renderable)


def render(assessment: Assessment) -> Iterator[RenderableType]:
    """Give the parts of the output in their order."""
    yield _heading(assessment)
    yield Group(Text(), _path(assessment))
    for (family, attribute), measures in groupby(assessment.measures, key=lambda m: (m.family, m.attribute)):
        yield Group(Text(), *_family(family, attribute, list(measures)))
    if assessment.measures:
        yield Group(Text(), Text(_LEGEND, style="dim"))
    for warning in assessment.warnings:
        yield Group(Text(), Text(printable(f"Note: {warning}"), style="yellow"))


def _heading(assessment: Assessment) -> Text:
    text = Text()
    text.append("Assessed     ", style="bold").append(printable(assessment.source))
    counts = ", ".join(f"{count:,} {what}" for what, count in assessment.counts.items())
    if counts:
        text.append("\nRead         ", style="bold").append(printable(counts))
    return text


def _path(assessment: Assessment) -> Text:
    text = Text("Decision path", style="bold")
    for step in assessment.steps:
        text.append(printable(f"\n  {step.question} "), style="not bold").append(printable(step.answer), style="bold")
        text.append(printable(f": {step.because}"), style="not bold")
    for family in assessment.families:
        mark = "measured" if family.applies else "left out"
        text.append(printable(f"\n  -> {family.name}: {mark} ({family.reason})"), style="not bold")
    return text


def _family(family: str, attribute: str, measures: Sequence[Measure]) -> Iterator[RenderableType]:
    title = family.capitalize() + (f", {attribute.replace('_', ' ')}" if attribute else "")
    yield Text(printable(title), style="bold")
    for scorer in dict.fromkeys(measure.scorer for measure in measures if measure.scorer):
        yield Text(printable(f"scored by {scorer}"), style="dim")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("metric", overflow="fold")
    compared = any(measure.groups for measure in measures)
    baselines = any(measure.baseline is not None for measure in measures)
    tested = any(measure.test for measure in measures)
    shown = {
        "groups": compared, "value": True, "95 % interval": True, "baseline": baselines, "p": tested, "": True,
        "n": True,
    }  # fmt: skip
    for name, needed in shown.items():
        if needed:
            table.add_column(name, justify="left" if name in ("groups", "") else "right", overflow="fold")
    for measure in measures:
        cells = {
            "groups": printable(measure.comparison),
            "value": value(measure.estimate),
            "95 % interval": interval(measure.estimate),
            "baseline": value(measure.baseline),
            "p": p_value(measure.p_holm),
            "": measure.direction,
            "n": f"{measure.units:,} {measure.unit}{' †' if measure.few else ''}",
        }
        table.add_row(printable(measure.metric), *(cells[name] for name, needed in shown.items() if needed))
    yield table
    said = dict.fromkeys(
        f"{measure.metric}{f' ({measure.comparison})' if measure.groups else ''}: {note}"
        for measure in measures
        for note in notes(measure)
        if not note.startswith("only ")
    )
    for line in said:
        yield Text(printable(line), style="dim")
