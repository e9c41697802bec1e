"""Shards of a study: evaluated on a Ray cluster as tasks, joined at the end; and run files of one run merged.

Each shard has a run file of its own on storage that all nodes share. A worker that dies loses what was in flight, and
so does a driver: the next start takes in what lies in the shards, however many there are, before it asks anything.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from biaslens import runfile
from biaslens._util import at_ray
from biaslens._util.files import sync_folder
from biaslens.engine import Observer, Pace
from biaslens.errors import BiasLensError, InputError, RunLockedError, RunStoppedError, StorageError
from biaslens.evaluation.judge import readjudicate
from biaslens.evaluation.run import Evaluation, evaluate, evaluate_study, lane_of
from biaslens.evaluation.spec import Task, shard_file
from biaslens.models.endpoints import rate_limits
from biaslens.runfile import Clash, open_to_write, reading_evaluation
from biaslens.settings import Settings, load_settings

RETRIES = 8
"""Workers that may die over one shard before it is given up."""

_DYING = 60.0
"""Seconds that a worker waits for its predecessor to let go of the run file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardDone:
    """A shard that has ended: of which model, how many of all its shards have, and what it came to."""

    model: str
    done: int
    of: int
    result: Evaluation | BiasLensError


def evaluate_on_ray(
    tasks: Sequence[Task],
    *,
    shards: int | None = None,
    settings: Settings | None = None,
    observe: Callable[[Task], Observer | None] | None = None,
    tell: Callable[[ShardDone], None] | None = None,
) -> list[Evaluation | BiasLensError | None]:
    """Evaluate models as `evaluate_study` does, each in so many shards, by default one for each core.

    Models of one provider come one after the other, and its limits per minute are divided among the shards. Where all
    shards of a model have come to an end they are joined, and its judges are asked from here, as is what a shard has
    failed to. `observe` gives who watches that; `tell` is called with each shard that is done. Settings are those of
    this process, but keys are taken from the environment of each node.

    Raises `InputError` where Ray is not installed.
    """
    if find_spec("ray") is None:
        raise InputError("--on ray needs ray, which is not installed; pip install 'biaslens[ray]'")
    return _evaluate(tasks, shards, settings or load_settings(), observe, tell)


