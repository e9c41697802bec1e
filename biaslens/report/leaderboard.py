"""Leaderboard CSVs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from biaslens._util.text import plural
from biaslens.analysis import Cell, ConditionSummary, Summary, read_run, summarise
from biaslens.analysis.comparison import require_comparable
from biaslens.analysis.rates import ALL
from biaslens.errors import InputError
from biaslens.report.table import Column, Table, known
from biaslens.schema import Condition, Kind
from biaslens.stats import Estimand

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
