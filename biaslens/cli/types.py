"""Types of options: numbers within bounds that are stated, and names of files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

MOST = 10_000_000
"""Of anything that is counted; what takes more takes several commands."""

MOST_TRIALS = 1_000
MOST_AT_ONCE = 10_000

PATH = click.Path(path_type=Path)


class Real(click.FloatRange):
    """A number that is one: neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Refuse what no range does: every comparison with NaN is false."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class FileName(click.Path):
    """The name of a file to write or go on with, which no folder has."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Refuse the empty name and folders."""
        path = Path(value)
        if path.name in ("", "..") or path.is_dir():
            self.fail(f"{str(value)!r} names no file, or a folder; give the name of a file.", param, ctx)
        return super().convert(value, param, ctx)


FILE = FileName()

SEED = click.IntRange(0, 2**63 - 1)


def count(least: int = 1, most: int = MOST) -> click.IntRange:
    """Make the type of a number of things."""
    return click.IntRange(least, most)
