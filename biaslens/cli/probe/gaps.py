"""The commands that read predictions: gaps and report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from biaslens.cli.options import (
    PATH,
    json_option,
    runs_argument,
)

_KINDS = ("bootstrap", "t", "z")


def measuring_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the commands that measure: attributes, groups, interval, rounds, seed."""
    for option in reversed(
        (
            click.option(
                "--attributes",
                help="Attributes, separated by commas: age,sexuality,disability.  [default: all in the predictions]",
            ),
            click.option(
                "--groups",
                type=click.Choice(["paper", "all"]),
                default="paper",
                show_default=True,
                help="Groups to compare: those of the paper, or all in the predictions.",
            ),
            click.option(
                "--interval",
                type=click.Choice(_KINDS),
                default="bootstrap",
                show_default=True,
                help="What to resample. bootstrap: prompts, templates and terms. t: prompts. z: prompts, as published.",
            ),
            click.option(
                "--rounds", type=click.IntRange(100), default=2000, show_default=True, help="Bootstrap rounds."
            ),
            click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap."),
        )
    ):
        command = option(command)
    return command


def attribute_list(text: str | None) -> list[str] | None:
    """Split a comma-separated option; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


@click.command("gaps")
@runs_argument
@measuring_options
@click.option(
    "--reference",
    type=click.Choice(["mean", "unmarked"]),
    default="mean",
    show_default=True,
    help="What to compare a group with: the mean over the groups, or sentences without an identity.",
)
@json_option
def gaps_command(
    runs: tuple[Path, ...],
    *,
    attributes: str | None,
    groups: str,
    interval: Any,  # noqa: ANN401 - one of the kinds
    rounds: int,
    seed: int,
    reference: Any,  # noqa: ANN401 - "mean" or "unmarked"
    as_json: bool,
) -> None:
    """Measure how groups differ in false positives.

    Each interval is shown with what it covers. RUNS are run folders, folders of them, or files of predictions (.tsv,
    .parquet).
    """
    from biaslens.probe.intervals import covers, intervals
    from biaslens.probe.predictions import read_predictions
    from biaslens.report.probe import print_gaps
    from biaslens.report.table import json_records

    rows = intervals(
        read_predictions(runs), kind=interval, attributes=attribute_list(attributes), groups=groups,
        reference=reference, rounds=rounds, seed=seed,
    )  # fmt: skip
    if as_json:
        record = {
            "interval": interval,
            "covers": covers(interval, reference),
            "reference": reference,
            "gaps": json_records(rows),
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False))
    else:
        print_gaps(rows)


@click.command("report")
@runs_argument
@click.option("--out", type=PATH, required=True, help="Folder for the report.")
@measuring_options
def report_command(
    runs: tuple[Path, ...],
    *,
    out: Path,
    attributes: str | None,
    groups: str,
    interval: Any,  # noqa: ANN401 - one of the kinds
    rounds: int,
    seed: int,
) -> None:
    """Write figures and tables that compare models.

    Gaps, all intervals, net counts, families of comparisons. RUNS are run folders, folders of them, or files of
    predictions (.tsv, .parquet).
    """
    from biaslens.probe.predictions import read_predictions
    from biaslens.report.probe import write_probe_report

    files = write_probe_report(
        read_predictions(runs), out, kind=interval, attributes=attribute_list(attributes), groups=groups,
        rounds=rounds, seed=seed,
    )  # fmt: skip
    click.echo(f"{files[0]} ({len(files)} files)")
