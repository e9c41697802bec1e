"""The requests, replies and items of a benchmark that a model writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from biaslens.runfile._plan import has_answers
from biaslens.runfile._store import Store


class GenerationRequest(NamedTuple):
    """A row of ``requests`` without its batch and position; the columns say what each field means."""

    key: str
    round: int
    attribute: str
    role: str | None
    persona: str | None
    kind: str | None


class GenerationReply(NamedTuple):
    """A stored reply and what it replies to."""

    key: str
    attribute: str
    role: str | None
    persona: str | None
    kind: str | None
    round: int
    text: str
    finish_reason: str


class GeneratedItem(NamedTuple):
    """A row of ``items``; the columns say what each field means."""

    item: str
    key: str
    attribute: str
    role: str
    persona: str
    kind: str | None
    text: str | None
    options: str | None


def last_batch(store: Store) -> tuple[int, set[str]]:
    """Number of the last batch, 0 where there is none, and keys of its requests without a reply."""
    last = store.connection.execute("SELECT coalesce(max(batch), 0) FROM requests").fetchone()[0]
    rows = store.connection.execute(
        "SELECT key FROM requests WHERE batch = ? AND key NOT IN (SELECT key FROM answers)", (last,)
    )
    return last, {key for (key,) in rows}


def save_batch(store: Store, batch: int, requests: Iterable[GenerationRequest]) -> None:
    """Store a batch of requests in their order; those of an earlier batch move to this one."""
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, position = excluded.position",
            [(request.key, batch, position, *request[1:]) for position, request in enumerate(requests)],
        )


def forget_unanswered_requests(store: Store) -> None:
    """Free the file where nothing was answered: a first start with a wrong name or key binds nobody."""
    with store.transaction() as connection:
        if not has_answers(store):
            connection.execute("DELETE FROM requests")
            connection.execute("DELETE FROM failures")


def replies(store: Store) -> Iterator[GenerationReply]:
    """All replies in the order of their requests."""
    rows = store.connection.execute(
        "SELECT key, attribute, role, persona, kind, round, text, finish_reason "
        "FROM requests JOIN answers USING (key) ORDER BY batch, position"
    )
    return (GenerationReply(*row) for row in rows)


def save_items(store: Store, items: Iterable[GeneratedItem], faults: Iterable[tuple[str, str, str, str]]) -> None:
    """Write what was accepted, and what was not (key, rule, reason, text), in place of what was there."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM items")
        connection.execute("DELETE FROM faults")
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", items)
        connection.executemany("INSERT INTO faults VALUES (?, ?, ?, ?)", faults)


def provenance(store: Store, attributes: Sequence[str]) -> Iterator[Sequence[object]]:
    """Where each item of these attributes comes from: the names of the columns, then a row each."""
    marks = ", ".join("?" * len(attributes))
    cursor = store.connection.execute(
        f"SELECT * FROM provenance WHERE attribute IN ({marks}) ORDER BY attribute, role, kind, item", attributes
    )
    yield [column[0] for column in cursor.description]
    yield from cursor
