"""What is asked by files, and in parts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from biaslens.cli.options import FILE, INCOMPLETE, PATH, json_option
from biaslens.engine import Exchange

_SHOWN = 5


def say_exchange(exchange: Exchange) -> None:
    """Say on stderr what an exchange passed over, and what waits for answers."""
    if exchange.passed_over:
        click.echo(f"{exchange.folder}: lines passed over: {exchange.passed_over}", err=True)
    if not exchange.waiting:
        return
    several = len(set(exchange.written.values())) > 1
    files = [f"{path} for {model}" if several else str(path) for path, model in exchange.written.items()]
    click.echo(
        f"{exchange.waiting} requests wait for answers ({', '.join(files) or 'requests written before'}): put the "
        f"batch's output into {exchange.folder} as *.jsonl; the same command reads it",
        err=True,
    )


@click.command("merge")
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN...")
@click.option("--out", type=FILE, required=True, help="The run file to make; it must not exist yet.")
@json_option
def merge_command(runs: Sequence[Path], *, out: Path, as_json: bool) -> None:
    """Join run files of one run: shards, or copies that went on apart.

    Answers, votes, labels and costs are joined as sets; the order of the files makes no difference, and they are only
    read. Where two files hold different answers to one request, the earlier counts and the other is kept beside it.
    """
    from biaslens.evaluation.merging import merge

    found = merge(runs, out)
    if as_json:
        click.echo(json.dumps(asdict(found), default=str, indent=2))
    else:
        answered = found.planned - found.missing
        click.echo(f"{out}: {answered:,} of {found.planned:,} planned responses are answered")
    if found.clashes:
        keys = ", ".join(clash.key for clash in found.clashes[:_SHOWN])
        more = f" and {len(found.clashes) - _SHOWN:,} more" if len(found.clashes) > _SHOWN else ""
        click.echo(
            f"{len(found.clashes):,} answers came second to an earlier one and stand in the table other_answers: "
            f"{keys}{more}",
            err=True,
        )
    if found.missing:
        sys.exit(INCOMPLETE)
