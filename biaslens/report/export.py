"""Every response of a run as CSV, JSONL or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Literal

from biaslens._util.files import replacing
from biaslens.errors import InputError
from biaslens.runfile import reading_evaluation, response_rows, thought_rows, vote_rows

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


RESPONSES: Mapping[str, Type] = {
    "model": "string", "key": "string", "attribute": "string", "role": "string", "persona": "string", "kind": "string",
    "target": "string", "question_id": "string", "question": "string", "options": "strings", "groups": "strings",
    "encounter": "string", "stereotype": "string", "theme": "string", "disfavoured": "string", "picks": "string",
    "condition": "string", "trial": "integer", "option_order": "integers",
    "answer": "string", "finish_reason": "string", "resolved_model": "string", "outcome": "string",
    "reason": "string", "choice": "integer", "oracle": "string", "prompt_tokens": "integer",
    "completion_tokens": "integer", "price": "number", "latency": "number", "attempts": "integer",
    "answered_at": "string",
}  # fmt: skip
"""Columns of the responses and their types."""

VOTES: Mapping[str, Type] = {
    "key": "string", "response_key": "string", "judge": "string", "prompt": "string", "vote_number": "integer",
    "vote": "string", "reason": "string", "reply": "string", "resolved_model": "string", "prompt_tokens": "integer",
    "completion_tokens": "integer", "price": "number", "answered_at": "string",
}  # fmt: skip
"""Columns of the votes and their types."""


THOUGHTS: Mapping[str, Type] = {
    "key": "string", "thought": "string", "reasoning_tokens": "integer", "panel": "string", "outcome": "string",
}  # fmt: skip
"""Columns of the thoughts and their types."""


def export(path: Path, out: Path, format: Format, *, thoughts: bool = False, chunk: int = 8192) -> list[Path]:
    """Write every planned response of a run to `out`, and the judges' votes beside it (``NAME.votes.SUFFIX``).

    Only with `thoughts`, a third file (``NAME.thoughts.SUFFIX``) holds what was thought before the answers: a row for
    each thought and each panel that has judged it, and one without a panel where none has.

    Texts are exact in all three formats. Lists are lists in JSONL and Parquet, and JSON in CSV. CSV has no null: an
    empty answer and none look alike there, and ``answered_at`` tells them apart.

    Answers are whatever a model wrote. A cell that begins with ``=`` is not disarmed, because that would change the
    data: import such a column as text before opening it in a spreadsheet.

    Another process may be writing the run file. Older files are replaced, but only when the new ones are complete;
    `chunk` rows are held in memory at a time. Gives the files: responses, votes, and the thoughts that were asked for.

    Raises `InputError` when the format is unknown, or `out` is the run file itself; `StorageError` when the run file
    cannot be read, is no role-play evaluation, or `out` cannot be written.
    """
    if format not in tuple(Format):
        raise InputError(f"{format!r} is no export format; give one of {', '.join(Format)}")
    beside = [out.with_name(f"{out.stem}.{name}{out.suffix}") for name in ("votes", "thoughts")[: 1 + thoughts]]
    targets = [out, *beside]
    if path.resolve() in [target.resolve() for target in targets]:
        raise InputError(f"{out}: this is the run file itself; give another --out")
    open_sink = {Format.CSV: _csv, Format.JSONL: _jsonl, Format.PARQUET: _parquet}[format]
    with reading_evaluation(path) as store:
        names = [name for name in RESPONSES if name != "model"]
        contents: list[tuple[Mapping[str, Type], Iterator[Rows]]] = [
            (RESPONSES, response_rows(store, names, model=store.meta().get("model"), chunk=chunk)),
            (VOTES, vote_rows(store, chunk=chunk)),
            (THOUGHTS, thought_rows(store, chunk=chunk)),
        ]
        for target, (columns, pages) in zip(targets, contents, strict=False):
            with replacing(target) as temporary, open_sink(temporary, columns) as write:
                for rows in pages:
                    write(rows)
    return targets