@at_ray()
def _evaluate(
    tasks: Sequence[Task],
    shards: int | None,
    settings: Settings,
    observe: Callable[[Task], Observer | None] | None,
    tell: Callable[[ShardDone], None] | None,
) -> list[Evaluation | BiasLensError | None]:
    import ray

    lanes: dict[str, deque[int]] = {}
    for number, task in enumerate(tasks):
        lanes.setdefault(lane_of(task.spec), deque()).append(number)
    count = shards or max(1, int(ray.cluster_resources().get("CPU", 1)) // len(lanes))
    for task in tasks:
        _take_in_shards(task.spec.run)
    asked: dict[int, list[Evaluation | BiasLensError]] = {number: [] for number in range(len(tasks))}
    running: dict[Any, int] = {}

    def begin(lane: deque[int]) -> None:
        if lane:
            number = lane.popleft()
            remote = ray.remote(ask_shard).options(num_cpus=1, max_retries=RETRIES)
            for part in range(1, count + 1):
                running[remote.remote(_shard_of(tasks[number], (part, count), settings), tasks[number], settings)] = (
                    number
                )

    for lane in lanes.values():
        begin(lane)
    try:
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            number = running.pop(ready)
            task = tasks[number]
            result = _result(ready, task)
            asked[number].append(result)
            if tell is not None:
                tell(ShardDone(model=task.spec.model, done=len(asked[number]), of=count, result=result))
            if len(asked[number]) == count:
                _take_in_shards(task.spec.run)
                begin(lanes[lane_of(task.spec)])
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
    return _finish(tasks, asked, settings, observe)


def _result(reference: Any, task: Task) -> Evaluation | BiasLensError:  # noqa: ANN401 - Ray's own
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        result: Evaluation | BiasLensError = ray.get(reference)
    except RayTaskError:
        raise  # a fault of ours, with the worker's traceback
    except RayError as error:
        return RunStoppedError(
            f"{task.spec.model}: a worker on Ray died {1 + RETRIES} times ({type(error).__name__}); what is "
            "answered is kept, and the same command goes on"
        )
    return result


def _finish(
    tasks: Sequence[Task],
    asked: dict[int, list[Evaluation | BiasLensError]],
    settings: Settings,
    observe: Callable[[Task], Observer | None] | None,
) -> list[Evaluation | BiasLensError | None]:
    """Judge the joined runs, and ask what shards have failed to; of a model whose shards were refused, say why."""
    refused = {
        number: next((each for each in results if isinstance(each, BiasLensError)), None)
        for number, results in asked.items()
    }
    whole = [number for number in asked if refused[number] is None]
    ended = iter(evaluate_study([tasks[number] for number in whole], settings=settings, observe=observe))
    found: list[Evaluation | BiasLensError | None] = []
    for number, results in asked.items():
        result = refused[number] or next(ended)
        if isinstance(result, Evaluation):
            own = [each for each in results if isinstance(each, Evaluation)]
            answered, cost = (sum(getattr(each, name) for each in own) for name in ("answered", "cost"))
            result = replace(result, answered=result.answered + answered, cost=result.cost + cost)
        found.append(result)
    return found


def ask_shard(shard: Task, whole: Task, settings: Settings) -> Evaluation | BiasLensError:
    """Ask a shard, in a worker: what the run file of the whole does not hold, and neither that of the shard."""
    last = time.monotonic() + _DYING
    while True:
        try:
            if whole.spec.run.exists():
                gather([whole.spec.run], shard.spec.run)
            return evaluate(shard.spec, pace=shard.pace, settings=settings)
        except RunLockedError as error:
            if time.monotonic() > last:
                return error
            time.sleep(0.5)
        except BiasLensError as error:
            return error


def _shard_of(task: Task, shard: tuple[int, int], settings: Settings) -> Task:
    """The task of a shard, without judges, at its part of the limits, with paths that hold on any node."""
    spec, pace = task.spec, task.pace
    requests, tokens = rate_limits(spec.model, settings)
    return Task(
        replace(
            spec,
            run=shard_file(spec.run, shard).resolve(),
            shard=shard,
            panel=None,
            benchmark=spec.benchmark and spec.benchmark.resolve(),
            prompts=spec.prompts and spec.prompts.resolve(),
        ),
        replace(
            pace,
            requests_per_minute=_part(pace.requests_per_minute or requests, shard[1]),
            tokens_per_minute=_part(pace.tokens_per_minute or tokens, shard[1]),
        ),
        Pace(),
    )


def _part(limit: float | None, of: int) -> float | None:
    return None if limit is None else limit / of


def _take_in_shards(run: Path) -> None:
    """Take what the shards beside a run file hold into it, of this start or an earlier one."""
    parts = re.compile(rf"{re.escape(run.stem)}-\d+of\d+{re.escape(run.suffix)}")
    found = (
        sorted(path for path in run.parent.glob("*of*") if parts.fullmatch(path.name)) if run.parent.is_dir() else []
    )
    if found:
        gather(found, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge came to."""

    run: Path
    planned: int  #: responses planned, and those of them without an answer
    missing: int
    clashes: tuple[Clash, ...]  #: requests that two files have different answers to


def merge(sources: Sequence[Path], out: Path) -> Merged:
    """Write a new run file that holds all that some files of one run hold, in whatever order they are given.

    Of two answers to one request the earlier counts, with the votes and labels on it; the later is kept in the table
    ``other_answers``. Where votes have changed by that, what they come to is decided anew. The files are only read.

    Raises `InputError` where `out` exists; `RunMismatchError` where the files are of different models, benchmarks,
    wordings or parameters; `StorageError` as `reading_evaluation`.
    """
    if out.exists():
        raise InputError(f"{out}: exists already; name a new file with --out")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.")
    except OSError as error:
        raise StorageError(f"{out}: cannot be written ({error.strerror}); name another --out") from error
    with folder:
        made = Path(folder.name) / out.name
        gather(sources, made)
        with reading_evaluation(made) as store:
            found = Merged(
                run=out,
                planned=len(runfile.planned_keys(store)),
                missing=runfile.count_unanswered(store),
                clashes=tuple(runfile.clashes(store)),
            )
        made.replace(out)
        sync_folder(out.parent)
    return found


def gather(sources: Sequence[Path], run: Path) -> None:
    """Take all that some files of one run hold into a run file, made where there is none; as `merge`, and in place."""
    with open_to_write(run) as store:
        for path in sources:
            with reading_evaluation(path) as source:
                runfile.take_in(store, source)
        runfile.tidy(store)
        readjudicate(store)
