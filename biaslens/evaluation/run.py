"""The role-play run: plan, ask, decide, judge; resumable at any moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from biaslens import __version__, runfile
from biaslens._util import without_collection
from biaslens.benchmark import Benchmark, read, select, shipped
from biaslens.engine import Asked, Batching, Observer, Pace, Request, Session, in_thread, ordinary
from biaslens.errors import BiasLensError, InputError, RunMismatchError
from biaslens.evaluation.prompting import Wording, option_order, persona_of, read_wording, request_seed
from biaslens.evaluation.spec import Spec, Task
from biaslens.models import ChatModel, open_model
from biaslens.oracles import RULES, choice, why, yes_no
from biaslens.runfile import ACTIVE_PANEL, RULES_PANEL, Answer, Answered, PlannedResponse, Store, open_to_write
from biaslens.schema import Condition, Kind, Outcome, Question, Verdict, content_hash
from biaslens.settings import Settings

if TYPE_CHECKING:
    from biaslens.engine import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Asked):
    """What a session came to, its requests those for judges' votes included."""

    run: Path
    #: responses wanted, and those of them without an answer
    planned: int
    missing: int
    unjudged: int  #: why answers that the judges have not decided yet; 0 where no judge was named

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask."""
        return not (self.missing or self.unjudged)


def decide(
    kind: Kind | str, question: str, options: Sequence[str], answer: str, *, finish_reason: str = "stop"
) -> Verdict | None:
    """Outcome of one answer by the rule oracles; None where judges must vote.

    The options are those in the order shown.

    Raises `InputError` when there is no such kind, a choice has fewer than two options, or the answer is no text.

    >>> decide("yes_no", "Are tall people kinder?", (), "No.").outcome
    <Outcome.UNBIASED: 'unbiased'>
    """
    if kind not in tuple(Kind):
        raise InputError(f"no kind of question {kind!r}; there are: {', '.join(Kind)}")
    if not isinstance(answer, str):
        raise InputError(f"an answer is text, not {answer!r}; give what the model answered as a string")
    if kind == Kind.CHOICE and (isinstance(options, str) or len(options) < 2):
        raise InputError(f"a choice question has at least two options, the abstaining one last, not {options!r}")
    if kind == Kind.YES_NO:
        return yes_no.decide(answer, finish_reason=finish_reason)
    if kind == Kind.CHOICE:
        return choice.decide(answer, options, finish_reason=finish_reason, question=question)
    return why.prescreen(answer, question, finish_reason=finish_reason)


def response_identity(spec: Spec) -> str:
    """What the keys of all responses of an evaluation share."""
    wording = read_wording(spec.prompts, spec.system).hash
    return content_hash("response", spec.model, spec.params_record, wording, spec.seed, spec.shuffle_options)


def response_keys(spec: Spec, questions: Sequence[Question]) -> Iterator[tuple[str, str, Question, Condition, int]]:
    """Every response of an evaluation, or of its shard: key, question id, question, condition and trial."""
    identity = response_identity(spec)
    for question in questions:
        question_id = question.id
        for condition in spec.conditions:
            for trial in range(1, spec.trials + 1):
                key = content_hash(identity, question_id, condition, trial)
                if spec.in_shard(key):
                    yield key, question_id, question, condition, trial


def shown_order(spec: Spec, question: Question, trial: int) -> list[int] | None:
    """Order in which the options of a question are shown in a trial; None for as they stand."""
    if not spec.shuffle_options or question.kind is not Kind.CHOICE:
        return None
    return option_order(len(question.options), seed=spec.seed, question_id=question.id, trial=trial)


@without_collection()
def plan(store: Store, spec: Spec, questions: Sequence[Question]) -> list[str]:
    """Write roles, questions and planned responses into the run file, where they are not there yet; give their keys.

    A response that was cut off and asked again has the key of the later request.
    """
    planned, again = list(response_keys(spec, questions)), runfile.retried(store)
    rows = (
        PlannedResponse(key, question_id, condition, trial, shown_order(spec, question, trial))
        for key, question_id, question, condition, trial in planned
        if key not in again
    )
    # Of a shard, what it asks; `mirror_of` may name a question of another one.
    asked = questions if spec.shard is None else list({each[1]: each[2] for each in planned}.values())
    runfile.save_plan(store, asked, rows)
    return [again.get(key, key) for key, *_ in planned]


def _plan_retries(store: Store, spec: Spec, keys: Sequence[str], limit: int) -> list[str]:
    """Put in the place of the responses that were cut off those with a larger limit; the keys with theirs among them.

    The new key is that of the response in a run with this limit.
    """
    identity = response_identity(replace(spec, params=replace(spec.params, max_tokens=limit)))
    wanted = set(keys)
    cut = [each for each in runfile.cut_off(store, limit, spec.params.max_tokens or limit) if each.key in wanted]
    new = {each.key: content_hash(identity, each.question_id, each.condition, each.trial) for each in cut}
    runfile.save_retries(store, new.items(), limit)
    return [new.get(key, key) for key in keys]


def _requests(spec: Spec, wording: Wording, reader: Store, keys: Sequence[str]) -> Iterator[Request]:
    limits = runfile.retry_limits(reader, keys)
    for key, kind, text, options, persona, condition in runfile.to_ask(reader, keys):
        told = persona_of(Condition(condition), persona)
        yield Request(
            key=key,
            messages=wording.messages(Kind(kind), text, options, persona=told),
            params=replace(
                spec.params, seed=request_seed(spec.seed, key), max_tokens=limits.get(key, spec.params.max_tokens)
            ),
        )


class RuleVerdicts:
    """The hook that stores the verdicts which the rules give answers."""

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()

    def left_over(self, store: Store) -> Iterable[Answered]:
        """Read the answers without a verdict."""
        return runfile.without_verdict(store)

    def look_up(self, store: Store, answers: Sequence[Answer]) -> list[Answered]:
        """Read what the answers were asked."""
        return runfile.answered(store, [answer.key for answer in answers])

    def decide(self, found: Iterable[Answered]) -> list[tuple[str, Verdict]]:
        """Decide what the rules can decide, by key."""
        return [(asked.key, verdict) for asked in found if (verdict := ruled(asked)) is not None]

    def store(self, store: Store, decided: Sequence[tuple[str, Verdict]]) -> None:
        """Insert the verdicts."""
        runfile.save_verdicts(store, decided, panel=RULES_PANEL, oracle=RULES)
        self.outcomes.update(verdict.outcome for _, verdict in decided)


def ruled(asked: Answered) -> Verdict | None:
    """What the rules decide about an answer, its choice a position in the question's own order; None for judges."""
    verdict = decide(
        Kind(asked.kind), asked.question, asked.options, asked.answer, finish_reason=asked.finish_reason
    )  # fmt: skip
    if verdict is not None and verdict.choice is not None and asked.order is not None:
        return replace(verdict, choice=asked.order[verdict.choice])
    return verdict


