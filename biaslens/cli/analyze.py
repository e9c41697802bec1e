"""Commands that analyse runs and compare models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from biaslens.analysis import Comparison, Run, compare, corrections, distinct_names, read_run
from biaslens.cli.options import (
    PATH,
    force_option,
    json_option,
    runs_argument,
)
from biaslens.report.analyses import Analyses, write_tables
from biaslens.report.sections import comparison_columns, print_analyses, verdict, what_labels_say
from biaslens.report.table import Table, json_records
from biaslens.schema import Condition, Kind


@click.command("analyze")
@runs_argument
@click.option("--out", type=PATH, help="Folder for CSV files of all analyses.")
@force_option
@json_option
def analyze_command(runs: tuple[Path, ...], *, out: Path | None, force: bool, as_json: bool) -> None:
    """Analyse runs: role ablation, consistency, position, triggers.

    Also rates by kind, abstention and, for several runs, their comparison.
    """
    analyses = Analyses(read_runs(runs), force=force)
    if out is not None:
        for path in write_tables(analyses.tables, out):
            click.echo(path, err=True)
    if as_json:
        click.echo(json.dumps({name: json_records(frame) for name, frame in analyses.tables.items()}))
    else:
        print_analyses(analyses)


@click.command("compare")
@runs_argument
@click.option("--condition", type=click.Choice([str(name) for name in Condition]), default="role", show_default=True)
@click.option(
    "--kind",
    type=click.Choice([str(name) for name in Kind]),
    help="Only questions of this kind.  [default: all together, then each kind]",
)
@click.option(
    "--force", is_flag=True, help="Compare runs even if they were asked or judged differently, on what they share."
)
@json_option
def compare_command(runs: tuple[Path, ...], *, condition: str, kind: str | None, force: bool, as_json: bool) -> None:
    """Compare models on the questions that all of them answered.

    Shows whether one model is really more biased than another.
    """
    read = read_runs(runs)
    kinds: Sequence[Kind | None] = [Kind(kind)] if kind else [None, *Kind]
    corrected = [corrections(run) for run in read]
    found = {
        name.value if name else "all": compare(
            read, condition=Condition(condition), kind=name, force=force, corrected=corrected
        )
        for name in kinds
    }
    if as_json:
        records = {
            name: {"models": json_records(both.models), "pairs": json_records(both.pairs)}
            for name, both in found.items()
        }
        click.echo(json.dumps(records))
        return
    why = found.get("why")
    why_is_labelled = why is not None and bool(why.models["corrected_rate"].notna().all())
    for name, both in found.items():
        _print_comparison(name, both, condition, why_is_labelled=why_is_labelled)


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read run files; one that is named twice counts once, and runs of one model get names that tell them apart."""
    return distinct_names([read_run(path) for path in {path.resolve(): path for path in paths}.values()])


_WHY_IS_LABELLED = "the raw rates count why answers as their judges do; what labels say of these stands under why"


def _print_comparison(name: str, both: Comparison, condition: str, *, why_is_labelled: bool) -> None:
    first = both.models.iloc[0]
    questions, planned, roles = (int(first[column]) for column in ("questions", "planned_questions", "roles"))
    if not planned:
        click.echo(f"{name}: not known, no such question is planned under the condition {condition}")
        return
    if not questions:
        click.echo(f"{name}: not known, none of {planned:,} questions has a valid answer in all runs")
        return
    labelled = both.models["corrected_rate"].notna().any()
    note = "Corrected: by labels, over all valid answers of the run. Ranks and groups are of the raw rates."
    Table.of(
        comparison_columns(both.models),
        title=f"{name}: {questions:,} of {planned:,} questions, those with a valid answer in all runs; {roles} "
        f"{'role' if roles == 1 else 'roles'}",
        notes=[note] if labelled else [],
    ).print()
    remarks: dict[str, None] = {}
    for pair in both.pairs.to_dict("records"):
        words = {str(column): value for column, value in pair.items()}
        click.echo("  " + verdict(words, pairs=len(both.pairs)))
        said = what_labels_say(words)
        if words["labels_say"] == "unknown":
            remarks[_WHY_IS_LABELLED if why_is_labelled else said] = None
        elif said:
            click.echo(f"    {said}")
    for said in remarks:
        click.echo(f"  {said}")
    click.echo()
