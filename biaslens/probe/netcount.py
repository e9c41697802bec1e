"""Net count over models, as in Table 2 of arXiv 2306.04735."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

COLUMNS = (
    "attribute",
    "metric",
    "group",
    "interval",
    "reference",
    "models",
    "above",
    "below",
    "net",
    "without_interval",
)
"""Of the table that `net_count` gives."""


def net_count(intervals: pd.DataFrame | Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Count, over models, +1 for an interval above 0 and -1 for one below.

    A net count of independent false alarms is expected to be 0, but its spread grows with the share of them: read it
    beside the kind of interval.

    Parameters
    ----------
    intervals
        From `intervals`, of several models and perhaps kinds; one table or several.

    Returns
    -------
    DataFrame
        A row for each attribute, metric, group and kind of interval: the number of models, how many lie above and below
        0, their difference, and how many have no interval (they count as neither).
    """
    table = intervals if isinstance(intervals, pd.DataFrame) else pd.concat(list(intervals), ignore_index=True)
    keys = ["attribute", "metric", "group", "interval", "reference"]
    marked = table.assign(
        above=(table["low"] > 0).astype(int),
        below=(table["high"] < 0).astype(int),
        without_interval=table["low"].isna().astype(int),
    )
    counted = marked.groupby(keys, sort=False, as_index=False).agg(
        models=("model", "nunique"),
        above=("above", "sum"),
        below=("below", "sum"),
        without_interval=("without_interval", "sum"),
    )
    return counted.assign(net=counted["above"] - counted["below"])[list(COLUMNS)]
