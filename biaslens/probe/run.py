"""A probe of one model: prompts for all seeds and rates, the best of each seed, predictions on identity sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from biaslens import __version__
from biaslens._util import start_ray
from biaslens._util.text import safe_name
from biaslens.errors import BiasLensError, InputError, RunMismatchError, RunStoppedError, StorageError
from biaslens.probe.backbone import require
from biaslens.probe.examples import NAMES, LabelMap, Splits, read_examples
from biaslens.probe.tuning import (
    RATES,
    TrialFolder,
    Tuned,
    TuneOptions,
    Watcher,
    classify,
    sole,
    tune,
    write_tuned,
    write_whole,
)

if TYPE_CHECKING:
    import pandas as pd

    from biaslens.probe.backbone import Frozen

On = Literal["local", "ray"]
RETRIES = 5
"""Times that Ray gives the trial of a worker that died to another one."""
SEEDS = tuple(range(1001, 1016))
BEST = 5
"""Prompts of a model that enter the analysis."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, and how; see `biaslens.probe.backbone.load_frozen`."""

    name: str
    device: str = "auto"
    dtype: str | None = None
    words: tuple[str, ...] = NAMES


@dataclass(frozen=True, slots=True)
class DataChoice:
    """Which labelled texts; see `biaslens.probe.examples.read_examples`."""

    spec: str
    label_map: LabelMap = "paper"
    limit_train: int | None = None
    limit_dev: int | None = None


@lru_cache(maxsize=1)
def load(choice: ModelChoice) -> Frozen:
    """Load a model; the latest one stays in memory."""
    from biaslens.probe.backbone import load_frozen

    return load_frozen(choice.name, device=choice.device, dtype=choice.dtype, words=choice.words)


@lru_cache(maxsize=1)
def read(choice: DataChoice) -> Splits:
    """Read texts; the latest ones stay in memory."""
    return read_examples(choice.spec, label_map=choice.label_map).limited(choice.limit_train, choice.limit_dev)


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """What to tune, on what, and where it goes.

    `out` is the folder of runs; the model's run gets a folder of its own in it. Each seed is tuned with each learning
    rate and keeps the one with the best validation accuracy. `threads` of torch, for each trial: None is torch's own
    choice here, and 1 on Ray, where trials run side by side. Sums in another order round differently, so results are
    the same to the bit only for equal numbers of threads.
    """

    model: ModelChoice
    data: DataChoice
    out: Path
    seeds: tuple[int, ...] = SEEDS
    rates: tuple[float, ...] = RATES
    options: TuneOptions = field(default_factory=TuneOptions)
    threads: int | None = None

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.out / folder_name(self.model.name)

    def trials(self) -> list[Trial]:
        """All trials, rate by rate for each seed."""
        folder = self.folder.absolute()
        return [
            Trial(self, s, rate, folder / f"seed-{s}" / f"rate-{rate:g}") for s in self.seeds for rate in self.rates
        ]


class Trial(NamedTuple):
    """One prompt to tune: all that a process elsewhere needs to know. With Ray, all machines share the folder."""

    spec: ProbeSpec
    seed: int
    learning_rate: float
    folder: Path

    def title(self, number: int, trials: int) -> str:
        """What to call it, the so-manieth of so many, for people."""
        return f"{number}/{trials} seed {self.seed}, rate {self.learning_rate:g}"


def run_trials(trials: Sequence[Trial], on: On = "local", *, watcher: Watcher | None = None) -> list[Tuned]:
    """Run trials and give their results in the same order; those that are done are read, others go on.

    "local" runs one after the other in this process; "ray" side by side on Ray: each takes its threads as CPUs, and a
    GPU where its device is one, and a trial whose worker dies goes on from its checkpoint elsewhere. RunStoppedError
    when workers of one trial died again and again; what is done is kept.
    """
    watcher = watcher or Watcher()
    if on == "ray":
        return _on_ray(trials, watcher)
    found = []
    for number, trial in enumerate(trials, 1):
        title = trial.title(number, len(trials))
        watcher.begun(title, trial.spec.options.max_steps)
        found.append(run_trial(trial, watcher))
        watcher.ended(title, found[-1])
    return found


def run_trial(trial: Trial, watcher: Watcher | None = None) -> Tuned:
    """Run one trial, or read it where it is done."""
    spec, seed, rate, folder = trial
    if (done := TrialFolder(folder).finished()) is not None:
        return done
    require("torch", "transformers")
    import torch

    if spec.threads is not None:
        torch.set_num_threads(spec.threads)
    model, texts = load(spec.model), read(spec.data)
    return tune(model, texts, seed=seed, learning_rate=rate, options=spec.options, folder=folder, watcher=watcher)


