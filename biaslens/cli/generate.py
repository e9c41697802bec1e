"""The command that makes a benchmark."""

from __future__ import annotations

from pathlib import Path

import click

from biaslens.benchmark import expand, load_bank, write
from biaslens.cli.options import PATH
from biaslens.errors import InputError
from biaslens.schema import Kind


@click.command("generate")
@click.option("--with", "generator", required=True, help='What writes it: "bank", offline and deterministic.')
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes.")
@click.option("--roles-per-attribute", type=click.IntRange(1), help="By default every role of the bank.")
@click.option("--questions-per-kind", type=click.IntRange(1), default=20, show_default=True, help="For each role.")
@click.option("--out", type=PATH, required=True, help="Folder to write roles.csv, questions.csv, benchmark.toml to.")
def generate_command(
    generator: str, seed: int, roles_per_attribute: int | None, questions_per_kind: int, out: Path
) -> None:
    """Make a benchmark: roles, and questions of each kind for each role."""
    if generator != "bank":
        raise InputError(f"--with {generator}: this version generates with the bank only; use --with bank")
    benchmark = expand(
        load_bank(), seed=seed, roles_per_attribute=roles_per_attribute, questions_per_kind=questions_per_kind
    )
    write(benchmark, out)
    kinds = ", ".join(f"{sum(q.kind is kind for q in benchmark.questions)} {kind}" for kind in Kind)
    click.echo(f"{out}: {len(benchmark.roles)} roles, {len(benchmark.questions)} questions ({kinds})")
