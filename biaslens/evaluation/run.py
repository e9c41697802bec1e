"""The role-play run: plan, ask, decide, judge; resumable at any moment."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from biaslens.benchmark import Benchmark, read, select, shipped
from biaslens.engine import Pace, Store, Tally, ask_all
from biaslens.engine.interrupt import graceful_interrupt
from biaslens.errors import InputError, ModelError
from biaslens.evaluation.decide import RuleSettler
from biaslens.evaluation.judging import Panel, VoteSettler
from biaslens.evaluation.pacing import pace_for, price_of, unlimited
from biaslens.evaluation.plan import Plan, lay_out
from biaslens.evaluation.prompting import ASK_HASH, JUDGE_HASH
from biaslens.evaluation.spec import Spec
from biaslens.evaluation.tables import TABLES
from biaslens.models import ChatModel, open_model
from biaslens.schema import Outcome, Question
from biaslens.settings import Settings, load_settings
from biaslens.version import __version__


class Observer(Protocol):
    """Watches an evaluation."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """A phase begins: `done` of its `total` requests were answered by earlier starts."""

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """More of the phase is on disk: what this start asked, and the outcomes of what it decided."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """A request waits `seconds` before it is tried again."""

    def interrupted(self) -> None:
        """The run was told to stop and waits for what is in flight."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a start came to.

    Parameters
    ----------
    run
        The run file.
    planned, missing
        Responses wanted, and those of them without an answer.
    unjudged
        Why answers whose panel has not decided yet; those of a run without judges do not count.
    answered, failed
        Requests of this start, judges' votes included.
    interrupted
        Whether it was told to stop.
    cost
        US dollars of this start, as far as prices are known.
    """

    run: Path
    planned: int
    missing: int
    unjudged: int
    answered: int
    failed: int
    interrupted: bool
    cost: float

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask."""
        return not (self.missing or self.unjudged)


class Unwatched:
    """An evaluation that nobody watches."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Ignore."""

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """Ignore."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Ignore."""

    def interrupted(self) -> None:
        """Ignore."""


@dataclass(frozen=True, slots=True)
class _Phase:
    """The engine's progress, told to an observer together with the outcomes that the phase decides."""

    observer: Observer
    outcomes: Mapping[Outcome, int]

    def saved(self, tally: Tally) -> None:
        self.observer.update(tally, self.outcomes)

    def waiting(self, error: ModelError, seconds: float) -> None:
        self.observer.waiting(error, seconds)


class _Start:
    """One start of an evaluation: everything that is open while it runs."""

    def __init__(
        self,
        spec: Spec,
        *,
        settings: Settings,
        store: Store,
        models: Mapping[str, ChatModel],
        observer: Observer,
        stop: asyncio.Event,
    ) -> None:
        self.spec = spec
        self.settings = settings
        self.store = store
        self.models = models
        self.observer = observer
        self.stop = stop
        self.tallies: list[Tally] = []

    async def ask(self, questions: Sequence[Question], pace: Pace) -> tuple[int, int]:
        """Ask what is missing; how many responses were wanted, and how many of them are still missing."""
        settle = RuleSettler()
        with Store(self.store.path) as reader:
            plan = Plan(reader, self.spec, questions)
            missing = plan.count_missing()
            self.observer.phase(self.spec.model, total=plan.size, done=plan.size - missing)
            if missing:
                tally = await ask_all(
                    plan.missing(),
                    model=self.models[self.spec.model],
                    store=self.store,
                    pace=pace_for(self.spec.model, pace, self.settings),
                    price=price_of(self.spec.model, self.settings),
                    settle=settle,
                    progress=_Phase(self.observer, settle.outcomes),
                    stop=self.stop,
                )
                self.tallies.append(tally)
            return plan.size, plan.count_missing()

    async def judge(self, pace: Pace, judge_pace: Pace) -> int:
        """Let the judges vote, round by round, until all is decided; the number of votes still open."""
        panel = Panel(self.spec)
        while (votes := panel.call(self.store)) and not self.stop.is_set():
            for judge in self.spec.judges:
                todo = panel.count_open(self.store, judge)
                if not todo or self.stop.is_set():
                    continue
                settle = VoteSettler(panel)
                self.observer.phase(f"judge {judge}", total=todo, done=0)
                with Store(self.store.path) as reader:
                    tally = await ask_all(
                        panel.requests(reader, judge),
                        model=self.models[judge],
                        store=self.store,
                        pace=pace_for(judge, pace if judge == self.spec.model else judge_pace, self.settings),
                        price=price_of(judge, self.settings),
                        settle=settle,
                        progress=_Phase(self.observer, settle.outcomes),
                        stop=self.stop,
                    )
                self.tallies.append(tally)
                if tally.failed:
                    # Votes that failed are asked again at the next start, not in an endless round.
                    return sum(panel.count_open(self.store, name) for name in self.spec.judges)
        return votes


