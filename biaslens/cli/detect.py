"""What it takes to find a difference between two models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from biaslens.analysis import read_run
from biaslens.analysis.power import PUBLISHED, designs, pilot_parts
from biaslens.evaluation.run import benchmark_of
from biaslens.evaluation.spec import Spec
from biaslens.report.table import Table


def print_designs(spec: Spec, points: float, pilots: Sequence[Path], *, as_json: bool) -> None:
    """Print, for each number of trials, the cheapest slice of a benchmark that finds a difference of so many points."""
    parts = pilot_parts([read_run(path) for path in pilots]) if pilots else PUBLISHED
    found, least = designs(benchmark_of(spec)[1], parts, points / 100)
    if as_json:
        click.echo(json.dumps({"parts": asdict(parts), "least": least, "designs": [asdict(one) for one in found]}))
        return
    click.echo(f"Variance of a difference: {parts.source}.")
    if not found:
        click.echo(
            f"No slice finds {points:g} points four times out of five; the least that one finds is {100 * least:.1f}."
        )
        return
    Table.of(
        {
            "trials": [str(one.trials) for one in found],
            "roles per attribute": [str(one.roles_per_attribute) for one in found],
            "questions per kind": [str(one.questions_per_kind) for one in found],
            "roles": [f"{one.roles:,}" for one in found],
            "calls a model": [f"{one.calls:,}" for one in found],
            "finds, points": [f"{100 * one.detectable:.1f}" for one in found],
        }
    ).print()
    best = min(found, key=lambda one: one.calls)
    click.echo(
        f"Fewest calls: --roles-per-attribute {best.roles_per_attribute} "
        f"--questions-per-kind {best.questions_per_kind} --trials {best.trials}. "
        "Found: a test at 5 % rejects with a chance of 80 %, for questions like these."
    )
