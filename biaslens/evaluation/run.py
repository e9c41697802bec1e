"""The role-play run: plan, ask, decide, judge; resumable at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from biaslens import runfile
from biaslens.benchmark import Benchmark, read, select, shipped
from biaslens.engine import Pace, Request, Tally, ask_all, most_frequent_reason
from biaslens.engine.interrupt import graceful_interrupt, in_thread
from biaslens.engine.pacing import pace_for, price_of, unlimited
from biaslens.engine.record import this_start
from biaslens.errors import InputError, RunMismatchError
from biaslens.evaluation.decide import RuleSettler
from biaslens.evaluation.judge import Judging
from biaslens.evaluation.observer import Observer, PhaseProgress, Unfailing, Unwatched
from biaslens.evaluation.panel import enrol
from biaslens.evaluation.prompting import ask_messages, option_order, persona_of, read_wording, request_seed
from biaslens.evaluation.spec import Spec
from biaslens.models import ChatModel, open_model
from biaslens.runfile import PANEL_IN_FORCE, PlannedResponse, PlanPart, Store, open_to_write
from biaslens.schema import Condition, Kind, Question, content_hash
from biaslens.settings import Settings, load_settings
from biaslens.version import __version__


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


def response_keys(spec: Spec, questions: Sequence[Question]) -> Iterator[tuple[str, str, Question, Condition, int]]:
    """Every response of an evaluation: key, question id, question, condition and trial."""
    wording = read_wording(spec.prompts, spec.system).hash
    identity = content_hash("response", spec.model, spec.params_record, wording, spec.seed, spec.shuffle_options)
    for question in questions:
        question_id = question.id
        for condition in spec.conditions:
            for trial in range(1, spec.trials + 1):
                yield content_hash(identity, question_id, condition, trial), question_id, question, condition, trial


def shown_order(spec: Spec, question: Question, trial: int) -> list[int] | None:
    """Order in which the options of a question are shown in a trial; None for as they stand."""
    if not spec.shuffle_options or question.kind is not Kind.CHOICE:
        return None
    return option_order(len(question.options), seed=spec.seed, question_id=question.id, trial=trial)


def plan(store: Store, spec: Spec, questions: Sequence[Question]) -> list[str]:
    """Write roles, questions and planned responses into the run file, where they are not there yet; give their keys."""
    planned = list(response_keys(spec, questions))
    rows = (
        PlannedResponse(key, question_id, condition, trial, shown_order(spec, question, trial))
        for key, question_id, question, condition, trial in planned
    )
    runfile.save_plan(store, questions, rows)
    return [key for key, *_ in planned]


def _requests(spec: Spec, wanted: PlanPart) -> Iterator[Request]:
    wording = read_wording(spec.prompts, spec.system)
    for key, kind, text, options, persona, condition in wanted.missing():
        told = persona_of(Condition(condition), persona)
        yield Request(
            key=key,
            messages=ask_messages(Kind(kind), text, options, persona=told, wording=wording),
            params=replace(spec.params, seed=request_seed(spec.seed, key)),
        )


def _record(store: Store, spec: Spec, benchmark: Benchmark, models: Mapping[str, ChatModel]) -> None:
    """Write what the run is into its file, and add this start to the starts recorded there.

    Raises
    ------
    RunMismatchError
        When the file is of another run.
    """
    model = models[spec.model]
    wording = read_wording(spec.prompts, spec.system)
    runfile.forget_who_never_judged(store)
    runfile.forget_unanswered_plan(store)
    store.require_meta(
        {
            "model": spec.model,
            "weights": model.runtime.get("sha256"),
            "benchmark_version": benchmark.version,
            "benchmark_hash": benchmark.hash,
            "params": spec.params_record,
            "system": spec.system,
            "template_hash": wording.hash,
            "seed": spec.seed,
            "shuffle_options": spec.shuffle_options,
        },
        hint="name another file with --run, or repeat the first start's options",
    )
    if spec.panel is not None:
        judged_by = store.meta().get(PANEL_IN_FORCE, spec.panel.name)
        if judged_by != spec.panel.name:
            raise RunMismatchError(
                f"{store.path}: {judged_by} judges this run, not {spec.panel.name}; "
                "`biaslens judge` lets another panel judge it too"
            )
        enrol(store, spec.panel)
    known = store.meta()
    start = this_start(models)
    store.set_meta(
        {
            "generator": benchmark.generator,
            "templates": None if spec.prompts is None else dict(wording.sources),
            "benchmark_path": None if spec.benchmark is None else str(spec.benchmark),
            "conditions": list(dict.fromkeys([*known.get("conditions", []), *spec.conditions])),
            "trials": max(spec.trials, known.get("trials", 0)),
            "created_at": known.get("created_at", start["at"]),
            "package_version": __version__,
            "runtime": dict(model.runtime),
            "starts": [*known.get("starts", []), start],
        }
    )


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
            wanted = PlanPart(reader, keys)
            missing = wanted.count_missing()
            self.observer.phase(self.spec.model, total=wanted.size, done=wanted.size - missing)
            if missing:
                tally = await ask_all(
                    _requests(self.spec, wanted),
                    model=self.models[self.spec.model],
                    store=self.store,
                    pace=pace_for(self.spec.model, pace, self.settings),
                    price=price_of(self.spec.model, self.settings),
                    settler=settler,
                    progress=PhaseProgress(self.observer, settler.outcomes),
                    stop=self.stop,
                )
                self.tallies.append(tally)
            return wanted.size, wanted.count_missing()


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
        _record(store, spec, benchmark, models)
        keys = await in_thread(plan, store, spec, questions)
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
            unjudged=runfile.count_undecided(store, spec.panel.name) if spec.panel else 0,
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