def _on_ray(trials: Sequence[Trial], watcher: Watcher) -> list[Tuned]:
    require("ray")
    import ray
    import torch
    from ray.exceptions import RayError, RayTaskError

    start_ray()
    running: dict[Any, int] = {}
    for number, trial in enumerate(trials):
        device, cpus = trial.spec.model.device, trial.spec.threads or 1
        gpu = torch.cuda.is_available() if device == "auto" else device.startswith("cuda")
        remote = ray.remote(run_trial).options(num_cpus=cpus, num_gpus=int(gpu), max_retries=RETRIES)
        running[remote.remote(trial)] = number
    found: dict[int, Tuned] = {}
    try:
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            number = running.pop(ready)
            found[number] = ray.get(ready)
            watcher.ended(trials[number].title(len(found), len(trials)), found[number])
    except RayTaskError as error:
        raise error.cause if isinstance(error.cause, BiasLensError) else error from None
    except RayError as error:
        raise RunStoppedError(
            f"{trials[number].folder}: its worker on Ray died {1 + RETRIES} times ({type(error).__name__}); what is "
            "done is kept, and the same command goes on"
        ) from error
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
    return [found[number] for number in range(len(trials))]


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """A tuned run: the best prompt of each seed, in the order of the seeds."""

    spec: ProbeSpec
    frozen: Frozen
    prompts: tuple[Tuned, ...]

    def best(self, count: int = BEST) -> list[Tuned]:
        """The best prompts by validation accuracy (ties: the lower loss, the earlier seed)."""
        return sorted(self.prompts, key=lambda tuned: (*(-x for x in tuned.best.rank), tuned.seed))[:count]


def folder_name(model: str) -> str:
    """Name of a model as that of a folder: of a path its last part, and all but letters, digits and ._- replaced.

    >>> folder_name("facebook/opt-125m"), folder_name("local/smollm2"), folder_name("/models/my llama/")
    ('facebook-opt-125m', 'local-smollm2', 'my-llama')
    """
    path = Path(model).expanduser()
    return safe_name(path.resolve().name if path.is_absolute() or path.exists() else model)


def tune_prompts(spec: ProbeSpec, *, on: On = "local", watcher: Watcher | None = None) -> ProbeRun:
    """Tune the prompts of all seeds and rates as `run_trials` does, or go on where that was interrupted.

    The folder of the run gets run.json (everything needed to repeat it), a folder for each seed with its best prompt
    (ties: the lower loss, the earlier rate), its metrics and result.json, and in that one for each rate.
    RunLockedError, RunMismatchError or StorageError when the folder is another process's, belongs to another run, or
    cannot be written.
    """
    if not spec.seeds or not spec.rates:
        raise InputError("a probe needs at least one seed and one learning rate")
    splits = read(spec.data)
    frozen = load(spec.model)
    if spec.threads is None:
        import torch

        spec = replace(spec, threads=1 if on == "ray" else torch.get_num_threads())
    prompts = []
    with sole(spec.folder):
        _record(spec, frozen, splits)
        tuned = run_trials(spec.trials(), on, watcher=watcher)
        for seed in spec.seeds:
            of_seed = [each for each in tuned if each.seed == seed]
            prompts.append(max(of_seed, key=lambda each: each.best.rank))
            rates = [
                {"learning_rate": t.learning_rate, "accuracy": t.best.accuracy, "loss": t.best.loss} for t in of_seed
            ]
            write_tuned(spec.folder / f"seed-{seed}", prompts[-1], rates=rates)
    return ProbeRun(spec, frozen, tuple(prompts))


def predict(run: ProbeRun, *, best: int = BEST, attributes: Sequence[str] | None = None) -> pd.DataFrame:
    """Classify the identity sentences with so many of the best prompts; the run's folder gets the predictions."""
    import pandas as pd

    from biaslens.probe.examples import expand
    from biaslens.probe.predictions import predictions_table, write_predictions

    sentences = expand(attributes) if attributes else expand()
    texts = [str(text) for text in sentences["text"]]
    tables = [
        predictions_table(
            sentences,
            classify(run.frozen, tuned.prompt, texts),
            model=run.spec.model.name,
            run_id=tuned.seed,
            dataset=run.spec.data.spec.partition(":")[0],
            num_params=run.frozen.parameters / 1e9,
            threshold_accuracy=tuned.best.accuracy,
        )
        for tuned in run.best(best)
    ]
    predictions = pd.concat(tables, ignore_index=True)
    write_predictions(predictions, run.spec.folder)
    return predictions


def _record(spec: ProbeSpec, frozen: Frozen, splits: Splits) -> None:
    """Write run.json; refuse where what must stay the same within a run differs from what is there."""
    path = spec.folder / "run.json"
    words = zip(frozen.words.words, frozen.words.ids, strict=True)
    fixed = {
        "model": spec.model.name,
        "weights": frozen.fingerprint(),
        "architecture": frozen.architecture,
        "parameters": frozen.parameters,
        "dtype": frozen.dtype,
        "first_token": [frozen.bos, str(frozen.tokenizer.convert_ids_to_tokens(frozen.bos))],
        "label_tokens": {word: [ids, str(frozen.tokenizer.convert_ids_to_tokens(ids))] for word, ids in words},
        "data": splits.fingerprint(),
        "options": asdict(spec.options),
    }
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))["fixed"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path}: cannot be read ({error}); give another --out") from error
        for name, value in json.loads(json.dumps(fixed)).items():
            if known.get(name) != value:
                raise RunMismatchError(
                    f"{path}: this run has {name} = {json.dumps(known.get(name))}, not {json.dumps(value)}; give "
                    "another --out, or delete the folder"
                )
    record = {
        "fixed": fixed,
        "seeds": spec.seeds,
        "rates": spec.rates,
        "data": asdict(spec.data),
        "labels": splits.note,
        "texts": {"train": splits.train.counts(), "dev": splits.dev.counts(), "test": splits.test.counts()},
        "notes": frozen.notes,
        "device": frozen.device,
        "threads": spec.threads,
        "versions": {"biaslens": __version__, **{name: version(name) for name in ("torch", "transformers")}},
    }
    write_whole(path, record)
