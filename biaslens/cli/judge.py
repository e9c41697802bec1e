"""Commands that judge the why answers of a run."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from biaslens.cli.evaluate import INCOMPLETE, INTERRUPTED, because
from biaslens.cli.options import judging_options
from biaslens.cli.progress import Bar
from biaslens.cli.types import PATH
from biaslens.engine import Pace
from biaslens.evaluation.judge import Judged, judge
from biaslens.evaluation.panel import Panel
from biaslens.evaluation.upgrade import open_to_write
from biaslens.schema import Outcome

_DECIDED = (Outcome.BIASED, Outcome.UNBIASED, Outcome.REFUSED, Outcome.INVALID)


@click.command("judge")
@judging_options
def judge_command(run: Path, panel: Panel, pace: Pace, *, in_force: bool, as_json: bool) -> None:
    """Judge the why answers of a run.

    Only what this panel has not judged yet is asked. Several panels may judge one run. Each keeps its verdicts; the
    first one counts in reports until another is given --in-force.
    """
    try:
        with Bar() as bar:
            result = judge(run, panel, in_force=True if in_force else None, pace=pace, observer=bar)
    except KeyboardInterrupt:
        click.echo("stopped; the same command asks only what is missing", err=True)
        sys.exit(INTERRUPTED)
    if as_json:
        click.echo(json.dumps(asdict(result) | {"complete": result.complete}, default=str, indent=2))
    else:
        _print(result)
    if result.interrupted:
        sys.exit(INTERRUPTED)
    if not result.complete:
        click.echo(
            f"incomplete: {result.undecided:,} why answers wait for votes ({result.failed} failed); the same command "
            f"asks only what is missing{because(result.why_failed)}",
            err=True,
        )
        sys.exit(INCOMPLETE)


def _print(result: Judged) -> None:
    click.echo(f"{result.run}: why answers judged by {result.panel}")
    click.echo(f"{'decided by':<40} " + " ".join(f"{name:>9}" for name in _DECIDED))
    for oracle, counts in result.counts.items():
        cells = " ".join(f"{counts.get(name, 0):>9,}" for name in _DECIDED)
        click.echo(f"{oracle:<40} {cells}")
    cost = f", US$ {result.cost:.4f}" if result.cost else ""
    click.echo(f"{result.answered:,} votes given now{cost}", err=True)
    if not result.in_force:
        click.echo("reports go by the panel that judged first; --in-force lets this one count", err=True)


@click.command("upgrade")
@click.argument("run", type=PATH)
def upgrade_command(run: Path) -> None:
    """Bring a run file of an older version up to date.

    Nothing in it is lost.
    """
    open_to_write(run, create=False).close()
    click.echo(f"{run}: up to date", err=True)
