"""The commands that make a benchmark and look one over."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Any

import click

from biaslens._util.files import resource, write_text
from biaslens.benchmark import (
    Benchmark,
    expand,
    from_encounters,
    load_bank,
    parallel,
    read,
    read_encounters,
    write,
)  # fmt: skip
from biaslens.benchmark.files import ROLES, read_roles
from biaslens.benchmark.llm import Generation, GenerationSpec, Shortfall, estimate_generation, generate
from biaslens.benchmark.llm.state import MAX_TOKENS
from biaslens.benchmark.quality import MEASUREMENTS, SAMPLE, Source, as_record, check, read_source
from biaslens.cli import options
from biaslens.cli.batches import say_exchange
from biaslens.cli.options import PATH, SEED, count, finish, json_option, paid, picked
from biaslens.cli.progress import AskingBar, WorkBar
from biaslens.engine import Batching, Exchange
from biaslens.errors import InputError
from biaslens.models import Params, provider_of
from biaslens.schema import Attribute, Kind

_BANK = "bank"
_ENCOUNTERS = "encounters"
_OFFLINE = {
    _BANK: {"generator", "out", "roles_per_attribute", "questions_per_kind", "seed", "mirrors", "fresh_seed", "of"},
    _ENCOUNTERS: {"generator", "out", "encounters", "seed", "mirrors"},
}
"""Options of each generator that asks no model."""
_ROLES = 50
_MOST_LINES = 40
_LONGEST_REASON = 200

_MODEL_OPTIONS = options.with_options(
    click.option("--roles", type=PATH, help="File of roles to write for, such as roles.csv.  [default: asked for]"),
    options.several("--attribute", Attribute, "Only roles of this attribute; repeatable."),
    click.option(
        "--max-rounds",
        type=count(),
        default=5,
        help="Maximum number of requests for one role; raise it when something is missing.",
    ),
    click.option("--partial", is_flag=True, help="Write the benchmark even if roles or encounters are missing."),
    options.batch_option,
    options.then_online_option,
    options.batch_files_option,
    options.temperature_option,
    click.option(
        "--max-tokens",
        type=count(),
        default=MAX_TOKENS,
        help="Maximum tokens of a reply; allow more for a model that reasons first.",
    ),
    click.option(
        "--json-schema/--no-json-schema",
        default=True,
        help="Whether to use the provider's JSON schema mode, where it has one; not every model accepts it.",
    ),
    *options.REQUEST_OPTIONS,
    options.trust_option,
    click.option("--yes", is_flag=True, help="Continue without asking when the cost is shown."),
    json_option,
)


@click.command("generate")
@click.option(
    "--with",
    "generator",
    required=True,
    help='What to make it from: "encounters" or "bank", both offline, or a model, PROVIDER/MODEL.',
)
@click.option("--encounters", type=PATH, help="Folder with encounters and roles.csv.  [default: the shipped one]")
@click.option("--out", type=PATH, required=True, help="Folder for roles.csv, questions.csv and benchmark.toml.")
@click.option(
    "--roles-per-attribute",
    type=count(),
    help=f"Roles of each attribute.  [default: every role of the bank; {_ROLES} with a model]",
)
@click.option(
    "--questions-per-kind", type=count(), default=20, help="Questions of each kind, or encounters, for each role."
)
@click.option("--seed", type=SEED, default=0, help="Seed; offline, the same seed gives the same bytes.")
@click.option(
    "--fresh-seed",
    type=SEED,
    help="Seed of a form that nobody has seen: roles and targets of a benchmark, other questions. Take a large number "
    "and keep it and the form to yourself.",
)
@click.option("--of", type=PATH, help="Benchmark that --fresh-seed makes a form of.  [default: the shipped one]")
@click.option("--mirrors", is_flag=True, help="Also write the mirrors of each question, linked to it.")
@_MODEL_OPTIONS
@click.pass_context
def generate_command(context: click.Context, /, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Make a benchmark: roles and questions of each kind.

    Encounters and the bank work offline. A model is asked for roles, then for encounters; the cost is shown first. What
    it writes is checked, and what fails is requested again. The same command resumes an unfinished session.

    With --fresh-seed it becomes a private form of a benchmark, to see whether a model does better on what was
    published: evaluate with both, then `biaslens analyze PUBLIC --private PRIVATE`.
    """
    given, generator = options.given_options(context), values["generator"]
    fresh = values["fresh_seed"] is not None
    if values["of"] and not fresh:
        raise click.UsageError("--of goes with --fresh-seed")
    if fresh and (foreign := given.keys() & {"seed", "roles", "encounters"}):
        raise click.UsageError(f"{given[min(foreign)]} does not go with --fresh-seed")
    if (
        fresh
        and generator == _BANK
        and (foreign := given.keys() & {"roles_per_attribute", "questions_per_kind", "mirrors"})
    ):
        raise click.UsageError(f"{given[min(foreign)]} does not go with --fresh-seed: it has as many as the benchmark")
    if fresh and generator == _ENCOUNTERS:
        raise click.UsageError(
            "--fresh-seed goes with bank or a model: the encounters of a benchmark are as public as its questions"
        )
    if generator in _OFFLINE:
        if foreign := given.keys() - _OFFLINE[generator]:
            raise click.UsageError(f"{given[min(foreign)]} does not go with --with {generator}")
        _save(_offline(values), values["out"])
        return
    if values["encounters"]:
        raise click.UsageError("--encounters does not go with a model")
    _from_model(values)


