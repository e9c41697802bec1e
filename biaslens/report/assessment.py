"""An assessment of one's own use case: a table in a terminal, files for programs, a page for people."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Any, TextIO, cast

import pandas as pd
from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from biaslens._util.files import json_text, replacing, write_text
from biaslens._util.text import plural, printable
from biaslens.report.page import environment
from biaslens.report.table import LEVEL, NOTHING, Column, Table, between, decimal, known, labelled, p_value, write_csv
from biaslens.stats import Estimate
from biaslens.usecase import CUT, FILTERED, Assessment, GroupMention, Measure, Recorder, Response

LONGEST = 1200
"""Characters shown of a prompt or a response."""

MOST_WORDS = 20
"""Words shown of a group."""

COLUMNS = (
    "family", "metric", "attribute", "groups", "value", "low", "high", "standard_error", "baseline_value",
    "baseline_low", "baseline_high", "p", "p_holm", "test", "direction", "smallest", "largest", "units", "unit", "few",
    "scorer", "reason", "note",
)  # fmt: skip
"""Columns of metrics.csv."""

_NUMBERS = (*COLUMNS[4:13], "smallest", "largest")
_RESPONSE = ("prompt_id", "prompt", "attribute", "group", "series", "trial", "response", "finish_reason")
_SCORES = ("toxicity", "stereotype")
_PAIR = (
    "attribute", "group_a", "group_b", "prompt_id", "trial", "rouge_l", "bleu", "cosine", "sentiment_a", "sentiment_b",
)  # fmt: skip

_WORDS = ("metric", "groups", "reads", "rests on")
_READS = {"lower is fairer": "lower", "higher is fairer": "higher", "0 is fair": "0", "1 is fair": "1"}
"""Short for what is fairer."""

_LEGEND = (
    "Reads: which values are fairer. Intervals are {level}, resampled by what the number rests on. Baseline: the same "
    "metric where nothing was changed between the two sides. p: corrected for all tests of this assessment after "
    "Holm. † marks few units."
)


def write_assessment(assessment: Assessment, out: Path) -> list[Path]:
    """Write ``index.html``, ``assessment.json`` and ``metrics.csv``; they replace those of an earlier assessment.

    Raises `StorageError` when the folder cannot be written.
    """
    paths = [out / "index.html", out / "assessment.json", out / "metrics.csv"]
    write_text(paths[0], page(assessment))
    write_text(paths[1], json_text(assessment.to_dict()) + "\n")
    write_csv(_metrics(assessment), paths[2])
    return paths


def _metrics(assessment: Assessment) -> pd.DataFrame:
    records = cast("list[dict[str, Any]]", assessment.to_dict()["measures"])
    rows = [record | {"groups": " / ".join(record["groups"])} for record in records]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(_NUMBERS, float))


class _ScoreFiles(Recorder):
    """Writes ``responses.csv`` and ``pairs.csv`` as scores come; the first can be assessed again."""

    def __init__(self, responses: TextIO, pairs: TextIO) -> None:
        self._responses = csv.writer(responses, lineterminator="\r\n")
        self._pairs = csv.writer(pairs, lineterminator="\r\n")
        self._responses.writerow((*_RESPONSE, *_SCORES))
        self._pairs.writerow(_PAIR)

    def responses(self, part: Sequence[Response], scores: Mapping[str, Sequence[float]]) -> None:
        nothing = [float("nan")] * len(part)
        columns = [scores.get(name, nothing) for name in _SCORES]
        self._responses.writerows(
            (
                found.prompt_id, found.prompt or "", found.attribute, found.group, found.series, found.trial,
                found.text, FILTERED if found.filtered else CUT if found.cut else "", *map(_cell, values),
            )
            for found, *values in zip(part, *columns, strict=True)
        )  # fmt: skip

    def pairs(self, attribute: str, groups: tuple[str, str], rows: Mapping[str, Sequence[object]]) -> None:
        nothing = [""] * len(rows["prompt_id"])
        columns = [rows.get(name, nothing) for name in _PAIR[3:]]
        self._pairs.writerows((attribute, *groups, *map(_cell, row)) for row in zip(*columns, strict=True))


@contextmanager
def score_files(out: Path) -> Iterator[Recorder]:
    """Files of scores in a folder; they are there once the block ends well.

    Raises `StorageError` when the folder cannot be written.
    """
    with ExitStack() as stack:
        paths = [stack.enter_context(replacing(out / name)) for name in ("responses.csv", "pairs.csv")]
        first, second = (stack.enter_context(path.open("w", encoding="utf-8", newline="")) for path in paths)
        yield _ScoreFiles(first, second)


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:.6g}"
    return value


def findings_of(assessment: Assessment) -> list[str]:
    """Say what the tests found, or that they found nothing; no more than that."""
    if not assessment.measures:
        return ["Nothing was measured."]
    tested = [measure for measure in assessment.measures if not isnan(measure.p_holm)]
    if not tested:
        return ["Nothing was tested: no metric here has a test that groups are treated alike."]
    found = sorted((measure for measure in tested if measure.p_holm < LEVEL), key=lambda measure: measure.p_holm)
    tests, at = plural(len(tested), "test"), f"p under {LEVEL:g} after Holm"
    if not found:
        told = f"Nothing found: of {tests} that groups are treated alike none fails ({at})."
        rough = sum(measure.few for measure in tested)
        more = f" {rough} of them rest{'s' if rough == 1 else ''} on few units." if rough else ""
        return [told + more, "That is no proof that they are treated alike."]
    named = []
    for measure in found[:_NAMED]:
        where = ", ".join(part for part in (measure.attribute.replace("_", " "), measure.comparison) if part)
        p = p_value(measure.p_holm)
        named.append(
            f"{measure.metric}{f' of {where}' if where else ''} "
            f"({_value(measure.estimate)}; p {p if p.startswith('<') else f'= {p}'})"
        )
    left = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    finds = "finds" if len(found) == 1 else "find"
    return [f"{len(found)} of {tests} {finds} that groups are treated differently ({at}): {'; '.join(named)}{left}."]


_NAMED = 3
"""Tests that are named at most."""


def print_assessment(assessment: Assessment, console: Console | None = None) -> None:
    """Print an assessment: the decision path, the metrics, what a reader must know; on standard output by default."""
    console = console or Console()
    counts = ", ".join(f"{count:,} {what}" for what, count in assessment.counts.items())
    console.print(labelled({"Assessed": assessment.source, "Read": counts}))
    console.print()
    console.print(Text(printable(" ".join(findings_of(assessment))), style="bold"))
    console.print()
    console.print(_path(assessment))
    level = _level(assessment)
    for title, measures in _by_heading(assessment.measures):
        console.print()
        _print_section(title, measures, f"{level} interval", console)
    if assessment.measures:
        console.print()
        console.print(Text(_LEGEND.format(level=level), style="dim"))
    for warning in assessment.warnings:
        console.print()
        console.print(Text(printable(f"Note: {warning}"), style="yellow"))


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


def _print_section(title: str, measures: Sequence[Measure], named: str, console: Console) -> None:
    console.print(Text(printable(title), style="bold"))
    for scorer in dict.fromkeys(measure.scorer for measure in measures if measure.scorer):
        console.print(Text(printable(f"scored by {scorer}"), style="dim"))
    cells = {
        "metric": [measure.metric for measure in measures],
        "groups": [measure.comparison for measure in measures],
        "value": [_value(measure.estimate) for measure in measures],
        named: [_interval(measure.estimate) for measure in measures],
        "baseline": [_value(measure.baseline) for measure in measures],
        "p": [p_value(measure.p_holm) for measure in measures],
        "reads": [_READS.get(measure.direction, measure.direction) for measure in measures],
        "rests on": [f"{measure.units:,} {measure.unit}{' †' if measure.few else ''}" for measure in measures],
    }
    unneeded = {
        "groups": len({measure.groups for measure in measures}) == 1,
        "baseline": all(measure.baseline is None for measure in measures),
        "p": not any(measure.test for measure in measures),
    }
    shown = {name: column for name, column in cells.items() if not unneeded.get(name)}
    columns = [Column(name, words=name in _WORDS, wraps=True) for name in shown]
    console.print(Table(columns, list(zip(*shown.values(), strict=True))).terminal())
    for line in _remarks(measures):
        console.print(Text(printable(line), style="dim"))


def _value(estimate: Estimate | None) -> str:
    return decimal(nan if estimate is None else estimate, 3)


def _interval(estimate: Estimate | None) -> str:
    return NOTHING if estimate is None else between(estimate.low, estimate.high, factor=1, places=3)


def _level(assessment: Assessment) -> str:
    """The level of its intervals: "95 %"."""
    resampling = assessment.record.get("resampling")
    found = resampling.get("level", 0.95) if isinstance(resampling, Mapping) else 0.95
    return f"{100 * found:g} %"


def _notes(measure: Measure) -> list[str]:
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


def _by_heading(measures: Sequence[Measure]) -> Iterator[tuple[str, list[Measure]]]:
    """The measures under headings: a family, an attribute, and for pairs of responses the two groups."""

    def place(measure: Measure) -> tuple[str, str, str]:
        return measure.family, measure.attribute, measure.comparison if measure.family == "counterfactual" else ""

    for (family, attribute, groups), found in groupby(measures, key=place):
        listed = list(found)
        # One comparison alone stands in the heading.
        alike = {measure.groups for measure in listed}
        parts = [attribute.replace("_", " "), groups or (listed[0].comparison if len(alike) == 1 else "")]
        yield family.capitalize() + "".join(f": {part}" for part in parts if part), listed


def _remarks(measures: Sequence[Measure]) -> list[str]:
    """Notes of several measures in a line each: those that all of them share without their names."""
    by_note: dict[str, list[Measure]] = {}
    for measure in measures:
        for note in _notes(measure):
            by_note.setdefault(note, []).append(measure)
    several = len({measure.groups for measure in measures}) > 1
    said = []
    for note, found in by_note.items():
        if note.startswith("only ") and all(measure.smallest is None for measure in found):
            continue
        names = [f"{m.metric} ({m.comparison})" if several and m.groups else m.metric for m in found]
        said.append(note if len(found) == len(measures) else f"{', '.join(names)}: {note}")
    return said


def _in_words(said: object) -> str:
    """A part of the record as people read it: "gender: female, male; age: young, old"."""
    if isinstance(said, Mapping):
        return "; ".join(f"{str(name).replace('_', ' ')}: {_in_words(value)}" for name, value in said.items())
    if isinstance(said, (list, tuple)):
        return ", ".join(map(_in_words, said))
    return str(said)


def page(assessment: Assessment) -> str:
    """Make the page: decision path, metrics with intervals and baselines, the worst examples, what it does not say."""
    pages = environment(
        value=_value, interval=_interval, p_value=p_value, known=known, drawing=_drawing, remarks=_remarks,
        in_words=_in_words, longest=LONGEST,
    )  # fmt: skip
    return pages.get_template("assessment.html.j2").render(
        up="",
        assessment=assessment,
        findings=findings_of(assessment),
        mentions=_mentions(assessment.mentions),
        sections=list(_by_heading(assessment.measures)),
        level=_level(assessment),
    )


def _mentions(mentions: Sequence[GroupMention]) -> Table:
    words = []
    for mention in mentions:
        listed = [f"{word} {count:,}" for word, count in list(mention.words.items())[:MOST_WORDS]]
        more = len(mention.words) - len(listed)
        words.append(Markup("<bdi>{}</bdi>").format(", ".join(listed) + (f" and {more:,} more" if more else "")))
    cells: dict[str, Sequence[str]] = {
        "Attribute": [mention.attribute.replace("_", " ") for mention in mentions],
        "Group": [mention.group for mention in mentions],
        "Prompts": [f"{len(mention.prompts):,}" for mention in mentions],
        "Words": words,
    }
    return Table.of(cells, title="Protected words in the prompts", words=("Attribute", "Group", "Words"))


def _drawing(measure: Measure) -> dict[str, float | None] | None:
    """Places from 0 to 1 of value, interval and baseline within the metric's range; None where there is no such."""
    low, high = measure.bounds
    estimate = measure.estimate
    if isnan(estimate.value) or low == high:
        return None
    if not (isfinite(low) and isfinite(high)):
        # A signed metric without a bound is drawn around its fair value.
        known = [abs(end) for end in (estimate.value, estimate.low, estimate.high) if not isnan(end)]
        high = max([*known, 1e-9]) * 1.1
        low = -high

    def place(number: float) -> float | None:
        return None if isnan(number) else min(1.0, max(0.0, (number - low) / (high - low)))

    drawn = {name: place(getattr(estimate, name)) for name in ("value", "low", "high")}
    baseline = None if measure.baseline is None else place(measure.baseline)
    return drawn | {"baseline": baseline, "zero": place(0.0) if low < 0 else None}
