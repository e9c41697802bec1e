"""The commands that assess one's own use of a model, and make prompts for it."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TextIO

import click

from biaslens import usecase
from biaslens._util.files import replacing
from biaslens._util.text import cells
from biaslens.cli import options
from biaslens.cli.batches import say_exchange
from biaslens.cli.options import PATH, SEED, Decorator, Real, choice, count, json_option, picked, split
from biaslens.cli.progress import AskingBar, ProgressBar
from biaslens.errors import RunInterruptedError, RunWaitingError
from biaslens.evaluation.spec import PARAMETERS, THINKING_TOKENS
from biaslens.models import Params
from biaslens.models.catalogue import params_for
from biaslens.report.assessment import print_assessment, score_files, write_assessment
from biaslens.settings import load_settings
from biaslens.usecase import Assessment, Intervention, Resampling, UseCase

_LOCAL_SHOWN = 1000

_WORD_OPTIONS: tuple[Decorator, ...] = (
    click.option("--words", type=PATH, multiple=True, help="File with words of your own; repeatable."),
    click.option("--names", is_flag=True, help="Treat given names as words for gender and race."),
)

_ALL: tuple[Decorator, ...] = (
    click.argument("source", type=PATH),
    click.option("--task", type=choice(UseCase), required=True, help="What the model does."),
    click.option("--out", type=PATH, help="Folder for the report.  [default: assessments/ and the name of SOURCE]"),
    click.option("--metrics", help="Families of metrics to measure instead of those that apply, separated by commas."),
    click.option("--no-invariance", is_flag=True, help="Responses or lists may legitimately depend on the group."),
    click.option(
        "--variant",
        type=click.Choice(["paper", "langfair"]),
        default="paper",
        help="Whose formulas to use where the paper and the LangFair toolkit differ.",
    ),
    click.option("--rounds", type=count(1_000_000, least=100), default=2000, help="Bootstrap rounds."),
    click.option("--seed", type=SEED, default=0, help="Seed of intervals and tests."),
    json_option,
)

_TEXTS: tuple[Decorator, ...] = (
    click.option("--model", help="Model to put the prompts of SOURCE to; without it, SOURCE holds responses."),
    click.option("--plan", is_flag=True, help="Show the number of requests to --model and their price; ask nothing."),
    click.option("--attributes", help="Protected attributes, comma-separated.  [default: those that prompts mention]"),
    click.option("--compare", multiple=True, metavar="ATTRIBUTE=GROUP,GROUP", help="Groups to compare; repeatable."),
    *_WORD_OPTIONS,
    click.option("--per-prompt", type=count(), default=25, help="Responses to each prompt."),
    click.option("--prompts", "limit", type=count(), help="Only the first N prompts."),
    click.option("--system", default="", show_default=False, help="System prompt of the use case."),
    *options.PARAMETER_OPTIONS,
    click.option(
        "--max-tokens",
        type=count(),
        help=f"Maximum tokens of a response.  [default: {usecase.MAX_TOKENS}, {THINKING_TOKENS} where the model thinks "
        "first]",
    ),
    click.option("--request-seed", type=SEED, default=0, help="Seed of requests, where the provider takes one."),
    click.option(
        "--toxicity-scorer",
        help="offline, detoxify, hf:NAME, moderation, perspective or judge:MODEL.  [default: offline]",
    ),
    click.option("--stereotype-scorer", help="offline, hf:NAME or judge:MODEL.  [default: offline]"),
    click.option("--sentiment-scorer", help="vader, hf:NAME or judge:MODEL.  [default: vader]"),
    click.option("--targets", type=PATH, help="File of words whose association with groups is measured, one per line."),
    click.option(
        "--threshold", type=Real(0, 1), default=0.5, help="Score from which a text counts as toxic or stereotyped."
    ),
    *options.PACE_OPTIONS,
    options.batch_option,
    options.then_online_option,
    options.batch_files_option,
)

_PREDICTIONS: tuple[Decorator, ...] = (
    click.option("--group", help="Column with the protected group."),
    click.option("--label", help="Column with the true class."),
    click.option("--prediction", help="Column with the predicted class."),
    click.option(
        "--cluster", help="Column that says which rows belong together: those of one person, prompts of one topic."
    ),
    click.option(
        "--positive", multiple=True, help="Class that counts as positive, against all others; repeatable.  [default: 1]"
    ),
    click.option("--parity", is_flag=True, help="Define fairness as equal predicted prevalence."),
    click.option("--intervention", type=choice(Intervention), help="What a positive prediction leads to."),
)

_LISTS: tuple[Decorator, ...] = (
    click.option("--k", type=count(), default=10, help="Number of items at the top of a list that count."),
)

_FOR_TEXTS_AND_LISTS = {"no_invariance", "variant"}
_GO_WITH = {
    "texts": options.names_of(*_TEXTS) - {"trust_address"} | _FOR_TEXTS_AND_LISTS | {"cluster"},
    "predictions": options.names_of(*_PREDICTIONS),
    "lists": options.names_of(*_LISTS) | _FOR_TEXTS_AND_LISTS | {"group", "attributes", "cluster"},
}
"""Options that go with what is assessed."""

_OF_A_MODEL = {"request_seed", "per_prompt", "limit", "system", *PARAMETERS, "requests_per_minute", "tokens_per_minute"}
"""Options of asking prompts; responses that are there were asked by somebody else."""

_KIND_OF = {
    UseCase.GENERATION: "texts",
    UseCase.SUMMARISATION: "texts",
    UseCase.CLASSIFICATION: "predictions",
    UseCase.RECOMMENDATION: "lists",
}
"""What is assessed for a task."""


def _refuse_strangers(context: click.Context, task: UseCase) -> None:
    """Refuse an option of another task: it would silently do nothing."""
    given = options.given_options(context)
    if strangers := given.keys() & set().union(*_GO_WITH.values()) - _GO_WITH[_KIND_OF[task]]:
        raise click.UsageError(f"{given[min(strangers)]} does not go with --task {task}")
    if not context.params["model"] and (strangers := given.keys() & _OF_A_MODEL):
        raise click.UsageError(f"{given[min(strangers)]} needs --model, the model to ask")


@click.command("assess")
@options.with_options(*_ALL, *_TEXTS, *_PREDICTIONS, *_LISTS)
@click.pass_context
def assess_command(context: click.Context, /, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Assess your own use of a model with the metrics that apply.

    SOURCE is a table (.csv, .tsv, .jsonl, .parquet). Generation and summarisation: prompts (column prompt) with
    --model, or responses (column response). Classification: rows with a group, a label and a prediction.
    Recommendation: ranked lists by prompt and group. Everything is measured offline unless a scorer is named.
    """
    task = UseCase(values["task"])
    _refuse_strangers(context, task)
    out = values["out"] or Path("assessments") / values["source"].stem
    if values["source"].resolve().parent == out.resolve():
        raise click.UsageError(
            f"the report would be written next to {values['source']} and might replace it; give another --out"
        )
    if values["plan"]:
        asking = usecase.plan_texts(values["source"], _text_options(values, out), batch=values["batch"])
        _show_plan(asking, as_json=values["as_json"])
        return
    assess = {"texts": _texts, "predictions": _predictions, "lists": _lists}[_KIND_OF[task]]
    try:
        assessment = assess(values, out)
    except (KeyboardInterrupt, RunInterruptedError) as error:
        click.echo(str(error) or "stopped; the same command asks only what is missing", err=True)
        sys.exit(options.INTERRUPTED)
    except RunWaitingError as error:
        click.echo(str(error), err=True)
        sys.exit(options.INCOMPLETE)
    files = write_assessment(assessment, out)
    if values["as_json"]:
        click.echo(json.dumps(assessment.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        print_assessment(assessment)
    click.echo(f"page {files[0]}, numbers {files[1]} and {files[2]}", err=True)
    if assessment.missing:
        sys.exit(options.INCOMPLETE)


class AssessmentBar(AskingBar, usecase.AssessmentWatcher):
    """The progress of an assessment: prompts asked, texts scored."""

    def __init__(self) -> None:
        super().__init__()
        self._scoring: ProgressBar | None = None

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._end()

    def _end(self) -> None:
        if self._scoring is not None:
            self._scoring.close()
            self._scoring = None

    def scored(self, done: int, total: int) -> None:
        """Show how far a local scorer is, where it takes long enough to be noticed."""
        if total < _LOCAL_SHOWN:
            return
        if self._scoring is None:
            self._scoring = ProgressBar(total=total, desc="scoring", leave=False)
        self._scoring.update(done - self._scoring.n)
        if done >= total:
            self._end()


def _texts(values: dict[str, Any], out: Path) -> Assessment:
    wanted = _text_options(values, out)  # before a folder is made: it may be refused
    exchange = options.exchange_of(values)
    try:
        with score_files(out) as recorder, AssessmentBar() as bar:
            return usecase.assess_texts(values["source"], wanted, watcher=bar, recorder=recorder, exchange=exchange)
    finally:
        if exchange is not None:
            say_exchange(exchange, *filter(Path.is_file, [out / usecase.RUN_FILE]))


def _show_plan(asking: usecase.Asking, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(asking), indent=1))
        return
    dollars = "at an unknown price" if asking.dollars is None else f"at most US$ {asking.dollars:.2f}"
    click.echo(
        f"{asking.model}: {asking.requests:,} requests for {asking.prompts:,} prompts, counterfactual and no-effect "
        f"ones among them; about {asking.prompt_tokens:,} tokens in, at most "
        f"{asking.completion_tokens:,} out, {dollars}"
    )


def _params(values: dict[str, Any]) -> Params:
    given = picked(values, *PARAMETERS)
    limits = {"limit": usecase.MAX_TOKENS, "thinking_limit": THINKING_TOKENS}
    return params_for(values["model"] or "", given, load_settings(), **limits)


def _text_options(values: dict[str, Any], out: Path) -> usecase.TextOptions:
    kinds = ("toxicity", "stereotype", "sentiment")
    of_the_same_name = (
        "model",
        "words",
        "cluster",
        "names",
        "per_prompt",
        "limit",
        "system",
        "request_seed",
        "threshold",
    )
    return usecase.TextOptions(
        task=UseCase(values["task"]),
        out=out,
        attributes=split(values["attributes"]),
        compare=dict(map(_comparison, values["compare"])),
        params=_params(values),
        invariance=not values["no_invariance"],
        scorers={kind: values[f"{kind}_scorer"] for kind in kinds if values[f"{kind}_scorer"]},  # type: ignore[misc]
        targets=_words_of(values["targets"]),
        variant=values["variant"],
        pace=options.pace_of(values),
        # The limits per minute are those of the model that is asked.
        scorer_pace=replace(options.pace_of(values), requests_per_minute=None, tokens_per_minute=None),
        **picked(values, *of_the_same_name),
        **_measuring(values),
    )


def _predictions(values: dict[str, Any], out: Path) -> Assessment:
    del out
    missing = next((name for name in ("group", "prediction") if not values[name]), None)
    if missing:
        raise click.UsageError(f"--task classification needs --{missing} COLUMN")
    return usecase.assess_predictions(
        values["source"],
        positives=values["positive"] or ("1",),
        intervention=Intervention(values["intervention"]) if values["intervention"] else None,
        **picked(values, "group", "prediction", "label", "cluster", "parity"),
        **_measuring(values),
    )


def _lists(values: dict[str, Any], out: Path) -> Assessment:
    del out
    return usecase.assess_lists(
        values["source"],
        k=values["k"],
        group=values["group"] or "group",
        attributes=split(values["attributes"]),
        invariance=not values["no_invariance"],
        variant=values["variant"],
        cluster=values["cluster"],
        **_measuring(values),
    )


def _measuring(values: dict[str, Any]) -> dict[str, Any]:
    """What every assessment is told: families of metrics, and how to resample."""
    return {"families": split(values["metrics"]), "resampling": Resampling(**picked(values, "rounds", "seed"))}


def _comparison(text: str) -> tuple[str, Sequence[str]]:
    attribute, equals, groups = text.partition("=")
    if not equals:
        raise click.UsageError(f"--compare {text}: write ATTRIBUTE=GROUP,GROUP, such as gender=female,male")
    return attribute.strip(), split(groups) or []


def _words_of(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    try:
        words = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise click.UsageError(f"--targets {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"--targets {path}: not UTF-8 text") from None
    if not words:
        raise click.UsageError(f"--targets {path}: the file holds no words")
    return words


@click.command("counterfactual")
@click.argument("source", type=PATH)
@click.option("--attribute", required=True, help="Attribute to vary: gender, race, religion, age, ...")
@click.option("--groups", help="Groups to compare, separated by commas.  [default: those in the word list]")
@options.with_options(*_WORD_OPTIONS)
@click.option("--out", type=options.FILE, help="CSV file for the pairs.  [default: standard output]")
def counterfactual_command(
    source: Path, attribute: str, groups: str | None, words: Sequence[Path], *, names: bool, out: Path | None
) -> None:
    """Make counterfactual prompts by swapping the words for groups.

    Each prompt of SOURCE is rewritten with the words for another group, and the swaps are listed. Each pair is
    accompanied by two with no effect, the prompt of each group twice: the baseline of every comparison.
    """
    lexicon = usecase.load_words([attribute], own=words, names=names)
    prompts = list(usecase.read_prompts(source).values())
    pairs = usecase.make_pairs(prompts, lexicon.attributes[attribute], split(groups or None), lexicon)
    rows = usecase.pair_rows(pairs)
    if out is None:
        _write_pairs(rows, sys.stdout)
    else:
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            _write_pairs(rows, file)
    noted = sum(bool(pair.notes) for pair in pairs.counterfactual)
    name = attribute.replace("_", " ")
    said = [f"{len(pairs.counterfactual):,} pairs of {len(prompts):,} prompts"]
    if pairs.without:
        said.append(f"{pairs.without:,} prompts contain no word for {name}")
    if pairs.same:
        said.append(f"{pairs.same:,} pairs came out identical and are left out")
    if noted:
        said.append(f"check the {noted:,} that carry a note")
    click.echo("; ".join(said), err=True)


def _write_pairs(rows: Iterable[Mapping[str, object]], file: TextIO) -> None:
    writer = csv.writer(file)
    writer.writerow(usecase.PAIR_COLUMNS)
    writer.writerows(cells([row[name] for name in usecase.PAIR_COLUMNS]) for row in rows)
