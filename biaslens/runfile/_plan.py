"""What is to be asked, what of it has been answered, and what was decided about it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from biaslens.runfile._store import ACTIVE_PANEL, CUT_OFF, Store
from biaslens.schema import Question, Role, Verdict

_PAGE = 256


class PlannedResponse(NamedTuple):
    """A row of ``plan``; the columns say what each field means."""

    key: str
    question_id: str
    condition: str
    trial: int
    option_order: Sequence[int] | None = None


class ToAsk(NamedTuple):
    """A planned response without an answer; `options` in the order shown."""

    key: str
    kind: str
    text: str
    options: list[str]
    persona: str
    condition: str


class Answered(NamedTuple):
    """An answer and what it answers; `options` in the order shown, `order` their positions where that is another."""

    key: str
    kind: str
    question: str
    options: list[str]
    order: list[int] | None
    answer: str
    finish_reason: str


def shown_options(options: str, order: str | None) -> list[str]:
    """Option texts in the order shown, from the JSON columns `options` and `option_order`."""
    texts: list[str] = json.loads(options)
    return texts if order is None else [texts[position] for position in json.loads(order)]


def save_plan(store: Store, questions: Collection[Question], planned: Iterable[PlannedResponse]) -> None:
    """Write roles, questions and planned responses, where they are not there yet."""
    with store.transaction() as connection:
        ids = _save_roles(store, {question.role for question in questions})
        connection.executemany(
            "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                (
                    q.id, ids[q.role], q.kind, q.text, _json(q.options), q.target, _json(q.groups),
                    q.encounter, q.stereotype, q.theme, q.disfavoured, q.picks,
                )
                for q in questions
            ),
        )  # fmt: skip
        connection.executemany(
            "INSERT INTO mirrors VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ((q.id, q.mirror_of, q.mirror) for q in questions if q.mirror_of is not None and q.mirror is not None),
        )
        connection.executemany(
            "INSERT INTO plan VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            ((*row[:4], None if row.option_order is None else _json(row.option_order)) for row in planned),
        )


def _save_roles(store: Store, roles: set[Role]) -> dict[Role, int]:
    store.connection.executemany(
        "INSERT INTO roles (attribute, name, persona) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        sorted((role.attribute, role.name, role.persona) for role in roles),
    )
    known = store.rows("SELECT attribute, name, role_id FROM roles")
    ids = {(attribute, name): role_id for attribute, name, role_id in known}
    return {role: ids[role.attribute, role.name] for role in roles}


def _json(values: Sequence[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


class CutOff(NamedTuple):
    """A planned response whose answer was cut off before it said anything."""

    key: str
    question_id: str
    condition: str
    trial: int


def cut_off(store: Store, below: int, limit: int) -> list[CutOff]:
    """Planned responses that were cut off at less than `below` tokens; those asked once only had `limit` of them.

    Left out are those that people have been given to label.
    """
    rows = store.rows(
        "SELECT plan.key, question_id, condition, trial FROM plan "
        "JOIN verdicts ON response_key = plan.key AND reason = ? LEFT JOIN retries USING (key) "
        "WHERE coalesce(retries.max_tokens, ?) < ? AND plan.key NOT IN (SELECT response_key FROM sampled) "
        "GROUP BY plan.key ORDER BY plan.key",
        CUT_OFF, limit, below,
    )  # fmt: skip
    return [CutOff(*row) for row in rows]


def save_retries(store: Store, keys: Iterable[tuple[str, str]], max_tokens: int) -> None:
    """Put new keys in the place of old ones in the plan; the verdicts on the old answers go, the answers stay."""
    pairs = list(keys)
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO retries (key, first, max_tokens) VALUES (?, ?, ?)",
            ((key, first, max_tokens) for first, key in pairs),
        )
        for table in ("verdicts", "thought_verdicts", "thought_votes"):
            connection.executemany(f"DELETE FROM {table} WHERE response_key = ?", ((first,) for first, _ in pairs))
        connection.executemany("UPDATE plan SET key = ? WHERE key = ?", ((key, first) for first, key in pairs))


def retried(store: Store) -> dict[str, str]:
    """By the key that a response was first planned under, the key that is in its place in the plan now."""
    after = dict(store.rows("SELECT first, key FROM retries")) if store.has("retries") else {}
    found = {}
    for first in after:
        last = first
        while last in after:
            last = after[last]
        found[first] = last
    return found


def retry_limits(store: Store, keys: Sequence[str]) -> dict[str, int]:
    """Limits of tokens of those of the keys that are asked again."""
    query = "SELECT key, max_tokens FROM retries WHERE key IN (SELECT value FROM json_each(?))"
    return dict(store.rows(query, json.dumps(list(keys))))


def personas(store: Store) -> dict[tuple[str, str], str]:
    """Personas of the roles, by attribute and name."""
    rows = store.rows("SELECT attribute, name, persona FROM roles")
    return {(attribute, name): persona for attribute, name, persona in rows}


def conditions(store: Store) -> set[str]:
    """Conditions with a planned response."""
    return set(store.column("SELECT DISTINCT condition FROM plan"))


def most_trials(store: Store) -> int:
    """The highest number of a planned trial; 0 where nothing is planned."""
    return int(store.value("SELECT coalesce(max(trial), 0) FROM plan"))


def planned_keys(store: Store) -> set[str]:
    """Keys of all planned responses."""
    return set(store.column("SELECT key FROM plan"))


def answered_keys(store: Store) -> frozenset[str]:
    """Keys of the planned responses with an answer."""
    return frozenset(store.column("SELECT key FROM plan JOIN answers USING (key)"))


def count_unanswered(store: Store) -> int:
    """Number of planned responses without an answer."""
    query = "SELECT count(*) FROM plan WHERE NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = plan.key)"
    return int(store.value(query))


def has_answers(store: Store) -> bool:
    """Whether anything has been answered."""
    return store.value("SELECT 1 FROM answers LIMIT 1") is not None


def has_why_answers(store: Store) -> bool:
    """Whether a why question has an answer."""
    query = "SELECT 1 FROM plan JOIN questions USING (question_id) JOIN answers USING (key) WHERE kind = 'why' LIMIT 1"
    return store.value(query) is not None


def answer_texts(store: Store, keys: Iterable[str]) -> dict[str, str]:
    """Texts of the answers with these keys; keys without an answer are left out."""
    query = "SELECT key, text FROM answers WHERE key IN (SELECT value FROM json_each(?))"
    return dict(store.rows(query, json.dumps(list(keys))))


def stored_keys(store: Store, keys: Iterable[str]) -> list[str]:
    """Those of the keys that have an answer."""
    return store.column("SELECT key FROM answers WHERE key IN (SELECT value FROM json_each(?))", json.dumps(list(keys)))


def last_failure(store: Store) -> str:
    """What the last request that was given up on failed with; "" where none was."""
    return store.value("SELECT message FROM failures ORDER BY rowid DESC LIMIT 1") or ""


_ANSWERED = """
    SELECT key, kind, questions.text, options, option_order, answers.text, finish_reason
    FROM plan JOIN questions USING (question_id) JOIN answers USING (key)
