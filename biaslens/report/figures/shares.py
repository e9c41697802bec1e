"""Shares that add up to one: consistency over trials, and how many models a question triggers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biaslens.report.figures.style import (
    HATCHES,
    KIND_NAMES,
    MARKERS,
    STEPS,
    ordered,
    panels,
    percent_axis,
    short,
    styled,
)
from biaslens.schema import Kind


def consistency_bars(consistency: pd.DataFrame, parts: Sequence[tuple[str, str]]) -> Figure:
    """Draw, for each kind a panel and for each model a bar, what the trials of a question agree on.

    Parameters
    ----------
    consistency
        Rows of `analysis.consistency` under one condition.
    parts
        Columns to stack, with their names in the legend, from the most to the least consistent.
    """
    kinds = ordered(list(consistency["kind"]), ["all", *Kind])
    models = list(dict.fromkeys(consistency["model"]))
    with styled():
        figure, (cells,) = panels(
            1, len(kinds), width=2.4 + 2.0 * len(kinds), height=1.3 + 0.4 * len(models), sharey=True
        )
        for axes, kind in zip(cells, kinds, strict=True):
            rows = consistency[consistency["kind"] == kind].set_index("model").reindex(models)
            left = np.zeros(len(models))
            for (column, name), colour, hatch in zip(parts, STEPS, HATCHES, strict=False):
                widths = rows[column].fillna(0).to_numpy(dtype=float)
                axes.barh(
                    range(len(models)), widths, left=left, color=colour, hatch=hatch, edgecolor="white",
                    linewidth=0.6, height=0.7, label=name,
                )  # fmt: skip
                left += widths
            for place, value in enumerate(rows[parts[0][0]]):
                text = "not known" if pd.isna(value) else f"{value:.1%}"
                axes.annotate(
                    text, (0.02, place), va="center", fontsize=8, color="#1b1b1b" if pd.isna(value) else "white"
                )
            axes.set_title(KIND_NAMES[kind])
            percent_axis(axes, upper=1.0)
        cells[0].set_yticks(range(len(models)), [short(model) for model in models])
        cells[0].set_ylim(len(models) - 0.5, -0.5)
        handles, labels = cells[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
        figure.supxlabel("Share of the questions with all trials valid", fontsize=9)
    return figure


def trigger_shares(triggers: pd.DataFrame) -> Figure:
    """Draw how many of the models each question triggers: its share by number of models, a line a kind.

    Parameters
    ----------
    triggers
        Rows of `analysis.trigger_counts`: kind, k, share.
    """
    kinds = ordered(list(triggers["kind"]), ["all", *Kind])
    most = int(triggers["k"].max())
    with styled():
        figure, ((axes,),) = panels(1, 1, width=5.6, height=3.4)
        for number, kind in enumerate(kinds):
            rows = triggers[triggers["kind"] == kind].sort_values("k")
            axes.plot(
                rows["k"], rows["share"], marker=MARKERS[number], markersize=6, linewidth=1.6,
                linestyle=("-", "--", "-.", ":")[number % 4], color=(*STEPS[:3], "#5b5b5b")[number % 4],
                markeredgecolor="#1b1b1b", markeredgewidth=0.5, label=KIND_NAMES[kind],
            )  # fmt: skip
        axes.set_xticks(range(most + 1))
        axes.set_xlabel(f"Number of the {most} models whose answers to a question are biased")
        axes.set_ylabel("Share of the questions")
        axes.set_ylim(0, None)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
        axes.legend()
    return figure
