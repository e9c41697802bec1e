"""A probe of one model: prompts for all seeds and rates, the best of each seed, predictions on identity sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biaslens._util.text import safe_name
from biaslens.errors import InputError, RunMismatchError, StorageError
from biaslens.probe.checkpoint import as_json, metrics, result_of, sole, write_whole
from biaslens.probe.classify import classify
from biaslens.probe.examples import Splits
from biaslens.probe.options import RATES, TuneOptions
from biaslens.probe.sweep import DataChoice, ModelChoice, On, SweepWatcher, Trial, load, read, run_trials
from biaslens.probe.tuning import Tuned
from biaslens.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from biaslens.probe.backbone import Frozen

SEEDS = tuple(range(1001, 1016))
BEST = 5
"""Prompts of a model that enter the analysis."""


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """What to tune, on what, and where it goes.

    Parameters
    ----------
    out
        Folder of runs; the model's run gets a folder of its own in it.
    seeds, rates
        Each seed is tuned with each learning rate and keeps the one with the best validation accuracy.
    threads
        Of torch, for each trial; None is torch's own choice here, and 1 on Ray, where trials run side by side.
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
        return [
            Trial(self.model, self.data, seed, rate, self._trial_folder(seed, rate), self.options, self.threads)
            for seed in self.seeds
            for rate in self.rates
        ]

    def _trial_folder(self, seed: int, rate: float) -> Path:
        return self.folder.absolute() / f"seed-{seed}" / f"rate-{rate:g}"


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
    name = path.resolve().name if path.is_absolute() or path.exists() else model
    return safe_name(name)


def tune_prompts(spec: ProbeSpec, *, on: On = "local", watcher: SweepWatcher | None = None) -> ProbeRun:
    """Tune the prompts of all seeds and rates, or go on where that was interrupted.

    The folder of the run gets run.json (everything needed to repeat it), a folder for each seed with its best prompt,
    its metrics and result.json, and in that one for each rate.

    Parameters
    ----------
    spec
        What to tune.
    on
        See `biaslens.probe.sweep.run_trials`.
    watcher
        Watches.

    Raises
    ------
    InputError
        When the model or the data cannot be used.
    RunLockedError, RunMismatchError, StorageError
        When the folder is another process's, belongs to another run, or cannot be written.
    """
    if not spec.seeds or not spec.rates:
        raise InputError("a probe needs at least one seed and one learning rate")
    splits = read(spec.data)
    frozen = load(spec.model)
    spec = replace(spec, threads=spec.threads or _threads(on))
    with sole(spec.folder):
        _record(spec, _facts(spec, frozen, splits))
        trials = spec.trials()
        tuned = dict(
            zip(((t.seed, t.learning_rate) for t in trials), run_trials(trials, on, watcher=watcher), strict=True)
        )
        prompts = tuple(_choose(spec, [tuned[seed, rate] for rate in spec.rates]) for seed in spec.seeds)
    return ProbeRun(spec, frozen, prompts)


def predict(run: ProbeRun, *, best: int = BEST, attributes: Sequence[str] | None = None) -> pd.DataFrame:
    """Classify the identity sentences with the best prompts; the run's folder gets the predictions.

    Parameters
    ----------
    run
        A tuned run.
    best
        How many prompts, by validation accuracy.
    attributes
        Of the shipped sentences; by default age, sexuality and disability.

    Returns
    -------
    DataFrame
        See `biaslens.probe.predictions.predictions_table`; ``run_id`` is the seed.
    """
    import pandas as pd

    from biaslens.probe.predictions import predictions_table, write_predictions
    from biaslens.probe.sentences import expand

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


def _threads(on: On) -> int:
    import torch

    return 1 if on == "ray" else torch.get_num_threads()


def _choose(spec: ProbeSpec, tuned: Sequence[Tuned]) -> Tuned:
    """Keep the best of a seed's rates (ties: the lower loss, the earlier rate) in the seed's folder."""
    best = max(tuned, key=lambda each: each.best.rank)
    folder = spec.folder / f"seed-{best.seed}"
    write_whole(folder / "prompt.npz", best.prompt.to_bytes())
    write_whole(folder / "metrics.jsonl", metrics(best.evaluations))
    rates = [
        {"learning_rate": each.learning_rate, "accuracy": each.best.accuracy, "loss": each.best.loss} for each in tuned
    ]
    write_whole(folder / "result.json", as_json(result_of(best) | {"rates": rates}))
    return best


def _facts(spec: ProbeSpec, frozen: Frozen, splits: Splits) -> dict[str, Any]:
    """What must stay the same within a run."""
    words = zip(frozen.words.words, frozen.words.ids, strict=True)
    return {
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


def _record(spec: ProbeSpec, facts: dict[str, Any]) -> None:
    path = spec.folder / "run.json"
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))["fixed"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path}: cannot be read ({error}); give another --out") from error
        for name, value in json.loads(json.dumps(facts)).items():
            if known.get(name) != value:
                raise RunMismatchError(
                    f"{path}: this run has {name} = {json.dumps(known.get(name))}, not {json.dumps(value)}; give "
                    "another --out, or delete the folder"
                )
    frozen, splits = load(spec.model), read(spec.data)
    rest = {
        "fixed": facts,
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
    write_whole(path, as_json(rest))
