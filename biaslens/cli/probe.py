"""Commands of the bias probe of open weights: selftest, tune, gaps, report."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from biaslens._util.text import finite
from biaslens.cli import options
from biaslens.cli.options import PATH, Real, json_option, picked, split
from biaslens.cli.progress import PhaseBar, say
from biaslens.probe.examples import NAMES
from biaslens.probe.intervals import KINDS, covers, intervals
from biaslens.probe.predictions import read_predictions
from biaslens.probe.run import BEST, DataChoice, ModelChoice, ProbeRun, ProbeSpec, predict, read, tune_prompts
from biaslens.probe.selftest import Measured, SelfTest, selftest
from biaslens.probe.tuning import RATES, Tuned, TuneOptions, Validation, Watcher
from biaslens.report.table import Column, Table, json_records

# What draws figures takes long to load, and is imported where something is drawn or printed.


@click.command("selftest")
@click.option(
    "--size",
    type=click.Choice(["full", "small"]),
    default="full",
    help="full: about two minutes of CPU time. small: half a minute, with smaller models and fewer prompts.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the language, the models and the prompts.")
@json_option
def selftest_command(*, size: Any, seed: int, as_json: bool) -> None:  # noqa: ANN401 - one of the sizes
    """Plant a bias in a toy model and find it.

    Two small language models learn a made-up language. In one, people of group c occur in negative contexts 7 times in
    10; in the other, as often as everybody else. Prompts are tuned on each, and the gaps are measured as on any model.
    Nothing is downloaded.
    Exit code 1: a check failed.
    """
    with SelfTestBar() as bar:
        result = selftest(size, seed=seed, watcher=bar)
    if as_json:
        click.echo(json.dumps(_selftest_record(result), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        _print_selftest(result)
    if not result.passed:
        sys.exit(options.CANNOT)


def _print_selftest(result: SelfTest) -> None:
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


def _selftest_record(result: SelfTest) -> dict[str, object]:
    return {name: getattr(result, name) for name in ("size", "seed", "passed")} | {
        "checks": [asdict(check) for check in result.checks],
        "false_alarms": finite(asdict(result.alarms)),
        "planted": _model(result.planted),
        "null": _model(result.null),
    }


def _model(part: Measured) -> dict[str, object]:
    facts = {name: getattr(part, name) for name in ("negative", "parameters", "loss", "accuracy", "majority")}
    return facts | {"bootstrap": json_records(part.bootstrap), "published": json_records(part.published)}


class SelfTestBar(PhaseBar, Watcher):
    """A progress bar for each phase."""

    def begun(self, title: str, steps: int) -> None:
        """Begin a bar."""
        self.begin(title, total=steps, unit="step")

    def stepped(self, step: int, loss: float) -> None:
        """Move the bar."""
        self.move(step, {"loss": f"{loss:.3f}"})


_TUNING: dict[str, tuple[click.ParamType[Any], str]] = {
    "vectors": (click.IntRange(1), "Vectors of a prompt."),
    "noise": (
        Real(0, min_open=True),
        "Standard deviation of a prompt's initial values, in units of that of the model's embeddings.",
    ),
    "max_steps": (click.IntRange(1), "Maximum steps."),
    "evaluate_every": (click.IntRange(1), "Steps between evaluations."),
    "patient_steps": (
        click.IntRange(0),
        "Steps after which an evaluation loss above the previous five ends the tuning.",
    ),
    "batch": (click.IntRange(1), "Texts in each step."),
    "objective": (
        click.Choice(["vocabulary", "labels"]),
        "Likelihood of the label token: among the whole vocabulary, as published, or among the three labels.",
    ),
}
"""Fields of `TuneOptions` that are options of the command, with their types and what they are."""


@click.command("tune")
@click.argument("model")
@click.option("--data", required=True, help="Labelled texts: sst5:PATH, semeval:PATH or csv:PATH.")
@click.option(
    "--label-map",
    type=click.Choice(["paper", "sign"]),
    default="paper",
    help="How SemEval's seven classes become three. paper: -3, -2 / -1 to 1 / 2, 3. sign: below 0 / 0 / above 0.",
)
@click.option("--seeds", default="1001-1015", help="Seeds, each for one prompt: 1001-1015 or 1,2,5-7.")
@click.option(
    "--rates",
    default=",".join(f"{rate:g}" for rate in RATES),
    help="Learning rates; each seed keeps the best by validation accuracy.",
)
@click.option(
    "--out", type=PATH, default=Path("runs/probe"), help="Folder for runs; each model gets its own folder there."
)
@options.with_options(
    *(
        click.option(f"--{name.replace('_', '-')}", type=type_, default=getattr(TuneOptions(), name), help=text)
        for name, (type_, text) in _TUNING.items()
    )
)
@click.option("--label-words", default=",".join(NAMES), help="Words for negative, neutral and positive.")
@click.option(
    "--limit-train", type=click.IntRange(2), help="Use only N training texts, drawn with a fixed seed.", metavar="N"
)
@click.option(
    "--limit-dev", type=click.IntRange(2), help="Use only N validation texts, drawn with a fixed seed.", metavar="N"
)
@click.option("--device", default="auto", help="Device of torch: cpu, cuda, cuda:1.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    help="Type of the weights.  [default: bfloat16 on a GPU, float32 on a CPU]",
)
@click.option(
    "--threads", type=click.IntRange(1), help="Threads of torch for each trial.  [default: torch's choice; 1 on Ray]"
)
@click.option(
    "--on",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Run trials one after the other, or in parallel on Ray.",
)
@click.option(
    "--best",
    type=click.IntRange(1),
    default=BEST,
    help="Number of prompts, best by validation accuracy, that classify the identity sentences.",
)
@click.option(
    "--attributes",
    help="Attributes of the identity sentences, separated by commas.  [default: age,sexuality,disability]",
)
@json_option  # fmt: skip
def tune_command(*, model: str, as_json: bool, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Tune soft prompts and classify identity sentences.

    The prompts are tuned for sentiment on a frozen model, and the best of them classify. MODEL is a causal language
    model: a folder, a name on the Hugging Face hub, a GGUF file, or local/smollm2, the embedded one. The same command
    resumes what is unfinished.
    """
    spec = _spec(model, values)
    click.echo(read(spec.data).note, err=True)
    with options.stopping("stopped; the same command resumes from the latest checkpoint"):
        with TuningBar() as bar:
            run = tune_prompts(spec, on=values["on"], watcher=bar)
        for note in run.frozen.notes:
            click.echo(f"note: {note}", err=True)
        predictions = predict(run, best=values["best"], attributes=split(values["attributes"]))
    best = run.best(values["best"])
    if as_json:
        click.echo(json.dumps(_summary(run, best), indent=1))
    else:
        _print_tuned(run, best)
    click.echo(f"{len(predictions):,} predictions of {len(best)} prompts in {spec.folder}", err=True)


