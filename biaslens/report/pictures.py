"""Pictures on pages, as numbers for templates: heat maps, intervals and pairs of rates on one axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from biaslens.report.table import NOTHING

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
