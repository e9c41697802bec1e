"""The quality of a benchmark, beside another one, for terminals and browsers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from markupsafe import Markup
from rich.console import Console, Group, RenderableType
from rich.text import Text

from biaslens._util.text import printable
from biaslens.benchmark.quality.coverage import Coverage, Evenness, Matrix
from biaslens.benchmark.quality.measure import Quality
from biaslens.benchmark.quality.source import Rule
from biaslens.benchmark.quality.variety import sample
from biaslens.embedding import HOW_TO_INSTALL, MODEL
from biaslens.report.page import environment
from biaslens.report.table import KINDS, NOTHING, Column, Table, decimal, percent
from biaslens.schema import Attribute, Kind, Question

SHOWN = 5
"""Faults of a rule that the terminal shows."""

EXAMPLES = 20
"""Random questions of each kind that a page shows."""

_PAIRS = 12
_SHADES = 10
_LOWER, _HIGHER = -1, 1
_SIGNS = {-1: "◀", 0: "", 1: "▶"}


class _Row(NamedTuple):
    """One number of a report: the value that is compared, NaN where there is none, and as a person reads it.

    `better` says which values are, `_LOWER` or `_HIGHER` ones; 0 where neither is.
    """

    section: str
    label: str
    value: float
    shown: str
    better: int = 0


def _ahead(one: _Row, other: _Row) -> int:
    """Say which of two values of a row is better: -1 the first, 1 the second, 0 neither."""
    if not one.better or math.isnan(one.value) or math.isnan(other.value) or one.shown == other.shown:
        return 0
    return -1 if (one.value < other.value) == (one.better == _LOWER) else 1


def _size(quality: Quality) -> Iterator[_Row]:
    questions = quality.source.questions
    yield _number("Size", "roles", len(quality.source.roles))
    yield _number("Size", "questions", len(questions))
    for kind in Kind:
        yield _number("Size", f"questions, {KINDS[kind]}", sum(question.kind is kind for question in questions))


def _faults(quality: Quality) -> Iterator[_Row]:
    total = len(quality.source.questions)
    for rule, count in quality.by_rule.items():
        if rule is not Rule.REPEAT:
            yield _Row("Faults", rule.value, count / total, f"{count:,}", _LOWER)


def _repeats(quality: Quality) -> Iterator[_Row]:
    total, found = len(quality.source.questions), quality.duplicates
    yield _of("Repeats, roles off", "exact", len(found.exact), total, _LOWER)
    yield _of("Repeats, roles off", "exact but for punctuation and order", found.loose, total, _LOWER)
    yield _of("Repeats, roles off", "with a near duplicate (Jaccard ≥ 0.8)", found.near, total, _LOWER)


def _wording(quality: Quality) -> Iterator[_Row]:
    section, found = "Variety of wording", quality.diversity
    yield _number(section, "questions in the sample", found.sample)
    yield _decimal(section, "distinct-1", found.distinct_1, 3, _HIGHER)
    yield _decimal(section, "distinct-2", found.distinct_2, 3, _HIGHER)
    yield _decimal(section, "self-BLEU (0 to 100)", found.self_bleu, 1, _LOWER)


def _meaning(quality: Quality) -> Iterator[_Row]:
    section, found = f"Variety of meaning ({MODEL})", quality.spread
    if found is None:
        missing = f"not measured: {HOW_TO_INSTALL}"
        yield _Row(section, "mean similarity of two questions", math.nan, missing, _LOWER)
        yield _Row(section, "Vendi score", math.nan, missing, _HIGHER)
        return
    yield _decimal(section, "mean similarity of two questions", found.similarity, 3, _LOWER)
    yield _decimal(section, "Vendi score", found.vendi, 1, _HIGHER)


def _coverage(quality: Quality) -> Iterator[_Row]:
    yield from _compared("What is compared, estimated from words", quality.estimated)
    yield _percent("What is compared, estimated from words", "estimate agrees with record", quality.agreement)
    yield from _compared("What is compared, as recorded", quality.recorded)


def _compared(section: str, found: Coverage | None) -> Iterator[_Row]:
    nothing = Evenness(0, 0, math.nan, math.nan)
    targets, pairs = (found.targets, found.pairs) if found else (nothing, nothing)
    yield _percent(section, "questions with a known target", found.known if found else math.nan)
    yield _decimal(section, "entropy over targets, bits (at most 3.46)", targets.bits, 2, _HIGHER)
    yield _percent(section, "share of the most possible", targets.share, _HIGHER)
    yield _number(section, "sets of groups", pairs.categories if found else math.nan)
    yield _decimal(section, "entropy over sets of groups, bits", pairs.bits, 2, _HIGHER)
    yield _percent(section, "share of the most possible for these sets", pairs.share, _HIGHER)
    yield _decimal(section, "effective number of sets", pairs.effective, 0, _HIGHER)


def _balance(quality: Quality) -> Iterator[_Row]:
    section, found = "Balance", quality.balance
    yield _of(section, "with a mirror, groups swapped", found.swapped, found.originals, _HIGHER)
    yield _of(section, "yes/no with a reversed mirror", found.reversed, found.yes_no, _HIGHER)
    yield _percent(section, "in the usual order of the pair (50 % is balanced)", found.one_sided, _LOWER)
    yield _percent(section, "usual group as option A (50 % is balanced)", found.option_a, _LOWER)


def _roles(quality: Quality) -> Iterator[_Row]:
    section, total = "Roles that state a trait", len(quality.source.roles)
    leaked = sum(not leak.by_design for leak in quality.leaks)
    yield _of(section, "roles not of character", leaked, total, _LOWER)
    yield _of(section, "roles of character (by design)", len(quality.leaks) - leaked, total)


def _reading(quality: Quality) -> Iterator[_Row]:
    section, found = "Length and reading", quality.readability[None]
    least, lower, median, upper, most = found.lengths
    yield _decimal(section, "words a question, mean", found.mean_length, 1)
    quartiles = f"{least:.0f} / {lower:.0f} / {median:.0f} / {upper:.0f} / {most:.0f}"
    yield _Row(section, "least / quartile / median / quartile / most", median, quartiles)
    yield _decimal(section, "Flesch Reading Ease", found.flesch, 1, _HIGHER)
    yield _decimal(section, "Flesch-Kincaid grade", found.grade, 1, _LOWER)


_PARTS: tuple[Callable[[Quality], Iterator[_Row]], ...] = (
    _size, _faults, _repeats, _wording, _meaning, _coverage, _balance, _roles, _reading,
)  # fmt: skip


def _number(section: str, label: str, value: float) -> _Row:
    return _Row(section, label, value, NOTHING if math.isnan(value) else f"{value:,}")


def _decimal(section: str, label: str, value: float, places: int, better: int = 0) -> _Row:
    return _Row(section, label, value, NOTHING if math.isnan(value) else f"{value:,.{places}f}", better)


def _percent(section: str, label: str, value: float, better: int = 0) -> _Row:
    return _Row(section, label, value, percent(value), better)


def _of(section: str, label: str, count: int, total: int, better: int = 0) -> _Row:
    share = count / total if total else math.nan
    return _Row(section, label, share, f"{count:,} ({percent(share)})" if count else "0", better)


def _numbers(both: list[Quality], strong: Callable[[str], object]) -> Table:
    """Every number of the benchmarks; of two the better one is `strong`, and an arrow points to it."""
    columns = [Column("", words=True, wraps=True)]
    columns += [Column(f"{one.source.name}\n{one.source.version}".rstrip(), wraps=True) for one in both]
    columns += [Column("", words=True, wraps=True)] if len(both) > 1 else []
    lines: list[list[object] | None] = []
    section = ""
    for found in zip(*([row for part in _PARTS for row in part(one)] for one in both), strict=True):
        if found[0].section != section:
            section = found[0].section
            lines += [None, [strong(section), *[""] * (len(columns) - 1)]]
        winner = _ahead(*found) if len(found) > 1 else 0
        texts = [strong(row.shown) if side == winner else row.shown for side, row in zip((-1, 1), found, strict=False)]
        lines.append([f"  {found[0].label}", *texts, *([_SIGNS[winner]] if len(found) > 1 else [])])
    return Table(columns, lines, title="Numbers", loose=True)


def print_quality(quality: Quality, against: Quality | None = None, console: Console | None = None) -> None:
    """Print what is wrong with a benchmark and how good it is, beside another one where given.

    Needs 80 columns, and 110 for two.
    """
    console = console or Console()
    both = [quality] if against is None else [quality, against]
    console.print(_numbers(both, lambda text: Text(text, style="bold")).terminal())
    if against is not None:
        console.print(Text("◀ ▶  the better one", style="dim"))
    for one in both:
        for note in one.source.notes:
            console.print(Text(f"Note on {one.source.name}: {printable(note)}"))
    if leaked := [leak for leak in quality.leaks if not leak.by_design]:
        listed = ", ".join(f"{leak.role.name} ({leak.word})" for leak in leaked)
        console.print()
        console.print(
            Text("Roles that state a trait, to look at: ", style="bold").append(printable(listed), "not bold")
        )
    console.print()
    console.print(_fault_lines(quality))


def _fault_lines(quality: Quality) -> RenderableType:
    if not quality.faults:
        return Text("No faults.", style="bold")
    lines = [Text(f"{len(quality.faults):,} faults", style="bold")]
    for rule, count in quality.by_rule.items():
        if count:
            lines.append(Text(f"{rule.value} ({count:,}): {rule.meaning}", style="bold"))
            found = [fault for fault in quality.faults if fault.rule is rule]
            lines += [Text(f"  {fault.place}: {printable(fault.message)}") for fault in found[:SHOWN]]
        if count > SHOWN:
            lines.append(Text(f"  … and {count - SHOWN:,} more; --json and --page list all", style="dim"))
    return Group(*lines)


def page(quality: Quality, against: Quality | None = None) -> str:
    """Make the page of a check: numbers side by side, what is compared by whom, all faults, random questions.

    Texts of the benchmarks are escaped; the page loads nothing.
    """
    both = [quality] if against is None else [quality, against]
    numbers = _numbers(both, lambda text: Markup("<strong>{}</strong>").format(text))
    template = environment().get_template("quality.html.j2")
    return template.render(sides=list(map(_side, both)), numbers=numbers, kinds=KINDS)


def _side(quality: Quality) -> dict[str, Any]:
    source = quality.source
    maps = [("estimated from words", quality.estimated.matrix)]
    if quality.recorded:
        maps.insert(0, ("as recorded", quality.recorded.matrix))
    orders = quality.balance.orders[:_PAIRS]
    by_rule = {rule: [fault for fault in quality.faults if fault.rule is rule] for rule in Rule}
    return {
        "name": source.name,
        "version": source.version,
        "notes": source.notes,
        "counts": _counts(quality),
        "maps": [_heat(f"{source.name}, {label}", matrix) for label, matrix in maps],
        "orders": Table.of(
            {
                "first": [order.first.replace("_", " ") for order in orders],
                "second": [order.second.replace("_", " ") for order in orders],
                "questions": [f"{order.total:,}" for order in orders],
                "in this order": [f"{100 * order.share:.0f} %" for order in orders],
            },
            title="Pairs of groups",
            words=("first", "second"),
        ),
        "leaks": quality.leaks,
        "fault_count": len(quality.faults),
        "faults": [(rule, found) for rule, found in by_rule.items() if found],
        "examples": _examples(source.questions, quality.seed),
    }


def _counts(quality: Quality) -> Table:
    """Questions by attribute and kind, and how long and hard they are."""
    rows = [[attribute, *(f"{quality.counts.get((attribute, kind), 0):,}" for kind in Kind)] for attribute in Attribute]
    reading = [quality.readability.get(kind) for kind in Kind]
    for place, name in ((2, "median"), (4, "most")):
        rows.append([f"words, {name}", *(f"{found.lengths[place]:.0f}" if found else NOTHING for found in reading)])
    rows.append(["Flesch Reading Ease", *(decimal(found.flesch, 0) if found else NOTHING for found in reading)])
    columns = [Column("", words=True), *(Column(KINDS[kind]) for kind in Kind)]
    return Table(columns, rows, title="Questions by attribute of the role")


def _heat(title: str, matrix: Matrix) -> Table:
    """Give each pair of attributes its share of the role attribute's questions in percent, shaded up to one half."""
    rows: list[list[object]] = []
    for role in Attribute:
        total = sum(matrix.get((role, target), 0) for target in Attribute)
        shares = [matrix.get((role, target), 0) / total if total else math.nan for target in Attribute]
        shades = [0 if math.isnan(share) else round(_SHADES * min(2 * share, 1.0)) for share in shares]
        shaded = Markup('<span class="shade s{}">{}</span>')
        rows.append([role, *map(shaded.format, shades, (decimal(100 * share, 0) for share in shares))])
    return Table([Column("", words=True, heads=True), *map(Column, Attribute)], rows, title=title)


def _examples(questions: tuple[Question, ...], seed: int) -> dict[Kind, list[Question]]:
    drawn = sample(questions, EXAMPLES, seed + 1)
    return {kind: [question for question in drawn if question.kind is kind] for kind in Kind}