async def evaluate_async(
    spec: Spec,
    *,
    pace: Pace | None = None,
    judge_pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
) -> Evaluation:
    """Evaluate a model, or go on with an evaluation: ask only what its run file does not hold yet.

    The first Ctrl-C waits for the answers in flight and returns; a second one drops them.

    Parameters
    ----------
    spec
        What to ask whom.
    pace, judge_pace
        How fast and how patiently to ask the model, also as its own judge, and the other judges; their default is the
        model's without its limits per minute, which are another provider's.
    settings
        Keys and defaults; from the environment where not given.
    observer
        Watches.
    open_model
        Opens a model by its name.

    Returns
    -------
    Evaluation
        What this start came to. Everything else is in the run file.

    Raises
    ------
    InputError
        When the benchmark, a model name, or a key cannot be used.
    RunMismatchError
        When the run file belongs to another model, benchmark, prompt or parameter set.
    RunLockedError
        When another process is at work on the run file.
    RunStoppedError
        When too much fails; every answer is kept.
    StorageError
        When the run file cannot be written.
    """
    settings = settings or load_settings()
    observer = observer or Unwatched()
    pace = pace or Pace()
    benchmark = _benchmark(spec)
    questions = _slice(benchmark, spec)
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        models = {name: open_model(name, settings) for name in dict.fromkeys((spec.model, *spec.judges))}
        for model in models.values():
            stack.push_async_callback(model.close)
        store = stack.enter_context(Store(spec.run, write=True, tables=TABLES))
        stack.enter_context(graceful_interrupt(stop, observer.interrupted))
        _record(store, spec, benchmark, models)
        await asyncio.to_thread(lay_out, store, spec, questions)
        start = _Start(spec, settings=settings, store=store, models=models, observer=observer, stop=stop)
        planned, missing = await start.ask(questions, pace)
        unjudged = 0
        if spec.judges and not stop.is_set():
            unjudged = await start.judge(pace, judge_pace or unlimited(pace))
        return Evaluation(
            run=spec.run,
            planned=planned,
            missing=missing,
            unjudged=unjudged,
            answered=sum(tally.answered for tally in start.tallies),
            failed=sum(tally.failed for tally in start.tallies),
            interrupted=stop.is_set(),
            cost=sum(tally.cost for tally in start.tallies),
        )


def evaluate(
    spec: Spec,
    *,
    pace: Pace | None = None,
    judge_pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
) -> Evaluation:
    """Evaluate a model from ordinary code; see `evaluate_async`, which this runs.

    Raises
    ------
    KeyboardInterrupt
        At a second Ctrl-C; whatever had arrived is stored.
    """
    try:
        return asyncio.run(evaluate_async(spec, pace=pace, judge_pace=judge_pace, settings=settings, observer=observer))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def questions_of(spec: Spec) -> list[Question]:
    """Questions that an evaluation asks.

    Raises
    ------
    InputError
        When the benchmark cannot be used, or its slice is empty.
    """
    return _slice(_benchmark(spec), spec)


def _benchmark(spec: Spec) -> Benchmark:
    return shipped() if spec.benchmark is None else read(spec.benchmark)


def _slice(benchmark: Benchmark, spec: Spec) -> list[Question]:
    part = spec.slice
    questions = select(
        benchmark,
        attributes=part.attributes,
        kinds=part.kinds,
        roles_per_attribute=part.roles_per_attribute,
        questions_per_kind=part.questions_per_kind,
    )
    if not questions:
        raise InputError("the slice of the benchmark is empty: no question has the attributes and kinds asked for")
    return questions


def _record(store: Store, spec: Spec, benchmark: Benchmark, models: Mapping[str, ChatModel]) -> None:
    """Write into the run file all that is needed to repeat the run; refuse a file of another run."""
    model = models[spec.model]
    store.require_meta(
        {
            "model": spec.model,
            "weights": model.runtime.get("sha256"),
            "benchmark_version": benchmark.version,
            "benchmark_hash": benchmark.hash,
            "params": spec.params_record,
            "template_hash": ASK_HASH,
            "seed": spec.seed,
            "shuffle_options": spec.shuffle_options,
        },
        hint="name another file with --run, or repeat the first start's options",
    )
    if spec.judges:
        store.require_meta(
            {"judges": list(spec.judges), "votes": spec.votes_per_judge, "judge_template_hash": JUDGE_HASH},
            hint="its votes cannot be mixed with those of other judges",
        )
    known = store.meta()
    conditions = [*known.get("conditions", []), *spec.conditions]
    start = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "package_version": __version__,
        "python": sys.version.split()[0],
        "command": " ".join(sys.argv),
        "runtime": {name: dict(model.runtime) for name, model in models.items()},
    }
    store.set_meta(
        {
            "benchmark_path": None if spec.benchmark is None else str(spec.benchmark),
            "conditions": list(dict.fromkeys(conditions)),
            "trials": max(spec.trials, known.get("trials", 0)),
            "created_at": known.get("created_at", start["at"]),
            "package_version": __version__,
            "runtime": dict(model.runtime),
            "starts": [*known.get("starts", []), start],
        }
    )
