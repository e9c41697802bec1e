"""The command that labels answers, in the browser or in a sheet."""

from __future__ import annotations

from pathlib import Path

import click

from biaslens.annotation.annotators import known_keys
from biaslens.annotation.exchange import new_labels, write_sheet
from biaslens.annotation.journal import Journal
from biaslens.annotation.task import Task, open_task, standing_labels
from biaslens.cli.types import PATH


@click.command("annotate")
@click.argument("folder", type=PATH)
@click.option("--as", "annotator", required=True, metavar="NAME", help="Who labels; better a pseudonym.")
@click.option("--settle", is_flag=True, help="Decide where the others differ: shows only those answers.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the page.  [default: any free one]")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.  [default: open it]")
@click.option("--import", "import_from", type=PATH, metavar="FILE", help="Take labels over from a .csv or .jsonl file.")
@click.option("--export", "export_to", type=PATH, metavar="FILE", help="Write a .csv or .jsonl sheet to fill in.")
def annotate_command(
    folder: Path,
    annotator: str,
    *,
    settle: bool,
    port: int,
    browser: bool,
    import_from: Path | None,
    export_to: Path | None,
) -> None:
    """Label the answers of a sample, one person at a time.

    FOLDER is what `biaslens sample` made. A page opens on this machine only; every label is on disk before the next
    answer is shown, and the same command goes on where it was left. With --import or --export no page is opened.
    """
    if import_from is not None and export_to is not None:
        raise click.UsageError("give either --import or --export")
    if import_from is not None:
        _import(folder, annotator, import_from, settle=settle)
        return
    task = open_task(folder, annotator, settles=settle)
    if export_to is not None:
        labels = standing_labels(folder, annotator)
        write_sheet(export_to, task.items, labels, others=task.others)
        labelled = sum(item.key in labels for item in task.items)
        click.echo(f"{export_to}: {labelled:,} of {len(task.items):,} labelled")
        return
    _serve(folder, annotator, task, settle=settle, port=port, browser=browser)


def _import(folder: Path, annotator: str, path: Path, *, settle: bool) -> None:
    with Journal(folder, annotator, settles=settle) as journal:
        labels = new_labels(path, known_keys(folder), journal.labels)
        journal.extend(labels)
        click.echo(f"{journal.path}: labels taken over: {len(labels):,}; in all: {len(journal.labels):,}")


def _serve(folder: Path, annotator: str, task: Task, *, settle: bool, port: int, browser: bool) -> None:
    # Only here: a web server takes long to load, and other commands need none.
    from biaslens.annotation.web.serve import serve
    from biaslens.annotation.web.sitting import Sitting

    with Journal(folder, annotator, settles=settle) as journal:
        sitting = Sitting(task.items, journal, others=task.others)

        def tell(address: str) -> None:
            click.echo(f"{sitting.done:,} of {len(task.items):,} labelled. Ctrl-C stops; every label is kept at once.")
            click.echo(address)

        try:
            serve(sitting, port=port, open_browser=browser, tell=tell)
        except KeyboardInterrupt:
            click.echo(f"\n{journal.path}: {sitting.done:,} of {len(task.items):,} labelled")
