"""The command that assesses one's own use case."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from biaslens.cli.assess_options import KIND_OF, assess_options, refuse_strangers
from biaslens.cli.options import pace_of
from biaslens.cli.progress import PhaseBar, ProgressBar
from biaslens.errors import RunInterruptedError
from biaslens.models import Params
from biaslens.report.assessment import print_assessment, score_files, write_assessment
from biaslens.usecase import (
    Asking,
    Assessment,
    AssessmentWatcher,
    Intervention,
    Resampling,
    TextOptions,
    UseCase,
    assess_lists,
    assess_predictions,
    assess_texts,
    plan_texts,
)

INCOMPLETE = 3
INTERRUPTED = 130
_LOCAL_SHOWN = 1000


@click.command("assess")
@assess_options
@click.pass_context
def assess_command(context: click.Context, /, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Assess your own use of a model with the metrics that apply.

    SOURCE is a table (.csv, .tsv, .jsonl, .parquet). Generation and summarisation: prompts (column prompt) with
    --model, or responses (column response). Classification: rows with a group, a label and a prediction.
    Recommendation: ranked lists by prompt and group. Everything is measured offline unless a scorer is named.
    """
    task = UseCase(values["task"])
    refuse_strangers(context, task)
    out = values["out"] or Path("assessments") / values["source"].stem
    if values["source"].resolve().parent == out.resolve():
        raise click.UsageError(
            f"the report would lie beside {values['source']} and might replace it; give another --out"
        )
    resampling = Resampling(rounds=values["rounds"], seed=values["seed"])
    if values["plan"]:
        _show_plan(plan_texts(values["source"], _text_options(values, out, resampling)), as_json=values["as_json"])
        return
    try:
        assessment = {"texts": _texts, "predictions": _predictions, "lists": _lists}[KIND_OF[task]](
            values, out, resampling
        )
    except (KeyboardInterrupt, RunInterruptedError) as error:
        click.echo(str(error) or "stopped; the same command asks only what is missing", err=True)
        sys.exit(INTERRUPTED)
    files = write_assessment(assessment, out)
    if values["as_json"]:
        click.echo(json.dumps(assessment.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        print_assessment(assessment)
    click.echo(f"page {files[0]}, numbers {files[1]} and {files[2]}", err=True)
    if assessment.missing:
        sys.exit(INCOMPLETE)


class AssessmentBar(PhaseBar, AssessmentWatcher):
    """The progress of an assessment: prompts asked, texts scored."""

    def __init__(self) -> None:
        super().__init__()
        self._scoring: ProgressBar | None = None

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._scoring is not None:
            self._scoring.close()
            self._scoring = None

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Begin a bar."""
        self.begin(title, total=total, done=done)

    def scored(self, done: int, total: int) -> None:
        """Show how far a local scorer is, where it takes long enough to be noticed."""
        if total < _LOCAL_SHOWN:
            return
        if self._scoring is None:
            self._scoring = ProgressBar(total=total, desc="scoring", leave=False)
        self._scoring.update(done - self._scoring.n)
        if done >= total:
            self._scoring.close()
            self._scoring = None


def _texts(values: dict[str, Any], out: Path, resampling: Resampling) -> Assessment:
    options = _text_options(values, out, resampling)
    with score_files(out) as recorder, AssessmentBar() as bar:
        return assess_texts(values["source"], options, watcher=bar, recorder=recorder)


def _show_plan(asking: Asking, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(asking), indent=1))
        return
    dollars = "at an unknown price" if asking.dollars is None else f"at most US$ {asking.dollars:.2f}"
    click.echo(
        f"{asking.model}: {asking.requests:,} requests for {asking.prompts:,} prompts, counterfactual and no-effect "
        f"ones among them; about {asking.prompt_tokens:,} tokens in, at most "
        f"{asking.completion_tokens:,} out, {dollars}"
    )


def _text_options(values: dict[str, Any], out: Path, resampling: Resampling) -> TextOptions:
    kinds = ("toxicity", "stereotype", "sentiment")
    return TextOptions(
        task=UseCase(values["task"]),
        model=values["model"],
        out=out,
        attributes=_split(values["attributes"]),
        compare=dict(map(_comparison, values["compare"])),
        words=values["words"],
        names=values["names"],
        per_prompt=values["per_prompt"],
        limit=values["limit"],
        system=values["system"],
        params=Params(temperature=values["temperature"], top_p=values["top_p"], max_tokens=values["max_tokens"]),
        request_seed=values["request_seed"],
        families=_split(values["metrics"]),
        invariance=not values["no_invariance"],
        scorers={kind: values[f"{kind}_scorer"] for kind in kinds if values[f"{kind}_scorer"]},  # type: ignore[misc]
        targets=_words_of(values["targets"]),
        threshold=values["threshold"],
        variant=values["variant"],
        resampling=resampling,
        pace=pace_of(values),
        # The limits per minute are those of the model that is asked.
        scorer_pace=replace(pace_of(values), requests_per_minute=None, tokens_per_minute=None),
    )


def _predictions(values: dict[str, Any], out: Path, resampling: Resampling) -> Assessment:
    del out
    missing = next((name for name in ("group", "prediction") if not values[name]), None)
    if missing:
        raise click.UsageError(f"--task classification needs --{missing} COLUMN")
    return assess_predictions(
        values["source"],
        group=values["group"],
        prediction=values["prediction"],
        label=values["label"],
        cluster=values["cluster"],
        positives=values["positive"] or ("1",),
        parity=values["parity"],
        intervention=Intervention(values["intervention"]) if values["intervention"] else None,
        families=_split(values["metrics"]),
        resampling=resampling,
    )


def _lists(values: dict[str, Any], out: Path, resampling: Resampling) -> Assessment:
    del out
    return assess_lists(
        values["source"],
        k=values["k"],
        group=values["group"] or "group",
        attributes=_split(values["attributes"]),
        invariance=not values["no_invariance"],
        families=_split(values["metrics"]),
        variant=values["variant"],
        resampling=resampling,
    )


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _comparison(text: str) -> tuple[str, Sequence[str]]:
    attribute, equals, groups = text.partition("=")
    if not equals:
        raise click.UsageError(f"--compare {text}: write ATTRIBUTE=GROUP,GROUP, such as gender=female,male")
    return attribute.strip(), _split(groups) or []


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
