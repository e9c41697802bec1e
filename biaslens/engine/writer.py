"""Commits answers in groups, so that safety on disk costs little and the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from biaslens.engine.store import Answer, Failure, Store, storage_errors

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
        self._pending: list[Row] = []
        self._some = asyncio.Event()
        self._space = asyncio.Event()
        self._space.set()
        self._committing: asyncio.Future[None] | None = None
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
            await self.flush()

    async def flush(self) -> None:
        """Commit what is pending, after a commit that is under way (also one whose waiter was cancelled)."""
        if self._committing is not None:
            await self._committing
        batch, self._pending = self._pending, []
        self._space.set()
        if batch:
            self._stage(batch)
            # Only the wait for the disk is another thread's: it holds no interpreter lock, so the loop runs on.
            loop = asyncio.get_running_loop()
            self._committing = loop.run_in_executor(None, self._store.commit)
            await asyncio.shield(self._committing)
            self._committing = None
            self._saved(batch)

    def _stage(self, batch: Sequence[Row]) -> None:
        self._store.begin()
        try:
            with storage_errors(self._store.path):
                self._store.save(self._store.connection, batch)
                answers = [row for row in batch if isinstance(row, Answer)]
                if answers and self._settle is not None:
                    self._settle(self._store.connection, answers)
        except BaseException:
            self._store.roll_back()
            raise
