"""What a generation and an assessment ask for and make of the replies, and the ledger of provider batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from biaslens.runfile._store import Store


class GenerationRequest(NamedTuple):
    """A row of ``requests`` of a generation, without its batch and position; the columns say what each field means."""

    key: str
    round: int
    attribute: str
    role: str | None
    persona: str | None


class GeneratedItem(NamedTuple):
    """A row of ``items``; the columns say what each field means."""

    item: str
    key: str
    attribute: str
    role: str
    persona: str
    what: str


def last_batch(store: Store) -> tuple[int, set[str]]:
    """Number of the last batch, 0 where there is none, and keys of its requests without a reply."""
    last = store.value("SELECT coalesce(max(batch), 0) FROM requests")
    return last, set(
        store.column("SELECT key FROM requests WHERE batch = ? AND key NOT IN (SELECT key FROM answers)", last)
    )


def save_batch(store: Store, batch: int, requests: Iterable[GenerationRequest]) -> None:
    """Store a batch of requests in their order; those of an earlier batch move to this one."""
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, position = excluded.position",
            [(request.key, batch, position, *request[1:]) for position, request in enumerate(requests)],
        )


def replies(store: Store) -> Iterator[tuple[str, str, str | None, str | None, int, str, str]]:
    """Replies in the order of their requests: key, attribute, role, persona, batch, text and finish reason."""
    return store.connection.execute(
        "SELECT key, attribute, role, persona, batch, text, finish_reason "
        "FROM requests JOIN answers USING (key) ORDER BY batch, position"
    )


def save_items(store: Store, items: Iterable[GeneratedItem], faults: Iterable[tuple[str, str, str, str]]) -> None:
    """Write what was accepted, and what was not (key, rule, reason, text), in place of what was there."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM items")
        connection.execute("DELETE FROM faults")
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", items)
        connection.executemany("INSERT INTO faults VALUES (?, ?, ?, ?)", faults)


def provenance(store: Store, attributes: Sequence[str]) -> Iterator[Sequence[object]]:
    """Where each item of these attributes comes from: the names of the columns, then a row each."""
    marks = ", ".join("?" * len(attributes))
    cursor = store.connection.execute(
        f"SELECT * FROM provenance WHERE attribute IN ({marks}) ORDER BY attribute, role, what DESC, item",
        attributes,
    )
    yield [column[0] for column in cursor.description]
    yield from cursor


class WantedResponse(NamedTuple):
    """A row of ``requests`` of an assessment; the columns say what each field means."""

    key: str
    prompt_id: str
    attribute: str
    group: str
    series: str
    trial: int
    prompt: str


def save_wanted(store: Store, wanted: Iterable[WantedResponse]) -> None:
    """Write what an assessment wants, in place of what earlier sessions wanted."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM requests")
        connection.executemany("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", wanted)


def stored_responses(store: Store, *, chunk: int) -> Iterator[list[tuple[str, str, str, str, str, str, int, str]]]:
    """The responses of an assessment in the order of their prompts, some at a time.

    Prompt id, prompt, response, attribute, group, series, trial and finish reason.
    """
    cursor = store.connection.execute(
        'SELECT prompt_id, prompt, response, attribute, "group", series, trial, finish_reason FROM responses '
        'ORDER BY prompt_id, attribute, "group", series, trial'
    )
    return iter(lambda: cursor.fetchmany(chunk), [])


def stored_scores(store: Store, keys: Iterable[str]) -> dict[str, float | None]:
    """Scores of slow scorers by key, None for texts that cannot be scored; keys without a score are left out."""
    query = "SELECT key, score FROM scores WHERE key IN (SELECT value FROM json_each(?))"
    return dict(store.rows(query, json.dumps(list(keys))))


def save_scores(store: Store, rows: Iterable[tuple[str, str, float]]) -> None:
    """Commit scores: key, scorer and score, where NaN becomes NULL; those there already stay as they are."""
    with store.transaction() as connection:
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING", rows)


MADE, UPLOADED, SUBMITTING, SUBMITTED, COLLECTED = "made", "uploaded", "submitting", "submitted", "collected"
"""States of a batch, in their order."""


class BatchRow(NamedTuple):
    """A row of ``batches``; the columns say what each field means."""

    name: str
    model: str
    url: str
    sha256: str
    requests: int
    batch_id: str | None
    file_id: str | None
    state: str
    status: str | None
    made_at: str


def add_batch(store: Store, row: BatchRow, keys: Iterable[str]) -> None:
    """Write down that a batch of these requests is about to be sent off, and wait until that is on the disk."""
    with store.transaction() as connection:
        connection.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.executemany("INSERT INTO batch_requests VALUES (?, ?)", ((key, row.name) for key in keys))
    store.sync()


def note_batch(
    store: Store, name: str, state: str, *, file_id: str | None = None, batch_id: str | None = None, status: str = ""
) -> None:
    """Write down the state of a batch, and what is known since, and wait until that is on the disk."""
    with store.transaction() as connection:
        connection.execute(
            "UPDATE batches SET state = ?, file_id = coalesce(?, file_id), batch_id = coalesce(?, batch_id), "
            "status = coalesce(nullif(?, ''), status) WHERE name = ?",
            (state, file_id, batch_id, status, name),
        )
    store.sync()


def forget_unsent(store: Store, model: str) -> None:
    """Remove the batches of a model that were never submitted, nor about to be."""
    with store.transaction() as connection:
        gone = "(SELECT name FROM batches WHERE model = ? AND state = 'made')"
        connection.execute(f"DELETE FROM batch_requests WHERE name IN {gone}", (model,))
        connection.execute(f"DELETE FROM batches WHERE name IN {gone}", (model,))


def batches(store: Store, model: str | None = None, *, collected: bool = True) -> list[BatchRow]:
    """Batches in the order in which they were made: of a model, or all; with those that are done, or without."""
    if not store.has("batches"):
        return []
    rows = store.rows(
        "SELECT * FROM batches WHERE (? IS NULL OR model = ?) AND (? OR state <> 'collected') ORDER BY made_at, name",
        model, model, collected,
    )  # fmt: skip
    return [BatchRow(*row) for row in rows]


def batch_keys(store: Store, name: str) -> list[str]:
    """Keys of the requests in a batch."""
    return store.column("SELECT key FROM batch_requests WHERE name = ?", name)


def keys_out(store: Store, keys: Sequence[str]) -> set[str]:
    """Those of the keys that are in a batch whose answers are not collected yet."""
    marks = ", ".join("?" * len(keys))
    query = f"SELECT key FROM batch_requests JOIN batches USING (name) WHERE state <> 'collected' AND key IN ({marks})"
    return set(store.column(query, *keys))
