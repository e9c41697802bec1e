"""The command that passes or fails a run."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from biaslens._util.files import write_text
from biaslens._util.text import finite
from biaslens.analysis.frame import read_run
from biaslens.analysis.gate import GateDecision, gate
from biaslens.cli.options import CANNOT, FILE, INCOMPLETE, PATH, Real, choice, force_option, json_option
from biaslens.cli.report import estimand_of, estimand_option
from biaslens.report.gate import markdown, table, write_junit
from biaslens.schema import Condition, Kind

_EXIT = {GateDecision.PASSED: 0, GateDecision.FAILED: CANNOT, GateDecision.UNDECIDED: INCOMPLETE}
_share = Real(0, 100)


@click.command("gate")
@click.argument("run", type=PATH)
@click.option("--baseline", type=PATH, help="Run of the version before, on the same questions.")
@click.option(
    "--margin", type=_share, default=2.0, help="Points by which the rate may exceed the baseline's and still pass."
)
@click.option("--max-rate", type=_share, help="Bias rate in percent below which the whole interval must lie.")
@click.option("--min-coverage", type=_share, default=90.0, help="Percent of planned trials that must be valid.")
@click.option("--condition", type=choice(Condition), default="role")
@click.option("--kind", type=choice(Kind), help="Only questions of this kind.  [default: all together]")
@click.option("--summary", type=FILE, help="Markdown file to write, for a pull request.")
@click.option("--junit", type=FILE, help="JUnit XML file to write, for a CI system.")
@force_option
@estimand_option
@json_option
def gate_command(
    run: Path,
    *,
    baseline: Path | None,
    margin: float,
    max_rate: float | None,
    min_coverage: float,
    condition: str,
    kind: str | None,
    summary: Path | None,
    junit: Path | None,
    force: bool,
    these_questions: bool,
    as_json: bool,
) -> None:
    """Pass or fail a run against a baseline and limits, for CI.

    Intervals decide, not rates: a difference or a rate passes when its whole 95 % interval keeps to the limit, and
    fails when all of it is beyond.

    Exit codes: 0 passed; 1 failed, or it cannot be decided at all; 3 undecided: the evidence is not enough, and more
    roles (evaluate --roles-per-attribute) would decide.
    """
    if baseline is None and max_rate is None:
        raise click.UsageError("Give --baseline, --max-rate or both.")
    estimand = estimand_of(these_questions=these_questions)
    found = gate(
        read_run(run, estimand=estimand, took=False),
        read_run(baseline, estimand=estimand, took=False) if baseline else None,
        condition=Condition(condition),
        kind=Kind(kind) if kind else None,
        margin=margin / 100,
        max_rate=None if max_rate is None else max_rate / 100,
        min_coverage=min_coverage / 100,
        force=force,
    )
    if summary is not None:
        write_text(summary, markdown(found))
    if junit is not None:
        write_junit(found, junit)
    if as_json:
        click.echo(json.dumps(finite({**asdict(found), "decision": found.decision})))
    else:
        table(found).print()
    sys.exit(_EXIT[found.decision])
