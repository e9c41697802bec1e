"""The quality of a benchmark, beside another one, for terminals and browsers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from markupsafe import Markup
from rich.console import Console, Group, RenderableType
from rich.text import Text

from biaslens._util.text import printable
from biaslens.benchmark.quality.measure import Quality
from biaslens.benchmark.quality.source import Requirement
from biaslens.benchmark.quality.variety import Coverage, Evenness, Matrix, Spread, sample
from biaslens.embedding import HOW_TO_INSTALL, MODEL
from biaslens.report.page import environment
from biaslens.report.table import KINDS, NOTHING, Column, Table, between, decimal, percent
from biaslens.schema import Attribute, Kind

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

    label: str
    value: float
    shown: str
    better: int = 0

    def ahead(self, other: _Row) -> int:
        """Say which of two values is better: -1 this one, 1 the other, 0 neither."""
        if not self.better or math.isnan(self.value) or math.isnan(other.value) or self.shown == other.shown:
            return 0
        return -1 if (self.value < other.value) == (self.better == _LOWER) else 1


def _number(label: str, value: float, places: int = 0, better: int = 0) -> _Row:
    return _Row(label, value, NOTHING if math.isnan(value) else f"{value:,.{places}f}", better)


def _share(label: str, value: float, better: int = 0) -> _Row:
    return _Row(label, value, percent(value), better)


def _of(label: str, count: int, total: int, better: int = 0) -> _Row:
    share = count / total if total else math.nan
    return _Row(label, share, f"{count:,} ({percent(share)})" if count else "0", better)


def _sections(quality: Quality) -> dict[str, list[_Row]]:
    """The numbers of a report; another benchmark has the same rows in the same order."""
    questions, roles, repeats = len(quality.source.questions), len(quality.source.roles), quality.duplicates
    fit, wording, balance, reading = quality.role_fit, quality.diversity, quality.balance, quality.readability[None]
    leaked = sum(not leak.by_design for leak in quality.leaks)
    by_kind = {kind: sum(question.kind is kind for question in quality.source.questions) for kind in Kind}
    agreement = _share("estimate agrees with record", quality.agreement)
    return {
        "Size": [
            _number("roles", roles),
            _number("questions", questions),
            *(_number(f"questions, {KINDS[kind]}", count) for kind, count in by_kind.items()),
        ],
        "Faults": [
            _Row(rule.value, count / questions, f"{count:,}", _LOWER)
            for rule, count in quality.by_rule.items()
            if rule is not Requirement.REPEAT
        ],
        "Repeats, roles off": [
            _of("exact", len(repeats.exact), questions, _LOWER),
            _of("exact but for punctuation and order", repeats.loose, questions, _LOWER),
            _of("with a near duplicate (Jaccard ≥ 0.8)", repeats.near, questions, _LOWER),
        ],
        "Variety of wording": [
            _number("questions in the sample", wording.sample),
            _number("distinct-1", wording.distinct_1, 3, _HIGHER),
            _number("distinct-2", wording.distinct_2, 3, _HIGHER),
            _number("self-BLEU (0 to 100)", wording.self_bleu, 1, _LOWER),
        ],
        f"Variety of meaning ({MODEL})": _meaning(quality.spread),
        "What is compared, estimated from words": [*_compared(quality.estimated), agreement],
        "What is compared, as recorded": _compared(quality.recorded),
        "Balance": [
            _of("with a mirror, groups swapped", balance.swapped, balance.originals, _HIGHER),
            _of("yes/no with a reversed mirror", balance.reversed, balance.yes_no, _HIGHER),
            _share("in the usual order of the pair (50 % is balanced)", balance.one_sided, _LOWER),
            _share("usual group as option A (50 % is balanced)", balance.option_a, _LOWER),
        ],
        "Fit and manner": [
            _Row(
                "role guessed from a question, of five (20 % is chance)",
                fit.value,
                f"{percent(fit.value)} ({between(fit.low, fit.high)})",
                _HIGHER,
            ),
            _number("ways to begin, effective number", quality.manner.openings.effective, 0, _HIGHER),
            _share("begin in one of the ten commonest", quality.manner.commonest, _LOWER),
            _share("ask what people think", quality.manner.perception, _LOWER),
            _share("ask for a fact", quality.manner.factual, _LOWER),
        ],
        "Roles that state a trait": [
            _of("roles not of character", leaked, roles, _LOWER),
            _of("roles of character (by design)", len(quality.leaks) - leaked, roles),
        ],
        "Length and reading": [
            _number("words a question, mean", reading.mean_length, 1),
            _Row(
                "least / quartile / median / quartile / most",
                reading.lengths[2],
                " / ".join(f"{length:.0f}" for length in reading.lengths),
            ),
            _number("Flesch Reading Ease", reading.flesch, 1, _HIGHER),
            _number("Flesch-Kincaid grade", reading.grade, 1, _LOWER),
        ],
    }


def _meaning(spread: Spread | None) -> list[_Row]:
    labels = ("mean similarity of two questions", "Vendi score")
    if spread is None:
        missing = f"not measured: {HOW_TO_INSTALL}"
        return [_Row(labels[0], math.nan, missing, _LOWER), _Row(labels[1], math.nan, missing, _HIGHER)]
    return [_number(labels[0], spread.similarity, 3, _LOWER), _number(labels[1], spread.vendi, 1, _HIGHER)]


def _compared(found: Coverage | None) -> list[_Row]:
    nothing = Evenness(0, 0, math.nan, math.nan)
    targets, pairs = (found.targets, found.pairs) if found else (nothing, nothing)
    return [
        _share("questions with a known target", found.known if found else math.nan),
        _number("entropy over targets, bits (at most 3.46)", targets.bits, 2, _HIGHER),
        _share("share of the most possible", targets.share, _HIGHER),
        _number("sets of groups", pairs.categories if found else math.nan),
        _number("entropy over sets of groups, bits", pairs.bits, 2, _HIGHER),
        _share("share of the most possible for these sets", pairs.share, _HIGHER),
        _number("effective number of sets", pairs.effective, 0, _HIGHER),
    ]


def _numbers(both: list[Quality], strong: Callable[[str], object]) -> Table:
    """Every number of the benchmarks; of two the better one is `strong`, and an arrow points to it."""
    columns = [Column("", words=True, wraps=True)]
    columns += [Column(f"{one.source.name}\n{one.source.version}".rstrip(), wraps=True) for one in both]
    columns += [Column("", words=True, wraps=True)] if len(both) > 1 else []
    lines: list[list[object] | None] = []
    for sections in zip(*(_sections(one).items() for one in both), strict=True):
        lines += [None, [strong(sections[0][0]), *[""] * (len(columns) - 1)]]
        for found in zip(*(rows for _, rows in sections), strict=True):
            winner = found[0].ahead(found[1]) if len(found) > 1 else 0
            texts = [
                strong(row.shown) if side == winner else row.shown for side, row in zip((-1, 1), found, strict=False)
            ]
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
    drawn = sample(source.questions, EXAMPLES, quality.seed + 1)
    by_rule = {rule: [fault for fault in quality.faults if fault.rule is rule] for rule in Requirement}
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
        "examples": {kind: [question for question in drawn if question.kind is kind] for kind in Kind},
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
