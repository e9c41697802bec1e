"""The ledger of provider batches: each step is written here before it is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from biaslens.runfile._store import Store

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
