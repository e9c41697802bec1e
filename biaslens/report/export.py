"""Every response of a run as CSV, JSONL or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic_core import to_jsonable_python

from biaslens._util.files import replacing
from biaslens.benchmark.files import MARK
from biaslens.errors import InputError
from biaslens.runfile import question_rows, reading_evaluation, response_rows, thought_rows, vote_rows

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
    # Only here: Arrow takes long to load, and the other formats need none.
    from biaslens import dataset

    schema = dataset.schema(columns)
    with dataset.writer(path, schema) as writer:
        yield lambda rows: writer.write_table(dataset.table(rows, schema))


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
    "answered_at": "string", "canary": "string",
}  # fmt: skip
"""Columns of the responses and their types."""

ASKED_OF_RUN = tuple(name for name in RESPONSES if name not in ("model", "canary"))
"""Those that a run file itself has."""

VOTES: Mapping[str, Type] = {
    "key": "string", "response_key": "string", "condition": "string", "attribute": "string", "role": "string",
    "judge": "string", "prompt": "string", "vote_number": "integer", "vote": "string", "reason": "string",
    "reply": "string", "resolved_model": "string", "prompt_tokens": "integer", "completion_tokens": "integer",
    "price": "number", "answered_at": "string", "canary": "string",
}  # fmt: skip
"""Columns of the votes and their types."""


THOUGHTS: Mapping[str, Type] = {
    "key": "string", "thought": "string", "reasoning_tokens": "integer", "panel": "string", "outcome": "string",
    "canary": "string",
}  # fmt: skip
"""Columns of the thoughts and their types."""


def export(path: Path, out: Path, format: Format, *, thoughts: bool = False, chunk: int = 8192) -> list[Path]:
    """Write every planned response of a run to `out`, and the judges' votes beside it (``NAME.votes.SUFFIX``).

    Only with `thoughts`, a third file (``NAME.thoughts.SUFFIX``) holds what was thought before the answers: a row for
    each thought and each panel that has judged it, and one without a panel where none has.

    Texts are exact in all three formats. Lists are lists in JSONL and Parquet, and JSON in CSV. CSV has no null: an
    empty answer and none look alike there, and ``answered_at`` tells them apart.

    Answers are whatever a model wrote. A cell that begins with ``=`` is not disarmed, because that would change the
    data: import such a column as text before opening it in a spreadsheet. Each row has the benchmark's canary.

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
        contents: list[tuple[Mapping[str, Type], Iterator[Rows]]] = [
            (RESPONSES, response_rows(store, ASKED_OF_RUN, model=store.meta().get("model"), chunk=chunk)),
            (VOTES, vote_rows(store, chunk=chunk)),
            (THOUGHTS, thought_rows(store, chunk=chunk)),
        ]
        for target, (columns, pages) in zip(targets, contents, strict=False):
            with replacing(target) as temporary, open_sink(temporary, columns) as write:
                for rows in pages:
                    write(_marked(rows))
    return targets


def _marked(rows: Rows) -> Rows:
    """Rows with the canary of the benchmark: they quote its questions."""
    return [(*row, MARK) for row in rows]


def export_parts(path: Path, out: Path, *, rows: int) -> Path:
    """Write a run as a folder of Parquet files, in the folder `out`, which holds any number of runs: a dataset.

    Each file of responses has so many `rows` at most, those of a question side by side, and questions of an attribute,
    role and kind. What reads run files to analyse them reads such a folder, too. An older one is replaced once the new
    one is complete. Memory does not grow with the run. Gives the folder of this run.

    Raises `InputError` when something else lies in its place; `StorageError` as `export`.
    """
    from biaslens import dataset
    from biaslens.analysis import read_run

    run = read_run(path)
    info = {
        "meta": run.info.meta,
        "panels": run.info.panels,
        "took": run.took,
        "thoughts": run.thoughts,
        "last_answers": {condition: trials.last_answer for condition, trials in run.conditions.items()},
    }
    with dataset.new_run(out / path.stem) as folder, reading_evaluation(path) as store:
        dataset.write_info(folder, to_jsonable_python(info))
        dataset.write_questions(folder, question_rows(store))
        pages = response_rows(store, ASKED_OF_RUN, model=run.info.model, chunk=dataset.ROW_GROUP, by_question=True)
        dataset.write_responses(folder, map(_marked, pages), dataset.schema(RESPONSES), rows=rows)
        with _parquet(folder / dataset.VOTES, VOTES) as write:
            for page in vote_rows(store, chunk=dataset.ROW_GROUP):
                write(_marked(page))
    return out / path.stem
