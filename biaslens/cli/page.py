"""Commands that publish runs."""

from __future__ import annotations

from pathlib import Path

import click

from biaslens.cli.analyze import read_runs
from biaslens.cli.options import PATH
from biaslens.report.analyses import Analyses, write_tables
from biaslens.report.leaderboard import require_own, write_leaderboard
from biaslens.report.sections import write_for_papers


@click.command("page")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option(
    "--out", type=PATH, help="Folder of the page; open its index.html.  [default: page, beside the first run]"
)
@click.option(
    "--examples/--no-examples", default=None, help="Show some answers.  [default: not those of imported runs]"
)
@click.option("--force", is_flag=True, help="Put runs together that asked or judged differently.")
def page_command(runs: tuple[Path, ...], out: Path | None, *, examples: bool | None, force: bool) -> None:
    """Write a static page: a leaderboard, and each model's results.

    Also attributes and roles, the method and its limits.
    """
    # Only here: a plotting library takes long to load, and other commands need none.
    from biaslens.report.page.site import by_name, write_page

    out = out or runs[0].parent / "page"
    files = write_page(Analyses(by_name(read_runs(runs)), force=force), out, show_examples=examples)
    click.echo(f"{out / 'index.html'} ({len(files)} files)")


@click.command("publish")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, help="Folder for everything.  [default: published, beside the first run]")
@click.option(
    "--examples/--no-examples", default=None, help="Show some answers.  [default: not those of imported runs]"
)
@click.option("--force", is_flag=True, help="Put runs together that asked or judged differently.")
def publish_command(runs: tuple[Path, ...], out: Path | None, *, examples: bool | None, force: bool) -> None:
    """Write leaderboard, analyses, tables, figures and page.

    All there is to publish of some runs; the tables are for papers.
    """
    from biaslens.report.figures import draw
    from biaslens.report.page.site import write_page

    out = out or runs[0].parent / "published"
    analyses = Analyses(read_runs(runs), force=force)
    require_own(out, analyses.summaries)
    written = [
        *write_leaderboard(analyses.summaries, out),
        *write_tables(analyses.tables, out / "analyses"),
        *write_for_papers(analyses.tables, out / "tables"),
        *draw(analyses.tables, out / "figures"),
        *write_page(analyses, out / "page", show_examples=examples),
    ]
    click.echo(f"{out}: {len(written)} files; open {out / 'page' / 'index.html'}")
