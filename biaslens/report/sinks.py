"""Write rows to CSV, JSON lines or Parquet as they come."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Literal

Type = Literal["string", "integer", "number", "strings", "integers"]
"""Of a column; "strings" and "integers" are lists that come as JSON text."""

Rows = Sequence[Sequence[object]]
Sink = Callable[[Rows], None]

_LISTS = ("strings", "integers")


class Format(StrEnum):
    """File formats of an export."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


def open_sink(path: Path, columns: Mapping[str, Type], format: Format) -> AbstractContextManager[Sink]:
    """Open a file for rows whose values stand in the order of `columns`; it is complete when the context ends."""
    return {Format.CSV: _csv, Format.JSONL: _jsonl, Format.PARQUET: _parquet}[format](path, columns)


@contextmanager
def _csv(path: Path, columns: Mapping[str, Type]) -> Iterator[Sink]:
    with path.open("w", encoding="utf-8", newline="") as file:
        # RFC 4180 line ends; with them every cell that holds a line break of any kind is quoted.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(columns)
        yield writer.writerows


@contextmanager
def _jsonl(path: Path, columns: Mapping[str, Type]) -> Iterator[Sink]:
    def write(rows: Rows) -> None:
        for row in rows:
            record = {name: _value(value, kind) for (name, kind), value in zip(columns.items(), row, strict=True)}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    with path.open("w", encoding="utf-8", newline="") as file:
        yield write


@contextmanager
def _parquet(path: Path, columns: Mapping[str, Type]) -> Iterator[Sink]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "string": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "strings": pa.list_(pa.string()),
        "integers": pa.list_(pa.int64()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])

    def write(rows: Rows) -> None:
        arrays = [
            pa.array([_value(value, kind) for value in values], types[kind])
            for kind, values in zip(columns.values(), zip(*rows, strict=True), strict=True)
        ]
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema))

    with pq.ParquetWriter(path, schema) as writer:
        yield write


def _value(value: object, kind: Type) -> object:
    return json.loads(value) if kind in _LISTS and isinstance(value, str) else value
