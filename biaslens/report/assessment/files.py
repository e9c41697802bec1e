"""The files of an assessment: JSON and CSV for programs, a page for people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from biaslens._util.files import json_text, write_text
from biaslens.report.assessment.page import page
from biaslens.report.table import write_csv
from biaslens.usecase import Assessment

COLUMNS = (
    "family", "metric", "attribute", "groups", "value", "low", "high", "standard_error", "baseline_value",
    "baseline_low", "baseline_high", "p", "p_holm", "test", "direction", "smallest", "largest", "units", "unit", "few",
    "scorer", "reason", "note",
)  # fmt: skip
"""Columns of metrics.csv."""


def write_assessment(assessment: Assessment, out: Path) -> list[Path]:
    """Write ``index.html``, ``assessment.json`` and ``metrics.csv``; they replace those of an earlier assessment.

    Parameters
    ----------
    assessment
        What to write.
    out
        Folder.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    paths = [out / "index.html", out / "assessment.json", out / "metrics.csv"]
    write_text(paths[0], page(assessment))
    write_text(paths[1], json_text(assessment.to_dict()) + "\n")
    write_csv(metrics(assessment), paths[2])
    return paths


def metrics(assessment: Assessment) -> pd.DataFrame:
    """Every measure as a row of `COLUMNS`."""
    records = assessment.to_dict()["measures"]
    assert isinstance(records, list)
    rows = [record | {"groups": " / ".join(record["groups"])} for record in records]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = [name for name in COLUMNS if name in _NUMBERS]
    return frame.astype(dict.fromkeys(numbers, float))


_NUMBERS = frozenset(
    (
        "value", "low", "high", "standard_error", "baseline_value", "baseline_low", "baseline_high", "p", "p_holm",
        "smallest", "largest",
    )
)  # fmt: skip
