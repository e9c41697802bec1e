"""How much to ask: until the rate is known well enough, or so much that a difference would be found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from biaslens.analysis import read_run, summarise
from biaslens.analysis.power import PUBLISHED, designs, pilot_parts
from biaslens.errors import BiasLensError
from biaslens.evaluation import Evaluation, Task, evaluate_study
from biaslens.evaluation.run import benchmark_of
from biaslens.evaluation.spec import Spec
from biaslens.report.table import Table
from biaslens.stats.intervals import always_valid

LOOKS = (1, 2, 3, 5, 8, 12, 18, 27, 40, 50)
"""Roles of each attribute at which the run is looked at."""

Found = Evaluation | BiasLensError | None


def evaluate_until(
    tasks: list[Task], margin: float, evaluate: Callable[[list[Task]], list[Found]] = evaluate_study
) -> list[Found]:
    """Evaluate more and more roles of each attribute, until the bias rate of a run is known to a margin.

    At each of `LOOKS`, up to the roles of the slice, the always-valid interval of the rate over all kinds under the
    first condition is looked at; half of its width is to be below `margin`, in points. A model whose run is interrupted
    or incomplete is not asked further. The results are of each task's last session, with the costs of all.
    """
    found: list[Found] = [None] * len(tasks)
    left = list(range(len(tasks)))
    for look in (*LOOKS, None):
        if not left:
            break
        for place, result in zip(left, evaluate([_up_to(tasks[place], look) for place in left]), strict=True):
            before, found[place] = found[place], _added(found[place], result)
            whole = (
                isinstance(before, Evaluation) and isinstance(result, Evaluation) and before.planned == result.planned
            )
            if whole or _ended(result) or _known(result, margin):
                left = [other for other in left if other != place]
    return found


def _up_to(task: Task, roles: int | None) -> Task:
    of_slice = task.spec.slice
    limits = [limit for limit in (roles, of_slice.roles_per_attribute) if limit is not None]
    of_slice = replace(of_slice, roles_per_attribute=min(limits, default=None))
    return replace(task, spec=replace(task.spec, slice=of_slice))


def _ended(result: Found) -> bool:
    return not isinstance(result, Evaluation) or result.interrupted or not result.complete


def _added(before: Found, now: Found) -> Found:
    if not isinstance(before, Evaluation) or not isinstance(now, Evaluation):
        return now
    return replace(now, answered=before.answered + now.answered, cost=before.cost + now.cost)


def _known(result: Found, margin: float) -> bool:
    assert isinstance(result, Evaluation)
    cell = summarise(result.run).conditions[0].cell()
    low, high = always_valid(cell.bias_rate)
    reached = 100 * (high - low) / 2
    enough = reached < margin
    click.echo(
        f"{result.run}: {cell.roles} roles, bias rate {100 * cell.bias_rate:.1f} %, known to {reached:.1f} points "
        f"(always-valid){': enough' if enough else ''}",
        err=True,
    )
    return enough


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