def _offline(values: dict[str, Any]) -> Benchmark:
    if values["fresh_seed"] is not None:
        return parallel(load_bank(), _public(values), seed=values["fresh_seed"])
    if values["generator"] == _BANK:
        return expand(load_bank(), **picked(values, "seed", "roles_per_attribute", "questions_per_kind", "mirrors"))
    folder: Path = values["encounters"] or resource("benchmark") / "encounters"
    roles = read_roles(folder / ROLES)
    return from_encounters(roles, read_encounters(folder, roles), seed=values["seed"], mirrors=values["mirrors"])


def _public(values: dict[str, Any]) -> Benchmark:
    return read(values["of"] or resource("benchmark"))


def _save(benchmark: Benchmark, out: Path) -> None:
    write(benchmark, out)
    kinds = ", ".join(f"{sum(q.kind is kind for q in benchmark.questions)} {kind}" for kind in Kind)
    click.echo(f"{out}: {len(benchmark.roles)} roles, {len(benchmark.questions)} questions ({kinds})")


def _from_model(values: dict[str, Any]) -> None:
    public = None if values["fresh_seed"] is None else _public(values)
    if public is not None:
        values |= {"seed": values["fresh_seed"]}
        values["roles_per_attribute"] = values["roles_per_attribute"] or len(public.roles)
    spec = GenerationSpec(
        model=values["generator"],
        out=values["out"],
        attributes=tuple(map(Attribute, values["attributes"])) or tuple(Attribute),
        roles=public.roles if public else read_roles(values["roles"]) if values["roles"] else (),
        roles_per_attribute=values["roles_per_attribute"] or _ROLES,
        params=Params(**picked(values, "temperature", "max_tokens")),
        parallel_to=public,
        **picked(values, "questions_per_kind", "max_rounds", "seed", "mirrors", "json_schema", "partial"),
    )
    provider_of(spec.model)
    exchange = options.exchange_of(values)
    if not isinstance(exchange, Exchange):
        _confirm(spec, yes=values["yes"], batch=exchange is not None)
    with options.stopping("stopped; the same command asks only for what is missing"), AskingBar() as bar:
        result = generate(spec, pace=options.pace_of(values), observer=bar, exchange=exchange)
    if values["as_json"]:
        click.echo(json.dumps(asdict(result) | {"complete": result.complete}, default=str))
    _say(result, spec, exchange)
    finish(interrupted=result.interrupted, complete=result.complete)


