"""Tables of the analyses for programs: CSV files, and records for JSON."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from biaslens._util.files import replacing
from biaslens._util.text import cell


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV: six decimals, an empty cell for what is not known; small p-values keep their digits.

    What a spreadsheet would run as a formula gets an apostrophe in front.
    """
    shown = frame.rename(columns=cell)
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            exact = str(name).startswith("p_") or name == "p"
            shown[name] = [_number(value, exact=exact) for value in shown[name]]
        elif not pd.api.types.is_numeric_dtype(shown[name]):
            shown[name] = [cell(value) if isinstance(value, str) else value for value in shown[name]]
    with replacing(path) as temporary:
        shown.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")
    return path


def json_records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Give the rows of a table for JSON, which has no NaN and no infinity: both become null.

    Examples
    --------
    >>> json_records(pd.DataFrame({"p": [1e-80, math.nan], "k": [1, 2]}))
    [{'p': 1e-80, 'k': 1}, {'p': None, 'k': 2}]
    """
    return [{str(name): _jsonable(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _jsonable(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value is pd.NA else value


def _number(value: float, *, exact: bool) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.6g}" if exact else f"{value:.6f}"
