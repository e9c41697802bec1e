"""The readable table of an assessment, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from biaslens.report.assessment.words import interval, level, p_value, remarks, sections, value
from biaslens.report.table import Column, Table, printable
from biaslens.usecase import Assessment, Measure

_WORDS = ("metric", "groups", "reads", "rests on")
_READS = {"lower is fairer": "lower", "higher is fairer": "higher", "0 is fair": "0", "1 is fair": "1"}
"""Short for what is fairer."""

_LEGEND = (
    "Reads: which values are fairer. Intervals are {level}, resampled by what the number rests on. Baseline: the same "
    "metric where nothing was changed between the two sides. p: corrected for all tests of this assessment after "
    "Holm. † marks few units."
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
    named = f"{level(assessment)} interval"
    for title, measures in sections(assessment.measures):
        yield Group(Text(), *_section(title, measures, named))
    if assessment.measures:
        yield Group(Text(), Text(_LEGEND.format(level=level(assessment)), style="dim"))
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
        text.append("\n  ").append(printable(f"{step.question} "), style="not bold")
        text.append(printable(step.answer)).append(printable(f": {step.because}"), style="not bold")
    for family in assessment.families:
        mark = "measured" if family.applies else "left out"
        text.append("\n  -> ").append(printable(f"{family.name}: {mark}"))
        text.append(printable(f" ({family.reason})"), style="not bold")
    return text


def _section(title: str, measures: Sequence[Measure], named: str) -> Iterator[RenderableType]:
    yield Text(printable(title), style="bold")
    for scorer in dict.fromkeys(measure.scorer for measure in measures if measure.scorer):
        yield Text(printable(f"scored by {scorer}"), style="dim")
    shown = {
        "groups": len({measure.groups for measure in measures}) > 1,
        "value": True,
        named: True,
        "baseline": any(measure.baseline is not None for measure in measures),
        "p": any(measure.test for measure in measures),
        "reads": True,
        "rests on": True,
    }
    names = [name for name, needed in shown.items() if needed]
    rows = []
    for measure in measures:
        cells = {
            "groups": measure.comparison,
            "value": value(measure.estimate),
            named: interval(measure.estimate),
            "baseline": value(measure.baseline),
            "p": p_value(measure.p_holm),
            "reads": _READS.get(measure.direction, measure.direction),
            "rests on": f"{measure.units:,} {measure.unit}{' †' if measure.few else ''}",
        }
        rows.append([measure.metric, *(cells[name] for name in names)])
    columns = [Column(name, words=name in _WORDS, wraps=True) for name in ("metric", *names)]
    yield Table(columns, rows).terminal()
    for line in remarks(measures):
        yield Text(printable(line), style="dim")
