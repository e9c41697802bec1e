"""Biased questions by attribute of the role and kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biaslens.report.figures.style import HATCHES, INK, KIND_NAMES, STEPS, ordered, panels, short, styled
from biaslens.schema import Attribute, Kind


def counts_by_attribute(rates: pd.DataFrame) -> Figure:
    """Draw stacked bars, a panel a model: biased questions of each kind by attribute of the role.

    Parameters
    ----------
    rates
        Rows of `analysis.rates` by attribute and kind under one condition, without totals; one model or several.
    """
    models = list(dict.fromkeys(rates["model"]))
    attributes = ordered(list(rates["attribute"]), list(Attribute))
    kinds = ordered(list(rates["kind"]), list(Kind))
    columns = min(3, len(models))
    rows = -(-len(models) // columns)
    with styled():
        figure, grid = panels(
            rows, columns, width=1.4 + 3.0 * columns, height=0.8 + 3.0 * rows, sharex=True, sharey=True
        )
        cells = [axes for row in grid for axes in row]
        for axes, model in zip(cells, models, strict=False):
            table = (
                rates[rates["model"] == model]
                .pivot_table("biased_questions", "attribute", "kind", aggfunc="sum")
                .reindex(index=attributes, columns=kinds)
            )
            left = np.zeros(len(attributes))
            for kind, colour, hatch in zip(kinds, STEPS, HATCHES, strict=False):
                widths = table[kind].fillna(0).to_numpy(dtype=float)
                axes.barh(
                    attributes, widths, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.6,
                    label=KIND_NAMES[kind],
                )  # fmt: skip
                left += widths
            for place, total in enumerate(left):
                axes.annotate(
                    f"{total:,.0f}", (total, place), xytext=(3, 0), textcoords="offset points", va="center",
                    fontsize=7.5, color=INK,
                )  # fmt: skip
            axes.set_title(short(model))
            axes.margins(x=0.12)
            axes.grid(axis="x", color="#e4e4e4", linewidth=0.8)
            axes.set_axisbelow(True)
        cells[0].invert_yaxis()
        for axes in cells[len(models) :]:
            axes.set_visible(False)
        figure.supxlabel("Biased questions (most of the planned trials biased)", fontsize=9)
        handles, labels = cells[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(labels))
    return figure