def _confirm(spec: GenerationSpec, *, yes: bool, batch: bool) -> None:
    """Show what it will take, and ask whether to go on."""
    load = estimate_generation(spec, batch=batch)
    if not load.calls:
        return
    dollars = "price unknown" if load.dollars is None else f"US$ {load.dollars:.2f}"
    click.echo(
        f"{load.model}: {load.calls:,} calls, about {load.prompt_tokens:,} tokens in and {load.completion_tokens:,} "
        f"out, {dollars}; more if replies fail the checks",
        err=True,
    )
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to confirm the cost at; add --yes to continue without asking")
    if not click.confirm("Continue?", err=True):
        raise InputError("nothing was asked")


def _say(result: Generation, spec: GenerationSpec, exchange: Exchange | Batching | None) -> None:
    said = f"{spec.run}: {result.answered} requests answered, {result.failed} failed{paid(result.cost)}"
    click.echo(said, err=True)
    if result.first_read:
        share = f"{result.first_taken / result.first_read:.0%} of {result.first_read:,}"
        click.echo(f"accepted of the first replies: {share} encounters", err=True)
    if result.dropped:
        rules = ", ".join(f"{number} {rule}" for rule, number in result.dropped.items())
        click.echo(f"rejected and requested again: {rules}", err=True)
    if result.written:
        partial = "" if result.complete else ", partial"
        click.echo(f"{result.out}: {result.roles} roles, {result.encounters} encounters{partial}")
    if exchange:
        say_exchange(exchange, spec.run)
    if result.complete or (exchange and exchange.waiting):
        return
    for short in result.short[:_MOST_LINES]:
        click.echo(f"missing: {_shortfall(short)}", err=True)
    if len(result.short) > _MOST_LINES:
        click.echo(f"missing: {len(result.short) - _MOST_LINES} more lists; --json names them all", err=True)
    if result.error:
        click.echo(f"last failed request: {result.error}", err=True)
    exhausted = any(short.rounds >= spec.max_rounds for short in result.short)
    more = f"; with --max-rounds {2 * spec.max_rounds} it tries more often" if exhausted else ""
    kept = "" if result.written else ", no benchmark written (--partial writes one)"
    click.echo(f"incomplete{kept}: the same command resumes{more}", err=True)


def _shortfall(short: Shortfall) -> str:
    what = "roles" if short.role is None else f"encounters for {short.role}"
    reason = f"; last: {shorten(short.reason, _LONGEST_REASON)}" if short.reason else ""
    return f"{short.attribute}: {short.made} of {short.wanted} {what} after {short.rounds} rounds{reason}"


@click.command("check")
@click.argument("benchmark", type=PATH, required=False)
@click.option("--against", type=PATH, help="Another benchmark to compare it with.")
@click.option("--page", "page_file", type=PATH, help="HTML file to write the result to.")
@click.option("--sample", type=click.IntRange(2), default=SAMPLE, help="Questions of each kind to sample.")
@click.option("--seed", type=SEED, default=0, help="Seed of that sample.")
@json_option
def check_command(
    benchmark: Path | None, *, against: Path | None, page_file: Path | None, sample: int, seed: int, as_json: bool
) -> None:
    """Find faults in a benchmark and measure its quality.

    BENCHMARK is a folder or the published study's questions (folder or archive); without it, the shipped benchmark is
    checked. Variety of wording and meaning is measured on a sample, everything else on all questions. Exit codes: 0 no
    faults; 1 faults, or the benchmark cannot be read.
    """
    # Only here: what draws a report takes long to load, and making a benchmark needs none.
    from biaslens.report.quality import page, print_quality

    sources = [_open(path) for path in (benchmark or resource("benchmark"), against) if path is not None]
    with WorkBar() as bar:
        bar.begin("checking", total=MEASUREMENTS * len(sources))
        quality, *others = [check(source, seed=seed, per_kind=sample, step=bar.step) for source in sources]
    other = others[0] if others else None
    if page_file is not None:
        write_text(page_file, page(quality, other))
    if as_json:
        click.echo(json.dumps([as_record(one) for one in (quality, *others)], indent=2, ensure_ascii=False))
    else:
        print_quality(quality, other)
    if quality.faults:
        sys.exit(options.CANNOT)


def _open(path: Path) -> Source:
    from biaslens.replication.release import is_published, published_questions

    return published_questions(path) if is_published(path) else read_source(path)
