"""Bias rate by attribute of the role and attribute the question asks about."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from biaslens.report.figures.style import FAINT, INK, ordered, panels, short, styled
from biaslens.schema import Attribute


def heat_map(rates: pd.DataFrame, *, title: str = "", fewest: int = 30) -> Figure:
    """Draw the bias rates of one model and condition as a table of shaded cells, the number in each.

    Parameters
    ----------
    rates
        Rows of `analysis.rates` by attribute and target, without totals.
    title
        Above the figure.
    fewest
        Cells with fewer valid trials are left unshaded and their number is put in brackets: they say little.
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
    shaded = np.where(valid >= fewest, value, np.nan)
    with styled():
        figure, ((axes,),) = panels(1, 1, width=1.9 + 0.62 * len(columns), height=1.5 + 0.38 * len(rows))
        top = max(0.05, float(np.nanmax(shaded)) if np.isfinite(shaded).any() else 0.05)
        # From light to dark: it stays in order when printed in grey.
        image = axes.imshow(shaded, cmap=mpl.colormaps["Blues"], vmin=0, vmax=top, aspect="auto")
        for (row, column), rate in np.ndenumerate(value):
            few = valid[row, column] < fewest
            dark = not few and rate > 0.55 * top
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
        bar = figure.colorbar(image, ax=axes, shrink=0.8, format=PercentFormatter(1.0, decimals=0))
        bar.set_label(f"Bias rate (brackets: under {fewest} valid trials)")
    return figure
