"""Commits answers in groups, so that safety on disk costs little and the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence

from biaslens.engine.store import Answer, Failure, Store

Row = Answer | Failure

Settle = Callable[[sqlite3.Connection, Sequence[Answer]], None]
"""Called inside the transaction that stores answers, to store with them what follows from them."""

_MOST_PENDING = 512
_GROUP_SECONDS = 0.02


class Writer:
    """The one writer of a run file.

    Rows that arrive within a fiftieth of a second, or while a commit is under way, share a commit; `saved` hears of a
    row only after it is on disk.

    Parameters
    ----------
    store
        The run file, open for writing.
    settle
        See `Settle`.
    saved
        Called in the event loop with the rows of each finished commit.
    """

    def __init__(self, store: Store, *, settle: Settle | None, saved: Callable[[Sequence[Row]], None]) -> None:
        self._store = store
        self._settle = settle
        self._saved = saved
        # A deque, because the loop appends while the committing thread takes: both ends are atomic.
        self._pending: deque[Row] = deque()
        self._some = asyncio.Event()
        self._space = asyncio.Event()
        self._space.set()
        self._committing = threading.Lock()
        self._closing = False

    async def put(self, row: Row) -> None:
        """Hand over a row; waits only when the disk is far behind."""
        self._pending.append(row)
        self._some.set()
        if len(self._pending) >= _MOST_PENDING:
            self._space.clear()
            await self._space.wait()

    def close(self) -> None:
        """Let `run` return once everything put so far is committed."""
        self._closing = True
        self._some.set()

    async def run(self) -> None:
        """Commit until closed.

        Raises
        ------
        StorageError
            When a commit fails; nothing of that commit is stored, everything before it is.
        """
        while self._pending or not self._closing:
            await self._some.wait()
            if not self._closing:
                await asyncio.sleep(_GROUP_SECONDS)
            self._some.clear()
            batch = await asyncio.to_thread(self.flush)
            self._space.set()
            self._saved(batch)

    def flush(self) -> Sequence[Row]:
        """Commit what is pending, after any commit that another thread has begun; the rows committed."""
        with self._committing:
            batch: list[Row] = []
            while self._pending:
                batch.append(self._pending.popleft())
            if batch:
                with self._store.transaction() as connection:
                    self._store.save(connection, batch)
                    answers = [row for row in batch if isinstance(row, Answer)]
                    if answers and self._settle is not None:
                        self._settle(connection, answers)
            return batch
