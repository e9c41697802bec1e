"""Commands that analyse runs and compare models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pandas as pd

from biaslens.analysis import Comparison, Run, compare, distinct_names, read_run
from biaslens.cli.options import PATH, json_option
from biaslens.cli.sections import comparison_columns, print_analyses, show
from biaslens.report.frames import json_records
from biaslens.report.table import printable
from biaslens.report.tables import tables, write_tables
from biaslens.schema import Condition, Kind


@click.command("analyze")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, help="Folder for all analyses as CSV files.")
@click.option("--force", is_flag=True, help="Put runs together that asked or judged differently.")
@json_option
def analyze_command(runs: tuple[Path, ...], *, out: Path | None, force: bool, as_json: bool) -> None:
    """Analyse runs: role ablation, consistency, position, triggers.

    Also rates by kind, abstention and, of several runs, their comparison.
    """
    read = read_runs(runs)
    found = tables(read, force=force)
    if out is not None:
        for path in write_tables(found, out):
            click.echo(path, err=True)
    if as_json:
        click.echo(json.dumps({name: json_records(frame) for name, frame in found.items()}))
    else:
        print_analyses(read, found)


@click.command("compare")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--condition", type=click.Choice([str(name) for name in Condition]), default="role", show_default=True)
@click.option(
    "--kind",
    type=click.Choice([str(name) for name in Kind]),
    help="Only questions of this kind.  [default: all of them, and each kind]",
)
@click.option("--force", is_flag=True, help="Compare runs that asked or judged differently, on what they share.")
@json_option
def compare_command(runs: tuple[Path, ...], *, condition: str, kind: str | None, force: bool, as_json: bool) -> None:
    """Compare models on the questions that all of them answered.

    It says whether one is really more biased.
    """
    read = read_runs(runs)
    kinds: Sequence[Kind | None] = [Kind(kind)] if kind else [None, *Kind]
    found = {
        name.value if name else "all": compare(read, condition=Condition(condition), kind=name, force=force)
        for name in kinds
    }
    if as_json:
        records = {
            name: {"models": json_records(both.models), "pairs": json_records(both.pairs)}
            for name, both in found.items()
        }
        click.echo(json.dumps(records))
        return
    for name, both in found.items():
        _print_comparison(name, both, condition)


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read run files; one that is named twice counts once, and runs of one model get names that tell them apart."""
    return distinct_names([read_run(path) for path in {path.resolve(): path for path in paths}.values()])


def verdict(pair: Mapping[str, object], *, pairs: int = 1) -> str:
    """Say in words what a comparison of two models came to.

    Parameters
    ----------
    pair
        A row of `Comparison.pairs`.
    pairs
        How many were compared: with several, the corrected p-value decides and is shown.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    difference, low, high, p, p_holm, least = (
        float(str(pair[name]))
        for name in ("difference", "difference_low", "difference_high", "p", "p_holm", "minimal_difference")
    )
    if difference < 0:
        a, b, difference, low, high = b, a, -difference, -high, -low
    size = f"{100 * difference:+.1f} points"
    if pd.isna(low):
        return f"{a} against {b}: {size}; how sure that is, is not known: all questions are of one role"
    tests = _p(p) if pairs == 1 else f"{_p(p)}, for {pairs} pairs {_p(p_holm)}"
    size += f" (95 % interval {100 * low:.1f} to {100 * high:.1f}; p {tests})"
    if not bool(pair["tied"]):
        return f"{a} is more biased than {b}: {size}"
    seen = "" if pd.isna(least) else f"; the design would see differences from {100 * least:.1f} points on"
    return f"no difference can be told between {a} and {b}: {size}{seen}"


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"= {value:.4f}"


def _print_comparison(name: str, both: Comparison, condition: str) -> None:
    first = both.models.iloc[0]
    questions, planned, roles = (int(first[column]) for column in ("questions", "planned_questions", "roles"))
    if not planned:
        click.echo(f"{name}: not known, no such question is planned under the condition {condition}")
        return
    if not questions:
        click.echo(f"{name}: not known, none of {planned:,} questions has a valid answer in all runs")
        return
    show(
        f"{name}: {questions:,} of {planned:,} questions, those with a valid answer in all runs; {roles} "
        f"{'role' if roles == 1 else 'roles'}",
        comparison_columns(both.models),
    )
    for pair in both.pairs.to_dict("records"):
        words = {str(column): value for column, value in pair.items()}
        click.echo("  " + verdict(words, pairs=len(both.pairs)))
    click.echo()
