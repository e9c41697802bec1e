"""The report for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from biaslens.benchmark.quality.faults import Rule
from biaslens.benchmark.quality.measure import Quality
from biaslens.benchmark.quality.rows import ahead, rows

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
            yield Text(f"Note on {one.source.name}: {_printable(note)}")
    if leaked := [leak for leak in quality.leaks if not leak.by_design]:
        listed = ", ".join(f"{leak.role.name} ({leak.word})" for leak in leaked)
        yield Group(
            Text(), Text("Roles that state a trait, to look at: ", style="bold").append(_printable(listed), "not bold")
        )
    yield Group(Text(), _faults(quality))


def _numbers(both: list[Quality]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("", overflow="fold")
    for one in both:
        title = Text(f"{_printable(one.source.name)}\n{_printable(one.source.version)}")
        table.add_column(title, justify="right", overflow="fold")
    if len(both) > 1:
        table.add_column("")
    section = ""
    for found in zip(*map(rows, both), strict=True):
        if found[0].section != section:
            section = found[0].section
            table.add_section()
            table.add_row(Text(section, style="bold"))
        sign = [_SIGNS[ahead(*found)]] if len(found) > 1 else []
        table.add_row(f"  {found[0].label}", *(Text(row.shown) for row in found), *sign)
    return table


def _faults(quality: Quality) -> RenderableType:
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
                lines.append(Text(f"  {fault.place}: {_printable(fault.message)}"))
        if count > SHOWN:
            lines.append(Text(f"  … and {count - SHOWN:,} more; --json and --page list all", style="dim"))
    return Group(*lines)


def _printable(text: str) -> str:
    """Text of unknown origin without control characters, which could steer the terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
