"""The files of an assessment: JSON and CSV for programs, a page for people."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from biaslens.report.assessment.page import page
from biaslens.report.files import replacing
from biaslens.report.frames import write_csv
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
    with replacing(paths[0]) as temporary:
        temporary.write_text(page(assessment), encoding="utf-8")
    with replacing(paths[1]) as temporary:
        text = json.dumps(assessment.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
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
