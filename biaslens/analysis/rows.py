"""Rows as a table with the same columns and types whether there are any or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

_WORDS = frozenset(("model", "condition", "against", "attribute", "kind", "role", "mirror", "position"))


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Make a table of `columns`; those that are not in the rows are NaN.

    Examples
    --------
    >>> table([], ["kind", "share"]).dtypes.astype(str).to_list()
    ['object', 'float64']
    """
    frame = pd.DataFrame(rows, columns=list(columns))
    return frame if rows else frame.astype({name: object if name in _WORDS else float for name in columns})
