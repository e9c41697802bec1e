"""Many trials, one after the other here or on Ray: one code path, and so one result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from biaslens.errors import BiasLensError, RunStoppedError
from biaslens.probe.checkpoint import TrialFolder
from biaslens.probe.examples import Splits, read_examples
from biaslens.probe.extra import require
from biaslens.probe.formats import LabelMap
from biaslens.probe.labels import NAMES
from biaslens.probe.options import TuneOptions
from biaslens.probe.tuning import Tuned, Unwatched, Watcher, tune

if TYPE_CHECKING:
    from biaslens.probe.backbone import Frozen

On = Literal["local", "ray"]
RETRIES = 5
"""Times that Ray gives the trial of a worker that died to another one."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, and how; see `biaslens.probe.frozen.load_frozen`."""

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


@dataclass(frozen=True, slots=True)
class Trial:
    """One prompt to tune: everything that a process elsewhere needs to know.

    Parameters
    ----------
    folder
        Where its checkpoints and result go; with Ray on several machines, on a file system that all of them share.
    threads
        Of torch; None leaves what is set. Sums in another order round differently, so results are the same to the bit
        only for equal numbers of threads.
    """

    model: ModelChoice
    data: DataChoice
    seed: int
    learning_rate: float
    folder: Path
    options: TuneOptions = field(default_factory=TuneOptions)
    threads: int | None = None


class SweepWatcher(Protocol):
    """Watches trials."""

    def begun(self, number: int, trials: int, trial: Trial) -> Watcher:
        """A trial begins in this process; give who watches it."""

    def ended(self, number: int, trials: int, trial: Trial, tuned: Tuned) -> None:
        """A trial is done, or was done before."""


class UnwatchedSweep:
    """Nobody watches."""

    def begun(self, _number: int, _trials: int, _trial: Trial) -> Watcher:
        """Nobody."""
        return Unwatched()

    def ended(self, _number: int, _trials: int, _trial: Trial, _tuned: Tuned) -> None:
        """Nothing."""


def run_trials(trials: Sequence[Trial], on: On = "local", *, watcher: SweepWatcher | None = None) -> list[Tuned]:
    """Run trials and give their results in the same order.

    Parameters
    ----------
    trials
        Each with a folder of its own. Those that are done there are read; others go on from their checkpoints.
    on
        "local": one after the other in this process, the model loaded once. "ray": side by side on Ray, where it is
        installed; each takes its threads as CPUs, and a GPU where its device is one. A trial whose worker dies is
        given to another worker and goes on from its checkpoint.
    watcher
        Watches.

    Raises
    ------
    InputError
        When Ray is asked for and not installed, or a trial's model or data cannot be used.
    RunStoppedError
        When workers of one trial died again and again; what is done is kept.
    """
    watcher = watcher or UnwatchedSweep()
    if on == "ray":
        return _on_ray(trials, watcher)
    found = []
    for number, trial in enumerate(trials, 1):
        tuned = run_trial(trial, watcher.begun(number, len(trials), trial))
        watcher.ended(number, len(trials), trial, tuned)
        found.append(tuned)
    return found


def run_trial(trial: Trial, watcher: Watcher | None = None) -> Tuned:
    """Run one trial, or read it where it is done."""
    done = TrialFolder(trial.folder).finished()
    if done is not None:
        return Tuned(*done)
    require("torch", "transformers")
    import torch

    if trial.threads is not None:
        torch.set_num_threads(trial.threads)
    return tune(
        load(trial.model),
        read(trial.data),
        seed=trial.seed,
        learning_rate=trial.learning_rate,
        options=trial.options,
        folder=trial.folder,
        watcher=watcher,
    )


@lru_cache(maxsize=1)
def load(choice: ModelChoice) -> Frozen:
    """Load a model; the latest one stays in memory."""
    from biaslens.probe.frozen import load_frozen

    return load_frozen(choice.name, device=choice.device, dtype=choice.dtype, words=choice.words)


@lru_cache(maxsize=1)
def read(choice: DataChoice) -> Splits:
    """Read texts; the latest ones stay in memory."""
    return read_examples(choice.spec, label_map=choice.label_map).limited(choice.limit_train, choice.limit_dev)


def _on_ray(trials: Sequence[Trial], watcher: SweepWatcher) -> list[Tuned]:
    require("ray")
    import ray
    from ray.exceptions import RayError, RayTaskError

    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no report of this run to anybody
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    running: dict[Any, int] = {}
    for number, trial in enumerate(trials):
        remote = ray.remote(run_trial).options(
            num_cpus=trial.threads or 1, num_gpus=int(_on_gpu(trial.model.device)), max_retries=RETRIES
        )
        running[remote.remote(trial)] = number
    found: dict[int, Tuned] = {}
    try:
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            number = running.pop(ready)
            found[number] = ray.get(ready)
            watcher.ended(len(found), len(trials), trials[number], found[number])
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


def _on_gpu(device: str) -> bool:
    if device != "auto":
        return device.startswith("cuda")
    import torch

    return torch.cuda.is_available()
