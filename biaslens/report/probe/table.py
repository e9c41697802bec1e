"""The gaps of some models, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from biaslens.probe.gaps import Reference, metric
from biaslens.probe.intervals import Kind, covers
from biaslens.report.probe.words import HARM, REFERENCES, gap_cells, remarks
from biaslens.report.table import printable

_LEFT = ("group", "off zero")


def print_gaps(rows: pd.DataFrame, console: Console | None = None) -> None:
    """Print intervals of gaps, a table for each model and attribute, with what the intervals cover.

    Parameters
    ----------
    rows
        From `intervals`, of one kind.
    console
        Where to; standard output by default.
    """
    console = console or Console()
    for renderable in render(rows):
        console.print(renderable)


def render(rows: pd.DataFrame) -> Iterator[RenderableType]:
    """Give the parts of the output in their order."""
    for (model, attribute), part in rows.groupby(["model", "attribute"], sort=False):
        prompts = int(part["prompts"].iloc[0])
        tables: list[RenderableType] = []
        for name, of_metric in part.groupby("metric", sort=False):
            title = Text(printable(f"{model}, {attribute}, {metric(str(name)).title}"), style="bold")
            title.append(f" ({prompts} {'prompt' if prompts == 1 else 'prompts'})", style="not bold")
            tables += [title, _table(of_metric), Text()]
        notes = [Text(printable(note), style="dim") for note in remarks(part)]
        yield Group(*tables, *notes, *([Text()] if notes else []))
    kind: Kind = rows["interval"].iloc[0]
    reference: Reference = rows["reference"].iloc[0]
    yield Text(f"Gap: the group's rate minus {REFERENCES[reference]}, in percentage points.", style="dim")
    yield Text("False/of: summed over the prompts.", style="dim")
    yield Text(HARM, style="dim")
    yield Text(f"The {kind} interval covers {covers(kind, reference)}.", style="dim")


def _table(rows: pd.DataFrame) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True, header_style="bold")
    cells = {name: column for name, column in gap_cells(rows).items() if name != "metric"}
    for name in cells:
        table.add_column(name, justify="left" if name in _LEFT else "right", overflow="fold", no_wrap=name != "group")
    for row in zip(*cells.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
