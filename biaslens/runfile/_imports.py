"""The published study's release in a run file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from biaslens.runfile._store import Store


class PublishedAnswer(NamedTuple):
    """A planned response, its answer, and what the study took it for."""

    question_id: str
    condition: str
    trial: int
    answer: str | None
    final: str | None


def imported_files(store: Store) -> dict[str, str]:
    """Answers files that are in this run file, with their SHA-256."""
    return dict(store.connection.execute("SELECT file, sha256 FROM imported").fetchall())


def import_faults(store: Store) -> tuple[str, ...]:
    """What could not be read of the files, in the order of their names."""
    rows = store.connection.execute("SELECT faults FROM imported ORDER BY file")
    return tuple(fault for (text,) in rows for fault in json.loads(text))


def save_imported(store: Store, file: str, *, sha256: str, rows: int, faults: Sequence[str]) -> None:
    """Record that a file is in this run file, within the transaction that wrote its rows."""
    store.connection.execute(
        "INSERT INTO imported VALUES (?, ?, ?, ?)", (file, sha256, rows, json.dumps(faults, ensure_ascii=False))
    )


def save_published(store: Store, finals: Iterable[tuple[str, str]], *, replace: bool = False) -> None:
    """Store what the study took answers for, by key, within a transaction."""
    conflict = "DO UPDATE SET final = excluded.final" if replace else "DO NOTHING"
    store.connection.executemany(f"INSERT INTO published VALUES (?, ?) ON CONFLICT (response_key) {conflict}", finals)


def published_answers(store: Store) -> Iterator[PublishedAnswer]:
    """Every planned response, in the order of the keys."""
    rows = store.connection.execute(
        "SELECT plan.question_id, plan.condition, plan.trial, answers.text, published.final "
        "FROM plan LEFT JOIN answers USING (key) LEFT JOIN published ON published.response_key = plan.key "
        "ORDER BY plan.key"
    )
    return (PublishedAnswer(*row) for row in rows)
