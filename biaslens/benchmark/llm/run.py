"""Let a model write a benchmark: what it is asked for next, what it costs, and what it comes to; resumable."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path

from biaslens import runfile
from biaslens._util.files import write_text
from biaslens.benchmark.bank import load_bank
from biaslens.benchmark.files import Benchmark, write
from biaslens.benchmark.files import content_hash as content_of
from biaslens.benchmark.llm.reading import QUESTIONS, ROLES
from biaslens.benchmark.llm.state import GenerationSpec, ListTask, State, StoredReply
from biaslens.engine import Observer, Pace, Request, Session, estimate_tokens, ordinary
from biaslens.errors import RunLockedError
from biaslens.models import ChatModel, Message, Params, StructuredParams, open_model
from biaslens.models.catalogue import price
from biaslens.prompts import render, template_hash
from biaslens.runfile import GENERATION_TABLES, GeneratedItem, GenerationRequest, Store, reading
from biaslens.schema import Attribute, Kind, Question, Role, content_hash
from biaslens.settings import Settings, load_settings

TEMPLATE_HASH = content_hash(
    template_hash("generate_attributes", "generate_again", "generate_roles", *(f"generate_{kind}" for kind in Kind)),
    ROLES.schema,
    [QUESTIONS[kind].schema for kind in Kind],
)
"""Hash of all that a generator is told: templates and JSON schemas; part of every request's key."""

PROVENANCE = "provenance.csv"
"""Where each role and question comes from, in the folder of the benchmark."""

SERIES = "0-A"
"""Version of benchmarks that a model wrote: none of them is comparable with the shipped ones, or with each other."""

