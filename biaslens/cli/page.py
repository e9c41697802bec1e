"""Commands that publish runs."""

from __future__ import annotations

from pathlib import Path

import click

from biaslens.analysis import summarise
from biaslens.cli.analyze import read_runs
from biaslens.cli.options import PATH
from biaslens.report.leaderboard import require_own, write_leaderboard
from biaslens.report.tables import tables, write_for_papers, write_tables


@click.command("page")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option(
    "--out", type=PATH, help="Folder for the page; open its index.html.  [default: page/, beside the first run]"
)
@click.option(
    "--examples/--no-examples",
    default=None,
    help="Whether to show some answers.  [default: yes, except those of imported runs]",
)
@click.option("--force", is_flag=True, help="Combine runs even if they were asked or judged differently.")
def page_command(runs: tuple[Path, ...], out: Path | None, *, examples: bool | None, force: bool) -> None:
    """Write a static page: the leaderboard and each model's results.

    It also covers attributes and roles, the method and its limits.
    """
    # Only here: a plotting library takes long to load, and other commands need none.
    from biaslens.report.page.site import write_page

    out = out or runs[0].parent / "page"
    files = write_page(read_runs(runs), out, show_examples=examples, force=force)
    click.echo(f"{out / 'index.html'} ({len(files)} files)")


@click.command("publish")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, help="Folder for everything.  [default: published/, beside the first run]")
@click.option(
    "--examples/--no-examples",
    default=None,
    help="Whether to show some answers.  [default: yes, except those of imported runs]",
)
@click.option("--force", is_flag=True, help="Combine runs even if they were asked or judged differently.")
def publish_command(runs: tuple[Path, ...], out: Path | None, *, examples: bool | None, force: bool) -> None:
    """Write leaderboard, analyses, tables, figures and a page.

    Everything there is to publish about some runs. The tables are meant for papers.
    """
    from biaslens.report.figures import draw
    from biaslens.report.page.site import write_page

    out = out or runs[0].parent / "published"
    read = read_runs(runs)
    summaries = [summarise(run) for run in read]
    require_own(out, summaries)
    found = tables(read, force=force)
    written = [
        *write_leaderboard(summaries, out),
        *write_tables(found, out / "analyses"),
        *write_for_papers(found, out / "tables"),
        *draw(found, out / "figures"),
    ]
    written += write_page(read, out / "page", show_examples=examples, force=force)
    click.echo(f"{out}: {len(written)} files; open {out / 'page' / 'index.html'}")