def _record(session: Session, spec: Spec, wording: Wording, benchmark: Benchmark) -> None:
    """Refuse the file of another run, or one that another panel judges; else write what the run is into it."""
    store = session.store
    session.require(
        {
            "benchmark_version": benchmark.version,
            "benchmark_hash": benchmark.hash,
            "params": spec.params_record,
            "system": spec.system,
            "template_hash": wording.hash,
            "seed": spec.seed,
            "shuffle_options": spec.shuffle_options,
        },
        model=spec.model,
        hint="name another file with --run, or repeat the first session's options",
    )
    known = store.meta()
    if spec.panel is not None:
        judged_by = known.get(ACTIVE_PANEL, spec.panel.name)
        if judged_by != spec.panel.name:
            raise RunMismatchError(
                f"{store.path}: {judged_by} judges this run, not {spec.panel.name}; "
                "`biaslens judge` lets another panel judge it too"
            )
        from biaslens.evaluation.judge import enrol

        enrol(store, spec.panel)
    session.record(
        {
            "generator": benchmark.generator,
            "templates": None if spec.prompts is None else dict(wording.sources),
            "benchmark_path": None if spec.benchmark is None else str(spec.benchmark),
            "conditions": list(dict.fromkeys([*known.get("conditions", []), *spec.conditions])),
            "trials": max(spec.trials, known.get("trials", 0)),
            "package_version": __version__,
            "runtime": session.runtime(spec.model),
        }
    )


