"""What is asked by files, and in parts; and what is decided from files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from biaslens import runfile
from biaslens.cli import options
from biaslens.cli.options import FILE, INCOMPLETE, PATH, json_option
from biaslens.engine import Batching, Exchange, cancel_batch
from biaslens.errors import InputError
from biaslens.oracles import screen

_SHOWN = 5


def say_exchange(exchange: Exchange | Batching, *runs: Path) -> None:
    """Say on stderr what an exchange passed over, and what waits for answers; of batches, those under way."""
    if isinstance(exchange, Batching):
        for run in runs:
            with runfile.reading(run) as store:
                found = runfile.batches(store, collected=False)
            if found:
                click.echo(
                    f"{run}: {len(found)} batches go on at the provider; the same command comes back to them, "
                    f"`biaslens batches {run}` lists them",
                    err=True,
                )
        return
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
    from biaslens.evaluation.on_ray import merge

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


@click.command("batches")
@click.argument("run", type=PATH)
@click.option("--cancel", metavar="BATCH", help="Cancel this batch; what it has answered is still collected.")
@options.trust_option
@json_option
def batches_command(run: Path, *, cancel: str | None, as_json: bool) -> None:
    """List the batches of a run, or cancel one.

    The command that began a batch collects it. A cancelled batch is charged for what it has answered by then; that is
    collected, too.
    """
    from biaslens.report.table import Table

    with runfile.reading(run) as store:
        found = runfile.batches(store)
    if cancel is not None:
        row = next((each for each in found if cancel in (each.batch_id, each.name)), None)
        if row is None or row.batch_id is None or row.state == runfile.COLLECTED:
            raise InputError(f"{run}: no batch {cancel} is under way; without --cancel all of them are listed")
        click.echo(f"{row.batch_id}: {cancel_batch(row.model, row.batch_id)}")
        return
    if as_json:
        click.echo(json.dumps([each._asdict() for each in found], indent=2))
        return
    Table.of(
        {
            "batch": [each.batch_id or each.name for each in found],
            "model": [each.model for each in found],
            "requests": [f"{each.requests:,}" for each in found],
            "state": [each.state for each in found],
            "provider says": [each.status or "" for each in found],
            "made": [each.made_at[:19] for each in found],
        },
        words=("batch", "model", "state", "provider says", "made"),
    ).print()


@click.command("rescore")
@click.argument("dataset", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder for the decided runs; the dataset is not changed.")
@click.option(
    "--judge",
    type=click.Choice([screen.NAME]),
    help="Who decides why answers.  [default: the verdicts of their judges stand]",
)
@click.option("--jobs", type=options.count(), help="Processes.  [default: one for each core]")
@json_option
def rescore_command(dataset: Path, *, out: Path, judge: str | None, jobs: int | None, as_json: bool) -> None:
    """Decide the answers of a dataset anew, by this version's rules.

    The dataset is what `biaslens export --rows-per-file` has written; `biaslens analyze` and its like read what comes
    out. Memory does not grow with it, and nobody is asked.
    """
    from biaslens.evaluation.rescoring import rescore

    for found in rescore(dataset, out, screened=judge is not None, jobs=jobs):
        if as_json:
            click.echo(json.dumps(asdict(found), default=str))
            continue
        waiting = f", {found.undecided:,} wait for a judge" if found.undecided else ""
        click.echo(f"{found.run}: {found.answers:,} answers decided, {found.changed:,} otherwise than before{waiting}")
