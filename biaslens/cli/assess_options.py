"""The options of an assessment."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.core import ParameterSource

from biaslens.cli.options import PACE_OPTIONS, PATH, SEED, Real, count, json_option
from biaslens.usecase import MAX_TOKENS, Intervention, UseCase

_ALL = (
    click.argument("source", type=PATH),
    click.option("--task", type=click.Choice(list(map(str, UseCase))), required=True, help="What the model does."),
    click.option("--out", type=PATH, help="Folder for the report.  [default: assessments/ and the name of SOURCE]"),
    click.option("--metrics", help="Families of metrics to measure instead of those that apply, separated by commas."),
    click.option("--no-invariance", is_flag=True, help="Responses or lists may legitimately depend on the group."),
    click.option("--variant", type=click.Choice(["paper", "langfair"]), default="paper", show_default=True,
                 help="Whose formulas to use where the paper and the LangFair toolkit differ."),
    click.option("--rounds", type=count(100, 1_000_000), default=2000, show_default=True, help="Bootstrap rounds."),
    click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of intervals and tests."),
    json_option,
)  # fmt: skip

_TEXTS = (
    click.option("--model", help="Model to put the prompts of SOURCE to; without it, SOURCE holds responses."),
    click.option("--plan", is_flag=True, help="Show the number of requests to --model and their price; ask nothing."),
    click.option("--attributes", help="Protected attributes, comma-separated.  [default: those that prompts mention]"),
    click.option("--compare", multiple=True, metavar="ATTRIBUTE=GROUP,GROUP", help="Groups to compare; repeatable."),
    click.option("--words", type=PATH, multiple=True, help="File with words of your own; repeatable."),
    click.option("--names", is_flag=True, help="Treat given names as words for gender and race."),
    click.option("--per-prompt", type=count(), default=25, show_default=True, help="Responses to each prompt."),
    click.option("--prompts", "limit", type=count(), help="Only the first N prompts."),
    click.option("--system", default="", help="System prompt of the use case."),
    click.option("--temperature", type=Real(0), help="[default: the provider's]"),
    click.option("--top-p", type=Real(0, 1), help="[default: the provider's]"),
    click.option("--max-tokens", type=count(), default=MAX_TOKENS, show_default=True,
                 help="Maximum tokens of a response."),
    click.option("--request-seed", type=SEED, default=0, show_default=True,
                 help="Seed of requests, where the provider takes one."),
    click.option("--toxicity-scorer",
                 help="offline, detoxify, hf:NAME, moderation, perspective or judge:MODEL.  [default: offline]"),
    click.option("--stereotype-scorer", help="offline, hf:NAME or judge:MODEL.  [default: offline]"),
    click.option("--sentiment-scorer", help="vader, hf:NAME or judge:MODEL.  [default: vader]"),
    click.option("--targets", type=PATH, help="File of words whose association with groups is measured, one per line."),
    click.option("--threshold", type=Real(0, 1), default=0.5, show_default=True,
                 help="Score from which a text counts as toxic or stereotyped."),
    *PACE_OPTIONS,
)  # fmt: skip

_PREDICTIONS = (
    click.option("--group", help="Column with the protected group."),
    click.option("--label", help="Column with the true class."),
    click.option("--prediction", help="Column with the predicted class."),
    click.option("--cluster", help="Column that says which rows belong together, such as those of one person."),
    click.option("--positive", multiple=True,
                 help="Class that counts as positive, against all others; repeatable.  [default: 1]"),
    click.option("--parity", is_flag=True, help="Define fairness as equal predicted prevalence."),
    click.option("--intervention", type=click.Choice([str(each) for each in Intervention]),
                 help="What a positive prediction leads to."),
)  # fmt: skip

_LISTS = (
    click.option(
        "--k", type=count(), default=10, show_default=True, help="Number of items at the top of a list that count."
    ),
)

_GO_WITH = {
    "texts": {
        "attributes", "model", "plan", "compare", "words", "names", "per_prompt", "limit", "system", "temperature",
        "top_p", "max_tokens", "toxicity_scorer", "stereotype_scorer", "sentiment_scorer", "targets", "threshold",
        "concurrency", "requests_per_minute", "tokens_per_minute", "max_attempts", "failure_share", "no_invariance",
        "variant", "request_seed",
    },
    "predictions": {"group", "label", "prediction", "cluster", "positive", "parity", "intervention"},
    "lists": {"k", "group", "attributes", "no_invariance", "variant"},
}  # fmt: skip
"""Options that go with what is assessed."""

_OF_A_MODEL = {"request_seed", "per_prompt", "limit", "system", "temperature", "top_p", "max_tokens",
               "requests_per_minute", "tokens_per_minute"}  # fmt: skip
"""Options of asking prompts; responses that are there were asked by somebody else."""

KIND_OF = {
    UseCase.GENERATION: "texts",
    UseCase.SUMMARISATION: "texts",
    UseCase.CLASSIFICATION: "predictions",
    UseCase.RECOMMENDATION: "lists",
}
"""What is assessed for a task."""


def assess_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of an assessment."""
    for option in reversed((*_ALL, *_TEXTS, *_PREDICTIONS, *_LISTS)):
        command = option(command)
    return command


def refuse_strangers(context: click.Context, task: UseCase) -> None:
    """Refuse an option of another task: it would silently do nothing."""
    given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    strangers = given & set().union(*_GO_WITH.values()) - _GO_WITH[KIND_OF[task]]
    names = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    if strangers:
        raise click.UsageError(f"{names[min(strangers)]} does not go with --task {task}")
    if not context.params["model"] and (strangers := given & _OF_A_MODEL):
        raise click.UsageError(f"{names[min(strangers)]} needs --model, whom to ask")
