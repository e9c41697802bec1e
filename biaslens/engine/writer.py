"""Puts every answer on disk the moment it arrives, and then decides it, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from biaslens.engine.interrupt import in_thread
from biaslens.errors import StorageError
from biaslens.runfile import Answer, Failure, Store

Row = Answer | Failure

_MOST_UNDECIDED = 512


class Settler(Protocol):
    """Stores what follows from answers that are stored: a verdict, a vote.

    A process may be killed between an answer and what follows from it: whoever starts it again catches up.
    """

    def look_up(self, store: Store, answers: Sequence[Answer]) -> Any:  # noqa: ANN401
        """Read from the run file what is needed to decide the answers."""

    def decide(self, found: Any) -> Any:  # noqa: ANN401 - between the three methods alone
        """Decide what `look_up` found; called in a thread, where it must not touch the run file."""

    def store(self, store: Store, decided: Any) -> None:  # noqa: ANN401
        """Store what `decide` returned, in a transaction."""


class Writer:
    """The one writer of a run file.

    A row is committed as it is put, which survives a killed process. The disk is waited for in a thread, for all rows
    that arrived meanwhile at once, together with their decisions; `saved` hears of a row after that.

    Parameters
    ----------
    store
        The run file, open for writing.
    settler
        Decides the answers; None where nothing follows from them.
    saved
        Called in the event loop with rows that would survive a power cut, and are decided.
    stop
        Set when something cannot be stored or decided: no more is to be asked. What still arrives is kept as far as
        possible.
    """

    def __init__(
        self, store: Store, *, settler: Settler | None, saved: Callable[[Sequence[Row]], None], stop: asyncio.Event
    ) -> None:
        self._store = store
        self._settler = settler
        self._saved = saved
        self._stop = stop
        self._kept: list[Row] = []
        self._lost: list[Row] = []
        self._some = asyncio.Event()
        self._space = asyncio.Event()
        self._space.set()
        self._closing = False
        self._error: Exception | None = None

    async def put(self, row: Row) -> None:
        """Commit a row; waits only when decisions are far behind."""
        try:
            self._store.keep(row)
        except StorageError as error:
            self._lost.append(row)
            self._fail(error)
            return
        self._kept.append(row)
        self._some.set()
        if len(self._kept) >= _MOST_UNDECIDED:
            self._space.clear()
            await self._space.wait()

    def close(self) -> None:
        """Let `run` return once everything put so far is decided."""
        self._closing = True
        self._some.set()

    async def run(self) -> None:
        """Decide what is put, until closed. Faults are kept for `finish`: answers go on arriving."""
        while self._kept or not self._closing:
            await self._some.wait()
            self._some.clear()
            batch, self._kept = self._kept, []
            self._space.set()
            if batch and self._error is None:
                try:
                    await self._settle(batch)
                except Exception as error:
                    self._fail(error)

    def finish(self) -> None:
        """Try once more to store what could not be.

        Raises
        ------
        StorageError
            When something could not be stored; all the rest is.
        Exception
            Whatever a decision failed with; the answers are stored.
        """
        if self._error is None:
            return
        lost = [row for row in self._lost if not self._kept_now(row)]
        answers = sum(isinstance(row, Answer) for row in lost)
        if answers:
            raise StorageError(f"{self._error}; {answers} that arrived could not be stored") from self._error
        raise self._error

    def _kept_now(self, row: Row) -> bool:
        try:
            self._store.keep(row)
        except StorageError:
            return False
        return True

    async def _settle(self, batch: Sequence[Row]) -> None:
        answers = [row for row in batch if isinstance(row, Answer)]
        settler = self._settler if answers else None
        found = None if settler is None else settler.look_up(self._store, answers)
        decided = await in_thread(self._sync_and_decide, settler, found)
        if settler is not None:
            with self._store.transaction():
                settler.store(self._store, decided)
        self._saved(batch)

    def _sync_and_decide(self, settler: Settler | None, found: object) -> object:
        self._store.sync()
        return None if settler is None else settler.decide(found)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._stop.set()
