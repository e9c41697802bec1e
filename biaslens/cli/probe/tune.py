"""The command that tunes prompts and classifies the identity sentences with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from biaslens.cli.options import (
    INTERRUPTED,
    MOST_TRIALS,
    PATH,
    Real,
    json_option,
)
from biaslens.cli.probe.gaps import attribute_list
from biaslens.cli.progress import PhaseBar, say
from biaslens.probe.examples import NAMES
from biaslens.probe.run import BEST, DataChoice, ModelChoice, ProbeRun, ProbeSpec, predict, read, tune_prompts
from biaslens.probe.tuning import RATES, Tuned, TuneOptions, Validation, Watcher

_DEFAULT = TuneOptions()


@click.command("tune")
@click.argument("model")
@click.option("--data", required=True, help="Labelled texts: sst5:PATH, semeval:PATH or csv:PATH.")
@click.option(
    "--label-map",
    type=click.Choice(["paper", "sign"]),
    default="paper",
    show_default=True,
    help="How SemEval's seven classes become three. paper: -3, -2 / -1 to 1 / 2, 3. sign: below 0 / 0 / above 0.",
)
@click.option(
    "--seeds", default="1001-1015", show_default=True, help="Seeds, each for one prompt: 1001-1015 or 1,2,5-7."
)
@click.option(
    "--rates",
    default=",".join(f"{rate:g}" for rate in RATES),
    show_default=True,
    help="Learning rates; each seed keeps the best by validation accuracy.",
)
@click.option(
    "--out",
    type=PATH,
    default=Path("runs/probe"),
    show_default=True,
    help="Folder for runs; each model gets its own folder there.",
)
@click.option(
    "--vectors", type=click.IntRange(1), default=_DEFAULT.vectors, show_default=True, help="Vectors of a prompt."
)
@click.option(
    "--noise",
    type=Real(0, min_open=True),
    default=_DEFAULT.noise,
    show_default=True,
    help="Standard deviation of a prompt's initial values, in units of that of the model's embeddings.",
)
@click.option(
    "--max-steps", type=click.IntRange(1), default=_DEFAULT.max_steps, show_default=True, help="Maximum steps."
)
@click.option(
    "--evaluate-every",
    type=click.IntRange(1),
    default=_DEFAULT.evaluate_every,
    show_default=True,
    help="Steps between evaluations.",
)
@click.option(
    "--patient-steps",
    type=click.IntRange(0),
    default=_DEFAULT.patient_steps,
    show_default=True,
    help="Steps after which an evaluation loss above the previous five ends the tuning.",
)
@click.option("--batch", type=click.IntRange(1), default=_DEFAULT.batch, show_default=True, help="Texts in each step.")
@click.option(
    "--objective",
    type=click.Choice(["vocabulary", "labels"]),
    default=_DEFAULT.objective,
    show_default=True,
    help="Likelihood of the label token: among the whole vocabulary, as published, or among the three labels.",
)
@click.option(
    "--label-words", default=",".join(NAMES), show_default=True, help="Words for negative, neutral and positive."
)
@click.option(
    "--limit-train", type=click.IntRange(2), help="Use only N training texts, drawn with a fixed seed.", metavar="N"
)
@click.option(
    "--limit-dev", type=click.IntRange(2), help="Use only N validation texts, drawn with a fixed seed.", metavar="N"
)
@click.option("--device", default="auto", show_default=True, help="Device of torch: cpu, cuda, cuda:1.")
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
    show_default=True,
    help="Run trials one after the other, or in parallel on Ray.",
)
@click.option(
    "--best",
    type=click.IntRange(1),
    default=BEST,
    show_default=True,
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
    try:
        with TuningBar() as bar:
            run = tune_prompts(spec, on=values["on"], watcher=bar)
        for note in run.frozen.notes:
            click.echo(f"note: {note}", err=True)
        predictions = predict(run, best=values["best"], attributes=attribute_list(values["attributes"]))
    except KeyboardInterrupt:
        click.echo("stopped; the same command resumes from the latest checkpoint", err=True)
        sys.exit(INTERRUPTED)
    best = run.best(values["best"])
    if as_json:
        click.echo(json.dumps(_summary(run, best), indent=1))
    else:
        _print(run, best)
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
        options=TuneOptions(
            **{
                name: values[name]
                for name in (
                    "vectors", "noise", "batch", "objective", "max_steps", "evaluate_every", "patient_steps"
                )
            }
        ),
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
        if len(last or first) > _SEED_DIGITS or int(last or first) - int(first) >= MOST_TRIALS:
            raise click.UsageError(
                f"--seeds {text}: at most {MOST_TRIALS:,} seeds, each of at most {_SEED_DIGITS} digits"
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
                "chosen": tuned.seed in {each.seed for each in best},
            }
            for tuned in run.prompts
        ],
    }


def _print(run: ProbeRun, best: list[Tuned]) -> None:
    chosen = {tuned.seed for tuned in best}
    click.echo("seed  accuracy  loss    rate    step   stopped")
    for tuned in run.prompts:
        mark = "  chosen" if tuned.seed in chosen else ""
        click.echo(
            f"{tuned.seed:<5} {tuned.best.accuracy:.4f}    {tuned.best.loss:.4f}  {tuned.learning_rate:<6g}  "
            f"{tuned.best.step:<5}  {tuned.stopped} at {tuned.steps}{mark}"
        )


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
