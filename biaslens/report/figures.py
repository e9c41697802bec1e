"""Figures on paper, and pictures on pages as numbers for templates: intervals, shares, counts, heat maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from biaslens._util.files import replacing
from biaslens._util.text import safe_name
from biaslens.analysis.rates import ALL, PARTS
from biaslens.report.analyses import Analyses
from biaslens.report.table import FEWEST, KINDS
from biaslens.schema import Attribute, Condition, Kind
from biaslens.stats import Estimand

INK = "#1b1b1b"
FAINT = "#8a8a8a"

_KINDS = {kind: name.capitalize() for kind, name in KINDS.items()}

STEPS = ("#12436d", "#28a197", "#f4b942", "#d9d9d9")
"""Four steps from dark to light: apart in grey, and for every common kind of colour vision."""

RAMP = LinearSegmentedColormap.from_list("biaslens", ("#f3f7fb", STEPS[0]))
"""From light to dark for heat maps, on paper as on pages: it stays in order when printed in grey."""

HATCHES = ("", "///", "...", "")
"""A second signal beside colour, in the same order."""

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "<", ">")

_STYLE = mpl.rc_params_from_file(Path(__file__).with_suffix(".mplstyle"), use_default_template=False)


@contextmanager
def styled() -> Iterator[None]:
    """Draw or save within the style of the project; other figures of the process keep theirs."""
    with mpl.rc_context(_STYLE):
        yield


def panels(rows: int, columns: int, *, width: float, height: float, **options: Any) -> tuple[Figure, list[list[Axes]]]:  # noqa: ANN401 - options of `Figure.subplots`
    """Make a figure with a grid of axes; width and height in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, [list(row) for row in axes]


