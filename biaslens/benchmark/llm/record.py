"""What a generation's run file holds besides the replies, and what is read back of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from biaslens.benchmark.llm.asking import identity
from biaslens.benchmark.llm.spec import GenerationSpec
from biaslens.benchmark.llm.state import Reply, State, Task
from biaslens.engine import Store
from biaslens.engine.record import this_start
from biaslens.errors import RunMismatchError
from biaslens.models import ChatModel
from biaslens.schema import Attribute, Kind, Question, Role, content_hash


def refuse_other(store: Store, values: dict[str, object]) -> None:
    """Refuse a run file that holds answers to something else.

    Raises
    ------
    RunMismatchError
        Naming the first thing that differs.
    """
    known = store.meta()
    if not store.connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone():
        return
    for name, value in json.loads(json.dumps(values)).items():
        if known.get(name) != value:
            raise RunMismatchError(
                f"{store.path}: this folder was begun with {name} = {json.dumps(known.get(name))}, not "
                f"{json.dumps(value)}; give another --out, or repeat the first start's options"
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
    with store.transaction() as connection:
        # A first start with a wrong name or key binds nobody.
        if not connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone():
            connection.execute("DELETE FROM requests")
            connection.execute("DELETE FROM failures")
    store.set_meta(values | {"starts": [*known.get("starts", []), this_start({spec.model: model})]})


def load(store: Store, state: State) -> None:
    """Read every stored reply into the state."""
    for reply in _replies(store):
        state.take(reply)


def save_items(store: Store, state: State) -> None:
    """Write what was accepted and what was not, in place of what earlier starts have read of the replies."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM items")
        connection.execute("DELETE FROM faults")
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _rows(state))
        connection.executemany(
            "INSERT INTO faults VALUES (?, ?, ?, ?)",
            [(key, fault.rule, fault.reason, fault.text) for key, fault in state.faults],
        )


def role_id(role: Role) -> str:
    """Content hash of a role."""
    return content_hash("role", role.attribute, role.name, role.persona)


def _replies(store: Store) -> Iterator[Reply]:
    rows = store.connection.execute(
        "SELECT key, attribute, role, persona, kind, round, text, finish_reason "
        "FROM requests JOIN answers USING (key) ORDER BY batch, position"
    )
    for key, attribute, name, persona, kind, number, text, finish_reason in rows:
        role = None if name is None else Role(Attribute(attribute), name, persona)
        task = Task(Attribute(attribute), role, None if kind is None else Kind(kind))
        yield Reply(key, task, number, text, finish_reason)


def _rows(state: State) -> Iterator[tuple[object, ...]]:
    for work in state.roles.values():
        for role in work.made:
            yield (role_id(role.item), role.key, *_role_columns(role.item), None, None, None)
    for questions in state.questions.values():
        for made in questions.made:
            question: Question = made.item
            options = json.dumps(question.options, ensure_ascii=False)
            yield (question.id, made.key, *_role_columns(question.role), question.kind, question.text, options)


def _role_columns(role: Role) -> tuple[str, str, str]:
    return role.attribute, role.name, role.persona
