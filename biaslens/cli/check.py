"""The command that looks a benchmark over."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from biaslens._util.files import write_text
from biaslens.benchmark.quality import SAMPLE, Source, as_record, check, read_source
from biaslens.cli.options import (
    CANNOT,
    PATH,
    SEED,
    json_option,
)
from biaslens.replication.release import is_published, published_questions
from biaslens.report.quality import page, print_quality
from biaslens.resources import resource


@click.command("check")
@click.argument("benchmark", type=PATH, required=False)
@click.option("--against", type=PATH, help="Another benchmark to compare it with.")
@click.option("--page", "page_file", type=PATH, help="HTML file to write the result to.")
@click.option(
    "--sample", type=click.IntRange(2), default=SAMPLE, show_default=True, help="Questions of each kind to sample."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of that sample.")
@json_option
def check_command(
    benchmark: Path | None,
    *,
    against: Path | None,
    page_file: Path | None,
    sample: int,
    seed: int,
    as_json: bool,
) -> None:
    """Find faults in a benchmark and measure its quality.

    BENCHMARK is a folder or the published study's questions (folder or archive); without it, the shipped benchmark is
    checked. Variety of wording and meaning is measured on a sample, everything else on all questions. Exit codes: 0 no
    faults; 1 faults, or the benchmark cannot be read.
    """
    sources = [_open(path) for path in (benchmark or resource("benchmark"), against) if path is not None]
    quality, *others = [check(source, seed=seed, per_kind=sample) for source in sources]
    other = others[0] if others else None
    if page_file is not None:
        write_text(page_file, page(quality, other))
    if as_json:
        click.echo(json.dumps([as_record(one) for one in (quality, *others)], indent=2, ensure_ascii=False))
    else:
        print_quality(quality, other)
    if quality.faults:
        sys.exit(CANNOT)


def _open(path: Path) -> Source:
    return published_questions(path) if is_published(path) else read_source(path)