"""


def answered(store: Store, keys: Sequence[str]) -> list[Answered]:
    """What these keys were asked and answered; keys that are not planned responses are left out."""
    query = f"{_ANSWERED} WHERE key IN ({', '.join('?' * len(keys))})"
    return [_answered(row) for row in store.rows(query, *keys)]


def without_verdict(store: Store) -> Iterator[Answered]:
    """Answers that nobody has decided, not even the rules."""
    query = f"{_ANSWERED} WHERE NOT EXISTS (SELECT 1 FROM verdicts WHERE response_key = plan.key)"
    return map(_answered, store.connection.execute(query))


def save_verdicts(store: Store, verdicts: Iterable[tuple[str, Verdict]], *, panel: str, oracle: str) -> None:
    """Insert the verdicts of a panel on responses, by key, within a transaction; `oracle` says who decided."""
    store.connection.executemany(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        ((key, panel, found.outcome, found.reason, found.choice, oracle) for key, found in verdicts),
    )


def _answered(row: tuple[str, str, str, str, str | None, str, str]) -> Answered:
    key, kind, question, options, order, answer, finish_reason = row
    positions = None if order is None else json.loads(order)
    return Answered(key, kind, question, shown_options(options, order), positions, answer, finish_reason)


# A reply is stored before its vote is read.
_GIVEN = "(vote IS NOT NULL OR votes.key IN (SELECT key FROM answers))"


def forget_unanswered(store: Store) -> None:
    """Free a file of what was chosen for it and came to nothing: a session with a wrong name or key binds nobody.

    That is panels without a usable vote or verdict, with the votes that were planned for judges who have never voted;
    and everything where nothing was answered at all.
    """
    with store.transaction() as connection:
        if store.has("panels"):
            _forget_panels(connection)
        if has_answers(store) or store.value("SELECT 1 FROM batches LIMIT 1"):
            return
        for table in filter(store.has, ("retries", "plan", "mirrors", "questions", "roles", "requests", "failures")):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("DELETE FROM meta WHERE name NOT IN ('format', 'starts', 'created_at', 'purpose')")


def _forget_panels(connection: sqlite3.Connection) -> None:
    connection.execute(
        "DELETE FROM panels WHERE panel NOT IN (SELECT panel FROM verdicts) AND NOT EXISTS ("
        "SELECT 1 FROM json_each(spec, '$.judges') AS named JOIN ballots ON ballots.judge = named.value "
        f"JOIN votes USING (ballot) WHERE {_GIVEN} AND vote IS NOT 'unusable')"
    )
    connection.execute(f"DELETE FROM votes WHERE ballot NOT IN (SELECT ballot FROM votes WHERE {_GIVEN})")
    connection.execute("DELETE FROM ballots WHERE ballot NOT IN (SELECT ballot FROM votes)")
    connection.execute(
        "DELETE FROM meta WHERE name = ? AND json_extract(value, '$') NOT IN (SELECT panel FROM panels)",
        (ACTIVE_PANEL,),
    )


_MISSING = "FROM wanted WHERE NOT EXISTS (SELECT 1 FROM answers WHERE answers.key = wanted.key)"


class WantedAnswers:
    """The answers that one session wants, of which the run file may hold some, and many others.

    The run file is open for reading, and used for nothing else that makes temporary tables.
    """

    def __init__(self, reader: Store, keys: Collection[str]) -> None:
        self._reader = reader
        reader.connection.execute("CREATE TEMP TABLE wanted (key TEXT PRIMARY KEY) WITHOUT ROWID")
        reader.connection.executemany("INSERT INTO wanted VALUES (?)", ((key,) for key in sorted(keys)))

    @property
    def size(self) -> int:
        """Number of answers wanted."""
        return int(self._reader.value("SELECT count(*) FROM wanted"))

    def count_missing(self) -> int:
        """Number of wanted answers that are not there."""
        return int(self._reader.value(f"SELECT count(*) {_MISSING}"))

    def missing(self) -> Iterator[list[str]]:
        """Keys of those, in their order, some at a time.

        They are read as they are needed, and no read stays open meanwhile, so the write-ahead log stays short.
        """
        part = [""]
        while part:
            query = f"SELECT key {_MISSING} AND key > ? ORDER BY key LIMIT {_PAGE}"
            part = self._reader.column(query, part[-1])
            yield part


def to_ask(store: Store, keys: Sequence[str]) -> list[ToAsk]:
    """What planned responses are to be asked, in the order of their keys."""
    rows = store.rows(
        "SELECT key, kind, text, options, option_order, persona, condition "
        "FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) "
        "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key",
        json.dumps(list(keys)),
    )
    return [
        ToAsk(key, kind, text, shown_options(options, order), *who) for key, kind, text, options, order, *who in rows
    ]
