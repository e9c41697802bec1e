"""The command that writes the report of the probe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from biaslens.cli.probe.gaps import attribute_list, measuring_options
from biaslens.cli.types import PATH


@click.command("report")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="Folder of the report.")
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
    """Write figures and tables over models.

    Gaps, all intervals, net counts, families of comparison. RUNS are run folders, folders of them, or files of
    predictions (.tsv, .parquet).
    """
    from biaslens.probe.predictions import read_predictions
    from biaslens.report.probe.files import write_probe_report

    files = write_probe_report(
        read_predictions(runs), out, kind=interval, attributes=attribute_list(attributes), groups=groups,
        rounds=rounds, seed=seed,
    )  # fmt: skip
    click.echo(f"{files[0]} ({len(files)} files)")
