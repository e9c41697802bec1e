"""Write the tables of the analyses: CSV for programs, Markdown and LaTeX for papers."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from biaslens.report.files import replacing


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV: six decimals, an empty cell for what is not known; small p-values keep their digits."""
    shown = frame.copy()
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            exact = str(name).startswith("p_") or name == "p"
            shown[name] = [_number(value, exact=exact) for value in shown[name]]
    with replacing(path) as temporary:
        shown.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")
    return path


def _number(value: float, *, exact: bool) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.6g}" if exact else f"{value:.6f}"
