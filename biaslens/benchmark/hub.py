"""A benchmark in the Parquet files of a dataset repository, read as if its CSV files were there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from biaslens.benchmark.files import QUESTIONS, ROLES, SEPARATOR, csv_text
from biaslens.errors import BenchmarkError
from biaslens.schema import Kind

DATA = "data"
"""Folder of the Parquet files, in the repository."""

ENCOUNTERS = "encounters"

ADDED: Mapping[str, str] = {"number": "integer", "question_id": "string", "prompt": "string", "fair_answer": "string"}
"""Columns and their types that questions have beside those of questions.csv; the first is their place in it, from 1."""

LISTS = ("groups", "options")


def parts(name: str) -> list[str]:
    """Names of the files that hold a table: questions are apart by kind."""
    kinds = [f"{kind}.parquet" for kind in Kind]
    return {ROLES: ["roles.parquet"], QUESTIONS: kinds, ENCOUNTERS: [f"{ENCOUNTERS}.parquet"]}.get(name, [])


def rows_of(repository: Path, name: str) -> list[dict[str, object]]:
    """Rows of a table, in the order in which they were; none where the repository does not have it."""
    found = [path for part in parts(name) if (path := repository / DATA / part).is_file()]
    rows: list[dict[str, object]] = []
    for path in found:
        try:
            rows += pq.read_table(path).to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise BenchmarkError(f"{path}: cannot be read ({error}); download or export it again") from None
    return sorted(rows, key=lambda row: int(str(row.get("number", 0))))


def csv_bytes(path: Path) -> bytes | None:
    """The CSV file that would stand there, made of the Parquet files; None where there are none."""
    rows = rows_of(path.parent, path.name)
    if not rows:
        return None
    columns = [name for name in rows[0] if name not in ADDED]
    return csv_text(columns, ([_cell(row[name]) for name in columns] for row in rows)).encode()


def _cell(value: object) -> str:
    return SEPARATOR.join(value) if isinstance(value, list) else str(value or "")
