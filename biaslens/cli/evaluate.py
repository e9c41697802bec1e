"""The commands that plan, evaluate and judge."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from biaslens.cli.options import (
    INCOMPLETE,
    INTERRUPTED,
    evaluation_options,
    judging_options,
)
from biaslens.cli.progress import EvaluationBar
from biaslens.engine import Pace
from biaslens.errors import BiasLensError
from biaslens.evaluation import Evaluation, Panel, Task, evaluate_study
from biaslens.evaluation.estimate import Load, Screening, estimate, held, sample_requests, screening
from biaslens.evaluation.judge import Judged, judge
from biaslens.models import provider_of
from biaslens.models.endpoints import destination, is_trusted
from biaslens.schema import Outcome
from biaslens.settings import load_settings


@click.command("plan")
@evaluation_options
@click.option("--show", type=click.IntRange(1), metavar="N", help="Also print the exact messages of N requests.")
def plan_command(tasks: list[Task], *, as_json: bool, show: int | None) -> None:
    """Show what an evaluation would take, without asking anything.

    Prints calls, tokens, price and hours for each model. No key is needed.
    """
    for task in tasks:
        for name in (task.spec.model, *task.spec.judges):
            provider_of(name)
    settings = load_settings()
    names = dict.fromkeys(name for task in tasks for name in (task.spec.model, *task.spec.judges))
    places = [where for name in names if (where := destination(name, settings)) and not where.shipped]
    by_task = [estimate(task) for task in tasks]
    loads = [load for found in by_task for load in found]
    screenings = [screening(task, found) for task, found in zip(tasks, by_task, strict=True)]
    if as_json:
        records = [asdict(load) for load in loads]
        records += [{"purpose": "screening"} | asdict(found) for found in screenings if found is not None]
        for task in tasks if show else ():
            records += [
                {"model": task.spec.model, "purpose": "request", "asks": title} | asdict(request)
                for title, request in sample_requests(task.spec, show or 0)
            ]
        click.echo(json.dumps(records, indent=2))
        return
    click.echo(f"{'model':<40} {'for':<8} {'calls':>9} {'tokens in':>12} {'tokens out':>11} {'US$':>9} {'hours':>7}")
    for load in loads:
        click.echo(_load_line(load))
    known = [load.dollars for load in loads if load.dollars is not None]
    if len(loads) > 1:
        partly = "" if len(known) == len(loads) else " (excluding models whose price is unknown)"
        click.echo(f"total US$ {sum(known):.2f}{partly}")
    for task in tasks:
        if there := len(held(task.spec).answered):
            click.echo(f"{task.spec.run} holds {there:,} answers; the counts above are what is still missing.")
    for found in screenings:
        if found is not None:
            click.echo(_screening_line(found))
    for where in dict.fromkeys(places):
        asked = "" if is_trusted(where) else "; only after you confirm it, or with --trust-address"
        click.echo(f"sends {where}{asked}")
    click.echo(
        "Tokens in are estimated at four characters each, tokens out from the length that is asked for. Votes are an "
        "upper bound: voting stops once the majority is certain, which saves up to a third. Hours follow from the "
        "limits given (--requests-per-minute, --tokens-per-minute) or configured; failing these, from the lowest paid "
        "tier that the catalogue knows, or from --concurrency and typical response times."
    )
    for task in tasks if show else ():
        _show_requests(task, show or 0)


def _show_requests(task: Task, count: int) -> None:
    for number, (title, request) in enumerate(sample_requests(task.spec, count), 1):
        click.echo(f"\nRequest {number} to {task.spec.model}: {title}")
        for message in request.messages:
            click.echo(f"[{message.role}]\n{message.content}")


def _screening_line(found: Screening) -> str:
    price = "" if found.dollars is None else f" and US$ {found.dollars:.2f}"
    return (
        f"With a screen threshold of {found.sure:g}, local/screen is expected to decide {100 * found.decided:.0f} % of "
        f"{found.answers:,} why answers, {100 * found.agreement:.1f} % of them as hand labels would. That saves up to "
        f"{found.calls:,} votes{price}, already deducted above."
    )


def _load_line(load: Load) -> str:
    dollars = "unknown" if load.dollars is None else f"{load.dollars:.2f}"
    return (
        f"{load.model:<40} {load.purpose:<8} {load.calls:>9,} {load.prompt_tokens:>12,} {load.completion_tokens:>11,} "
        f"{dollars:>9} {load.hours:>7.1f}"
    )


@click.command("evaluate")
@evaluation_options
def evaluate_command(tasks: list[Task], *, as_json: bool) -> None:
    """Evaluate a model, or resume an evaluation.

    Only what the run file does not hold yet is asked. Ctrl-C stops cleanly; the run file keeps every answer. The models
    of a study are evaluated in parallel, those of one provider one after the other.
    """
    try:
        with ExitStack() as bars:
            found = evaluate_study(tasks, observe=lambda task: bars.enter_context(EvaluationBar(_title(task, tasks))))
    except KeyboardInterrupt:
        click.echo("stopped; the same command asks only what is missing", err=True)
        sys.exit(INTERRUPTED)
    done = [result for result in found if isinstance(result, Evaluation)]
    refused = [error for error in found if isinstance(error, BiasLensError)]
    if refused and len(tasks) == 1:
        raise refused[0]
    for task, result in zip(tasks, found, strict=True):
        if isinstance(result, BiasLensError):
            click.echo(f"biaslens: {task.spec.model}: {result}", err=True)
            continue
        if result is None:
            continue
        _say(result)
    _show(done, as_json=as_json, of=len(tasks))
    if any(result.interrupted for result in done):
        sys.exit(INTERRUPTED)
    if refused:
        sys.exit(1)
    if not all(result.complete for result in done):
        sys.exit(INCOMPLETE)


def _show(done: list[Evaluation], *, as_json: bool, of: int) -> None:
    """Print what came out: as JSON, as a report in brief, or as one table of a study."""
    # Only here: what reports needs pandas, and asking starts without.
    from biaslens.analysis import summarise
    from biaslens.cli.report import summary_record
    from biaslens.report.run import print_study, print_table

    summaries = [summarise(result.run) for result in done]
    if as_json:
        records = []
        for result, summary in zip(done, summaries, strict=True):
            rates = summary_record(summary, brief=True)
            rates = {name: rates[name] for name in ("took", "conditions")}
            records.append(asdict(result) | {"complete": result.complete} | rates)
        click.echo(json.dumps(records, default=str))
    elif of == 1:
        print_table(summaries[0], brief=True)
    elif done:
        print_study(summaries)


def _title(task: Task, tasks: list[Task]) -> str:
    """What the bars of one of several models begin with."""
    return f"{task.spec.model}: " if len(tasks) > 1 else ""


def _say(result: Evaluation) -> None:
    cost = f", US$ {result.cost:.4f}" if result.cost else ""
    click.echo(f"{result.run}: {result.answered} requests answered, {result.failed} failed{cost}", err=True)
    click.echo(f"by attribute: biaslens report {result.run}", err=True)
    if not result.complete:
        click.echo(
            f"incomplete: {result.missing} of {result.planned} answers are missing, {result.unjudged} await judging; "
            f"the same command asks only what is missing{because(result.why_failed)}",
            err=True,
        )


def because(reason: str) -> str:
    """End of a line that says why requests failed."""
    return f" ({reason})" if reason else ""


_DECIDED = (Outcome.BIASED, Outcome.UNBIASED, Outcome.REFUSED, Outcome.INVALID)


@click.command("judge")
@judging_options
def judge_command(run: Path, panel: Panel, pace: Pace, *, in_force: bool, as_json: bool) -> None:
    """Judge the why answers of a run.

    Only what this panel has not judged yet is asked. Several panels may judge the same run, and each keeps its
    verdicts. Reports use those of the active panel: the first one, until --activate makes another one active.
    """
    try:
        with EvaluationBar() as bar:
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
            f"incomplete: {result.undecided:,} why answers await votes ({result.failed} failed); the same command "
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
    click.echo(f"{result.answered:,} new votes{cost}", err=True)
    if not result.in_force:
        click.echo(
            "reports use the verdicts of another panel, the active one; --activate makes this panel active", err=True
        )