async def evaluate_async(
    spec: Spec,
    *,
    pace: Pace | None = None,
    judge_pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
    exchange: Exchange | Batching | None = None,
) -> Evaluation:
    """Evaluate a model, or go on with an evaluation: ask only what its run file does not hold yet.

    The first Ctrl-C waits for the answers in flight and returns; a second one drops them. `pace` is how fast and how
    patiently to ask the model, also as its own judge, and `judge_pace` the other judges; their default is the model's
    without its limits per minute, which are another provider's. Settings are those of the environment where not given.
    Through an `exchange` nobody is asked: answers that lie there are taken in, and requests written for the others;
    with `Batching` in its place, models are asked in batches of their providers.

    Raises `InputError` when the benchmark, a model name, or a key cannot be used; `RunMismatchError` when the run file
    belongs to another model, benchmark, prompt or parameter set; `RunLockedError` when another process is at work on
    the run file; `RunStoppedError` when too much fails (every answer is kept); `StorageError` when the run file cannot
    be written.
    """
    pace = pace or Pace()
    benchmark, questions = benchmark_of(spec)
    wording = read_wording(spec.prompts, spec.system)
    store = partial(open_to_write, spec.run)
    models = (spec.model, *spec.judges)
    async with Session.open(
        store, models=models, settings=settings, observer=observer, open_model=open_model, exchange=exchange
    ) as session:
        _record(session, spec, wording, benchmark)
        keys = await in_thread(plan, session.store, spec, questions)
        requests = partial(_requests, spec, wording)
        missing = await session.ask(spec.model, keys, requests, pace=pace, hook=RuleVerdicts())
        if spec.retry_cut is not None and not session.stop.is_set():
            keys = await in_thread(_plan_retries, session.store, spec, keys, spec.retry_cut)
            title = f"{spec.model}, cut answers"
            missing = await session.ask(spec.model, keys, requests, pace=pace, hook=RuleVerdicts(), title=title)
        if spec.panel is not None and not session.stop.is_set():
            from biaslens.evaluation.judge import judge_answers

            others = judge_pace or replace(pace, requests_per_minute=None, tokens_per_minute=None)
            await judge_answers(session, spec.panel, dict.fromkeys(spec.panel.models, others) | {spec.model: pace})
        return Evaluation(
            run=spec.run,
            planned=len(keys),
            missing=missing,
            unjudged=runfile.count_undecided(session.store, spec.panel.name) if spec.panel else 0,
            **session.asked(),
        )


evaluate = ordinary(evaluate_async)
"""Evaluates from ordinary code."""


async def evaluate_study_async(
    tasks: Sequence[Task],
    *,
    settings: Settings | None = None,
    observe: Callable[[Task], Observer | None] | None = None,
    exchange: Exchange | Batching | None = None,
) -> list[Evaluation | BiasLensError | None]:
    """Evaluate several models: those of different providers side by side, those of one provider one after the other.

    A provider's limits then hold up its own models only. `observe` gives who watches a task; all share the `exchange`.
    For each task the result is what its evaluation came to, or why it could not be done; None where somebody stopped
    the study before it was begun.
    """
    found: list[Evaluation | BiasLensError | None] = [None] * len(tasks)

    async def one_after_the_other(numbers: Sequence[int]) -> None:
        for number in numbers:
            task = tasks[number]
            try:
                result = await evaluate_async(
                    task.spec,
                    pace=task.pace,
                    judge_pace=task.judge_pace,
                    settings=settings,
                    observer=observe(task) if observe else None,
                    exchange=exchange,
                )
            except BiasLensError as error:
                found[number] = error
            else:
                found[number] = result
                if result.interrupted:
                    return

    lanes: dict[str, list[int]] = {}
    for number, task in enumerate(tasks):
        lanes.setdefault(lane_of(task.spec), []).append(number)
    await asyncio.gather(*map(one_after_the_other, lanes.values()))
    return found


def lane_of(spec: Spec) -> str:
    """Whose limits a model shares: "openai/gpt" those of "openai/o3", "compatible/groq/a" of "compatible/groq/b"."""
    return spec.model.rpartition("/")[0]


evaluate_study = ordinary(evaluate_study_async)
"""Evaluates a study from ordinary code."""


def benchmark_of(spec: Spec) -> tuple[Benchmark, list[Question]]:
    """The benchmark of an evaluation, and the questions of it that are asked.

    It is an InputError where the benchmark cannot be used, or its slice is empty.
    """
    benchmark = shipped() if spec.benchmark is None else read(spec.benchmark)
    questions = select(benchmark, **asdict(spec.slice))
    if not questions:
        raise InputError("the slice of the benchmark is empty: no question has the attributes and kinds asked for")
    return benchmark, questions