def _by_kind(
    table: pd.DataFrame, rows: Sequence[str], *, width: float, height: float
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Make a figure with a panel of so many inches for each kind of question, and give the kind's rows of the table.

    The panels share the labels of the figure's rows.
    """
    kinds = ordered(list(table["kind"]), [ALL, *Kind])
    figure, (cells,) = panels(1, len(kinds), width=2.4 + width * len(kinds), height=height, sharey=True)
    for axes, kind in zip(cells, kinds, strict=True):
        axes.set_title(_KINDS[kind])
        axes.tick_params(axis="y", length=0)
    cells[0].set_yticks(range(len(rows)), rows, color=INK)
    cells[0].set_ylim(len(rows) - 0.5, -0.5)
    return figure, [(axes, table[table["kind"] == kind]) for axes, kind in zip(cells, kinds, strict=True)]


def _legend_above(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))


def _stacked_bars(
    axes: Axes,
    places: Sequence[Any],
    parts: Mapping[str, NDArray[np.float64]],
    **options: Any,  # noqa: ANN401 - of `Axes.barh`
) -> NDArray[np.float64]:
    """Draw bars of parts that stand behind one another; their ends."""
    left = np.zeros(len(places))
    for (name, widths), colour, hatch in zip(parts.items(), STEPS, HATCHES, strict=False):
        axes.barh(
            places, widths, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.6, label=name,
            **options,
        )  # fmt: skip
        left = left + widths
    return left


def percent_axis(axes: Axes, *, upper: float | None = None, lower: float = 0.0) -> None:
    """Show shares as percentages on the x axis, with a light grid behind the marks."""
    axes.set_xlim(lower, upper)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.grid(axis="x")


def short(name: str, limit: int = 34) -> str:
    """Shorten a name for a label, in the middle, so that its version at the end is kept.

    >>> short("together/meta-llama/Meta-Llama-3-70B-Instruct-Turbo", 20)
    'together/m…uct-Turbo'
    """
    if len(name) <= limit:
        return name
    head = limit // 2
    return f"{name[:head]}…{name[len(name) - (limit - head - 1) :]}"


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write a figure as SVG and PNG beside each other; the same figure gives the same bytes."""
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


@styled()
def counts_by_attribute(rates: pd.DataFrame) -> Figure:
    """Draw stacked bars, a panel a model: biased questions of each kind by attribute of the role.

    `rates` are rows of `analysis.rates` by attribute and kind under one condition, without totals.
    """
    models = list(dict.fromkeys(rates["model"]))
    attributes = ordered(list(rates["attribute"]), list(Attribute))
    kinds = ordered(list(rates["kind"]), list(Kind))
    columns = min(3, len(models))
    rows = -(-len(models) // columns)
    figure, grid = panels(rows, columns, width=1.4 + 3.0 * columns, height=0.8 + 3.0 * rows, sharex=True, sharey=True)
    cells = [axes for row in grid for axes in row]
    for axes, model in zip(cells, models, strict=False):
        table = (
            rates[rates["model"] == model]
            .pivot_table("biased_questions", "attribute", "kind", aggfunc="sum")
            .reindex(index=attributes, columns=kinds)
        )
        parts = {_KINDS[kind]: table[kind].fillna(0).to_numpy(dtype=float) for kind in kinds}
        left = _stacked_bars(axes, attributes, parts)
        for place, total in enumerate(left):
            axes.annotate(
                f"{total:,.0f}", (total, place), xytext=(3, 0), textcoords="offset points", va="center",
                fontsize=7.5, color=INK,
            )  # fmt: skip
        axes.set_title(short(model))
        axes.margins(x=0.12)
        axes.grid(axis="x")
    cells[0].invert_yaxis()
    for axes in cells[len(models) :]:
        axes.set_visible(False)
    figure.supxlabel("Biased questions (most of the planned trials biased)")
    _legend_above(figure, cells[0])
    return figure


@styled()
def heat_map(rates: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the bias rates of one model and condition as a table of coloured cells, the number in each.

    `rates` are rows of `analysis.rates` by attribute and target, without totals. Cells with fewer than `FEWEST` valid
    trials are left without a colour and their number is put in brackets: they say little. Where all cells are such, the
    figure says so.
    """
    rows = ordered(list(rates["attribute"]), list(Attribute))
    known = rates[rates["target"].isin(list(Attribute))]
    columns = ordered(list(known["target"]), list(Attribute))
    value, valid = (
        known.pivot_table(column, "attribute", "target")
        .reindex(index=rows, columns=columns)
        .to_numpy(dtype=float, na_value=np.nan)
        for column in ("bias_rate", "valid_trials")
    )
    valid = np.nan_to_num(valid)
    shaded = np.where(valid >= FEWEST, value, np.nan)
    figure, ((axes,),) = panels(1, 1, width=max(4.4, 1.9 + 0.62 * len(columns)), height=1.5 + 0.38 * len(rows))
    enough = bool(np.isfinite(shaded).any())
    top = max(0.05, float(np.nanmax(shaded))) if enough else 0.05
    image = axes.imshow(shaded, cmap=RAMP, vmin=0, vmax=top, aspect="auto")
    for (row, column), rate in np.ndenumerate(value):
        few = valid[row, column] < FEWEST
        dark = not few and rate > 0.65 * top
        text = "–" if np.isnan(rate) else f"({rate:.0%})" if few else f"{rate:.0%}"
        colour = "white" if dark else FAINT if few else INK
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("Attribute the question asks about")
    axes.set_ylabel("Attribute of the role")
    axes.set_title(short(title, 70))
    if not enough:
        figure.suptitle(f"Every cell has under {FEWEST} valid trials: too few for a colour", fontsize=8.5)
        return figure
    bar = figure.colorbar(image, ax=axes, shrink=0.8, format=PercentFormatter(1.0, decimals=0))
    bar.set_label(f"Bias rate (brackets: under {FEWEST} valid trials)")
    return figure


_SERIES = {
    Condition.ROLE.value: ("in the role", STEPS[0], STEPS[0]),
    Condition.NO_ROLE.value: ("without a role", "white", STEPS[1]),
    Condition.NEUTRAL_ROLE.value: ("as an ordinary person", STEPS[2], "#7a5a10"),
    "published": ("as published", "white", FAINT),
    "ours": ("by the rules of biaslens", STEPS[0], STEPS[0]),
    "raw": ("raw", STEPS[0], STEPS[0]),
    "by labels": ("corrected by labels", STEPS[2], "#7a5a10"),
    "corrected": ("and with the why answers corrected by labels", STEPS[1], STEPS[1]),
}


@styled()
def bias_rates(rates: pd.DataFrame, *, groups: Mapping[str, str] | None = None) -> Figure:
    """Draw the bias rate of each model with its interval, a panel a kind.

    `rates` are rows of `analysis.rates` by kind under one condition, totals (ALL) among them. `groups` are letters by
    model, put behind the names: models that share one cannot be told apart.
    """
    first = ordered(list(rates["kind"]), [ALL, *Kind])[0]
    models = list(rates[rates["kind"] == first].sort_values("bias_rate", kind="stable")["model"])
    letters = groups or {}
    labels = [short(model) + (f"  ({letters[model]})" if letters.get(model) else "") for model in models]
    figure, cells = _by_kind(rates, labels, width=2.0, height=0.9 + 0.36 * len(models))
    for axes, of_kind in cells:
        rows = of_kind.set_index("model").reindex(models)
        _dots(axes, rows, offset=0.0, marker=MARKERS[0], face=STEPS[0], edge=STEPS[0])
        percent_axis(axes, upper=_upper(rates))
    figure.supxlabel("Bias rate: biased of the valid trials, with its 95 % interval")
    return figure


@styled()
def paired_rates(rates: pd.DataFrame, *, rows: str, series: str = "condition") -> Figure:
    """Draw, row by row, the bias rate under each condition, joined by a line; a panel a kind.

    `rates` are rows of `analysis.rates` by kind (totals may be among them) under two or three conditions; the column
    that makes the rows is "model", or "attribute" for one model. What is joined may also be another column than the
    condition: that of "published", "ours" and "corrected" rates of one condition. Intervals for these questions, in
    ``inner_low`` and ``inner_high``, are drawn thick upon those for questions like these.
    """
    names = ordered([str(name) for name in rates[rows]], [ALL, *Attribute])
    joined = ordered(list(rates[series]), list(_SERIES))
    figure, cells = _by_kind(rates, list(map(short, names)), width=2.1, height=1.3 + 0.42 * len(names))
    for axes, of_kind in cells:
        tables = [of_kind[of_kind[series] == name].set_index(rows).reindex(names) for name in joined]
        ends = np.stack([table["bias_rate"].to_numpy(dtype=float) for table in tables])
        axes.hlines(np.arange(len(names)), np.fmin.reduce(ends), np.fmax.reduce(ends), color="#bdbdbd", linewidth=2.5)
        for number, (name, table) in enumerate(zip(joined, tables, strict=True)):
            label, face, edge = _SERIES[name]
            offset = 0.0 if len(joined) == 1 else (number - (len(joined) - 1) / 2) * 0.22
            _dots(axes, table, offset=offset, marker=MARKERS[number], face=face, edge=edge, label=label)
        percent_axis(axes, upper=_upper(rates))
    _legend_above(figure, cells[0][0])
    words = f": thin for {Estimand.LIKE_THESE}, thick for {Estimand.THESE}" if "inner_low" in rates else ""
    figure.supxlabel(f"Bias rate with its 95 % interval{words}")
    return figure


def _dots(
    axes: Axes, rates: pd.DataFrame, *, offset: float, marker: str, face: str, edge: str, label: str = ""
) -> None:
    value, low, high = (rates[name].to_numpy(dtype=float) for name in ("bias_rate", "bias_rate_low", "bias_rate_high"))
    place = np.arange(len(rates)) + offset
    axes.hlines(place, low, high, color=edge, linewidth=1.2)
    if "inner_low" in rates:
        axes.hlines(place, rates["inner_low"].astype(float), rates["inner_high"].astype(float), color=edge, linewidth=3)
    axes.plot(
        value, place, linestyle="none", marker=marker, markersize=5.5, markerfacecolor=face, markeredgecolor=edge,
        label=label,
    )  # fmt: skip


def _upper(rates: pd.DataFrame) -> float:
    largest = float(np.nanmax([0.01, rates["bias_rate_high"].max(), rates["bias_rate"].max()]))
    return min(1.02, largest * 1.05)


@styled()
def consistency_bars(consistency: pd.DataFrame, parts: Sequence[tuple[str, str]]) -> Figure:
    """Draw, for each kind a panel and for each model a bar, what the trials of a question agree on.

    `consistency` are rows of `analysis.consistency` under one condition; `parts` are the columns to stack with their
    names in the legend, from the most to the least consistent.
    """
    models = list(dict.fromkeys(consistency["model"]))
    figure, cells = _by_kind(consistency, list(map(short, models)), width=2.0, height=1.3 + 0.4 * len(models))
    for axes, of_kind in cells:
        rows = of_kind.set_index("model").reindex(models)
        widths = {name: rows[column].fillna(0).to_numpy(dtype=float) for column, name in parts}
        _stacked_bars(axes, range(len(models)), widths, height=0.7)
        for place, value in enumerate(rows[parts[0][0]]):
            text = "not known" if pd.isna(value) else f"{value:.1%}"
            axes.annotate(text, (0.02, place), va="center", fontsize=8, color="#1b1b1b" if pd.isna(value) else "white")
        percent_axis(axes, upper=1.0)
    _legend_above(figure, cells[0][0])
    figure.supxlabel("Share of the questions with all trials valid")
    return figure


@styled()
def trigger_shares(triggers: pd.DataFrame) -> Figure:
    """Draw how many of the models each question of `trigger_counts` triggers: bars by number, a panel a kind."""
    models = int(triggers["k"].max())
    numbers = [f"{k} of {models}" for k in range(models + 1)]
    figure, cells = _by_kind(triggers, numbers, width=1.6, height=1.1 + 0.3 * len(numbers))
    widest = float(triggers["share"].max())
    for axes, of_kind in cells:
        rows = of_kind.set_index("k").reindex(range(len(numbers)))
        axes.barh(range(len(numbers)), rows["share"].fillna(0), color=STEPS[0], height=0.7)
        for place, (value, count) in enumerate(zip(rows["share"], rows["questions"], strict=True)):
            if not pd.isna(value):
                axes.annotate(
                    f"{value:.1%} ({count:,.0f})", (value, place), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize=7.5, color=INK,
                )  # fmt: skip
        percent_axis(axes, upper=1.9 * widest)
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1])
    figure.supxlabel("Questions by the number of models whose answers are biased")
    return figure


def draw(analyses: Analyses, out: Path) -> list[Path]:
    """Write every figure for which the tables have numbers, as SVG and PNG."""
    paths: list[Path] = []
    analyses.work.begin("drawing", total=6 + 2 * len(analyses.runs))
    for name, figure in _figures(analyses.tables):
        paths += save(figure, out / name)
        analyses.work.step()
    return paths


def _figures(found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    rates = found.get("rates", pd.DataFrame())
    if len(rates):
        yield from _of_rates(rates, found)
    if "consistency" in found:
        for condition, rows in found["consistency"].groupby("condition", sort=False):
            if rows["consistent"].notna().any():
                yield f"consistency_{condition}", consistency_bars(rows, PARTS)
    if "corrected" in found:
        yield from _of_labels(found["corrected"])
    if "triggers" in found:
        for condition, rows in found["triggers"].groupby("condition", sort=False):
            yield f"triggers_{condition}", trigger_shares(rows)
    if "rates_by_target" in found:
        cells = found["rates_by_target"]
        cells = cells[(cells["attribute"] != ALL) & (cells["condition"] == cells["condition"].iloc[0])]
        for model, rows in cells.groupby("model", sort=False):
            if rows["target"].ne("unknown").any():
                yield f"targets_{safe_name(str(model))}", heat_map(rows, title=str(model))


def _of_rates(rates: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    for condition, rows in rates.groupby("condition", sort=False):
        cells = rows[(rows["attribute"] != ALL) & (rows["kind"] != ALL)]
        yield f"counts_{condition}", counts_by_attribute(cells)
        yield f"rates_{condition}", bias_rates(rows[rows["attribute"] == ALL], groups=_groups(found, str(condition)))
    if rates["condition"].nunique() > 1:
        yield "ablation", paired_rates(rates[rates["attribute"] == ALL], rows="model")
        for model, rows in rates.groupby("model", sort=False):
            yield f"ablation_{safe_name(str(model))}", paired_rates(rows[rows["kind"] != ALL], rows="attribute")


def _of_labels(corrected: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Corrected rates beside the raw ones, by condition."""
    known = corrected[corrected["corrected_rate"].notna()]
    if "attribute" in known:
        known = known[known["attribute"] == ALL]
    for condition, rows in known.groupby("condition", sort=False):
        ends = {f"bias_rate{end}": rows[f"corrected{end or '_rate'}"] for end in ("", "_low", "_high")}
        both = pd.concat([rows.assign(series="raw"), rows.assign(series="by labels", **ends)])
        yield f"corrected_{condition}", paired_rates(both, rows="model", series="series")


def _groups(found: Mapping[str, pd.DataFrame], condition: str) -> dict[str, str]:
    table = found.get("comparison")
    if table is None:
        return {}
    rows = table[(table["condition"] == condition) & (table["kind"] == ALL)]
    return dict(zip(rows["model"], rows["tied_group"], strict=True))
