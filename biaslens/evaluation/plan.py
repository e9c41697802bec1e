"""Lay out what a run is to ask, and find what of it is still missing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace

from biaslens.engine import Request, Store
from biaslens.evaluation.prompting import ask_messages, option_order, persona_of, read_wording, request_seed
from biaslens.evaluation.spec import Spec
from biaslens.schema import Condition, Kind, Question, Role, content_hash

_PAGE = 256

_MISSING = """
    FROM wanted JOIN plan USING (key) JOIN questions USING (question_id) JOIN roles USING (role_id)
    WHERE NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = plan.key)
"""


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


def lay_out(store: Store, spec: Spec, questions: Sequence[Question]) -> list[str]:
    """Write roles, questions and planned responses into the run file, where they are not there yet; give their keys."""
    planned = list(response_keys(spec, questions))
    with store.transaction() as connection:
        ids = _save_roles(connection, {question.role for question in questions})
        connection.executemany(
            "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                (q.id, ids[q.role], q.kind, q.text, _json(q.options), q.target, _json(q.groups))
                for q in questions
            ),
        )  # fmt: skip
        connection.executemany(
            "INSERT INTO mirrors VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ((q.id, q.mirror_of, q.mirror) for q in questions if q.mirror_of is not None and q.mirror is not None),
        )
        connection.executemany(
            "INSERT INTO plan VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                (key, question_id, condition, trial, None if order is None else _json(order))
                for key, question_id, question, condition, trial in planned
                for order in (shown_order(spec, question, trial),)
            ),
        )
    return [key for key, *_ in planned]


def _save_roles(connection: sqlite3.Connection, roles: set[Role]) -> dict[Role, int]:
    connection.executemany(
        "INSERT INTO roles (attribute, name, persona) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        sorted((role.attribute, role.name, role.persona) for role in roles),
    )
    known = connection.execute("SELECT attribute, name, role_id FROM roles").fetchall()
    ids = {(attribute, name): role_id for attribute, name, role_id in known}
    return {role: ids[role.attribute, role.name] for role in roles}


def _json(values: Sequence[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


class Plan:
    """The part of a run that one start is to ask, read through a connection of its own.

    A run file may plan more than this start asks for (an earlier start took a larger slice); only what this start
    wants is asked and paid for.

    Parameters
    ----------
    reader
        The run file, open for reading, and used by nothing else.
    spec
        The evaluation.
    keys
        Keys of the responses that this start wants.
    """

    def __init__(self, reader: Store, spec: Spec, keys: Sequence[str]) -> None:
        self._connection = reader.connection
        self._spec = spec
        self._wording = read_wording(spec.prompts, spec.system)
        self._connection.execute("CREATE TEMP TABLE wanted (key TEXT PRIMARY KEY) WITHOUT ROWID")
        self._connection.executemany("INSERT INTO wanted VALUES (?)", ((key,) for key in sorted(keys)))

    @property
    def size(self) -> int:
        """Number of responses wanted."""
        return int(self._connection.execute("SELECT count(*) FROM wanted").fetchone()[0])

    def count_missing(self) -> int:
        """Number of wanted responses without an answer."""
        return int(self._connection.execute(f"SELECT count(*) {_MISSING}").fetchone()[0])

    def missing(self) -> Iterator[Request]:
        """Requests for what has no answer, in the order of their keys: an order as good as random.

        Because of it, what an interrupted run has asked is a random sample of the plan. Pages are read as they are
        needed, and no read stays open between them, so the write-ahead log stays short.
        """
        last = ""
        while True:
            rows = self._connection.execute(
                "SELECT plan.key, kind, text, options, persona, condition, option_order "
                f"{_MISSING} AND plan.key > ? ORDER BY plan.key LIMIT {_PAGE}",
                (last,),
            ).fetchall()
            for row in rows:
                yield self._request(row)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]

    def _request(self, row: tuple[str, str, str, str, str, str, str | None]) -> Request:
        key, kind, text, options, persona, condition, order = row
        return Request(
            key=key,
            messages=ask_messages(
                Kind(kind),
                text,
                shown_options(options, order),
                persona=persona_of(Condition(condition), persona),
                wording=self._wording,
            ),
            params=replace(self._spec.params, seed=request_seed(self._spec.seed, key)),
        )


def shown_options(options: str, order: str | None) -> list[str]:
    """Option texts in the order shown, from the JSON columns `options` and `option_order`."""
    texts: list[str] = json.loads(options)
    return texts if order is None else [texts[position] for position in json.loads(order)]
