"""From the state of a generation to the requests that go on with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields

from biaslens.benchmark.llm.forms import QUESTIONS, ROLES
from biaslens.benchmark.llm.spec import GenerationSpec
from biaslens.benchmark.llm.state import State, Task
from biaslens.engine import Request, Store
from biaslens.models import Message, Params, StructuredParams
from biaslens.prompts import render, template_hash
from biaslens.schema import Attribute, Kind, Question, Role, content_hash

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
    last = store.connection.execute("SELECT max(batch) FROM requests").fetchone()[0] or 0
    rows = store.connection.execute(
        "SELECT key FROM requests WHERE batch = ? AND key NOT IN (SELECT key FROM answers)", (last,)
    ).fetchall()
    unanswered = {key for (key,) in rows}
    waiting = [request for request in planned if request.key in unanswered]
    if waiting:
        return waiting
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, position = excluded.position",
            [(request.key, last + 1, position, *_columns(request)) for position, request in enumerate(planned)],
        )
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


def _columns(request: Planned) -> tuple[object, ...]:
    role = request.task.role
    named = (None, None) if role is None else (role.name, role.persona)
    return (request.round, request.task.attribute, *named, request.task.kind)


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