_MOST_FAULTS = 20
_HINT = "give another --out, or repeat the options of the first session"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A list that is not complete: of roles, or of questions of a kind for a role.

    `rounds` is how often it has been asked for, and `reason` what was wrong last; "" where nothing was.
    """

    attribute: Attribute
    role: str | None
    kind: Kind | None
    made: int
    wanted: int
    rounds: int
    reason: str


@dataclass(frozen=True, slots=True)
class Generation:
    """What a session came to.

    Parameters
    ----------
    written
        Whether a benchmark was written there: a complete one, or any if a partial one was asked for.
    roles, questions
        Numbers accepted so far.
    short
        The lists that are not complete; none when all is done. Questions of a role that is missing are not listed.
    dropped
        How many items and replies were not accepted so far, by rule.
    answered, failed
        Requests of this session.
    interrupted
        Whether it was told to stop.
    cost
        US dollars of this session, as far as prices are known.
    error
        Message of the last request that failed for good in this session; "" where none did.
    """

    out: Path
    written: bool
    roles: int
    questions: int
    short: tuple[Shortfall, ...]
    dropped: Mapping[str, int]
    answered: int
    failed: int
    interrupted: bool
    cost: float
    error: str

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.short


async def generate_async(
    spec: GenerationSpec,
    *,
    pace: Pace | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    open_model: Callable[[str, Settings], ChatModel] = open_model,
) -> Generation:
    """Let a model write a benchmark, or go on with one: ask only for what its folder does not hold yet.

    Roles come first, then the questions of each kind for each role. Every reply is stored as it came. After each batch
    the replies are read and checked; what failed is asked for again, with what was wrong, at most
    `GenerationSpec.max_rounds` times. The first Ctrl-C waits for the replies in flight and returns; a second one drops
    them.

    Settings are those of the environment where not given; to the observer each batch of requests is a phase.

    Raises
    ------
    InputError
        When the model's name or key cannot be used, or the folder cannot be written.
    RunMismatchError
        When the folder belongs to another model, prompt or parameter set.
    RunLockedError
        When another process is at work in the folder.
    RunStoppedError
        When too much fails; every reply is kept.
    StorageError
        When the run file cannot be written.
    """
    async with Session.open(
        lambda: _store(spec), models=[spec.model], settings=settings, observer=observer, open_model=open_model
    ) as session:
        session.require(_identity(spec), model=spec.model, hint=_HINT)
        session.record()
        state = await _ask(session, spec, pace)
        short = tuple(_shortfalls(state))
        written = bool(not short or (spec.partial and state.made_questions()))
        if written:
            _write(session.store, state)
        tally = session.tally
        return Generation(
            out=spec.out,
            written=written,
            roles=len(state.made_roles()),
            questions=len(state.made_questions()),
            short=short,
            dropped=dict(Counter(fault.rule.value for _, fault in state.faults).most_common()),
            answered=tally.answered,
            failed=tally.failed,
            interrupted=session.stop.is_set(),
            cost=tally.cost,
            error=runfile.last_failure(session.store) if tally.failed else "",
        )


generate = ordinary(generate_async)
"""Lets a model write a benchmark from ordinary code."""


def _store(spec: GenerationSpec) -> Store:
    try:
        return Store(spec.run, write=True, tables=GENERATION_TABLES)
    except RunLockedError:
        raise RunLockedError(
            f"{spec.out}: another process is writing this benchmark; wait for it, or give another --out"
        ) from None


def _identity(spec: GenerationSpec) -> dict[str, object]:
    """What may not change from one session to the next, for every key hangs on it."""
    return {
        "purpose": "generation",
        "model": spec.model,
        "params": asdict(spec.params),
        "seed": spec.seed,
        "roles_per_attribute": spec.roles_per_attribute,
        "questions_per_kind": spec.questions_per_kind,
        "json_schema": spec.json_schema,
        "template_hash": TEMPLATE_HASH,
    }


async def _ask(session: Session, spec: GenerationSpec, pace: Pace | None) -> State:
    """Ask batch by batch until all is there or nothing more can be asked; the state it ends in."""
    abstain = load_bank().abstain
    given_up: set[ListTask] = set()
    while True:
        state = State(spec, abstain)
        _load(session.store, state)
        faults = [(key, fault.rule, fault.reason, fault.text) for key, fault in state.faults]
        runfile.save_items(session.store, _items(state), faults)
        planned = {} if session.stop.is_set() else _next_batch(session.store, state, given_up)
        if not planned:
            return state
        title = _title(state, next(iter(planned.values())))
        await session.ask(spec.model, planned, partial(_requests, state, planned), pace=pace, title=title)
        # What failed for good is asked again in the next session, not in an endless round.
        answered = runfile.answer_texts(session.store, planned)
        given_up.update(task for key, task in planned.items() if key not in answered)


def _next_batch(store: Store, state: State, given_up: Collection[ListTask]) -> dict[str, ListTask]:
    """Tasks to ask for now by key: what an interrupted batch still lacks, else a new batch with every open task.

    Within a batch replies are read in the order of the tasks, not of their arrival, so it makes no difference where
    a run was interrupted. A request that was never answered moves on with its task to the next batch.
    """
    planned = {_key(state, task): task for task in state.open(given_up)}
    if not planned:
        return planned
    last, unanswered = runfile.last_batch(store)
    waiting = {key: task for key, task in planned.items() if key in unanswered}
    if waiting:
        return waiting
    runfile.save_batch(store, last + 1, (_row(key, task, state) for key, task in planned.items()))
    return planned


def _key(state: State, task: ListTask) -> str:
    role = () if task.role is None else (task.role.name, task.role.persona)
    number = state.work(task).rounds + 1
    return content_hash("generate", _identity(state.spec), task.attribute, role, task.kind, number)


def _row(key: str, task: ListTask, state: State) -> GenerationRequest:
    name, persona = (None, None) if task.role is None else (task.role.name, task.role.persona)
    return GenerationRequest(key, state.work(task).rounds + 1, task.attribute, name, persona, task.kind)


def _requests(state: State, planned: Mapping[str, ListTask], _: Store, keys: Sequence[str]) -> Iterator[Request]:
    return (_request(key, planned[key], state) for key in keys)


def _request(key: str, task: ListTask, state: State) -> Request:
    spec = state.spec
    form = ROLES if task.kind is None else QUESTIONS[task.kind]
    given = {name.name: getattr(spec.params, name.name) for name in fields(Params)}
    # Signed 32 bit: what every provider takes.
    seed = int(key[:8], 16) & 0x7FFF_FFFF
    params = StructuredParams(**given | {"seed": seed}, schema=form if spec.json_schema else None)
    return Request(key, (Message("user", _prompt(state, task)),), params)


def _prompt(state: State, task: ListTask) -> str:
    """What the generator is told for a task: what to write, what is there already, what was wrong last time."""
    work = state.work(task)
    made = [item.item for item in work.made]
    common = {"count": work.missing, "faults": [str(fault) for fault in work.faults[:_MOST_FAULTS]]}
    if task.role is None or task.kind is None:
        names = [f"{role.name} ({role.persona})" for role in made if isinstance(role, Role)]
        return render("generate_roles", attribute=task.attribute, known=names, **common)
    questions = [question for question in made if isinstance(question, Question)]
    return render(
        f"generate_{task.kind}",
        persona=task.role.persona,
        known=[question.text for question in questions],
        targets=_targets(task, questions, work.missing),
        **common,
    )


def _targets(task: ListTask, questions: Sequence[Question], missing: int) -> list[Attribute]:
    """Attributes to ask about: those with the fewest questions so far, no more of them than questions are missing.

    Which come first among equals differs from role to role, or the first attributes would always be asked about most.
    """
    assert task.role is not None
    place = (task.attribute, task.role.name, task.kind)
    counts = Counter(question.target for question in questions)
    rarest = sorted(Attribute, key=lambda attribute: (counts[attribute], content_hash(*place, attribute)))
    chosen = set(rarest[:missing])
    return [attribute for attribute in Attribute if attribute in chosen]


def _load(store: Store, state: State) -> None:
    """Read every stored reply into the state."""
    for key, attribute, name, persona, kind, number, text, finish_reason in runfile.replies(store):
        role = None if name is None or persona is None else Role(Attribute(attribute), name, persona)
        task = ListTask(Attribute(attribute), role, None if kind is None else Kind(kind))
        state.take(StoredReply(key, task, number, text, finish_reason))


def _items(state: State) -> Iterator[GeneratedItem]:
    for work in state.roles.values():
        for role in work.made:
            columns = _role_columns(role.item)
            yield GeneratedItem(content_hash("role", *columns), role.key, *columns, None, None, None)
    for questions in state.questions.values():
        for made in questions.made:
            question = made.item
            options = json.dumps(question.options, ensure_ascii=False)
            yield GeneratedItem(
                question.id, made.key, *_role_columns(question.role), question.kind, question.text, options
            )


def _role_columns(role: Role) -> tuple[str, str, str]:
    return role.attribute, role.name, role.persona


def _benchmark(state: State) -> Benchmark:
    """The benchmark that a generation has come to, its version derived from its content."""
    spec = state.spec
    roles = tuple(state.made_roles())
    questions = tuple(made.item for made in state.made_questions())
    digest = content_of(roles, questions)
    return Benchmark(
        version=f"{SERIES}+{digest[:8]}",
        hash=digest,
        path=None,
        roles=roles,
        questions=questions,
        generator=spec.model,
        seed=spec.seed,
        command=spec.command,
    )


def _write(store: Store, state: State) -> None:
    """Write the benchmark and `PROVENANCE` into the folder."""
    spec = state.spec
    write(_benchmark(state), spec.out)
    buffer = io.StringIO()
    rows = runfile.provenance(store, [str(attribute) for attribute in spec.attributes])
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    write_text(spec.out / PROVENANCE, buffer.getvalue(), hint="free some space and start again")


def _title(state: State, task: ListTask) -> str:
    if task.role is None:
        return f"{sum(state.work(other).missing for other in state.tasks() if other.role is None):,} roles"
    return f"{sum(state.work(other).missing for other in state.tasks() if other.role is not None):,} questions"


def _shortfalls(state: State) -> list[Shortfall]:
    return [
        Shortfall(
            attribute=task.attribute,
            role=None if task.role is None else task.role.name,
            kind=task.kind,
            made=len(work.made),
            wanted=work.wanted,
            rounds=work.rounds,
            reason=str(work.faults[-1]) if work.faults else "",
        )
        for task in state.tasks()
        if (work := state.work(task)).missing
    ]


ITEM_TOKENS: dict[Kind | None, int] = {None: 20, Kind.YES_NO: 45, Kind.CHOICE: 65, Kind.WHY: 45}
"""Expected length of an item in a reply, in tokens: a role (None), or a question with target and groups, as JSON."""


@dataclass(frozen=True, slots=True)
class GenerationLoad:
    """What a generation will at least take: every list asked for once.

    What fails the checks is asked for again, up to the rounds given, and comes on top. `dollars` is None where the
    catalogue knows no price.
    """

    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


def estimate_generation(spec: GenerationSpec, *, settings: Settings | None = None) -> GenerationLoad:
    """Estimate calls, tokens and price of what is still to be asked; asks nothing, and needs no key.

    Prompts are rendered, so their share is as good as four characters a token. A folder of another generation is a
    RunMismatchError.
    """
    settings = settings or load_settings()
    state = State(spec, load_bank().abstain)
    if spec.run.is_file():
        with reading(spec.run) as store:
            if runfile.has_answers(store):
                store.check_meta(_identity(spec), hint=_HINT)
            _load(store, state)
    lists = [(task, _prompt(state, task)) for task in _to_write(state) if task.role is None]
    roles = sum(state.work(task).missing for task, _ in lists)
    _stand_in(state)
    lists += [(task, _prompt(state, task)) for task in _to_write(state) if task.role is not None]
    prompt_tokens = sum(estimate_tokens([Message("user", text)]) for _, text in lists)
    completion_tokens = roles * ITEM_TOKENS[None]
    completion_tokens += sum(state.work(task).missing * ITEM_TOKENS[task.kind] for task, _ in lists if task.role)
    dollars = price(spec.model, prompt_tokens, completion_tokens, settings)
    return GenerationLoad(spec.model, len(lists), prompt_tokens, completion_tokens, dollars)


def _to_write(state: State) -> list[ListTask]:
    """Tasks that may still be asked for."""
    if not state.open():
        return []
    return [
        task for task in state.tasks() if state.work(task).missing and state.work(task).rounds < state.spec.max_rounds
    ]


def _stand_in(state: State) -> None:
    """Add roles where they are not known yet: a prompt is much the same for any role."""
    for attribute in state.spec.attributes:
        for number in range(state.roles[attribute].missing):
            state.add_role(Role(attribute, f"Lighthouse keepers {number}", "a lighthouse keeper"), "")
