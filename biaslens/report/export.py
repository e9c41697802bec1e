"""Leaderboard CSVs, and every response of a run as CSV, JSONL or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic_core import to_jsonable_python

from biaslens._util.files import replacing
from biaslens._util.text import plural
from biaslens.analysis import Cell, ConditionSummary, Summary, read_run, summarise
from biaslens.analysis.comparison import require_comparable
from biaslens.analysis.rates import ALL
from biaslens.benchmark.files import MARK
from biaslens.errors import InputError
from biaslens.report.table import Column, Table, known
from biaslens.runfile import question_rows, reading_evaluation, response_rows, thought_rows, vote_rows
from biaslens.schema import Condition, Kind
from biaslens.stats import Estimand

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


Value = str | int | float | None


def measures(cell: Cell) -> dict[str, Value]:
    """Flatten a cell: both headline numbers, with coverage and what became of the other trials.

    Counts of biased trials and questions are None where nothing is valid: nothing measured must not look like nothing
    found. Coverage is 0 there.
    """
    counts = cell.counts
    measured = counts.valid > 0
    return {
        "roles": cell.roles,
        "questions": cell.questions,
        "planned_trials": counts.planned,
        "valid_trials": counts.valid,
        "biased_trials": counts.biased if measured else None,
        "biased_questions": cell.biased_questions if measured else None,
        "bias_rate": known(cell.bias_rate.value),
        "bias_rate_low": known(cell.bias_rate.low),
        "bias_rate_high": known(cell.bias_rate.high),
        "coverage": counts.coverage,
        "refused_share": known(counts.share(counts.refused)),
        "invalid_share": known(counts.share(counts.invalid)),
        "error_share": known(counts.share(counts.error)),
        "pending_share": known(counts.share(counts.pending)),
    }


def by_attribute(summary: Summary) -> list[dict[str, Value]]:
    """Make a record for every condition, attribute and kind with a planned question, and for their totals ("all")."""
    return [
        {
            "model": summary.run.model,
            "condition": condition.condition.value,
            "attribute": cell.attribute.value if cell.attribute else ALL,
            "kind": cell.kind.value if cell.kind else ALL,
            **measures(cell),
            "run": summary.run.path.name,
            "estimand": summary.estimand.value,
        }
        for condition in summary.conditions
        for cell in condition.cells.values()
        if cell.questions
    ]


_SHARES = ("refused_share", "invalid_share", "error_share", "pending_share")
_CORRECTED = ("labels", "corrected_rate", "corrected_low", "corrected_high")
_RATE = ("bias_rate", "bias_rate_low", "bias_rate_high")

COLUMNS = (
    "model", "resolved_model", "date", "benchmark_version", "benchmark_hash", "question_set", "condition",
    "roles", "questions", "trials", "judges", "votes",
    "biased_questions", *(f"biased_questions_{kind}" for kind in Kind),
    *(f"questions_{kind}" for kind in Kind),
    *_RATE, *(f"{name}_{kind}" for kind in Kind for name in _RATE),
    "coverage", *(f"coverage_{kind}" for kind in Kind), *_SHARES,
    "planned_trials", "valid_trials", "biased_trials", "params", "package_version", "run", "panel",
    *(f"{name}{kind}" for kind in ("", *(f"_{kind}" for kind in Kind)) for name in _CORRECTED), "estimand",
)  # fmt: skip
"""Columns of leaderboard.csv; results/README.md says what each means. New ones are added at the end only."""

ATTRIBUTE_COLUMNS = (
    "model", "condition", "attribute", "kind", "roles", "questions", "planned_trials", "valid_trials",
    "biased_trials", "biased_questions", *_RATE, "coverage", *_SHARES, "run", "estimand",
)  # fmt: skip
"""Columns of leaderboard_by_attribute.csv."""


def leaderboard(
    paths: Iterable[Path], out_dir: Path, *, force: bool = False, estimand: Estimand = Estimand.LIKE_THESE
) -> tuple[Path, Path]:
    """Write ``leaderboard.csv`` and ``leaderboard_by_attribute.csv`` for some runs.

    Rows are in the order of model, condition and run file: ranks from point estimates would say more than the intervals
    do. A file named twice counts once. With `force` runs are put together that are not comparable; the columns then
    show where they differ. Intervals are for the `estimand`.

    Raises `InputError` without any run file, and where the folder has a leaderboard of other runs; `RunMismatchError`
    when the runs asked or judged differently, and are not forced together; `StorageError` when a run file cannot be
    read or a table cannot be written.
    """
    known = {path.resolve(): path for path in paths}
    summaries = [summarise(read_run(path, estimand=estimand)) for path in known.values()]
    if not summaries:
        raise InputError("a leaderboard needs at least one run file; `biaslens evaluate` makes them")
    if not force:
        require_comparable(summaries)
    require_own(out_dir, summaries)
    return write_leaderboard(summaries, out_dir)


def require_own(out_dir: Path, summaries: Sequence[Summary]) -> None:
    """Refuse a folder whose leaderboard is of runs that are not among these: they would be lost from it."""
    path = out_dir / "leaderboard.csv"
    if not path.exists():
        return
    try:
        with path.open(encoding="utf-8", newline="") as file:
            there = {(row.get("model"), row.get("run")) for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error}); remove it, or give another --out") from None
    lost = sorted(
        f"{model} ({run})" for model, run in there - {(one.run.model, one.run.path.name) for one in summaries}
    )
    if lost:
        raise InputError(
            f"{path}: holds {plural(len(lost), 'other run')}, such as {lost[0]}; give another "
            "--out, give their run files too, or remove it"
        )


def write_leaderboard(summaries: Sequence[Summary], out_dir: Path) -> tuple[Path, Path]:
    """Write the files of `leaderboard` for runs that were read already."""
    summaries = sorted(summaries, key=lambda summary: (summary.run.model, summary.run.path.name))
    order = list(Condition)
    rows = [row(summary, condition) for summary in summaries for condition in summary.conditions]
    rows.sort(key=lambda record: (str(record["model"]), order.index(Condition(str(record["condition"])))))
    by_kind = [record for summary in summaries for record in by_attribute(summary)]
    return (
        _table(COLUMNS, rows).csv(out_dir / "leaderboard.csv"),
        _table(ATTRIBUTE_COLUMNS, by_kind).csv(out_dir / "leaderboard_by_attribute.csv"),
    )


def row(summary: Summary, condition: ConditionSummary) -> dict[str, Value]:
    """Make the row of a model and condition in leaderboard.csv, by column."""
    run = summary.run
    record: dict[str, Value] = {
        "model": run.model,
        "resolved_model": "; ".join(condition.resolved_models),
        "date": condition.last_answer[:10],
        "benchmark_version": run.benchmark_version,
        "benchmark_hash": run.benchmark_hash,
        "question_set": condition.question_set,
        "condition": condition.condition.value,
        "trials": run.trials,
        "judges": "; ".join(run.judges),
        "votes": run.votes,
        "params": json.dumps(run.meta["params"], sort_keys=True) if "params" in run.meta else None,
        "package_version": run.package_version,
        "run": run.path.name,
        "panel": run.panel,
        "estimand": summary.estimand.value,
        **measures(condition.cell()),
    }
    for kind in Kind:
        of_kind = measures(condition.cell(kind=kind))
        for name in ("questions", "biased_questions", *_RATE, "coverage"):
            record[f"{name}_{kind}"] = of_kind[name]
    for of, rate in condition.corrected.items():
        values = (rate.items, *map(known, (rate, rate.low, rate.high)))
        suffix = "" if of is None else f"_{of}"
        record |= {f"{name}{suffix}": value for name, value in zip(_CORRECTED, values, strict=True)}
    return record


def _table(names: Sequence[str], records: Iterable[Mapping[str, Value]]) -> Table:
    return Table(list(map(Column, names)), [[record.get(name) for name in names] for record in records])
