"""What is asked by files, and by batches."""

from __future__ import annotations

import click

from biaslens.engine import Exchange


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
