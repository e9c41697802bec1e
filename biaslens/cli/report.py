"""Commands that show and publish runs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from biaslens.analysis import Cell, Summary, summarise
from biaslens.cli.options import PATH, json_option
from biaslens.cli.types import FILE
from biaslens.report import export, leaderboard, print_table

_FORMATS = ("csv", "jsonl", "parquet")


def print_report(run: Path) -> None:
    """Print the table of a run on stdout."""
    print_table(summarise(run))


@click.command("report")
@click.argument("run", type=PATH)
@json_option
def report_command(run: Path, *, as_json: bool) -> None:
    """Show a run: attribute by kind, both headline numbers, coverage."""
    if as_json:
        click.echo(json.dumps(_as_json(summarise(run)), indent=2))
    else:
        print_report(run)


@click.command("leaderboard")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="Folder to write the CSV files to.")
@click.option("--force", is_flag=True, help="Put runs together that asked or judged differently.")
def leaderboard_command(runs: tuple[Path, ...], out: Path, *, force: bool) -> None:
    """Write leaderboard.csv, a row for each model and condition, and a long CSV by attribute and kind."""
    for path in leaderboard(runs, out, force=force):
        click.echo(path)


@click.command("export")
@click.argument("run", type=PATH)
@click.option("--format", "file_format", type=click.Choice(_FORMATS), default="csv", show_default=True)
@click.option("--out", type=FILE, help="File to write; by default the run file's name with the format's suffix.")
def export_command(run: Path, file_format: Any, out: Path | None) -> None:  # noqa: ANN401 - one of _FORMATS
    """Write every response of a run, and the judges' votes beside it."""
    for path in export(run, out or run.with_suffix(f".{file_format}"), file_format):
        click.echo(path)


def _as_json(summary: Summary) -> dict[str, Any]:
    run = summary.run
    return {
        "run": str(run.path),
        "meta": dict(run.meta),
        "conditions": [
            {
                "condition": condition.condition,
                "resolved_models": condition.resolved_models,
                "last_answer": condition.last_answer,
                "corrected": {
                    kind or "all": {
                        name: None if isinstance(value, float) and math.isnan(value) else value
                        for name, value in asdict(correction).items()
                    }
                    for kind, correction in condition.corrected.items()
                },
                "cells": [_cell(cell) for cell in condition.cells.values() if cell.questions],
            }
            for condition in summary.conditions
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    # JSON has no NaN: a rate over nothing is null.
    rate = {name: None if math.isnan(value) else value for name, value in asdict(cell.bias_rate).items()}
    record = asdict(cell) | {"bias_rate": rate, "coverage": cell.counts.coverage, "planned": cell.counts.planned}
    return record | {"attribute": cell.attribute or "all", "kind": cell.kind or "all"}
