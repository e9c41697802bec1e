"""The command that imports answers of others."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from biaslens.cli.progress import ProgressBar
from biaslens.cli.types import PATH
from biaslens.replication.importing import Imported, import_release
from biaslens.replication.printed import MODEL_NAMES

INCOMPLETE = 3
_FAULTS_SHOWN = 10
_ANSWERS = 197_184
"""Answers of a whole model: 32,864 questions, two conditions, three trials."""


@click.group("import")
def import_command() -> None:
    """Import answers that others have collected."""


@import_command.command("published")
@click.argument("release", type=PATH)
@click.option("--out", type=PATH, default=Path("runs"), show_default=True, help="Folder of the run files.")
def published_command(release: Path, out: Path) -> None:
    """Import the published study's data release: a run file a model, both conditions.

    RELEASE is the unpacked release, a folder of its archives, or one archive. What is imported already is left alone.
    Exit code 3: files are missing or broken; everything else was imported.
    """
    results: list[Imported] = []
    with ProgressBar(total=None, unit=" answers", desc="import") as bar:

        def show(model: str, answers: int) -> None:
            if bar.desc != f"{model}: ":
                bar.reset(total=_ANSWERS)
                bar.set_description(model, refresh=False)
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
        notes.append(f"{imported.unanswered:,} planned answers are in no file; they lower the coverage")
    for note in notes[:_FAULTS_SHOWN]:
        click.echo(f"  {note}", err=True)
    if len(notes) > _FAULTS_SHOWN:
        click.echo(f"  … and {len(notes) - _FAULTS_SHOWN:,} more, in the run file's meta", err=True)
