"""Ask one model many things: bounded, paced, retried, accounted; every answer committed before it is shown."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, ParamSpec, Protocol, TypeVar

from biaslens.engine._pacing import FailureGate, Gate, Pace, Patience, RateLimits, fitting
from biaslens.errors import ModelError, RateLimitError, RunStoppedError, StorageError
from biaslens.models import thoughts
from biaslens.models.base import ChatModel, Message, Params
from biaslens.runfile import Answer, Failure, Store
from biaslens.schema import Outcome

P = ParamSpec("P")
T = TypeVar("T")

_CHECKPOINT_SECONDS = 30
_MOST_UNDECIDED = 512
_EARLY = 24
"""Answers of a session after which it can be told that a model spends its limit of tokens on thinking."""
_MANY = 0.1
"""Share of answers that are cut with which somebody should know."""

Row = Answer | Failure


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to ask, and the content hash that its answer is stored under: one key is one request."""

    key: str
    messages: tuple[Message, ...]
    params: Params


@dataclass(slots=True)
class Tally:
    """What asking came to."""

    #: requests whose answer is stored, and requests given up on
    answered: int = 0
    failed: int = 0
    cost: float = 0.0  #: US dollars, as far as prices are known
    waiting: int = 0  #: requests that wait now, for a limit per minute or for another attempt
    cut: int = 0  #: answers that reached their limit of tokens
    reasons: Counter[str] = field(default_factory=Counter)  #: what requests given up on failed with

    def count(self, rows: Sequence[Row]) -> None:
        """Add answers and failures that are stored."""
        for row in rows:
            if isinstance(row, Answer):
                self.answered += 1
                self.cost += row.price or 0.0
                self.cut += row.finish_reason == thoughts.CUT
            else:
                self.failed += 1
                self.reasons[row.message] += 1

    @property
    def why_failed(self) -> str:
        """What most of the requests given up on failed with, and how many; "" where none failed.

        >>> Tally(reasons=Counter({"HTTP 400": 2, "HTTP 403": 1})).why_failed
        '2 of 3 failures: HTTP 400'
        """
        most = self.reasons.most_common(1)
        return "".join(f"{number} of {self.reasons.total()} failures: {text}" for text, number in most)


class Observer:
    """Watches a session; this one shows nothing. A subclass whose terminal goes away ends no run."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """A phase begins: `done` of its `total` requests were answered by earlier sessions."""

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """More of the phase is on disk: what was asked, and the outcomes of what was decided; both go on changing."""

    def spent(self, model: str, tally: Tally) -> None:
        """Many of the model's first answers reached their limit of tokens; said once."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """A request waits `seconds` before it is tried again."""

    def interrupted(self) -> None:
        """The session was told to stop and waits for what is in flight."""


class Hook(Protocol):
    """Stores what follows from answers once they are stored: a verdict, a vote.

    A process may be killed between an answer and what follows from it: the next session catches up.
    """

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How many answers of this session came to each outcome."""

    def left_over(self, store: Store) -> Iterable[Any]:
        """Read, in a thread, what an earlier session has stored and not decided."""

    def look_up(self, store: Store, answers: Sequence[Answer]) -> Iterable[Any]:
        """Read from the run file what is needed to decide the answers."""

    def decide(self, found: Iterable[Any]) -> Any:  # noqa: ANN401 - between the methods alone
        """Decide what was read; called in a thread, where it must not touch the run file."""

    def store(self, store: Store, decided: Any) -> None:  # noqa: ANN401
        """Store what `decide` returned, in a transaction."""


Price = Callable[[int | None, int | None], float | None]
"""US dollars of an answer by its prompt and completion tokens; None where they are not known."""


async def in_thread(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function in a thread and wait until it has returned, also when cancelled meanwhile.

    A thread cannot be stopped: what it works on must not be closed under it.
    """
    work = asyncio.get_running_loop().run_in_executor(None, partial(function, *arguments, **named))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # the cancellation comes first
        raise


class _Writer:
    """The one writer of a run file.

    A row is committed as it is put, which survives a killed process. The disk is waited for in a thread, for all rows
    that arrived meanwhile at once, together with their decisions; `saved` is called in the event loop with rows that
    would survive a power cut, and are decided. Once something cannot be stored or decided, `stop` is set: no more is to
    be asked, and what still arrives is kept as far as possible.
    """

    def __init__(
        self, store: Store, *, hook: Hook | None, saved: Callable[[Sequence[Row]], None], stop: asyncio.Event
    ) -> None:
        self._store = store
        self._hook = hook
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
                    await self._decide(batch)
                except Exception as error:
                    self._fail(error)

    def finish(self) -> None:
        """Try once more to store what could not be; raises what storing or deciding failed with."""
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

    async def _decide(self, batch: Sequence[Row]) -> None:
        answers = [row for row in batch if isinstance(row, Answer)]
        hook = self._hook if answers else None
        found = () if hook is None else hook.look_up(self._store, answers)
        decided = await in_thread(self._sync_and_decide, hook, found)
        if hook is not None:
            with self._store.transaction():
                hook.store(self._store, decided)
        self._saved(batch)

    def _sync_and_decide(self, hook: Hook | None, found: Iterable[Any]) -> object:
        self._store.sync()
        return None if hook is None else hook.decide(found)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._stop.set()


