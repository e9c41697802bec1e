"""Tables as data, and what they become: terminal, Markdown, LaTeX, HTML, CSV, JSON."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from biaslens._util.files import replacing
from biaslens._util.text import cell

NOTHING = "–"
"""Stands for a number that is not known."""

_WORDS = frozenset(
    (
        "kind", "condition", "attribute", "role", "mirror", "position", "group", "model", "question", "models", "judge",
        "left out", "family of",
    )
)  # fmt: skip
"""Columns of words wherever they stand."""


_TABLE = Markup(
    '<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n'
    "<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n</div>"
)
_HEADING = {True: Markup('<th scope="col">{}</th>'), False: Markup('<th scope="col" class="number">{}</th>')}
_CELL = {True: Markup("<td>{}</td>"), False: Markup('<td class="number">{}</td>')}
"""By whether it is of words."""
_ROW_HEAD = Markup('<th scope="row">{}</th>')


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name
        Its heading.
    words
        Words stand left, numbers stand right.
    wraps
        A cell may be broken over lines where a terminal is narrow.
    heads
        Its cells name their rows.
    """

    name: str
    words: bool = False
    wraps: bool = False
    heads: bool = False

    @classmethod
    def named(cls, name: str) -> Column:
        """Make a column of words where its name is one of those, else of numbers."""
        return cls(name, words=name in _WORDS, wraps=name in _WORDS)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; where it goes decides how it looks. Texts in it may be of any origin.

    Parameters
    ----------
    columns
        The headings.
    rows
        Cells, as many as columns: texts, numbers for CSV, or styled texts for a terminal. None separates two sections.
    title, notes
        Above the table.
    loose
        Leave two spaces between columns in a terminal, and not one.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[object] | None]
    title: str = ""
    notes: Sequence[str] = ()
    loose: bool = False

    @classmethod
    def of(
        cls, cells: Mapping[str, Iterable[object]] | pd.DataFrame, *, title: str = "", notes: Sequence[str] = ()
    ) -> Table:
        """Make a table of its columns by name, or of a data frame."""
        by_name = cells.to_dict("list") if isinstance(cells, pd.DataFrame) else cells
        rows = list(zip(*by_name.values(), strict=True))
        return cls([Column.named(str(name)) for name in by_name], rows, title, notes)

    def print(self, console: Console | None = None) -> None:
        """Print title, notes, table and an empty line."""
        console = console or Console()
        console.print(Text(printable(self.title), style="bold"), soft_wrap=True)
        for note in self.notes:
            console.print(Text(note, style="dim"))
        console.print(self.terminal())
        console.print()

    def terminal(self) -> RichTable:
        """Give the table alone for a terminal."""
        made = RichTable(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            collapse_padding=not self.loose,
            header_style="bold",
        )
        for column in self.columns:
            made.add_column(
                Text("\n".join(map(printable, column.name.split("\n")))),
                justify="left" if column.words else "right",
                overflow="fold",
                no_wrap=not column.wraps,
            )
        for row in self.rows:
            if row is None:
                made.add_section()
            else:
                made.add_row(*(shown if isinstance(shown, Text) else Text(printable(str(shown))) for shown in row))
        return made

    def markdown(self) -> str:
        """Give the table for Markdown; what stands in its cells cannot break it."""
        headings, rows = self._texts(escaped)
        return pd.DataFrame(rows, columns=pd.Index(headings)).to_markdown(index=False, disable_numparse=True) + "\n"

    def latex(self) -> str:
        """Give the table as LaTeX's tabular with the rules of booktabs."""
        headings, rows = self._texts(_latex)
        lines = [" & ".join(row) + r" \\" for row in (headings, *rows)]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{'l' * len(headings)}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
                r"\bottomrule", r"\end{tabular}", "",
            ]
        )  # fmt: skip

    def html(self) -> Markup:
        """Give the table for a page, in a region that scrolls where it is wide."""
        headings, rows = self._texts(str)
        head = Markup().join(
            _HEADING[column.words].format(name) for column, name in zip(self.columns, headings, strict=True)
        )
        cells = [_ROW_HEAD if column.heads else _CELL[column.words] for column in self.columns]
        body = Markup().join(
            Markup("<tr>{}</tr>").format(
                Markup().join(shown.format(text) for shown, text in zip(cells, row, strict=True))
            )
            for row in rows
        )
        return _TABLE.format(title=self.title, head=head, body=body)

    def csv(self, path: Path) -> Path:
        """Write the table as CSV: six decimals, an empty cell for what is not known; p-values keep their digits.

        What a spreadsheet would run as a formula gets an apostrophe in front.
        """
        exact = [column.name.startswith("p_") or column.name == "p" for column in self.columns]
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(cell(column.name) for column in self.columns)
            writer.writerows(map(_csv, row, exact) for row in self.rows if row is not None)
        return path

    def _texts(self, written: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
        headings = [written(column.name) for column in self.columns]
        return headings, [[written(str(shown)) for shown in row] for row in self.rows if row is not None]


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a data frame as `Table.csv` does."""
    return Table.of(frame).csv(path)


def _csv(value: object, exact: bool) -> object:  # noqa: FBT001 - mapped over
    if isinstance(value, str):
        return cell(value)
    if isinstance(value, float):
        # Six decimals tell any two counts of a run apart, and are the same on every machine.
        return "" if math.isnan(value) else f"{value:.6g}" if exact else f"{value:.6f}"
    return "" if value is pd.NA else value


def json_records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Give the rows of a table for JSON, which has no NaN and no infinity: both become null.

    Examples
    --------
    >>> json_records(pd.DataFrame({"p": [1e-80, math.nan], "k": [1, 2]}))
    [{'p': 1e-80, 'k': 1}, {'p': None, 'k': 2}]
    """
    return [{str(name): _jsonable(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _jsonable(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value is pd.NA else value


def printable(text: str) -> str:
    r"""Replace the control characters in a text of unknown origin: they could steer the terminal.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(character if character.isprintable() else "�" for character in text)


def percent(value: float) -> str:
    """A share for people: one decimal, a dash where it is not known.

    Examples
    --------
    >>> percent(0.1234), percent(float("nan"))
    ('12.3 %', '–')
    """
    return NOTHING if pd.isna(value) else f"{100 * value:.1f} %"


def intervals(rows: pd.DataFrame, name: str, *, points: bool = False) -> list[str]:
    """Rates of a table with their intervals, for people: "12.3 % (10.1 to 14.5)".

    Parameters
    ----------
    rows
        With the columns `name`, `name_low` and `name_high`.
    name
        The column.
    points
        Differences in percentage points, with their sign: "+3.1 (1.2 to 5.0)".
    """
    shown = []
    for value, low, high in zip(rows[name], rows[f"{name}_low"], rows[f"{name}_high"], strict=True):
        text = NOTHING if pd.isna(value) else f"{100 * value:+.1f}" if points else percent(value)
        shown.append(text if pd.isna(low) else f"{text} ({100 * low:.1f} to {100 * high:.1f})")
    return shown


def corrected_intervals(rows: pd.DataFrame) -> list[str]:
    """Rates corrected by labels with their intervals, for people, of a table of `corrected_rates` or `compare`."""
    return intervals(
        rows.rename(columns={"corrected_low": "corrected_rate_low", "corrected_high": "corrected_rate_high"}),
        "corrected_rate",
    )


def escaped(text: str) -> str:
    """Write a text within Markdown, or a cell of a table in it."""
    return text.replace("|", r"\|").replace("\n", " ")


_TEX = {
    "\\": r"\textbackslash ",
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde ", "^": r"\textasciicircum ", "–": "--",
}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
