"""How every figure looks: readable in grey, by the colour-blind, and the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from biaslens._util.files import replacing
from biaslens.schema import Kind

INK = "#1b1b1b"
FAINT = "#8a8a8a"

KIND_NAMES = {"all": "All kinds", Kind.YES_NO.value: "Yes/no", Kind.CHOICE.value: "Choice", Kind.WHY.value: "Why"}

STEPS = ("#12436d", "#28a197", "#f4b942", "#d9d9d9")
"""Four steps from dark to light: apart in grey, and for every common kind of colour vision."""

HATCHES = ("", "///", "...", "")
"""A second signal beside colour, in the same order."""

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">")

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the picture is the same everywhere
    "font.size": 9.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.0,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.hashsalt": "biaslens",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a model may be called "$x$"
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw or save within the style of the project; other figures of the process keep theirs."""
    with mpl.rc_context(_RC):
        yield


def panels(rows: int, columns: int, *, width: float, height: float, **options: Any) -> tuple[Figure, list[list[Axes]]]:  # noqa: ANN401 - options of `Figure.subplots`
    """Make a figure with a grid of axes; width and height in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, [list(row) for row in axes]


def percent_axis(axes: Axes, *, upper: float | None = None, lower: float = 0.0) -> None:
    """Show shares as percentages on the x axis, with a light grid behind the marks."""
    axes.set_xlim(lower, upper)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)


def short(name: str, limit: int = 34) -> str:
    """Shorten a name for a label, in the middle, so that its version at the end is kept.

    Examples
    --------
    >>> short("together/meta-llama/Meta-Llama-3-70B-Instruct-Turbo", 20)
    'together/m…uct-Turbo'
    """
    if len(name) <= limit:
        return name
    head = limit // 2
    return f"{name[:head]}…{name[len(name) - (limit - head - 1) :]}"


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write a figure as SVG and PNG beside each other; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        What was drawn.
    stem
        Path without suffix.
    """
    paths = stem.with_name(stem.name + ".svg"), stem.with_name(stem.name + ".png")
    with styled():
        for path, metadata in zip(paths, ({"Date": None, "Creator": None}, {"Software": None}), strict=True):
            with replacing(path) as temporary:
                figure.savefig(temporary, format=path.suffix[1:], dpi=200, metadata=metadata)
    return paths


def ordered(values: Sequence[str], order: Sequence[str]) -> list[str]:
    """Give the distinct values in a known order; unknown ones follow as they come."""
    distinct = list(dict.fromkeys(values))
    return [value for value in order if value in distinct] + [value for value in distinct if value not in order]
