"""Commands that show and publish runs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from biaslens.analysis import Cell, Summary, summarise
from biaslens.cli.analyze import read_runs
from biaslens.cli.options import FILE, PATH, force_option, json_option, runs_argument
from biaslens.report import export, leaderboard, print_table
from biaslens.report.analyses import Analyses, write_tables
from biaslens.report.leaderboard import require_own, write_leaderboard
from biaslens.report.sections import write_for_papers

_FORMATS = ("csv", "jsonl", "parquet")


@click.command("report")
@click.argument("run", type=PATH)
@click.option("--brief", is_flag=True, help="Leave the attributes out; show the headline numbers and the kinds.")
@json_option
def report_command(run: Path, *, brief: bool, as_json: bool) -> None:
    """Show a run: rates by attribute and kind, and coverage.

    Shows both headline numbers, biased questions and the bias rate, and what the run took.
    """
    summary = summarise(run)
    if as_json:
        click.echo(json.dumps(summary_record(summary, brief=brief), indent=2))
    else:
        print_table(summary, brief=brief)


@click.command("leaderboard")
@runs_argument
@click.option("--out", type=PATH, help="Folder for the CSV files.  [default: leaderboard/, beside the first run]")
@force_option
def leaderboard_command(runs: tuple[Path, ...], out: Path | None, *, force: bool) -> None:
    """Write leaderboard.csv, and the same by attribute and kind.

    leaderboard.csv has a row for each model and condition; leaderboard_by_attribute.csv has one for each model,
    condition, attribute and kind.
    """
    for path in leaderboard(runs, out or runs[0].parent / "leaderboard", force=force):
        click.echo(path)


@click.command("export")
@click.argument("run", type=PATH)
@click.option("--format", "file_format", type=click.Choice(_FORMATS), default="csv", show_default=True)
@click.option("--out", type=FILE, help="File to write.  [default: the run file's name with the suffix of the format]")
def export_command(run: Path, file_format: Any, out: Path | None) -> None:  # noqa: ANN401 - one of _FORMATS
    """Write every response of a run with the judges' votes."""
    for path in export(run, out or run.with_suffix(f".{file_format}"), file_format):
        click.echo(path)


_examples_option = click.option(
    "--examples/--no-examples",
    default=None,
    help="Whether to show some answers.  [default: yes, except those of imported runs]",
)


@click.command("page")
@runs_argument
@click.option(
    "--out", type=PATH, help="Folder for the page; open its index.html.  [default: page/, beside the first run]"
)
@_examples_option
@force_option
def page_command(runs: tuple[Path, ...], out: Path | None, *, examples: bool | None, force: bool) -> None:
    """Write a static page: the leaderboard and each model's results.

    It also covers attributes and roles, the method and its limits.
    """
    # Only here: a plotting library takes long to load, and other commands need none.
    from biaslens.report.page.site import by_name, write_page

    out = out or runs[0].parent / "page"
    files = write_page(Analyses(by_name(read_runs(runs)), force=force), out, show_examples=examples)
    click.echo(f"{out / 'index.html'} ({len(files)} files)")


@click.command("publish")
@runs_argument
@click.option("--out", type=PATH, help="Folder for everything.  [default: published/, beside the first run]")
@_examples_option
@force_option
def publish_command(runs: tuple[Path, ...], out: Path | None, *, examples: bool | None, force: bool) -> None:
    """Write leaderboard, analyses, tables, figures and a page.

    Everything there is to publish about some runs. The tables are meant for papers.
    """
    from biaslens.report.figures import draw
    from biaslens.report.page.site import write_page

    out = out or runs[0].parent / "published"
    analyses = Analyses(read_runs(runs), force=force)
    require_own(out, analyses.summaries)
    written = [
        *write_leaderboard(analyses.summaries, out),
        *write_tables(analyses.tables, out / "analyses"),
        *write_for_papers(analyses.tables, out / "tables"),
        *draw(analyses.tables, out / "figures"),
        *write_page(analyses, out / "page", show_examples=examples),
    ]
    click.echo(f"{out}: {len(written)} files; open {out / 'page' / 'index.html'}")


def summary_record(summary: Summary, *, brief: bool = False) -> dict[str, Any]:
    """A run for JSON; `brief` leaves the attributes out."""
    run = summary.run
    return {
        "run": str(run.path),
        "meta": dict(run.meta),
        "took": asdict(summary.took),
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
                "cells": [
                    _cell(cell)
                    for cell in condition.cells.values()
                    if cell.questions and not (brief and cell.attribute)
                ],
            }
            for condition in summary.conditions
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    # JSON has no NaN: a rate over nothing is null.
    rate = cell.bias_rate
    numbers = {"rate": rate.value, "low": rate.low, "high": rate.high, "standard_error": rate.standard_error}
    known = {name: None if math.isnan(value) else value for name, value in numbers.items()}
    counted = {"successes": cell.counts.biased, "trials": rate.items, "clusters": rate.clusters}
    counts = {"coverage": cell.counts.coverage, "planned": cell.counts.planned}
    names = {"attribute": cell.attribute or "all", "kind": cell.kind or "all"}
    return asdict(cell) | {"bias_rate": known | counted} | counts | names
