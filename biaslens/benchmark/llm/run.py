"""Let a model write a benchmark: what it is asked for next, what it costs, and what it comes to; resumable."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

from biaslens import runfile
from biaslens._util.files import write_text
from biaslens.benchmark.encounters import THEMES, from_encounters, write_encounters
from biaslens.benchmark.files import ROLES as ROLES_FILE
from biaslens.benchmark.files import roles_text, write
from biaslens.benchmark.llm.reading import ENCOUNTERS, ROLES
from biaslens.benchmark.llm.state import GenerationSpec, ListTask, Made, State, StoredReply
from biaslens.engine import Batching, Exchange, Observer, Pace, Request, Session, estimate_tokens, ordinary
from biaslens.errors import RunLockedError
from biaslens.models import ChatModel, Message, Params, StructuredParams, open_model
from biaslens.models.catalogue import price
from biaslens.prompts import render, template_hash
from biaslens.runfile import GENERATION_TABLES, GeneratedItem, GenerationRequest, Store, reading
from biaslens.schema import Attribute, Role, content_hash
from biaslens.settings import Settings, load_settings

TEMPLATE_HASH = content_hash(
    template_hash("generate_attributes", "generate_again", "generate_roles", "generate_encounters"),
    ROLES.schema,
    ENCOUNTERS.schema,
)
"""Hash of all that a generator is told: templates and JSON schemas; part of every request's key."""

PROVENANCE = "provenance.csv"
"""Where each role and encounter comes from, in the folder of the benchmark."""

ENCOUNTERS_FOLDER = "encounters"
"""The encounters themselves, in the form that `read_encounters` reads; in the folder of the benchmark."""

SERIES = "0-A"
"""Version of benchmarks that a model wrote: none of them is comparable with the shipped ones, or with each other."""

_FIRST_ROLES = 50
_HINT = "give another --out, or repeat the options of the first session"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A list that is not complete: of roles, or of encounters for a role.

    `rounds` is how often it has been asked for, and `reason` what was wrong last; "" where nothing was.
    """

    attribute: Attribute
    role: str | None
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
    encounters, roles
        How many were accepted so far, and for how many roles.
    first_read, first_taken
        Encounters in the first replies on each role, and how many of these were accepted.
    short
        The lists that are not complete; none when all is done. Encounters of a role that is missing are not listed.
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
    encounters: int
    first_read: int
    first_taken: int
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
    exchange: Exchange | Batching | None = None,
) -> Generation:
    """Let a model write a benchmark, or go on with one: ask only for what its folder does not hold yet.

    Roles come first, where none are given, then the encounters of each role. Every reply is stored as it came. After
    each batch the replies are read and checked; what failed is asked for again, with what was wrong, at most
    `GenerationSpec.max_rounds` times. The first Ctrl-C waits for the replies in flight and returns; a second one drops
    them. Through an `exchange` a batch is written to a file, and the next session reads the answers.

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
        lambda: _store(spec),
        models=[spec.model],
        settings=settings,
        observer=observer,
        open_model=open_model,
        exchange=exchange,
    ) as session:
        session.require(_identity(spec), model=spec.model, hint=_HINT)
        session.record()
        state = await _ask(session, spec, pace)
        short = tuple(_shortfalls(state))
        written = bool(not short or (spec.partial and state.made_encounters()))
        if written:
            _write(session.store, state)
        tally = session.tally
        return Generation(
            out=spec.out,
            written=written,
            roles=len({made.item.role for made in state.made_encounters()}),
            encounters=len(state.made_encounters()),
            first_read=state.first_read,
            first_taken=state.first_taken,
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
        "params": spec.params.record(),
        "seed": spec.seed,
        "roles_per_attribute": spec.roles_per_attribute,
        "questions_per_kind": spec.questions_per_kind,
        "json_schema": spec.json_schema,
        "template_hash": TEMPLATE_HASH,
        **({"parallel_to": spec.parallel_to.hash} if spec.parallel_to else {}),
    }


