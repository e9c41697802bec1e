"""Tables as data, and what they become: terminal, Markdown, LaTeX, HTML, CSV, JSON; pictures on pages, as numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from biaslens._util.files import replacing
from biaslens._util.text import cell, finite, printable
from biaslens.schema import Condition, Kind

if TYPE_CHECKING:
    import pandas as pd


# pandas is imported where a table of its own is read: many are made without, and it is most of the memory.

NOTHING = "–"
"""Stands for a number that is not known."""

LEVEL = 0.05
"""A p-value, corrected for the number of tests, below which a difference is told."""

KINDS = {"all": "all kinds", Kind.YES_NO.value: "yes/no", Kind.CHOICE.value: "choice", Kind.WHY.value: "why"}
CONDITIONS = {
    Condition.ROLE.value: "playing the roles",
    Condition.NO_ROLE.value: "without a role",
    Condition.NEUTRAL_ROLE.value: "as an ordinary person",
}

_WORDS = frozenset(
    (
        "kind", "condition", "against", "attribute", "role", "mirror", "position", "group", "model", "question",
        "models", "judge", "left out", "family of",
    )
)  # fmt: skip
"""Columns of words wherever they stand."""

_WRAPPED = 16
"""Width to which a column that may wrap is squeezed before the table is folded."""

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
    """A column of a table; its cells may name their rows, and be broken over lines where a terminal is narrow."""

    name: str
    words: bool = False
    wraps: bool = False
    heads: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; where it goes decides how it looks. Texts in it may be of any origin.

    Cells are texts, numbers for CSV, styled texts for a terminal, or markup for a page. A row that is None separates
    two sections. Words stand left, numbers stand right. A `loose` table has two spaces between columns in a terminal.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[object] | None]
    title: str = ""
    notes: Sequence[str] = ()
    loose: bool = False

    @classmethod
    def of(
        cls,
        cells: Mapping[str, Iterable[object]] | pd.DataFrame,
        *,
        title: str = "",
        notes: Sequence[str] = (),
        words: Collection[str] | None = None,
    ) -> Table:
        """Make a table of its columns by name, or of a data frame; `words` names columns of words that never wrap."""
        by_name = (
            {name: list(of) for name, of in cells.items()} if isinstance(cells, Mapping) else cells.to_dict("list")
        )
        rows = list(zip(*by_name.values(), strict=True))
        columns = [
            Column(str(name), words=_in_words(str(name), values), wraps=_in_words(str(name), values))
            if words is None
            else Column(str(name), words=name in words)
            for name, values in by_name.items()
        ]
        return cls(columns, rows, title, notes)

    def print(self, console: Console | None = None) -> None:
        """Print title, notes, table and an empty line.

        On a terminal a table that is too wide is folded; elsewhere what cannot wrap is as wide as it must be.
        """
        console = console or Console()
        if self.title:
            console.print(Text(printable(self.title), style="bold"), soft_wrap=True)
        for note in self.notes:
            console.print(Text(note, style="dim"))
        if console.is_terminal:
            console.print(self)
        else:
            table, least = self.terminal(), sum(self._widths()) + self._gap * (len(self.columns) - 1)
            if least > console.width or not any(column.wraps for column in self.columns):
                table.width = least
            console.print(table, crop=False)
        console.print()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Draw the table alone: in parts below each other where it is too wide."""
        for number, part in enumerate(self._folded(options.max_width)):
            if number:
                yield Text()
            yield part.terminal()

    def _folded(self, width: int) -> Iterator[Table]:
        """Parts that are narrow enough, each with the columns that say what a row is, and at least one more."""
        first = next((place for place, column in enumerate(self.columns) if not column.words), len(self.columns))
        heads = list(range(max(first, 1)))
        chosen, widths = list(heads), self._widths()
        for place in range(len(heads), len(self.columns)):
            wide = sum(widths[each] for each in (*chosen, place)) + self._gap * len(chosen)
            if len(chosen) > len(heads) and wide > width:
                yield self._only(chosen)
                chosen = list(heads)
            chosen.append(place)
        yield self._only(chosen)

    @property
    def _gap(self) -> int:
        """Blanks between two columns."""
        return 3 if self.loose else 2

    def _widths(self) -> list[int]:
        """The least width of each column."""
        rows = [row for row in self.rows if row is not None]
        texts = [[column.name, *(str(row[place]) for row in rows)] for place, column in enumerate(self.columns)]
        longest = [max(map(cell_len, column)) for column in texts]
        return [
            min(wide, _WRAPPED) if column.wraps else wide for wide, column in zip(longest, self.columns, strict=True)
        ]

    def _only(self, places: Sequence[int]) -> Table:
        rows = [None if row is None else [row[place] for place in places] for row in self.rows]
        return replace(self, columns=[self.columns[place] for place in places], rows=rows)

    def terminal(self) -> RichTable:
        """Give the table alone for a terminal."""
        made = RichTable(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=not self.loose, header_style="bold"
        )
        for column in self.columns:
            made.add_column(
                Text(printable(column.name)),
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
        import pandas as pd

        headings, rows = self._texts(escaped)
        return pd.DataFrame(rows, columns=pd.Index(headings)).to_markdown(index=False, disable_numparse=True) + "\n"

    def latex(self) -> str:
        """Give the table as LaTeX's tabular with the rules of booktabs."""
        headings, rows = self._texts(_latex)
        head, *body = [" & ".join(row) + r" \\" for row in (headings, *rows)]
        begin, end = rf"\begin{{tabular}}{{{'l' * len(headings)}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end, ""])

    def html(self) -> Markup:
        """Give the table for a page, in a region that scrolls where it is wide."""
        head = Markup().join(_HEADING[column.words].format(column.name) for column in self.columns)
        cells = [_ROW_HEAD if column.heads else _CELL[column.words] for column in self.columns]
        body = Markup().join(
            Markup("<tr>{}</tr>").format(Markup().join(map(Markup.format, cells, row)))
            for row in self.rows
            if row is not None
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


def _in_words(name: str, values: Iterable[object]) -> bool:
    """Whether a column is one of words; some share their name with columns of shares."""
    return name.lower() in _WORDS and not all(str(value) == NOTHING or str(value).endswith(" %") for value in values)


def labelled(lines: Mapping[str, object]) -> Text:
    """Lines of labels and what they say, for a terminal; those that say nothing are left out."""
    text = Text()
    for label, said in lines.items():
        if said:
            text.append(f"{label:<12} ", style="bold").append(printable(str(said)) + "\n")
    text.rstrip()
    return text


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a data frame as `Table.csv` does."""
    return Table.of(frame).csv(path)


def _csv(value: object, exact: bool) -> object:  # noqa: FBT001 - mapped over
    if isinstance(value, str):
        return cell(value)
    if isinstance(value, float):
        # Six decimals tell any two counts of a run apart, and are the same on every machine.
        return "" if math.isnan(value) else f"{value:.6g}" if exact else f"{value:.6f}"
    return "" if is_missing(value) else value


def json_records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Give the rows of a table for JSON, which has no NaN and no infinity: both become null.

    >>> import pandas as pd
    >>> json_records(pd.DataFrame({"p": [1e-80, math.nan], "k": [1, 2]}))
    [{'p': 1e-80, 'k': 1}, {'p': None, 'k': 2}]
    """
    known = frame.astype(object).where(frame.notna(), None)
    return cast("list[dict[str, object]]", finite(known.to_dict("records")))


def is_missing(value: object) -> bool:
    """Whether there is no value: None, NaN, or what pandas has for it in columns of no floats."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def known(value: float) -> float | None:
    """None for NaN: an empty cell in CSV, null in JSON; templates know no NaN either."""
    return None if math.isnan(value) else float(value)


def percent(value: float) -> str:
    """A share for people: one decimal, a dash where it is not known.

    >>> percent(0.1234), percent(float("nan"))
    ('12.3 %', '–')
    """
    return NOTHING if is_missing(value) else f"{100 * value:.1f} %"


def decimal(value: float, places: int = 2) -> str:
    """A number for people; a dash where it is not known."""
    return NOTHING if is_missing(value) else f"{value:.{places}f}"


def between(low: float, high: float, *, factor: float = 100, places: int = 1) -> str:
    """An interval for people, of a share in percent by default; a dash where it is not known.

    >>> between(0.101, 0.145), between(0.1, 0.2, factor=1, places=2)
    ('10.1 to 14.5', '0.10 to 0.20')
    """
    return (
        NOTHING if is_missing(low) or is_missing(high) else f"{factor * low:.{places}f} to {factor * high:.{places}f}"
    )


def p_value(p: float) -> str:
    """A p-value with as many digits as say something.

    >>> p_value(0.03127), p_value(0.00312), p_value(0.00001), p_value(float("nan"))
    ('0.031', '0.0031', '< 0.0001', '–')
    """
    return NOTHING if is_missing(p) else "< 0.0001" if p < 1e-4 else f"{p:.3f}" if p >= 0.01 else f"{p:.4f}"


def intervals(rows: pd.DataFrame, name: str, *, points: bool = False) -> list[str]:
    """Rates of a table with their intervals, for people: "12.3 % (10.1 to 14.5)".

    Differences are in percentage `points` with their sign: "+3.1 (1.2 to 5.0)". The ends stand in ``NAME_low`` and
    ``NAME_high``; those of ``corrected_rate`` in ``corrected_low`` and ``corrected_high``, of ``pooled_rate`` alike.
    """
    stem = name if f"{name}_low" in rows else name.removesuffix("_rate")
    shown = []
    for value, low, high in zip(rows[name], rows[f"{stem}_low"], rows[f"{stem}_high"], strict=True):
        text = NOTHING if is_missing(value) else f"{100 * value:+.1f}" if points else percent(value)
        shown.append(text if is_missing(low) else f"{text} ({between(low, high)})")
    return shown


def shown(rows: pd.DataFrame, columns: Mapping[str, str], *, in_words: bool = False) -> dict[str, list[object]]:
    """Columns of a data frame for people, by heading: every number as its name asks for.

    Counts have a thousands separator, coefficients two decimals, rates with an interval show it, all else is a share.
    "k/n" is "k of n", with a dash for k where nothing is valid; "low..high" and "low–high" are ranges. With `in_words`
    conditions and kinds are called by what they are and not by their ids.
    """
    return {heading: list(_shown(rows, source, in_words=in_words)) for heading, source in columns.items()}


def _shown(rows: pd.DataFrame, name: str, *, in_words: bool) -> Iterable[object]:
    import pandas as pd

    for sign in ("/", "..", "–"):
        first, separated, second = name.partition(sign)
        if separated:
            return _two(rows, first, second, sign)
    if f"{name}_low" in rows or name in ("corrected_rate", "pooled_rate"):
        return intervals(rows, name, points=name in ("difference", "excess", "gap", "lean", "beyond_others"))
    values = rows[name]
    form: Callable[[Any], object] = percent
    if in_words and name in ("condition", "against", "kind"):
        form = (KINDS if name == "kind" else CONDITIONS).__getitem__
    elif not pd.api.types.is_numeric_dtype(values):
        form = lambda value: value or NOTHING  # noqa: E731
    elif pd.api.types.is_integer_dtype(values) or name == "rank":
        form = "{:,.0f}".format
    elif name == "p" or name.startswith("p_"):
        form = p_value
    elif name.endswith(("kappa", "alpha", "ac1")):
        form = decimal
    elif name.startswith("standard_error"):
        form = lambda value: decimal(100 * value)  # noqa: E731
    return map(form, values)


def _two(rows: pd.DataFrame, first: str, second: str, sign: str) -> list[str]:
    import pandas as pd

    if sign == "/":
        valid = rows["valid_trials"] if "valid_trials" in rows else rows[second]
        counts = zip(rows[first], rows[second], valid, strict=True)
        return [f"{f'{k:,}' if any_valid else NOTHING} of {n:,}" for k, n, any_valid in counts]
    ends = zip(rows[first], rows[second], strict=True)
    if sign == "–":
        return [f"{low}–{high}" for low, high in ends]
    if pd.api.types.is_float_dtype(rows[first].dtype) and not pd.api.types.is_extension_array_dtype(rows[first].dtype):
        return [f"{between(low, high)} %" for low, high in ends]
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in ends]


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


FEWEST = 30
"""Valid answers under which a cell of a heat map stands in brackets, and is not coloured: it says little."""

SHADES = 10
"""Steps of a heat map's colours after the lightest; the stylesheet has them as h0 to h10."""

_LEAST_TOP = 0.05


@dataclass(frozen=True, slots=True)
class Heat:
    """One cell: what it says, its step of colour, None for none, and the address of its answers, "" for none."""

    text: str
    shade: int | None
    address: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Bias rates by two things; `top` is the rate of the darkest colour, None where too few are valid in every cell."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Heat]]]
    top: float | None

    @classmethod
    def of(
        cls,
        columns: Sequence[str],
        rows: Sequence[tuple[str, Sequence[tuple[float, int, str]]]],
        *,
        fewest: int = FEWEST,
    ) -> HeatMap:
        """Colour cells: rate, valid answers and address of each."""
        enough = [rate for _, cells in rows for rate, valid, _ in cells if valid >= FEWEST]
        top = max(_LEAST_TOP, *enough, 0) if enough else None

        def heat(rate: float, valid: int, address: str) -> Heat:
            if not valid:
                return Heat(NOTHING, None)
            text = f"{100 * rate:.1f}"
            if top is None or valid < FEWEST:
                return Heat(f"({text})", None, address)
            return Heat(text, round(SHADES * rate / top), address)

        return cls(columns, [(name, [heat(*cell) for cell in cells]) for name, cells in rows], top)

    def addressed(self, start: str) -> HeatMap:
        """The same with this in front of every address."""
        rows = [
            (name, [replace(cell, address=cell.address and start + cell.address) for cell in cells])
            for name, cells in self.rows
        ]
        return replace(self, rows=rows)


def axis(values: Iterable[float | None]) -> tuple[float, float]:
    """Ends of the axis that the marks of a table share: those of all values, to the next twentieth.

    >>> axis([0.52, 0.58, None])
    (0.5, 0.6)
    """
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return 0.0, 1.0
    low, high = math.floor(20 * min(known)) / 20, math.ceil(20 * max(known)) / 20
    return (low, high) if low < high else (max(0.0, low - 0.05), min(1.0, high + 0.05))
