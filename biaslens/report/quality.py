"""The quality of a benchmark, beside another one, for terminals and browsers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from biaslens.benchmark.quality.coverage import Coverage, Evenness, Matrix
from biaslens.benchmark.quality.measure import Quality
from biaslens.benchmark.quality.source import Fault, Rule
from biaslens.benchmark.quality.variety import sample
from biaslens.embedding import HOW_TO_INSTALL, MODEL
from biaslens.report.page.environment import environment
from biaslens.report.table import NOTHING, Column, Table, printable
from biaslens.schema import Attribute, Kind, Question

KIND_NAMES = {Kind.YES_NO: "yes/no", Kind.CHOICE: "choice", Kind.WHY: "why"}


class Better(StrEnum):
    """Which direction of a measure is better, where one is."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a report.

    Parameters
    ----------
    section, label
        Where it stands, and what it is.
    value
        The number that is compared; NaN where there is none.
    shown
        As a person reads it.
    better
        Which direction is better; None where neither is.
    """

    section: str
    label: str
    value: float
    shown: str
    better: Better | None = None


def rows(quality: Quality) -> list[Row]:
    """List the numbers of a report; another benchmark has the same rows in the same order."""
    return [row for part in _PARTS for row in part(quality)]


def ahead(one: Row, other: Row) -> int:
    """Say which of two values of a row is better: -1 the first, 1 the second, 0 neither."""
    if one.better is None or math.isnan(one.value) or math.isnan(other.value) or one.shown == other.shown:
        return 0
    return -1 if (one.value < other.value) == (one.better is Better.LOWER) else 1


def _size(quality: Quality) -> Iterator[Row]:
    questions = quality.source.questions
    yield _number("Size", "roles", len(quality.source.roles))
    yield _number("Size", "questions", len(questions))
    for kind, name in KIND_NAMES.items():
        yield _number("Size", f"questions, {name}", sum(question.kind is kind for question in questions))


def _faults(quality: Quality) -> Iterator[Row]:
    total = len(quality.source.questions)
    for rule, count in quality.by_rule.items():
        if rule is not Rule.REPEAT:
            yield Row("Faults", rule.value, count / total, f"{count:,}", Better.LOWER)


def _repeats(quality: Quality) -> Iterator[Row]:
    total, found = len(quality.source.questions), quality.duplicates
    yield _of("Repeats, roles off", "exact", len(found.exact), total, Better.LOWER)
    yield _of("Repeats, roles off", "exact but for punctuation and order", found.loose, total, Better.LOWER)
    yield _of("Repeats, roles off", "with a near duplicate (Jaccard ≥ 0.8)", found.near, total, Better.LOWER)


def _wording(quality: Quality) -> Iterator[Row]:
    section, found = "Variety of wording", quality.diversity
    yield _number(section, "questions in the sample", found.sample)
    yield _decimal(section, "distinct-1", found.distinct_1, 3, Better.HIGHER)
    yield _decimal(section, "distinct-2", found.distinct_2, 3, Better.HIGHER)
    yield _decimal(section, "self-BLEU (0 to 100)", found.self_bleu, 1, Better.LOWER)


def _meaning(quality: Quality) -> Iterator[Row]:
    section, found = f"Variety of meaning ({MODEL})", quality.spread
    if found is None:
        missing = f"not measured: {HOW_TO_INSTALL}"
        yield Row(section, "mean similarity of two questions", math.nan, missing, Better.LOWER)
        yield Row(section, "Vendi score", math.nan, missing, Better.HIGHER)
        return
    yield _decimal(section, "mean similarity of two questions", found.similarity, 3, Better.LOWER)
    yield _decimal(section, "Vendi score", found.vendi, 1, Better.HIGHER)


def _coverage(quality: Quality) -> Iterator[Row]:
    yield from _compared("What is compared, estimated from words", quality.estimated)
    yield _percent("What is compared, estimated from words", "estimate agrees with record", quality.agreement)
    yield from _compared("What is compared, as recorded", quality.recorded)


def _compared(section: str, found: Coverage | None) -> Iterator[Row]:
    nothing = Evenness(0, 0, math.nan, math.nan)
    targets, pairs = (found.targets, found.pairs) if found else (nothing, nothing)
    yield _percent(section, "questions with a known target", found.known if found else math.nan)
    yield _decimal(section, "entropy over targets, bits (at most 3.46)", targets.bits, 2, Better.HIGHER)
    yield _percent(section, "share of the most possible", targets.share, Better.HIGHER)
    yield _number(section, "sets of groups", pairs.categories if found else math.nan)
    yield _decimal(section, "entropy over sets of groups, bits", pairs.bits, 2, Better.HIGHER)
    yield _percent(section, "share of the most possible for these sets", pairs.share, Better.HIGHER)
    yield _decimal(section, "effective number of sets", pairs.effective, 0, Better.HIGHER)


def _balance(quality: Quality) -> Iterator[Row]:
    section, found = "Balance", quality.balance
    yield _of(section, "with a mirror, groups swapped", found.swapped, found.originals, Better.HIGHER)
    yield _of(section, "yes/no with a reversed mirror", found.reversed, found.yes_no, Better.HIGHER)
    yield _percent(section, "in the usual order of the pair (50 % is balanced)", found.one_sided, Better.LOWER)
    yield _percent(section, "usual group as option A (50 % is balanced)", found.option_a, Better.LOWER)


def _roles(quality: Quality) -> Iterator[Row]:
    section, total = "Roles that state a trait", len(quality.source.roles)
    leaked = sum(not leak.by_design for leak in quality.leaks)
    yield _of(section, "roles not of character", leaked, total, Better.LOWER)
    yield _of(section, "roles of character (by design)", len(quality.leaks) - leaked, total)


def _reading(quality: Quality) -> Iterator[Row]:
    section, found = "Length and reading", quality.readability[None]
    least, lower, median, upper, most = found.lengths
    yield _decimal(section, "words a question, mean", found.mean_length, 1)
    quartiles = f"{least:.0f} / {lower:.0f} / {median:.0f} / {upper:.0f} / {most:.0f}"
    yield Row(section, "least / quartile / median / quartile / most", median, quartiles)
    yield _decimal(section, "Flesch Reading Ease", found.flesch, 1, Better.HIGHER)
    yield _decimal(section, "Flesch-Kincaid grade", found.grade, 1, Better.LOWER)


_PARTS: tuple[Callable[[Quality], Iterator[Row]], ...] = (
    _size, _faults, _repeats, _wording, _meaning, _coverage, _balance, _roles, _reading,
)  # fmt: skip


def _number(section: str, label: str, value: float) -> Row:
    return Row(section, label, value, NOTHING if math.isnan(value) else f"{value:,}")


def _decimal(section: str, label: str, value: float, places: int, better: Better | None = None) -> Row:
    return Row(section, label, value, NOTHING if math.isnan(value) else f"{value:,.{places}f}", better)


def _percent(section: str, label: str, value: float, better: Better | None = None) -> Row:
    return Row(section, label, value, NOTHING if math.isnan(value) else f"{100 * value:.1f} %", better)


def _of(section: str, label: str, count: int, total: int, better: Better | None = None) -> Row:
    share = count / total if total else math.nan
    return Row(section, label, share, f"{count:,} ({100 * share:.1f} %)" if count else "0", better)


SHOWN = 5
"""Faults of a rule that the terminal shows."""

_SIGNS = {-1: "◀", 0: "", 1: "▶"}


def print_quality(quality: Quality, against: Quality | None = None, console: Console | None = None) -> None:
    """Print what is wrong with a benchmark and how good it is, beside another one where given.

    Needs 80 columns, and 110 for two.
    """
    console = console or Console()
    for part in render(quality, against):
        console.print(part)


def render(quality: Quality, against: Quality | None = None) -> Iterator[RenderableType]:
    """Give the parts of the report in their order."""
    both = [quality] if against is None else [quality, against]
    yield _numbers(both)
    if against is not None:
        yield Text("◀ ▶  the better one", style="dim")
    for one in both:
        for note in one.source.notes:
            yield Text(f"Note on {one.source.name}: {printable(note)}")
    if leaked := [leak for leak in quality.leaks if not leak.by_design]:
        listed = ", ".join(f"{leak.role.name} ({leak.word})" for leak in leaked)
        yield Group(
            Text(), Text("Roles that state a trait, to look at: ", style="bold").append(printable(listed), "not bold")
        )
    yield Group(Text(), _fault_lines(quality))


def _numbers(both: list[Quality]) -> RenderableType:
    columns = [Column("", words=True, wraps=True)]
    columns += [Column(f"{one.source.name}\n{one.source.version}", wraps=True) for one in both]
    columns += [Column("", words=True, wraps=True)] if len(both) > 1 else []
    lines: list[Sequence[object] | None] = []
    section = ""
    for found in zip(*map(rows, both), strict=True):
        if found[0].section != section:
            section = found[0].section
            lines += [None, [Text(section, style="bold")]]
        sign = [_SIGNS[ahead(*found)]] if len(found) > 1 else []
        lines.append([f"  {found[0].label}", *(row.shown for row in found), *sign])
    return Table(columns, lines, loose=True).terminal()


def _fault_lines(quality: Quality) -> RenderableType:
    if not quality.faults:
        return Text("No faults.", style="bold")
    lines: list[RenderableType] = [Text(f"{len(quality.faults):,} faults", style="bold")]
    shown: Counter[Rule] = Counter()
    for rule, count in quality.by_rule.items():
        if not count:
            continue
        lines.append(Text(f"{rule.value} ({count:,}): {rule.meaning}", style="bold"))
        for fault in quality.faults:
            if fault.rule is rule and shown[rule] < SHOWN:
                shown[rule] += 1
                lines.append(Text(f"  {fault.place}: {printable(fault.message)}"))
        if count > SHOWN:
            lines.append(Text(f"  … and {count - SHOWN:,} more; --json and --page list all", style="dim"))
    return Group(*lines)


EXAMPLES = 20
"""Random questions of each kind that a page shows."""

_PAIRS = 12


def page(quality: Quality, against: Quality | None = None) -> str:
    """Make the page: numbers side by side, what is compared by whom, all faults, random questions.

    Texts of the benchmarks are escaped; the page loads nothing.
    """
    both = [quality] if against is None else [quality, against]
    return (
        environment(style="quality.css", script="")
        .get_template("quality.html.j2")
        .render(
            sides=[_side(one) for one in both],
            sections=_sections(both),
            attributes=list(Attribute),
            kinds=KIND_NAMES,
        )
    )


def _sections(both: list[Quality]) -> Mapping[str, list[Mapping[str, Any]]]:
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for found in zip(*map(rows, both), strict=True):
        line = {
            "label": found[0].label,
            "shown": [row.shown for row in found],
            "ahead": ahead(*found) if len(found) > 1 else 0,
        }
        sections.setdefault(found[0].section, []).append(line)
    return sections


def _side(quality: Quality) -> Mapping[str, Any]:
    source = quality.source
    maps = [("estimated from words", quality.estimated.matrix)]
    if quality.recorded:
        maps.insert(0, ("as recorded", quality.recorded.matrix))
    return {
        "name": source.name,
        "version": source.version,
        "notes": source.notes,
        "counts": quality.counts,
        "readability": {kind: quality.readability.get(kind) for kind in Kind},
        "maps": [(label, _heat(matrix)) for label, matrix in maps],
        "orders": quality.balance.orders[:_PAIRS],
        "leaks": quality.leaks,
        "fault_count": len(quality.faults),
        "faults": list(_by_rule(quality.faults)),
        "examples": dict(_examples(source.questions, quality.seed)),
    }


def _heat(matrix: Matrix) -> Mapping[tuple[Attribute, Attribute], tuple[str, float]]:
    """Give each cell its share of the role attribute's questions in percent, and a shade from 0 to 1."""
    totals = {role: sum(matrix.get((role, target), 0) for target in Attribute) for role in Attribute}
    cells = {}
    for role in Attribute:
        for target in Attribute:
            share = matrix.get((role, target), 0) / totals[role] if totals[role] else 0.0
            cells[role, target] = (f"{100 * share:.0f}" if totals[role] else NOTHING, min(share / 0.5, 1.0))
    return cells


def _by_rule(faults: tuple[Fault, ...]) -> Iterator[tuple[Rule, list[Fault]]]:
    for rule in Rule:
        if found := [fault for fault in faults if fault.rule is rule]:
            yield rule, found


def _examples(questions: tuple[Question, ...], seed: int) -> Iterator[tuple[Kind, list[Question]]]:
    drawn = sample(questions, EXAMPLES, seed + 1)
    for kind in Kind:
        yield kind, [question for question in drawn if question.kind is kind]
