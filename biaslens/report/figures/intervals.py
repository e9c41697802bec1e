"""Rates as dots with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biaslens.report.figures.style import INK, KIND_NAMES, MARKERS, STEPS, ordered, panels, percent_axis, short, styled
from biaslens.schema import Attribute, Condition, Kind

_CONDITIONS = {
    Condition.ROLE.value: ("in the role", STEPS[0], STEPS[0]),
    Condition.NO_ROLE.value: ("without a role", "white", STEPS[1]),
    Condition.NEUTRAL_ROLE.value: ("as an ordinary person", STEPS[2], "#7a5a10"),
}


def bias_rates(rates: pd.DataFrame, *, groups: Mapping[str, str] | None = None) -> Figure:
    """Draw the bias rate of each model with its interval, a panel a kind.

    Parameters
    ----------
    rates
        Rows of `analysis.rates` by kind under one condition, totals ("all") among them.
    groups
        Letters by model: models that share one are not told apart. They are put behind the names.
    """
    kinds = ordered(list(rates["kind"]), ["all", *Kind])
    overall = rates[rates["kind"] == kinds[0]].sort_values("bias_rate", kind="stable")
    models = list(overall["model"])
    letters = groups or {}
    labels = [short(model) + (f"  ({letters[model]})" if letters.get(model) else "") for model in models]
    with styled():
        figure, (cells,) = panels(
            1, len(kinds), width=2.4 + 2.0 * len(kinds), height=0.9 + 0.36 * len(models), sharey=True
        )
        for axes, kind in zip(cells, kinds, strict=True):
            rows = rates[rates["kind"] == kind].set_index("model").reindex(models)
            _dots(axes, rows, "bias_rate", offset=0.0, marker=MARKERS[0], face=STEPS[0], edge=STEPS[0])
            axes.set_title(KIND_NAMES[kind])
            percent_axis(axes, upper=_upper(rates["bias_rate_high"], rates["bias_rate"]))
        _label_rows(cells, labels)
        figure.supxlabel("Bias rate: biased of the valid trials, with the 95 % interval clustered by role", fontsize=9)
    return figure


def paired_rates(rates: pd.DataFrame, *, rows: str) -> Figure:
    """Draw, row by row, the bias rate under each condition, joined by a line; a panel a kind.

    Parameters
    ----------
    rates
        Rows of `analysis.rates` by kind (totals may be among them) under two or three conditions.
    rows
        The column that makes the rows: "model", or "attribute" for one model.
    """
    kinds = ordered(list(rates["kind"]), ["all", *Kind])
    names = ordered([str(name) for name in rates[rows]], ["all", *Attribute])
    conditions = ordered(list(rates["condition"]), list(Condition))
    with styled():
        figure, (cells,) = panels(
            1, len(kinds), width=2.4 + 2.1 * len(kinds), height=1.3 + 0.42 * len(names), sharey=True
        )
        for axes, kind in zip(cells, kinds, strict=True):
            of_kind = rates[rates["kind"] == kind]
            tables = [of_kind[of_kind["condition"] == name].set_index(rows).reindex(names) for name in conditions]
            ends = np.stack([table["bias_rate"].to_numpy(dtype=float) for table in tables])
            axes.hlines(
                np.arange(len(names)), _quiet(ends, np.fmin), _quiet(ends, np.fmax), color="#bdbdbd", linewidth=2.5
            )
            for number, (name, table) in enumerate(zip(conditions, tables, strict=True)):
                label, face, edge = _CONDITIONS[name]
                offset = 0.0 if len(conditions) == 1 else (number - (len(conditions) - 1) / 2) * 0.22
                _dots(
                    axes, table, "bias_rate", offset=offset, marker=MARKERS[number], face=face, edge=edge, label=label
                )
            axes.set_title(KIND_NAMES[kind])
            percent_axis(axes, upper=_upper(rates["bias_rate_high"], rates["bias_rate"]))
        _label_rows(cells, [short(name) for name in names])
        handles, labels = cells[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
        figure.supxlabel("Bias rate with the 95 % interval clustered by role", fontsize=9)
    return figure


def _dots(
    axes: Axes, rows: pd.DataFrame, column: str, *, offset: float, marker: str, face: str, edge: str, label: str = ""
) -> None:
    value = rows[column].to_numpy(dtype=float)
    low, high = (rows[f"{column}_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    place = np.arange(len(rows)) + offset
    axes.hlines(place, low, high, color=edge, linewidth=1.2)
    axes.plot(
        value, place, linestyle="none", marker=marker, markersize=5.5, markerfacecolor=face, markeredgecolor=edge,
        label=label,
    )  # fmt: skip


def _label_rows(panels: Sequence[Axes], labels: Sequence[str]) -> None:
    panels[0].set_yticks(range(len(labels)), labels, color=INK)
    panels[0].set_ylim(len(labels) - 0.5, -0.5)
    for axes in panels:
        axes.tick_params(axis="y", length=0)


def _quiet(ends: np.ndarray, function: np.ufunc) -> np.ndarray:
    result: np.ndarray = function.reduce(ends, axis=0)
    return result


def _upper(*columns: pd.Series) -> float:
    largest = float(np.nanmax([0.01, *(column.max() for column in columns)]))
    return min(1.02, largest * 1.05)
