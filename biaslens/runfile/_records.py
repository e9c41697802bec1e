"""A run as one record for each planned response, with all that its file holds of it, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

from biaslens.runfile._schema import EVALUATION_TABLES, IMPORT_TABLES, TABLES
from biaslens.runfile._store import Store, check_evaluation, columns_of
from biaslens.schema import Question

Row = dict[str, Any]
Record = dict[str, list[Row]]
"""Rows by table, as dictionaries of their columns. Those of ``questions`` have the columns of role and mirror too."""

_PAGE = 1024

_QUESTION = [each.name for each in fields(Question) if each.name != "role"]

_BY_RESPONSE = (
    "verdicts", "votes", "screened", "thought_votes", "thought_verdicts", "sampled", "labels", "published",
)  # fmt: skip
_BY_KEY = ("answers", "other_answers", "failures")
_OF_RUN = ("panels", "ballots")


def question_row(question: Question) -> Row:
    """The row of a question as a record has it."""
    plain = {name: getattr(question, name) for name in _QUESTION}
    lists = {name: json.dumps(list(plain[name]), ensure_ascii=False) for name in ("options", "groups")}
    role = question.role
    who = {"attribute": role.attribute, "name": role.name, "persona": role.persona}
    return plain | lists | {"question_id": question.id} | who


def run_rows(store: Store) -> Record:
    """Rows that belong to no response: panels and ballots."""
    return {table: _dicts(store, f"SELECT * FROM {table} ORDER BY 1") for table in _OF_RUN}


def records(store: Store, condition: str) -> Iterator[Record]:
    """Everything about each planned response of a condition: by attribute, role, question and trial."""
    keys = store.column(
        "SELECT key FROM plan JOIN questions USING (question_id) JOIN roles USING (role_id) WHERE condition = ? "
        "ORDER BY attribute, name, kind, question_id, trial",
        condition,
    )
    by_response = [table for table in _BY_RESPONSE if store.has(table)]
    for start in range(0, len(keys), _PAGE):
        yield from _page(store, keys[start : start + _PAGE], by_response)


def _page(store: Store, keys: Sequence[str], by_response: Sequence[str]) -> Iterator[Record]:
    found: dict[str, Record] = {key: {} for key in keys}
    owner = {key: key for key in keys}  # of an answer, which may be one to a judge: the response that it is about

    def take(table: str, column: str, wanted: Iterable[str]) -> list[Row]:
        rows = _among(store, f"SELECT * FROM {table} WHERE {column}", wanted)
        for row in rows:
            found[owner[row[column]]].setdefault(table, []).append(row)
        return rows

    plan = take("plan", "key", keys)
    query = "SELECT * FROM questions JOIN roles USING (role_id) LEFT JOIN mirrors USING (question_id) WHERE question_id"
    questions = {row["question_id"]: row for row in _among(store, query, {row["question_id"] for row in plan})}
    for row in plan:
        found[row["key"]]["questions"] = [questions[row["question_id"]]]
    for table in by_response:
        for row in take(table, "response_key", keys):
            if table in ("votes", "thought_votes"):
                owner[row["key"]] = row["response_key"]
    again: Sequence[str] = keys
    while again:
        rows = take("retries", "key", again)
        owner |= {row["first"]: owner[row["key"]] for row in rows}
        again = [row["first"] for row in rows]
    for table in _BY_KEY:
        take(table, "key", owner)
    return iter(found.values())


def restore(store: Store, rows: Record, responses: Iterable[Record]) -> None:
    """Insert what `run_rows` and `records` gave, in one transaction; what is there already stays as it is.

    Raises `StorageError`, and writes nothing, when a value is none of its column's.
    """
    left = iter(responses)
    with store.transaction():
        _insert(store, rows)
        while page := list(islice(left, _PAGE)):
            _insert(store, _together(page))
        check_evaluation(store.connection, store.path)


def _together(page: Iterable[Record]) -> Record:
    joined: Record = {}
    for record in page:
        for table, rows in record.items():
            joined.setdefault(table, []).extend(rows)
    return joined


def _insert(store: Store, rows: Record) -> None:
    roles = {(row["attribute"], row["name"], row["persona"]) for row in rows.get("questions", ())}
    store.connection.executemany(
        "INSERT INTO roles (attribute, name, persona) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", sorted(roles)
    )
    ids = {tuple(role[1:]): role[0] for role in store.rows("SELECT role_id, attribute, name FROM roles")}
    questions = [row | {"role_id": ids[row["attribute"], row["name"]]} for row in rows.get("questions", ())]
    mirrors = [row for row in questions if row.get("mirror_of") is not None]
    ordered = {"questions": questions, "mirrors": mirrors, "plan": (), **dict.fromkeys(("panels", "ballots"), ())}
    for table in (*ordered, "retries", *_BY_RESPONSE, *_BY_KEY):
        given = ordered.get(table) or rows.get(table, ())
        if given:
            _insert_rows(store, table, given)


def _insert_rows(store: Store, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    columns = list(columns_of(TABLES + EVALUATION_TABLES + IMPORT_TABLES)[table])
    marks = ", ".join("?" * len(columns))
    values = [tuple(row.get(column) for column in columns) for row in rows]
    if table == "failures":  # which has no key: the same one may come again
        same = " AND ".join(f"{column} IS ?" for column in columns)
        query = f"INSERT INTO failures SELECT {marks} WHERE NOT EXISTS (SELECT 1 FROM failures WHERE {same})"
        store.connection.executemany(query, [(*row, *row) for row in values])
    else:
        store.connection.executemany(f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING", values)


def _among(store: Store, query: str, values: Iterable[str]) -> list[Row]:
    return _dicts(store, f"{query} IN (SELECT value FROM json_each(?)) ORDER BY 1, 2", json.dumps(list(values)))


def _dicts(store: Store, query: str, *values: object) -> list[Row]:
    cursor = store.connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