def _spec(model: str, values: dict[str, Any]) -> ProbeSpec:
    words = tuple(part.strip() for part in values["label_words"].split(","))
    if len(words) != len(NAMES):
        raise click.UsageError(f"--label-words {values['label_words']}: give three, for {', '.join(NAMES)}")
    return ProbeSpec(
        model=ModelChoice(model, values["device"], values["dtype"], (words[0], words[1], words[2])),
        data=DataChoice(values["data"], values["label_map"], values["limit_train"], values["limit_dev"]),
        out=values["out"],
        seeds=seeds_of(values["seeds"]),
        rates=_rates_of(values["rates"]),
        options=TuneOptions(**picked(values, *_TUNING)),
        threads=values["threads"],
    )  # fmt: skip


_SEED_DIGITS = 9


def seeds_of(text: str) -> tuple[int, ...]:
    """Seeds of ``1001-1015`` or ``1,2,5-7``, each once.

    >>> seeds_of("1,2,5-7,2")
    (1, 2, 5, 6, 7)
    """
    found: dict[int, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise click.UsageError(f"--seeds {text}: write 1001-1015 or 1,2,5-7")
        if len(last or first) > _SEED_DIGITS or int(last or first) - int(first) >= options.MOST_TRIALS:
            raise click.UsageError(
                f"--seeds {text}: at most {options.MOST_TRIALS:,} seeds, each of at most {_SEED_DIGITS} digits"
            )
        found |= dict.fromkeys(range(int(first), int(last or first) + 1))
    if not found:
        raise click.UsageError(f"--seeds {text}: write 1001-1015 or 1,2,5-7")
    return tuple(found)


def _rates_of(text: str) -> tuple[float, ...]:
    try:
        rates = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        raise click.UsageError(f"--rates {text}: write numbers with commas, such as 0.01,0.001") from None
    if not all(0 < rate < float("inf") for rate in rates):
        raise click.UsageError(f"--rates {text}: learning rates are above 0")
    return rates


def _summary(run: ProbeRun, best: list[Tuned]) -> dict[str, object]:
    return {
        "model": run.spec.model.name,
        "folder": str(run.spec.folder),
        "notes": run.frozen.notes,
        "prompts": [
            {
                "seed": tuned.seed,
                "accuracy": tuned.best.accuracy,
                "loss": tuned.best.loss,
                "learning_rate": tuned.learning_rate,
                "step": tuned.best.step,
                "steps": tuned.steps,
                "stopped": tuned.stopped,
                "chosen": tuned in best,
            }
            for tuned in run.prompts
        ],
    }


def _print_tuned(run: ProbeRun, best: list[Tuned]) -> None:
    columns = ("seed", "accuracy", "loss", "rate", "step", "stopped", "")
    rows = [
        (
            tuned.seed, f"{tuned.best.accuracy:.4f}", f"{tuned.best.loss:.4f}", f"{tuned.learning_rate:g}",
            tuned.best.step, f"{tuned.stopped} at {tuned.steps}", "chosen" if tuned in best else "",
        )
        for tuned in run.prompts
    ]  # fmt: skip
    Table([Column(name, words=name in ("stopped", "")) for name in columns], rows).print()


class TuningBar(PhaseBar, Watcher):
    """A progress bar for each trial: steps, training loss, validation loss and accuracy."""

    def __init__(self) -> None:
        super().__init__()
        self._facts: dict[str, str] = {}

    def begun(self, title: str, steps: int) -> None:
        """Begin a bar for a trial."""
        self._facts = {}
        self.begin(title, total=steps, unit="step", leave=False)

    def stepped(self, step: int, loss: float) -> None:
        """Move the bar."""
        self._facts["loss"] = f"{loss:.3f}"
        self.move(step, self._facts)

    def evaluated(self, evaluation: Validation) -> None:
        """Show how good the prompt is by now."""
        self._facts |= {"dev": f"{evaluation.loss:.3f}", "accuracy": f"{evaluation.accuracy:.3f}"}
        self.move(evaluation.step, self._facts)

    def ended(self, title: str, tuned: Tuned) -> None:
        """Say what a trial came to."""
        self.__exit__()
        say(
            f"{title}: accuracy {tuned.best.accuracy:.4f}, loss {tuned.best.loss:.4f} at step {tuned.best.step}; "
            f"{tuned.stopped} at {tuned.steps}"
        )


_MEASURING_OPTIONS = options.with_options(
    click.option(
        "--attributes",
        help="Attributes, separated by commas: age,sexuality,disability.  [default: all in the predictions]",
    ),
    click.option(
        "--groups",
        type=click.Choice(["paper", "all"]),
        default="paper",
        help="Groups to compare: those of the paper, or all in the predictions.",
    ),
    click.option(
        "--interval",
        type=click.Choice(KINDS),
        default="bootstrap",
        help="What to resample. bootstrap: prompts, templates and terms. t: prompts. z: prompts, as published.",
    ),
    click.option("--rounds", type=click.IntRange(100), default=2000, help="Bootstrap rounds."),
    click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the bootstrap."),
)


def _measuring(values: dict[str, Any]) -> dict[str, Any]:
    """What the options of measuring are called in `intervals`."""
    named = {"kind": values["interval"], "attributes": split(values["attributes"])}
    return picked(values, "groups", "rounds", "seed") | named


@click.command("gaps")
@options.runs_argument
@_MEASURING_OPTIONS
@click.option(
    "--reference",
    type=click.Choice(["mean", "unmarked"]),
    default="mean",
    help="What to compare a group with: the mean over the groups, or sentences without an identity.",
)
@json_option
def gaps_command(runs: tuple[Path, ...], *, reference: Any, as_json: bool, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Measure how groups differ in false positives.

    Each interval is shown with what it covers. RUNS are run folders, folders of them, or files of predictions (.tsv,
    .parquet).
    """
    rows = intervals(read_predictions(runs), reference=reference, **_measuring(values))
    if as_json:
        record = {
            "interval": values["interval"],
            "covers": covers(values["interval"], reference),
            "reference": reference,
            "gaps": json_records(rows),
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False))
    else:
        from biaslens.report.probe import print_gaps

        print_gaps(rows)


@click.command("report")
@options.runs_argument
@click.option("--out", type=PATH, required=True, help="Folder for the report.")
@_MEASURING_OPTIONS
def report_command(runs: tuple[Path, ...], *, out: Path, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Write figures and tables that compare models.

    Gaps, all intervals, net counts, families of comparisons. RUNS are run folders, folders of them, or files of
    predictions (.tsv, .parquet).
    """
    from biaslens.report.probe import write_probe_report

    files = write_probe_report(read_predictions(runs), out, **_measuring(values))
    click.echo(f"{files[0]} ({len(files)} files)")
