"""The role-play run: plan, ask, decide, judge; resumable at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from biaslens.benchmark import Benchmark, read, select, shipped
from biaslens.engine import Pace, Store, Tally, ask_all, most_frequent_reason
from biaslens.engine.interrupt import graceful_interrupt, in_thread
from biaslens.engine.pacing import pace_for, price_of, unlimited
from biaslens.errors import InputError
from biaslens.evaluation.decide import RuleSettler
from biaslens.evaluation.judge import Judging
from biaslens.evaluation.judging import count_undecided
from biaslens.evaluation.observer import Observer, PhaseProgress, Unfailing, Unwatched
from biaslens.evaluation.plan import Plan, lay_out
from biaslens.evaluation.record import record
from biaslens.evaluation.spec import Spec
from biaslens.evaluation.upgrade import open_to_write
from biaslens.models import ChatModel, open_model
from biaslens.schema import Question
from biaslens.settings import Settings, load_settings


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
        Why answers that the judges have not decided yet; 0 where no judge was named.
    answered, failed
        Requests of this start, judges' votes included.
    interrupted
        Whether it was told to stop.
    cost
        US dollars of this start, as far as prices are known.
    why_failed
        What most of the requests that failed in this start failed with; "" where none did.
    """

    run: Path
    planned: int
    missing: int
    unjudged: int
    answered: int
    failed: int
    interrupted: bool
    cost: float
    why_failed: str

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask."""
        return not (self.missing or self.unjudged)


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

    async def ask(self, keys: Sequence[str], pace: Pace) -> tuple[int, int]:
        """Ask what is missing; how many responses were wanted, and how many of them are still missing."""
        settler = RuleSettler()
        await in_thread(settler.catch_up, self.store, stop=self.stop.is_set)
        with Store(self.store.path) as reader:
            plan = Plan(reader, self.spec, keys)
            missing = plan.count_missing()
            self.observer.phase(self.spec.model, total=plan.size, done=plan.size - missing)
            if missing:
                tally = await ask_all(
                    plan.missing(),
                    model=self.models[self.spec.model],
                    store=self.store,
                    pace=pace_for(self.spec.model, pace, self.settings),
                    price=price_of(self.spec.model, self.settings),
                    settler=settler,
                    progress=PhaseProgress(self.observer, settler.outcomes),
                    stop=self.stop,
                )
                self.tallies.append(tally)
            return plan.size, plan.count_missing()


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
    observer = Unfailing(observer or Unwatched())
    pace = pace or Pace()
    benchmark = _benchmark(spec)
    questions = _slice(benchmark, spec)
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(graceful_interrupt(stop, observer.interrupted))
        models = {name: open_model(name, settings) for name in dict.fromkeys((spec.model, *spec.judges))}
        for model in models.values():
            stack.push_async_callback(model.close)
        store = stack.enter_context(open_to_write(spec.run))
        record(store, spec, benchmark, models)
        keys = await in_thread(lay_out, store, spec, questions)
        start = _Start(spec, settings=settings, store=store, models=models, observer=observer, stop=stop)
        planned, missing = await start.ask(keys, pace)
        if spec.panel is not None and not stop.is_set():
            paces = dict.fromkeys(spec.panel.models, judge_pace or unlimited(pace)) | {spec.model: pace}
            judging = Judging(spec.panel, store=store, models=models, settings=settings, observer=observer, stop=stop)
            start.tallies += await judging.judge(paces)
        return Evaluation(
            run=spec.run,
            planned=planned,
            missing=missing,
            unjudged=count_undecided(store, spec.panel) if spec.panel else 0,
            answered=sum(tally.answered for tally in start.tallies),
            failed=sum(tally.failed for tally in start.tallies),
            interrupted=stop.is_set(),
            cost=sum(tally.cost for tally in start.tallies),
            why_failed=most_frequent_reason(start.tallies),
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
