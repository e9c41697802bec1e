"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from biaslens._util.text import keep_secret, secrets_of, shown_address
from biaslens.engine import Batching, Pace, RetryPolicy
from biaslens.evaluation import Panel, Slice, Spec, Task, default_run
from biaslens.evaluation.prompting import JUDGE_PROMPTS
from biaslens.evaluation.spec import (
    JUDGE_MAX_TOKENS,
    JUDGE_THINKING_TOKENS,
    MAX_TOKENS,
    PARAMETERS,
    THINKING_TOKENS,
    answer_params,
    panel_params,
    shard_file,
)  # fmt: skip
from biaslens.models.endpoints import Destination, ask_with, same_address
from biaslens.schema import Attribute, Condition, Kind
from biaslens.settings import load_settings

if TYPE_CHECKING:
    from biaslens.engine import Exchange

CANNOT = 1
INCOMPLETE = 3
INTERRUPTED = 130
"""Exit codes, beside 0 and click's 2 for wrong usage."""

MOST = 10_000_000
"""Of anything that is counted; what takes more takes several commands."""

MOST_TRIALS = 1_000
MOST_AT_ONCE = 10_000

PATH = click.Path(path_type=Path)

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


class Real(click.FloatRange):
    """A number that is one: neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Refuse what no range does: every comparison with NaN is false."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class FileName(click.Path):
    """The name of a file to write or go on with, which no folder has."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Refuse the empty name and folders."""
        path = Path(value)
        if path.name in ("", "..") or path.is_dir():
            self.fail(f"{str(value)!r} names no file, or a folder; give the name of a file.", param, ctx)
        return super().convert(value, param, ctx)


FILE = FileName(path_type=Path)


class JsonObject(click.ParamType[dict[str, Any]]):
    """A JSON object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:  # noqa: ANN401
        """Refuse what is no object."""
        try:
            found = value if isinstance(value, dict) else json.loads(value)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self.fail(f"{value!r} is no JSON object.", param, ctx)
        return found


class Shard(click.ParamType[tuple[int, int]]):
    """A part of a plan."""

    name = "I/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:  # noqa: ANN401
        """Refuse what is no part."""
        number, _, of = str(value).partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            self.fail(f"{value!r} is no part of a plan; the parts of 16 are 1/16 to 16/16.", param, ctx)
        return int(number), int(of)


SEED = click.IntRange(0, 2**63 - 1)
RATE = Real(0, min_open=True)


def count(most: int = MOST, least: int = 1) -> click.IntRange:
    """Make the type of a number of things."""
    return click.IntRange(least, most)


def choice(values: type[StrEnum]) -> click.Choice[str]:
    """Make the type of a word from an enumeration."""
    return click.Choice([str(value) for value in values])


def several(name: str, values: type[StrEnum], help_text: str) -> Decorator:
    """Make a repeatable option whose values are those of an enumeration; "--kind" gives ``kinds``."""
    return click.option(name, f"{name.strip('-')}s", type=choice(values), multiple=True, help=help_text)


def with_options(*options: Decorator) -> Decorator:
    """Give a command several options, in the order in which help lists them."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def names_of(*options: Decorator) -> set[str]:
    """Names of the parameters that some options give to a command."""

    def command() -> None: ...

    return {str(parameter.name) for parameter in vars(with_options(*options)(command))["__click_params__"]}


def given_options(context: click.Context) -> dict[str, str]:
    """Parameters that the user has typed, with the names of their options."""
    return {
        str(parameter.name): parameter.opts[0]
        for parameter in context.command.params
        if context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    }