async def _ask(session: Session, spec: GenerationSpec, pace: Pace | None) -> State:
    """Ask batch by batch until all is there or nothing more can be asked; the state it ends in."""
    given_up: set[ListTask] = set()
    while True:
        state = State(spec)
        _load(session.store, state)
        faults = [(key, fault.rule, fault.reason, fault.item) for key, fault in state.faults]
        runfile.save_items(session.store, _items(state), faults)
        waits = session.stop.is_set() or (session.exchange is not None and session.exchange.waiting)
        batch, planned = (0, {}) if waits else _next_batch(session.store, state, given_up)
        if not planned:
            return state
        title = _title(state, next(iter(planned.values())))
        requests = partial(_requests, state, batch, planned)
        await session.ask(spec.model, planned, requests, pace=pace, title=title)
        # What failed for good is asked again in the next session, not in an endless round.
        answered = runfile.answer_texts(session.store, planned)
        given_up.update(task for key, task in planned.items() if key not in answered)


def _next_batch(store: Store, state: State, given_up: Collection[ListTask]) -> tuple[int, dict[str, ListTask]]:
    """Number of the batch to ask for now, and its tasks by key: what an interrupted batch still lacks, else a new one.

    Within a batch replies are read in the order of the tasks, not of their arrival, so it makes no difference where
    a run was interrupted. A request that was never answered moves on with its task to the next batch. A batch takes no
    more new roles than have been asked for before it, so that most roles are told which pairs others have.
    """
    planned = {_key(state, task): task for task in state.open(given_up)}
    last, unanswered = runfile.last_batch(store)
    waiting = {key: task for key, task in planned.items() if key in unanswered}
    if waiting:
        return last, waiting
    new = [key for key, task in planned.items() if task.role is not None and not state.work(task).rounds]
    begun = sum(work.rounds > 0 for work in state.encounters.values())
    for key in sorted(new)[max(begun, _FIRST_ROLES) :]:
        del planned[key]
    rows = (GenerationRequest(key, state.work(task).rounds + 1, *task.columns) for key, task in planned.items())
    runfile.save_batch(store, last + 1, rows)
    return last + 1, planned


def _key(state: State, task: ListTask) -> str:
    return content_hash("generate", _identity(state.spec), *task.columns, state.work(task).rounds + 1)


def _requests(
    state: State, batch: int, planned: Mapping[str, ListTask], _: Store, keys: Sequence[str]
) -> Iterator[Request]:
    given = {name.name: getattr(state.spec.params, name.name) for name in fields(Params)}
    for key in keys:
        form = ROLES if planned[key].role is None else ENCOUNTERS
        # Signed 32 bit: what every provider takes.
        seed = int(key[:8], 16) & 0x7FFF_FFFF
        params = StructuredParams(**given | {"seed": seed}, schema=form if state.spec.json_schema else None)
        yield Request(key, (Message("user", _prompt(state, planned[key], batch)),), params)


def _prompt(state: State, task: ListTask, batch: int) -> str:
    """What the generator is told for a task: what to write, what is there already, what was wrong last time."""
    work = state.work(task)
    common = {"count": work.missing, "faults": work.faults[: work.missing]}
    if task.role is None:
        roles = [made.item for made in state.roles[task.attribute].made]
        names = [f"{role.name} ({role.persona})" for role in roles]
        return render("generate_roles", attribute=task.attribute, known=names, **common)
    made = [made.item for made in state.encounters[task.role].made]
    return render(
        "generate_encounters",
        persona=task.role.persona,
        themes=THEMES,
        targets=state.targets(task.role),
        elsewhere=state.pairs_elsewhere(task.role, before=batch),
        known=[f"{one.stereotype} ({one.pair}): {one.yes_no} {one.why}" for one in made],
        **common,
    )


def _load(store: Store, state: State) -> None:
    """Read every stored reply into the state."""
    for key, attribute, name, persona, batch, text, finish_reason in runfile.replies(store):
        role = None if name is None or persona is None else Role(Attribute(attribute), name, persona)
        state.take(StoredReply(key, ListTask(Attribute(attribute), role), batch, text, finish_reason))