class Asker:
    """Asks one model many things, and stores the answers: the state that the workers of one `ask_all` share."""

    def __init__(
        self,
        model: ChatModel,
        store: Store,
        *,
        pace: Pace,
        price: Price,
        hook: Hook | None,
        observer: Observer,
        stop: asyncio.Event,
    ) -> None:
        self.tally = Tally()
        self._model = model
        self._store = store
        self._requests: Iterator[Request] = iter(())
        self._price = price
        self._hook = hook
        self._observer = observer
        self._stop = stop
        self._gate = Gate(fitting(min(pace.concurrency, model.max_concurrency or pace.concurrency)))
        self._limits = RateLimits(pace.requests_per_minute, pace.tokens_per_minute)
        self._patience = Patience(pace.retry, stop=stop, waiting=observer.waiting)
        self._failures = FailureGate(model.name, share=pace.failure_share)
        self._limited = 0
        self._warned = False
        self._verdict: RunStoppedError | None = None

    async def ask_all(self, requests: Iterable[Request]) -> Tally:
        """Ask every request once and store every answer; what `Session.ask` is made of.

        Requests are taken one by one as there is room to ask them, so a plan of any length costs no memory. An answer
        is committed before the observer hears of it. Once `stop` is set nothing new is asked; requests in flight are
        waited for, since they are paid for. It is also set here when the run must stop.

        Raises `RunStoppedError` when too much fails, the key is wrong, or the model does not exist (everything answered
        is stored); `StorageError` when the run file cannot be written any more, or is not where it was.
        """
        self._requests = iter(requests)
        writer = _Writer(self._store, hook=self._hook, saved=self._saved, stop=self._stop)
        try:
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(_watch(self._store, self._stop))
                group.create_task(writer.run())
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self._gate.most):
                        workers.create_task(self._work(writer.put))
                writer.close()
                watch.cancel()
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            if not self._store.in_place:
                raise StorageError(
                    f"{self._store.path}: deleted or moved while it was written; stopped, everything answered is in "
                    f"{self._store.rescue()}: give it the old name and start again"
                )
            writer.finish()
        if self._verdict is not None:
            raise self._verdict
        return self.tally

    def _saved(self, rows: Sequence[Row]) -> None:
        self.tally.count(rows)
        self.tally.waiting = self._limited + self._patience.sleeping
        if not self._warned and self.tally.answered >= _EARLY and self.tally.cut >= _MANY * self.tally.answered:
            self._warned = True
            self._observer.spent(self._model.name, self.tally)
        self._observer.update(self.tally, {} if self._hook is None else self._hook.outcomes)

    async def _work(self, put: Callable[[Row], Awaitable[None]]) -> None:
        """Take requests until there are none left, or until told to stop."""
        while not self._stop.is_set():
            request = next(self._requests, None)
            if request is None:
                return
            row = await self._ask(request)
            if row is not None:
                await put(row)

    async def _ask(self, request: Request) -> Row | None:
        """The answer or the failure of a request; None where the run was told to stop while it waited."""
        errors: list[ModelError] = []
        while True:
            try:
                answer = await self._attempt(request, len(errors) + 1)
            except ModelError as error:
                errors.append(error)
            else:
                self._patience.reached = True
                self._failures.success()
                return answer
            if not self._patience.again(errors):
                return self._give_up(request, errors)
            if not await self._patience.wait(errors):
                return None

    async def _attempt(self, request: Request, attempt: int) -> Answer:
        self._limited += 1
        try:
            await self._limits.acquire(request.messages)
        finally:
            self._limited -= 1
        async with self._gate:
            ticket = self._gate.ticket
            begun = time.perf_counter()
            try:
                completion = await self._model.complete(request.messages, request.params)
            except RateLimitError:
                self._gate.too_fast(ticket)
                raise
            latency = time.perf_counter() - begun
            self._gate.succeeded()
        self._limits.learn(completion)
        return Answer(
            key=request.key,
            model=self._model.name,
            text=completion.text,
            finish_reason=completion.finish_reason,
            resolved_model=completion.model,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            price=self._price(completion.prompt_tokens, completion.completion_tokens),
            latency=latency,
            attempts=attempt,
            answered_at=now(),
            thought=completion.thought or None,
            reasoning_tokens=completion.reasoning_tokens,
        )

    def _give_up(self, request: Request, errors: Sequence[ModelError]) -> Failure:
        error = errors[-1]
        stopped = self._failures.failure(error, too_long=self._patience.too_long(error))
        if stopped is not None:
            self._verdict = self._verdict or stopped
            self._stop.set()
        return Failure(
            key=request.key,
            model=self._model.name,
            error=type(error).__name__,
            message=str(error),
            status=error.status,
            attempts=len(errors),
            failed_at=now(),
        )


def now() -> str:
    """The time in UTC, as run files write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def _watch(store: Store, stop: asyncio.Event) -> None:
    """Notice within seconds that the file is gone, and keep it, without its log, no more than half a minute behind."""
    for second in count():
        if not store.in_place:
            stop.set()
        elif second % _CHECKPOINT_SECONDS == 0:
            # What keeps the log from moving now, a full disk say, is the writer's to meet and to tell.
            with suppress(StorageError):
                store.checkpoint()
        await asyncio.sleep(1)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
