"""Draw the figures that a set of tables can fill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from biaslens._util.text import safe_name
from biaslens.analysis.consistency import PARTS
from biaslens.report.figures import (
    bias_rates,
    consistency_bars,
    counts_by_attribute,
    heat_map,
    paired_rates,
    save,
    trigger_shares,
)
from biaslens.schema import Condition


def draw(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write every figure for which there are numbers, as SVG and PNG.

    Parameters
    ----------
    found
        From `tables`.
    out
        Folder.
    """
    return [path for name, figure in _figures(found) for path in save(figure, out / name)]


def _figures(found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    rates = found.get("rates", pd.DataFrame())
    if len(rates):
        yield from _of_rates(rates, found)
    if "consistency" in found:
        for condition, rows in found["consistency"].groupby("condition", sort=False):
            if rows["consistent"].notna().any():
                yield f"consistency_{condition}", consistency_bars(rows, PARTS)
    if "triggers" in found:
        for condition, rows in found["triggers"].groupby("condition", sort=False):
            yield f"triggers_{condition}", trigger_shares(rows)
    if "rates_by_target" in found:
        cells = found["rates_by_target"]
        cells = cells[(cells["attribute"] != "all") & (cells["condition"] == cells["condition"].iloc[0])]
        for model, rows in cells.groupby("model", sort=False):
            if rows["target"].ne("unknown").any():
                yield f"targets_{safe_name(str(model))}", heat_map(rows, title=str(model))


def _of_rates(rates: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    for condition, rows in rates.groupby("condition", sort=False):
        cells = rows[(rows["attribute"] != "all") & (rows["kind"] != "all")]
        yield f"counts_{condition}", counts_by_attribute(cells)
        yield f"rates_{condition}", bias_rates(rows[rows["attribute"] == "all"], groups=_groups(found, str(condition)))
    if rates["condition"].nunique() > 1:
        yield "ablation", paired_rates(rates[rates["attribute"] == "all"], rows="model")
        for model, rows in rates.groupby("model", sort=False):
            yield f"ablation_{safe_name(str(model))}", paired_rates(rows[rows["kind"] != "all"], rows="attribute")


def _groups(found: Mapping[str, pd.DataFrame], condition: str) -> dict[str, str]:
    table = found.get("comparison")
    if table is None or condition not in list(Condition):
        return {}
    rows = table[(table["condition"] == condition) & (table["kind"] == "all")]
    return dict(zip(rows["model"], rows["tied_group"], strict=True))