def _items(state: State) -> Iterator[GeneratedItem]:
    for work in state.roles.values():
        for role in work.made:
            columns = _role_columns(role.item)
            if role.key:
                yield GeneratedItem(content_hash("role", *columns), role.key, *columns, "role")
    for encounters in state.encounters.values():
        for made in encounters.made:
            yield GeneratedItem(made.item.id, made.key, *_role_columns(made.item.role), "encounter")


def _role_columns(role: Role) -> tuple[str, str, str]:
    return role.attribute, role.name, role.persona


def _write(store: Store, state: State) -> None:
    """Write the benchmark, its encounters and `PROVENANCE` into the folder; the version comes from the content."""
    spec = state.spec
    encounters = [made.item for made in state.made_encounters()]
    made = from_encounters(state.made_roles(), encounters, seed=spec.seed, mirrors=spec.mirrors)
    version = f"{SERIES}+{made.hash[:8]}"
    write(replace(made, version=version, generator=spec.model, command=spec.command), spec.out)
    buffer = io.StringIO()
    rows = runfile.provenance(store, [str(attribute) for attribute in spec.attributes])
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    for name, text in {
        PROVENANCE: buffer.getvalue(),
        **{f"{ENCOUNTERS_FOLDER}/{name}": text for name, text in write_encounters(encounters).items()},
        f"{ENCOUNTERS_FOLDER}/{ROLES_FILE}": roles_text(made.roles),
    }.items():
        write_text(spec.out / name, text, hint="free some space and start again")


def _title(state: State, task: ListTask) -> str:
    missing = (state.work(other).missing for other in state.tasks() if (other.role is None) == (task.role is None))
    return f"{sum(missing):,} {'roles' if task.role is None else 'encounters'}"


def _shortfalls(state: State) -> list[Shortfall]:
    return [
        Shortfall(
            attribute=task.attribute,
            role=None if task.role is None else task.role.name,
            made=len(work.made),
            wanted=work.wanted,
            rounds=work.rounds,
            reason=work.faults[-1].reason if work.faults else "",
        )
        for task in state.tasks()
        if (work := state.work(task)).missing
    ]


ROLE_TOKENS, ENCOUNTER_TOKENS = 25, 190
"""Expected length of a role and of an encounter in a reply, in tokens, as JSON."""


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


def estimate_generation(
    spec: GenerationSpec, *, settings: Settings | None = None, batch: bool = False
) -> GenerationLoad:
    """Estimate calls, tokens and price of what is still to be asked, in batches or one by one; asks nothing.

    Prompts are rendered, so their share is as good as four characters a token. A folder of another generation is a
    RunMismatchError.
    """
    settings = settings or load_settings()
    state = State(spec)
    if spec.run.is_file():
        with reading(spec.run) as store:
            if runfile.has_answers(store):
                store.check_meta(_identity(spec), hint=_HINT)
            _load(store, state)
    lists = [task for task in _to_write(state) if task.role is None]
    prompts = [_prompt(state, task, 0) for task in lists]
    completion_tokens = sum(state.work(task).missing for task in lists) * ROLE_TOKENS
    for attribute, work in state.roles.items():
        for number in range(work.missing if attribute in spec.attributes else 0):
            # A prompt is much the same for any role.
            state.add_role(Made(Role(attribute, f"Lighthouse keepers {number}", "a lighthouse keeper")))
    tasks = [task for task in _to_write(state) if task.role is not None]
    prompts += [_prompt(state, task, 0) for task in tasks]
    completion_tokens += sum(state.work(task).missing for task in tasks) * ENCOUNTER_TOKENS
    prompt_tokens = sum(estimate_tokens([Message("user", text)]) for text in prompts)
    dollars = price(spec.model, prompt_tokens, completion_tokens, settings, batch=batch)
    return GenerationLoad(spec.model, len(prompts), prompt_tokens, completion_tokens, dollars)


def _to_write(state: State) -> list[ListTask]:
    """Tasks that may still be asked for."""
    rounds = state.spec.max_rounds
    tasks = state.tasks() if state.open() else ()
    return [task for task in tasks if state.work(task).missing and state.work(task).rounds < rounds]
