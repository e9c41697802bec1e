"""The commands around the published study: import and reproduce."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import click
import pandas as pd

from biaslens._util.files import write_text
from biaslens.analysis import compare
from biaslens.cli.options import CANNOT, INCOMPLETE, PATH, runs_argument
from biaslens.cli.progress import ProgressBar
from biaslens.errors import InputError
from biaslens.replication.finding import PICTURE, finding
from biaslens.replication.importing import Imported, import_release
from biaslens.replication.reproduce import MODEL_NAMES, PublishedRun, Reproduction, read_published, reproduce, triggers
from biaslens.replication.rescoring import changes, rates_drawn, rescored, why_corrected
from biaslens.report.table import write_csv
from biaslens.schema import Condition
from biaslens.stats import Estimand

_FAULTS_SHOWN = 10
_ANSWERS = 197_184
"""Answers of a whole model: 32,864 questions, two conditions, three trials."""


@click.command("published")
@click.argument("release", type=PATH)
@click.option("--out", type=PATH, default=Path("runs"), help="Folder for the run files.")
def published_command(release: Path, out: Path) -> None:
    """Import the published study's data release: one run file per model.

    A run file holds both conditions. RELEASE is the unpacked release, a folder of its archives, or one archive. What is
    already imported is left alone. Exit code 3: files are missing or broken; everything else was imported.
    """
    results: list[Imported] = []
    with ProgressBar(total=None, unit=" answers", desc="import") as bar:
        shown = ""

        def show(model: str, answers: int) -> None:
            nonlocal shown
            if shown != model:
                shown = model
                bar.reset(total=_ANSWERS)
                bar.set_description_str(model, refresh=False)
            bar.update(answers - bar.n)

        for imported in import_release(release, out, progress=show):
            bar.clear()
            _say(imported)
            results.append(imported)
    absent = [name for name in MODEL_NAMES if name not in {imported.model for imported in results}]
    if absent and release.is_dir():
        click.echo(f"not in this release: {', '.join(absent)}", err=True)
    if not all(imported.complete for imported in results):
        sys.exit(INCOMPLETE)


def _say(imported: Imported) -> None:
    total = imported.new + imported.known
    news = f"{imported.new:,} new" if imported.new else "nothing new"
    click.echo(f"{imported.run}: {total:,} answers of {imported.model} ({news})")
    notes = [f"missing: {name}" for name in imported.missing] + list(imported.faults)
    if imported.unanswered:
        whose = "the source never had them" if imported.complete else "the source's files are not all here, or whole"
        notes.append(f"{imported.unanswered:,} planned answers are in no file: {whose}; they lower the coverage")
    for note in notes[:_FAULTS_SHOWN]:
        click.echo(f"  {note}", err=True)
    if len(notes) > _FAULTS_SHOWN:
        click.echo(f"  … and {len(notes) - _FAULTS_SHOWN:,} more, listed in the table meta of the run file", err=True)


@click.command("reproduce")
@runs_argument
@click.option("--out", type=PATH, required=True, help="Folder for the tables and the finding.")
@click.option(
    "--labels",
    type=PATH,
    help="Folder with a label folder for each run, named after it and imported into it; corrects the why counts.",
)
def reproduce_command(runs: tuple[Path, ...], *, out: Path, labels: Path | None) -> None:
    """Recompute the tables of the published study.

    Each figure is shown beside the printed one, and the answers are also scored by the oracles of biaslens.

    RUNS are imported run files, or folders of them. Exit code 1: a figure differs from the printed one.
    """
    paths = run_files(runs)
    why = None if labels is None else why_corrected(paths, labels)
    # Reading takes the time, and there is a file a model.
    with ProcessPoolExecutor(max_workers=min(len(paths), 2)) as pool:
        imported = list(pool.map(read_published, paths))
        changed = pd.concat(pool.map(changes, imported), ignore_index=True)
    reproduction = reproduce(imported)
    table = rescored(imported)
    figures = [asdict(figure) | {"equal": figure.equal} for figure in reproduction.figures]
    write_csv(pd.DataFrame(figures), out / "reproduction.csv")
    write_csv(_triggers(imported), out / "triggers.csv")
    write_csv(table, out / "rescored.csv")
    write_csv(changed, out / "changes.csv")
    if why is not None:
        write_csv(why, out / "why_corrected.csv")
    compared = []
    for estimand in Estimand if len(imported) > 1 else ():
        of_runs = [replace(run.run, estimand=estimand) for run in imported]
        compared.append(compare(of_runs, force=True, corrected=[{}] * len(of_runs)))
    from biaslens.report.figures import paired_rates, save  # drawing takes long to load

    save(paired_rates(rates_drawn(table), rows="model", series="scored"), out / PICTURE)
    write_text(out / "FINDING.md", finding(imported, reproduction, table, changed, comparisons=compared, why=why))
    _say_figures(reproduction, out)
    if reproduction.different:
        sys.exit(CANNOT)


def run_files(paths: Sequence[Path]) -> list[Path]:
    """Run files among the arguments; a folder stands for those in it.

    Raises `InputError` when a folder has none.
    """
    found: list[Path] = []
    for path in paths:
        files = sorted(path.glob("published-*.sqlite")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path}: no imported run files here; `biaslens import published` makes them")
        found += files
    return list({file.resolve(): file for file in found}.values())


def _triggers(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    models = sum(Condition.ROLE in run.conditions for run in runs)
    rows = [
        {"models": models, "kind": kind or "all", "k": k, "questions": questions, "share_of_triggered": share}
        for kind, k, questions, share in triggers(runs)
    ]
    return pd.DataFrame(rows, columns=["models", "kind", "k", "questions", "share_of_triggered"])


def _say_figures(reproduction: Reproduction, out: Path) -> None:
    for name in dict.fromkeys(figure.table for figure in reproduction.figures):
        of_table = [figure for figure in reproduction.figures if figure.table == name]
        equal = sum(figure.equal for figure in of_table)
        click.echo(f"{name}: {equal} of {len(of_table)} figures as printed")
    for figure in reproduction.different:
        place = ", ".join(part for part in (figure.model, figure.attribute, figure.kind) if part != "all")
        numbers = f"printed {figure.printed}, here {figure.computed}"
        click.echo(f"differs: {figure.table}, {place}, {figure.measure}: {numbers}")
    for line in reproduction.not_checked:
        click.echo(f"not checked: {line}")
    click.echo(f"{out / 'FINDING.md'}")
