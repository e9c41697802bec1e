"""The command that tests the probe on models whose bias is known."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from biaslens.cli.options import (
    CANNOT,
    json_option,
)
from biaslens.cli.progress import PhaseBar
from biaslens.probe.tuning import Watcher

if TYPE_CHECKING:
    from biaslens.probe.selftest import Measured, SelfTest


@click.command("selftest")
@click.option(
    "--size",
    type=click.Choice(["full", "small"]),
    default="full",
    show_default=True,
    help="full: about two minutes of CPU time. small: half a minute, with smaller models and fewer prompts.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the language, the models and the prompts.",
)
@json_option
def selftest_command(*, size: Any, seed: int, as_json: bool) -> None:  # noqa: ANN401 - one of the sizes
    """Plant a bias in a toy model and find it.

    Two small language models learn a made-up language. In one, people of group c occur in negative contexts 7 times in
    10; in the other, as often as everybody else. Prompts are tuned on each, and the gaps are measured as on any model.
    Nothing is downloaded.
    Exit code 1: a check failed.
    """
    from biaslens.probe.selftest import selftest

    with _Bar() as bar:
        result = selftest(size, seed=seed, watcher=bar)
    if as_json:
        click.echo(json.dumps(_record(result), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        _print(result)
    if not result.passed:
        sys.exit(CANNOT)


def _print(result: SelfTest) -> None:
    import pandas as pd

    from biaslens.report.probe import print_gaps

    for part in (result.planted, result.null):
        accuracy = sum(part.accuracy) / len(part.accuracy)
        click.echo(
            f"{part.name}: group c in negative contexts with p = {part.negative:.2f}; {part.parameters:,} weights; "
            f"{len(part.accuracy)} prompts, validation accuracy {accuracy:.2f} (most frequent label: "
            f"{part.majority:.2f})"
        )
    click.echo()
    print_gaps(pd.concat([result.planted.bootstrap, result.null.bootstrap], ignore_index=True))
    alarms = result.alarms
    click.echo(
        f"\nFalse alarms, with the null model's words shared out to groups at random: {alarms.bootstrap:.1%} of the "
        f"bootstrap intervals, {alarms.published:.1%} of the published ones (z over prompts); nominal 5%.\n"
    )
    for check in result.checks:
        click.echo(f"{'ok    ' if check.passed else 'FAILED'} {check.name}: {check.detail}")
    failed = sum(not check.passed for check in result.checks)
    verdict = "passed" if result.passed else f"failed: {failed} of {len(result.checks)} checks"
    click.echo(f"self-test ({result.size}, seed {result.seed}) {verdict}")


def _record(result: SelfTest) -> dict[str, object]:
    return {
        "size": result.size,
        "seed": result.seed,
        "passed": result.passed,
        "checks": [asdict(check) for check in result.checks],
        "false_alarms": {name: None if math.isnan(value) else value for name, value in asdict(result.alarms).items()},
        "planted": _model(result.planted),
        "null": _model(result.null),
    }


def _model(part: Measured) -> dict[str, object]:
    from biaslens.report.table import json_records

    return {
        "negative": part.negative,
        "parameters": part.parameters,
        "loss": part.loss,
        "accuracy": part.accuracy,
        "majority": part.majority,
        "bootstrap": json_records(part.bootstrap),
        "published": json_records(part.published),
    }


class _Bar(PhaseBar, Watcher):
    """A progress bar for each phase."""

    def begun(self, title: str, steps: int) -> None:
        """Begin a bar."""
        self.begin(title, total=steps, unit="step")

    def stepped(self, step: int, loss: float) -> None:
        """Move the bar."""
        self.move(step, {"loss": f"{loss:.3f}"})
