"""Small assessments for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from biaslens.usecase import assess_texts
from biaslens.usecase._result import Assessment, Resampling
from biaslens.usecase._spec import TextOptions

QUICK = Resampling(rounds=100, exchanges=99)

COLUMNS = ("prompt_id", "attribute", "group", "series", "response")


def responses(rows: Iterable[Sequence[str]]) -> pd.DataFrame:
    """Rows of prompt id, group, series and text; all groups are of gender."""
    cells = [(name, "gender" if group else "", group, series, text) for name, group, series, text in rows]
    return pd.DataFrame(cells, columns=list(COLUMNS))


def assess(rows: Iterable[Sequence[str]] | pd.DataFrame, **options: Any) -> Assessment:
    """Assess responses quickly; options are those of `TextOptions`."""
    source = rows if isinstance(rows, pd.DataFrame) else responses(rows)
    return assess_texts(source, TextOptions(**{"resampling": QUICK, **options}))
