"""The gap of each group under each model, with its interval; the harmful side is marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from biaslens.probe.gaps import metric
from biaslens.report.figures.style import FAINT, INK, MARKERS, panels, short, styled
from biaslens.report.probe.words import INTERVALS, REFERENCES, group_name, percent

HARMFUL = "#a02c0d"
FAVOURABLE = "#8fc1e3"
_SHADE = "#f8ece7"

_LOOKS: dict[str, dict[str, Any]] = {
    "harmful": {"face": HARMFUL, "edge": HARMFUL, "width": 2.0},
    "favourable": {"face": FAVOURABLE, "edge": "#2f6f9f", "width": 2.0},
    "": {"face": "white", "edge": "#6b6b6b", "width": 1.0},
}
"""By direction: dark filled, light filled and hollow marks, which stay apart in grey."""

_COLUMNS = 3
"""Of the legend."""

_WORDS = {
    "harmful": "off zero, to the group's harm",
    "favourable": "off zero, in its favour",
    "": "not told from zero",
}


def gap_figure(rows: pd.DataFrame) -> Figure:
    """Draw the gaps of one attribute: a panel for each metric, a row for each group, a mark for each model.

    The harmful side of zero is shaded and hatched, and says so; the marks differ by model in shape, and by direction in
    darkness and filling.

    Parameters
    ----------
    rows
        Of `intervals`, one attribute, one kind of interval and one reference; any metrics and models.
    """
    metrics, groups = list(dict.fromkeys(rows["metric"])), list(dict.fromkeys(rows["group"]))
    models = list(dict.fromkeys(rows["model"]))
    lane = min(0.16, 0.8 / len(models))
    height = 1.9 + len(groups) * max(0.42, 0.15 * len(models) + 0.18) + 0.17 * -(-len(models) // _COLUMNS)
    reach = 1.12 * float(np.nanmax([0.01, *rows[["gap", "low", "high"]].abs().max()]))
    with styled():
        figure, (cells,) = panels(1, len(metrics), width=2.0 + 3.1 * len(metrics), height=height, sharey=True)
        for axes, name in zip(cells, metrics, strict=True):
            _panel(axes, rows[rows["metric"] == name], models, groups, lane=lane, reach=reach)
            axes.set_title(metric(name).title)
        cells[0].set_yticks(range(len(groups)), _labels(rows, groups), color=INK)
        cells[0].set_ylim(len(groups) - 0.5, -0.62)
        kind, reference = rows["interval"].iloc[0], rows["reference"].iloc[0]
        figure.supxlabel(
            f"Gap in percentage points: the group's rate minus {REFERENCES[reference]}, with "
            f"{percent(rows['level'].iloc[0])} {INTERVALS[kind]}\n"
            "n: sentences that the rate of one prompt is taken over",
            fontsize=8,
        )
        _legend(figure, models, sorted(set(rows["direction"]), key=list(_LOOKS).index))
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, models: list[str], groups: list[str], *, lane: float, reach: float) -> None:
    harmful = metric(rows["metric"].iloc[0]).harmful
    axes.set_xlim(-reach, 1.18 * reach)
    edge = axes.get_xlim()[1] if harmful > 0 else -reach
    axes.axvspan(0, edge, facecolor=_SHADE, edgecolor="#ecd5ca", hatch="...", linewidth=0, zorder=0)
    axes.text(
        0.98 * (reach if harmful > 0 else -reach), -0.56, "more harm →" if harmful > 0 else "← more harm", fontsize=7,
        color=HARMFUL, ha="right" if harmful > 0 else "left", va="top", zorder=4,
    )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    for place in range(1, len(groups)):
        axes.axhline(place - 0.5, color="#e4e4e4", linewidth=0.8, zorder=1)
    for number, model in enumerate(models):
        of_model = rows[rows["model"] == model].set_index("group").reindex(groups)
        offset = (number - (len(models) - 1) / 2) * lane
        for place, row in enumerate(of_model.itertuples()):
            _mark(axes, row, place + offset, MARKERS[number % len(MARKERS)])
    _denominators(axes, rows, groups)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.0f}" if value else "0"))
    axes.tick_params(axis="y", length=0)


def _mark(axes: Axes, row: Any, place: float, marker: str) -> None:  # noqa: ANN401 - a row of `itertuples`
    if not np.isfinite(row.gap):
        return
    look = _LOOKS[row.direction]
    if np.isfinite(row.low):
        axes.hlines(place, row.low, row.high, color=look["edge"], linewidth=look["width"], zorder=2)
    axes.plot(
        [row.gap], [place], marker=marker, markersize=5.0, markerfacecolor=look["face"], markeredgecolor=look["edge"],
        markeredgewidth=1.0, linestyle="none", zorder=3,
    )  # fmt: skip


def _denominators(axes: Axes, rows: pd.DataFrame, groups: list[str]) -> None:
    """Write how many sentences a rate of one prompt rests on."""
    per_prompt = (rows["of"] / rows["prompts"]).groupby(rows["group"]).agg(["min", "max"])
    for place, group in enumerate(groups):
        if group in per_prompt.index:
            low, high = per_prompt.loc[group]
            axes.annotate(
                f"n {low:.0f}" if low == high else f"n {low:.0f}–{high:.0f}", (1.0, place), (-2, 0),
                xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=6.5, color="#5a5a5a",
                ha="right", va="center", zorder=4,
            )  # fmt: skip


def _labels(rows: pd.DataFrame, groups: list[str]) -> list[str]:
    terms = rows.groupby("group")["terms"].max()
    return [f"{group_name(group)}\n{terms[group]} {'term' if terms[group] == 1 else 'terms'}" for group in groups]


def _legend(figure: Figure, models: list[str], directions: list[str]) -> None:
    """Models in the first rows, directions in the last one."""
    shapes = [
        Line2D([], [], linestyle="none", marker=MARKERS[number % len(MARKERS)], markerfacecolor=FAINT,
               markeredgecolor=FAINT, markersize=5.5, label=short(model))
        for number, model in enumerate(models)
    ]  # fmt: skip
    fillings = [
        Line2D([], [], color=_LOOKS[name]["edge"], linewidth=_LOOKS[name]["width"], marker="o", markersize=5.5,
               markerfacecolor=_LOOKS[name]["face"], markeredgecolor=_LOOKS[name]["edge"], label=_WORDS[name])
        for name in directions
    ]  # fmt: skip
    blank = Line2D([], [], linestyle="none", label=" ")
    cells = [*shapes, *[blank] * (-len(shapes) % _COLUMNS), *fillings, *[blank] * (-len(fillings) % _COLUMNS)]
    by_column = [cell for column in range(_COLUMNS) for cell in cells[column::_COLUMNS]]
    figure.legend(handles=by_column, loc="outside upper left", ncols=_COLUMNS, fontsize=8)