def picked(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Values of some options, to be handed on under their names."""
    return {name: values[name] for name in names}


def split(text: str | None) -> list[str] | None:
    """Split a comma-separated option; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


@contextmanager
def stopping(said: str = "stopped; the same command asks only what is missing") -> Iterator[None]:
    """End the command where the user has stopped what it runs."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(said, err=True)
        sys.exit(INTERRUPTED)


def finish(*, interrupted: bool, complete: bool) -> None:
    """End the command with the exit code of what it has done."""
    if interrupted or not complete:
        sys.exit(INTERRUPTED if interrupted else INCOMPLETE)


def paid(dollars: float) -> str:
    """End of a clause that says what something cost; nothing where it cost nothing."""
    return f", US$ {dollars:.4f}" if dollars else ""


def _trust(context: click.Context, _: click.Parameter, addresses: tuple[str, ...]) -> None:
    """Ask before a key goes to an address of another place, unless the address was given."""
    for address in addresses:
        for secret in secrets_of(address):
            keep_secret(secret)
        if not address.startswith(("http://", "https://")):
            raise click.BadParameter(f"{shown_address(address)!r} is not a URL that begins with http:// or https://")

    def confirm(where: Destination) -> bool:
        if any(same_address(where.address, address) for address in addresses):
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        return click.confirm(f"Send {where}? You are asked only once", err=True)

    ask_with(confirm)
    context.call_on_close(partial(ask_with, None))


runs_argument = click.argument("runs", type=PATH, nargs=-1, required=True)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
force_option = click.option("--force", is_flag=True, help="Combine runs even if they were asked or judged differently.")
temperature_option = click.option("--temperature", type=Real(0), help="[default: the provider's]")

PARAMETER_OPTIONS: tuple[Decorator, ...] = (
    temperature_option,
    click.option("--top-p", type=Real(0, 1), help="[default: the provider's]"),
    click.option("--top-k", type=count(), help="[default: the provider's]"),
    click.option("--stop", multiple=True, metavar="TEXT", help="Text at which an answer ends; repeatable."),
    click.option(
        "--reasoning-effort",
        metavar="LEVEL",
        help="How much to think: none, low, medium, high, as the provider has it.",
    ),
    click.option("--service-tier", metavar="NAME", help="Such as flex or priority, as the provider has it."),
    click.option(
        "--extra",
        type=JsonObject(),
        default="{}",
        show_default=False,
        metavar="JSON",
        help='Further fields of each request, such as \'{"chat_template_kwargs": {"enable_thinking": false}}\'.',
    ),
)
trust_option = click.option(
    "--trust-address",
    multiple=True,
    metavar="URL",
    expose_value=False,
    is_eager=True,
    callback=_trust,
    help="Allow a key to be sent to this address although the two are set in different places; remembered.",
)

REQUEST_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--concurrency", type=count(MOST_AT_ONCE), default=16, help="Maximum number of simultaneous requests."
    ),
    click.option("--requests-per-minute", type=RATE, help="The provider's limit."),
    click.option("--tokens-per-minute", type=RATE, help="The provider's limit."),
)

PACE_OPTIONS: tuple[Decorator, ...] = (
    trust_option,
    *REQUEST_OPTIONS,
    click.option("--max-attempts", type=count(), default=8, help="Attempts at each request."),
    click.option(
        "--failure-share",
        type=Real(0, 1),
        default=0.2,
        help="Stop when more than this share of the latest requests fail.",
    ),
)


batch_files_option: Decorator = click.option(
    "--batch-files",
    type=PATH,
    metavar="FOLDER",
    help="Ask by files: write requests there in OpenAI's batch format, and read the answers put beside them.",
)


batch_option: Decorator = click.option(
    "--batch",
    is_flag=True,
    help="Ask in batches of the provider, at their price and within their day; stop and come back as you like.",
)
then_online_option: Decorator = click.option(
    "--then-online", is_flag=True, help="Ask directly what failed in a batch, and not in the next one."
)
engine_option: Decorator = click.option(
    "--engine",
    type=click.Choice(["ray-vllm"]),
    help="With --batch-files: have vLLM answer the files on a Ray cluster, without a server. Its GPU step is tested "
    "against a stand-in only, not yet on a GPU.",
)
engine_config_option: Decorator = click.option(
    "--engine-config",
    type=FILE,
    metavar="TOML",
    help="With --engine: fields of Ray's vLLMEngineProcessorConfig, such as concurrency and a table engine_kwargs.",
)


def exchange_of(values: dict[str, Any]) -> Exchange | Batching | None:
    """How to ask otherwise than one by one: by the files of a folder, which is read, or in batches."""
    if values.get("batch"):
        if values["batch_files"]:
            raise click.UsageError("--batch asks the provider and --batch-files nobody; give one of them")
        return Batching(then_online=values["then_online"])
    if values.get("then_online"):
        raise click.UsageError("--then-online goes with --batch")
    if values.get("engine_config") and not values["engine"]:
        raise click.UsageError("--engine-config goes with --engine")
    if not values["batch_files"]:
        if values.get("engine"):
            raise click.UsageError("--engine answers files of requests; say with --batch-files where they are to be")
        return None
    from biaslens.engine import Exchange

    if not values.get("engine"):
        return Exchange(values["batch_files"])
    from biaslens.benchmark.files import read_toml
    from biaslens.engine import RayVllm

    config = read_toml(values["engine_config"]) if values["engine_config"] else None
    return Exchange(values["batch_files"], RayVllm(config))


def pace_of(values: dict[str, Any]) -> Pace:
    """How fast to ask, from the values of `PACE_OPTIONS` or of `REQUEST_OPTIONS` alone."""
    limits = Pace(values["concurrency"], values["requests_per_minute"], values["tokens_per_minute"])
    if "max_attempts" not in values:
        return limits
    return replace(limits, retry=RetryPolicy(values["max_attempts"]), failure_share=values["failure_share"])


def _judge_options(*, required: bool) -> tuple[Decorator, ...]:
    return (
        click.option(
            "--judge",
            "judges",
            multiple=True,
            required=required,
            help="Judge of why answers: a model (repeat the option for a panel), or local/screen for a first look, "
            "free and offline, not to publish.",
        ),
        click.option(
            "--votes", type=count(MOST_TRIALS), help="Votes of each judge.  [default: 3 of a single one, 1 in a panel]"
        ),
        click.option(
            "--screen",
            type=Real(0.5, 1, min_open=True, max_open=True),
            help="Screen threshold, such as 0.95: local/screen decides where its confidence reaches it, the judges the "
            "rest.",
        ),
        click.option(
            "--judge-prompt",
            type=click.Choice(list(JUDGE_PROMPTS)),
            default="codebook",
            help="What judges are asked: by the codebook, or for fairness as in the published study, for comparison.",
        ),
        click.option(
            "--judge-max-tokens",
            type=count(),
            help=f"Maximum tokens of a judge's reply.  [default: {JUDGE_MAX_TOKENS}, {JUDGE_THINKING_TOKENS} where a "
            "judge thinks first]",
        ),
        click.option("--judge-reasoning-effort", metavar="LEVEL", help="How much judges are to think."),
    )


evaluation_options = with_options(
    click.argument("model", required=False),
    click.option(
        "--study", type=PATH, help="TOML file that describes several models; replaces MODEL and most options."
    ),
    click.option("--run", type=FILE, help="Run file.  [default: named after the model, in runs/]"),
    click.option("--benchmark", type=PATH, help="Benchmark folder.  [default: the shipped benchmark]"),
    several("--attribute", Attribute, "Only roles of this attribute; repeatable."),
    click.option(
        "--shard",
        type=Shard(),
        help="Ask only this part of the plan, such as 3/16, into a run file of its own; `merge` joins them.",
    ),
    several("--kind", Kind, "Only questions of this kind; repeatable."),
    click.option("--roles-per-attribute", type=count(), help="Only the first N roles of each attribute."),
    click.option("--questions-per-kind", type=count(), help="Only the first N questions of each kind for each role."),
    several(
        "--condition",
        Condition,
        "Whether the model is given the role, no role or a neutral one; repeatable.  [default: role]",
    ),
    click.option("--trials", type=count(MOST_TRIALS), default=3, help="How often each question is asked."),
    *_judge_options(required=False),
    *PARAMETER_OPTIONS,
    click.option(
        "--max-tokens",
        type=count(),
        help=f"Maximum tokens of an answer.  [default: {MAX_TOKENS}, {THINKING_TOKENS} where the model thinks first]",
    ),
    click.option(
        "--retry-cut",
        type=count(),
        metavar="TOKENS",
        help="Ask answers that were cut off before they said anything again, with this larger limit.",
    ),
    click.option("--seed", type=SEED, default=0, help="Seed of the option order and of local models."),
    click.option("--system", help="Your own system message; the role is added after it."),
    click.option(
        "--prompts",
        type=PATH,
        help="Folder with your own templates (system.j2, ask_KIND.j2) in place of the shipped ones.",
    ),
    click.option("--shuffle-options", is_flag=True, help="Permute the groups of a choice question in each trial."),
    *PACE_OPTIONS,
    click.option("--judge-requests-per-minute", type=RATE, help="Rate limit of judges other than the model."),
    click.option("--judge-tokens-per-minute", type=RATE, help="Token limit of judges other than the model."),
    json_option,
)

judging_options = with_options(
    click.argument("run", type=PATH),
    *_judge_options(required=True),
    click.option("--seed", type=SEED, default=0, help="Seed of the judges' requests."),
    click.option(
        "--activate",
        is_flag=True,
        help="Make this panel the active one, whose verdicts count in reports.  [default: the first panel is active]",
    ),
    click.option(
        "--thoughts",
        is_flag=True,
        help="Judge what the model thought before its answers instead: a measure of its own, in no rate of answers.",
    ),
    *PACE_OPTIONS,
    json_option,
)


def tasks_of(values: dict[str, Any]) -> list[Task]:
    """Evaluations, one for each model, from the values of `evaluation_options`."""
    if (values["model"] is None) == (values["study"] is None):
        raise click.UsageError("give either a MODEL, such as openai/gpt-6-luna, or --study FILE")
    settings = load_settings()
    if values["study"] is not None:
        from biaslens.evaluation.spec import read_study

        tasks = read_study(values["study"], runs=settings.runs, settings=settings)
        shard = values["shard"]
        return [
            replace(task, spec=replace(task.spec, shard=shard, run=shard_file(task.spec.run, shard))) for task in tasks
        ]
    spec = Spec(
        model=values["model"],
        run=values["run"] or shard_file(default_run(settings.runs, values["model"]), values["shard"]),
        shard=values["shard"],
        benchmark=values["benchmark"],
        slice=Slice(
            attributes=tuple(map(Attribute, values["attributes"])) or None,
            kinds=tuple(map(Kind, values["kinds"])) or None,
            **picked(values, "roles_per_attribute", "questions_per_kind"),
        ),
        conditions=tuple(map(Condition, values["conditions"])) or (Condition.ROLE,),
        panel=panel_of(values),
        params=answer_params(values["model"], picked(values, *PARAMETERS), settings),
        **picked(values, "trials", "seed", "shuffle_options", "system", "prompts", "retry_cut"),
    )
    pace = pace_of(values)
    judge_pace = replace(
        pace,
        requests_per_minute=values["judge_requests_per_minute"],
        tokens_per_minute=values["judge_tokens_per_minute"],
    )
    return [Task(spec, pace, judge_pace)]


def panel_of(values: dict[str, Any]) -> Panel | None:
    """The judges, from the values of `evaluation_options` or `judging_options`; None where none is named."""
    if not values["judges"]:
        return None
    given = {"max_tokens": values["judge_max_tokens"], "reasoning_effort": values["judge_reasoning_effort"]}
    return Panel(
        prompt=values["judge_prompt"],
        params=panel_params(values["judges"], given, load_settings()),
        **picked(values, "judges", "votes", "screen", "seed"),
    )


def served(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that serves a page: port and browser."""
    port = click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=False,
        help="Port of the page.  [default: any free one]",
    )
    browser = click.option(
        "--browser/--no-browser",
        default=True,
        show_default=False,
        help="Whether to open the page in a browser.  [default: yes]",
    )
    return port(browser(command))
