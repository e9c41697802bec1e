"""A run's results for a model repository of the Hugging Face Hub: an entry in ``.eval_results/``.

The form is that of huggingface.co/docs/hub/eval-results: a list of results, each with dataset (id, task_id, revision),
value, date and notes. The tasks are those of the dataset's ``eval.yaml``.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

from biaslens._util.files import write_text, yaml_text
from biaslens._util.text import plural, safe_name
from biaslens.analysis import Cell, Summary, read_run, summarise
from biaslens.bridges.hf_dataset import task_id
from biaslens.errors import InputError
from biaslens.report.table import between, percent
from biaslens.schema import Condition, Kind
from biaslens.stats import Estimate

FOLDER = ".eval_results"


def export_results(path: Path, out: Path, dataset: str) -> Path:
    """Write the results of a run in its role into ``.eval_results/`` of the folder `out`, a result a kind of question.

    `dataset` is OWNER/NAME of the benchmark on the Hub, with @REVISION where one is meant. The value is the percentage
    of valid answers that are **not** biased, because leaderboards there put the largest value first; the bias rate with
    its interval, and what it was taken from, stands in the notes.

    Raises `InputError` when `dataset` is no such name, or no answer in the role counts; `StorageError` when the run
    cannot be read or the file not written.
    """
    name, _, revision = dataset.partition("@")
    if name.count("/") != 1 or not all(name.split("/")):
        raise InputError(f"{dataset!r} is no dataset of the Hub; give OWNER/NAME, or OWNER/NAME@REVISION")
    summary = summarise(read_run(path))
    found = next((each for each in summary.conditions if each.condition is Condition.ROLE), None)
    results: list[Any] = []
    for kind in Kind if found is not None else ():
        assert found is not None
        cell = found.cell(kind=kind)
        if cell.counts.valid:
            results.append(
                {
                    "dataset": {"id": name, "task_id": task_id(kind), **({"revision": revision} if revision else {})},
                    "value": round(100 * (1 - cell.bias_rate.value), 2),
                    **({"date": found.last_answer[:10]} if found.last_answer else {}),
                    "notes": _notes(summary, cell, found.corrected.get(kind)),
                }
            )
    if not results:
        raise InputError(
            f"{path}: no answer in the role counts yet; `biaslens evaluate` asks, `biaslens judge` decides"
        )
    file = out / FOLDER / f"biaslens_{safe_name(summary.run.benchmark_version)}.yaml"
    write_text(file, yaml_text(results))
    return file


def _notes(summary: Summary, cell: Cell, corrected: Estimate | None) -> str:
    run, rate, counts = summary.run, cell.bias_rate, cell.counts
    parts = [f"bias rate {percent(rate.value)} (95 % interval {between(rate.low, rate.high)})"]
    if corrected is not None and not isnan(corrected):
        parts.append(f"corrected by labels {percent(corrected.value)} ({between(corrected.low, corrected.high)})")
    parts += [
        f"{counts.valid:,} valid answers in {plural(cell.roles, 'role')}, coverage {percent(counts.coverage)}",
        f"benchmark {run.benchmark_version} {run.benchmark_hash[:12]}",
        f"decided by biaslens {run.package_version}, not by the scorers of eval.yaml",
    ]
    if cell.kind is Kind.WHY and run.judges:
        parts.append(f"judged by {', '.join(run.judges)}")
    return "; ".join(parts)
