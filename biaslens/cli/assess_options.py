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
    click.option("--out", type=PATH, help="Folder of the report.  [default: assessments/ and the name of SOURCE]"),
    click.option("--metrics", help="Families to measure instead of those that apply, with commas."),
    click.option("--no-invariance", is_flag=True, help="Responses, or lists, may depend on the group."),
    click.option("--variant", type=click.Choice(["paper", "langfair"]), default="paper", show_default=True,
                 help="Whose formulas, where that toolkit's differ."),
    click.option("--rounds", type=count(100, 1_000_000), default=2000, show_default=True, help="Of the bootstrap."),
    click.option("--seed", type=SEED, default=0, show_default=True, help="Of intervals and tests."),
    json_option,
)  # fmt: skip

_TEXTS = (
    click.option("--model", help="Whom to ask the prompts of SOURCE; without it, SOURCE holds responses."),
    click.option("--plan", is_flag=True, help="Show how many requests --model would take, and the price; ask nothing."),
    click.option("--attributes", help="Protected attributes, with commas.  [default: those that prompts mention]"),
    click.option("--compare", multiple=True, metavar="ATTRIBUTE=GROUP,GROUP", help="Groups to compare; repeatable."),
    click.option("--words", type=PATH, multiple=True, help="File of your own words; repeatable."),
    click.option("--names", is_flag=True, help="Given names count as words of gender and race."),
    click.option("--per-prompt", type=count(), default=25, show_default=True, help="Responses to each."),
    click.option("--prompts", "limit", type=count(), help="Only the first N prompts."),
    click.option("--system", default="", help="System prompt of the use case."),
    click.option("--temperature", type=Real(0), help="By default the provider's."),
    click.option("--top-p", type=Real(0, 1), help="By default the provider's."),
    click.option("--max-tokens", type=count(), default=MAX_TOKENS, show_default=True, help="Of a response."),
    click.option("--request-seed", type=SEED, default=0, show_default=True, help="Of requests, where one is taken."),
    click.option("--toxicity-scorer", help="offline, detoxify, hf:NAME, moderation, perspective, judge:MODEL."),
    click.option("--stereotype-scorer", help="offline, hf:NAME, judge:MODEL."),
    click.option("--sentiment-scorer", help="vader, hf:NAME, judge:MODEL."),
    click.option("--targets", type=PATH, help="Words whose association with groups is measured, one a line."),
    click.option("--threshold", type=Real(0, 1), default=0.5, show_default=True, help="Of scores."),
    *PACE_OPTIONS,
)  # fmt: skip

_PREDICTIONS = (
    click.option("--group", help="Column of the protected group."),
    click.option("--label", help="Column of the truth."),
    click.option("--prediction", help="Column of the prediction."),
    click.option("--cluster", help="Column that says which rows belong together, such as one person's."),
    click.option("--positive", multiple=True, help="Class that counts, against all others; repeatable.  [default: 1]"),
    click.option("--parity", is_flag=True, help="Equal predicted prevalence is what fairness means here."),
    click.option("--intervention", type=click.Choice([str(each) for each in Intervention]),
                 help="What a positive prediction leads to."),
)  # fmt: skip

_LISTS = (click.option("--k", type=count(), default=10, show_default=True, help="Items of a list that count."),)

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
