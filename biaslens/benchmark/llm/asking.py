"""What a model is asked for next, what is recorded of it, and what it costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from biaslens import runfile
from biaslens.benchmark.bank import load_bank
from biaslens.benchmark.llm.reading import QUESTIONS, ROLES
from biaslens.benchmark.llm.state import GenerationSpec, Reply, State, Task
from biaslens.engine import Request
from biaslens.engine.limits import estimate_tokens
from biaslens.engine.record import this_start
from biaslens.errors import RunMismatchError
from biaslens.models import ChatModel, Message, Params, StructuredParams
from biaslens.models.catalogue import price
from biaslens.prompts import render, template_hash
from biaslens.runfile import GeneratedItem, GenerationRequest, Store, reading
from biaslens.schema import Attribute, Kind, Question, Role, content_hash
from biaslens.settings import Settings, load_settings

TEMPLATE_HASH = content_hash(
    template_hash("generate_attributes", "generate_again", "generate_roles", *(f"generate_{kind}" for kind in Kind)),
    ROLES.schema,
    [QUESTIONS[kind].schema for kind in Kind],
)
"""Hash of all that a generator is told: templates and JSON schemas; part of every request's key."""

_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that has its place in the run file."""

    key: str
    task: Task
    round: int


def next_requests(store: Store, state: State, given_up: Collection[Task]) -> list[Planned]:
    """Requests to ask now: what an interrupted batch still lacks, else a new batch with every open task.

    Within a batch replies are read in the order of the tasks, not of their arrival, so it makes no difference where
    a run was interrupted. A request that was never answered moves on with its task to the next batch.
    """
    open_tasks = state.open(given_up)
    planned = [_planned(state, task) for task in open_tasks]
    if not planned:
        return []
    last, unanswered = runfile.last_batch(store)
    waiting = [request for request in planned if request.key in unanswered]
    if waiting:
        return waiting
    runfile.save_batch(store, last + 1, map(_row, planned))
    return planned


def request_for(planned: Planned, state: State) -> Request:
    """The request in full: prompt, parameters, seed."""
    spec, task = state.spec, planned.task
    form = ROLES if task.kind is None else QUESTIONS[task.kind]
    given = {name.name: getattr(spec.params, name.name) for name in fields(Params)}
    params = StructuredParams(**given | {"seed": _seed(planned.key)}, schema=form if spec.json_schema else None)
    return Request(planned.key, (Message("user", prompt(state, task)),), params)


def prompt(state: State, task: Task) -> str:
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


def identity(spec: GenerationSpec) -> dict[str, object]:
    """What may not change from one start to the next, for every key hangs on it."""
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


def _planned(state: State, task: Task) -> Planned:
    number = state.work(task).rounds + 1
    role = () if task.role is None else (task.role.name, task.role.persona)
    return Planned(
        content_hash("generate", identity(state.spec), task.attribute, role, task.kind, number), task, number
    )


def _row(request: Planned) -> GenerationRequest:
    role = request.task.role
    name, persona = (None, None) if role is None else (role.name, role.persona)
    return GenerationRequest(request.key, request.round, request.task.attribute, name, persona, request.task.kind)


def _targets(task: Task, questions: Sequence[Question], missing: int) -> list[Attribute]:
    """Attributes to ask about: those with the fewest questions so far, no more of them than questions are missing.

    Which come first among equals differs from role to role, or the first attributes would always be asked about most.
    """
    assert task.role is not None
    place = (task.attribute, task.role.name, task.kind)
    counts = Counter(question.target for question in questions)
    rarest = sorted(Attribute, key=lambda attribute: (counts[attribute], content_hash(*place, attribute)))
    chosen = set(rarest[:missing])
    return [attribute for attribute in Attribute if attribute in chosen]


def _seed(key: str) -> int:
    # Signed 32 bit: what every provider takes.
    return int(key[:8], 16) & 0x7FFF_FFFF


def refuse_other(store: Store, values: dict[str, object]) -> None:
    """Refuse a run file that holds answers to something else.

    Raises
    ------
    RunMismatchError
        Naming the first thing that differs.
    """
    known = store.meta()
    if not runfile.has_answers(store):
        return
    for name, value in json.loads(json.dumps(values)).items():
        if known.get(name) != value:
            raise RunMismatchError(
                f"{store.path}: this folder was begun with {name} = {json.dumps(known.get(name))}, not "
                f"{json.dumps(value)}; give another --out, or repeat the options of the first session"
            )


def record(store: Store, spec: GenerationSpec, model: ChatModel) -> None:
    """Write what the run is into its file, and add this start to the starts recorded there.

    Raises
    ------
    RunMismatchError
        When the file is of another generation.
    """
    values = identity(spec) | {"weights": model.runtime.get("sha256")}
    refuse_other(store, values)
    known = store.meta()
    runfile.forget_unanswered_requests(store)
    store.set_meta(values | {"starts": [*known.get("starts", []), this_start({spec.model: model})]})


def load(store: Store, state: State) -> None:
    """Read every stored reply into the state."""
    for reply in _replies(store):
        state.take(reply)


def save_items(store: Store, state: State) -> None:
    """Write what was accepted and what was not, in place of what earlier starts have read of the replies."""
    faults = [(key, fault.rule, fault.reason, fault.text) for key, fault in state.faults]
    runfile.save_items(store, _items(state), faults)


def role_id(role: Role) -> str:
    """Content hash of a role."""
    return content_hash("role", role.attribute, role.name, role.persona)


def _replies(store: Store) -> Iterator[Reply]:
    for key, attribute, name, persona, kind, number, text, finish_reason in runfile.replies(store):
        role = None if name is None or persona is None else Role(Attribute(attribute), name, persona)
        task = Task(Attribute(attribute), role, None if kind is None else Kind(kind))
        yield Reply(key, task, number, text, finish_reason)


def _items(state: State) -> Iterator[GeneratedItem]:
    for work in state.roles.values():
        for role in work.made:
            yield GeneratedItem(role_id(role.item), role.key, *_role_columns(role.item), None, None, None)
    for questions in state.questions.values():
        for made in questions.made:
            question: Question = made.item
            options = json.dumps(question.options, ensure_ascii=False)
            columns = _role_columns(question.role)
            yield GeneratedItem(question.id, made.key, *columns, question.kind, question.text, options)


def _role_columns(role: Role) -> tuple[str, str, str]:
    return role.attribute, role.name, role.persona


ITEM_TOKENS: dict[Kind | None, int] = {None: 20, Kind.YES_NO: 45, Kind.CHOICE: 65, Kind.WHY: 45}
"""Expected length of an item in a reply, in tokens: a role (None), or a question with target and groups, as JSON."""


@dataclass(frozen=True, slots=True)
class GenerationLoad:
    """What a generation will at least take: every list asked for once.

    What fails the checks is asked for again, up to the rounds given, and comes on top.

    Parameters
    ----------
    model
        Full name of the generator.
    calls, prompt_tokens, completion_tokens
        Expected numbers.
    dollars
        Price, or None where the catalogue knows none.
    """

    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None


def estimate_generation(spec: GenerationSpec, *, settings: Settings | None = None) -> GenerationLoad:
    """Estimate calls, tokens and price of what is still to be asked; asks nothing, and needs no key.

    Prompts are rendered, so their share is as good as four characters a token.

    Raises
    ------
    RunMismatchError
        When the folder belongs to another generation.
    StorageError
        When its run file cannot be read.
    """
    settings = settings or load_settings()
    state = State(spec, load_bank().abstain)
    if spec.run.is_file():
        with reading(spec.run) as store:
            refuse_other(store, identity(spec))
            load(store, state)
    lists = [(task, prompt(state, task)) for task in _to_write(state) if task.role is None]
    roles = sum(state.work(task).missing for task, _ in lists)
    _stand_in(state)
    lists += [(task, prompt(state, task)) for task in _to_write(state) if task.role is not None]
    prompt_tokens = sum(estimate_tokens([Message("user", text)]) for _, text in lists)
    completion_tokens = roles * ITEM_TOKENS[None]
    completion_tokens += sum(state.work(task).missing * ITEM_TOKENS[task.kind] for task, _ in lists if task.role)
    dollars = price(spec.model, prompt_tokens, completion_tokens, settings)
    return GenerationLoad(spec.model, len(lists), prompt_tokens, completion_tokens, dollars)


def _to_write(state: State) -> list[Task]:
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
