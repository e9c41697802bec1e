"""Ask one model many things: bounded, paced, retried, accounted, and never the same thing twice."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Protocol

from biaslens.engine.failures import FailureGate
from biaslens.engine.limits import Gate, RateLimits, fitting
from biaslens.engine.retry import Interrupted, Patience, RetryPolicy
from biaslens.engine.writer import Row, Settler, Writer
from biaslens.errors import ModelError, RateLimitError, RunStoppedError, StorageError
from biaslens.models.base import ChatModel, Message, Params
from biaslens.runfile import Answer, Failure, Store

_CHECKPOINT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to ask.

    Parameters
    ----------
    key
        Content hash under which the answer is stored: two requests with one key are one request.
    messages, params
        What is sent.
    """

    key: str
    messages: tuple[Message, ...]
    params: Params


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and how patiently to ask.

    Parameters
    ----------
    concurrency
        Most requests in flight; less where the model itself takes less.
    requests_per_minute, tokens_per_minute
        The provider's limits; None for none.
    retry
        How patient to be with one request.
    failure_share
        The run stops when more than this share of the latest requests failed, in [0, 1].
    """

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    failure_share: float = 0.2


@dataclass(slots=True)
class Tally:
    """What asking came to.

    Parameters
    ----------
    answered, failed
        Requests whose answer is stored, and requests given up on.
    cost
        US dollars, as far as prices are known.
    waiting
        Requests that wait now, for a limit per minute or for another attempt.
    reasons
        What requests given up on failed with.
    """

    answered: int = 0
    failed: int = 0
    cost: float = 0.0
    waiting: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def most_frequent_reason(tallies: Iterable[Tally]) -> str:
    """What most of the requests given up on failed with, and how many; "" where none failed.

    Examples
    --------
    >>> most_frequent_reason([Tally(reasons=Counter({"HTTP 400": 2})), Tally(reasons=Counter({"HTTP 403": 1}))])
    '2 of 3 failures: HTTP 400'
    """
    reasons = sum((tally.reasons for tally in tallies), Counter[str]())
    return "".join(f"{number} of {reasons.total()} failures: {text}" for text, number in reasons.most_common(1))


Price = Callable[[int | None, int | None], float | None]
"""US dollars of an answer by its prompt and completion tokens; None where they are not known."""


class Progress(Protocol):
    """Hears what happens while asking."""

    def saved(self, tally: Tally) -> None:
        """More answers or failures are on disk; `tally` is the state so far, and goes on changing."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """A request waits `seconds` before it is tried again."""


class Silent:
    """Progress that nobody watches."""

    def saved(self, tally: Tally) -> None:
        """Ignore."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Ignore."""


class _Unfailing:
    """Progress whose reader may go away: a closed terminal or pipe ends no run."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def saved(self, tally: Tally) -> None:
        with suppress(OSError, ValueError):
            self._progress.saved(tally)

    def waiting(self, error: ModelError, seconds: float) -> None:
        with suppress(OSError, ValueError):
            self._progress.waiting(error, seconds)


class _Asker:
    """The state that the workers of one `ask_all` share."""

    def __init__(
        self,
        model: ChatModel,
        requests: Iterator[Request],
        *,
        pace: Pace,
        price: Price,
        progress: Progress,
        stop: asyncio.Event,
    ) -> None:
        self.model = model
        self.requests = requests
        self.price = price
        self.stop = stop
        self.gate = Gate(fitting(min(pace.concurrency, model.max_concurrency or pace.concurrency)))
        self.limits = RateLimits(pace.requests_per_minute, pace.tokens_per_minute)
        self.patience = Patience(pace.retry, stop=stop, waiting=progress.waiting)
        self.failures = FailureGate(model.name, share=pace.failure_share)
        self.progress = progress
        self.limited = 0
        self.tally = Tally()
        self.verdict: RunStoppedError | None = None

    def saved(self, rows: Sequence[Row]) -> None:
        """Count rows that are on disk."""
        for row in rows:
            if isinstance(row, Answer):
                self.tally.answered += 1
                self.tally.cost += row.price or 0.0
            else:
                self.tally.failed += 1
                self.tally.reasons[row.message] += 1
        self.tally.waiting = self.limited + self.patience.sleeping
        self.progress.saved(self.tally)

    async def work(self, put: Callable[[Row], Awaitable[None]]) -> None:
        """Take requests until there are none left, or until told to stop."""
        while not self.stop.is_set():
            request = next(self.requests, None)
            if request is None:
                return
            row = await self._ask(request)
            if row is not None:
                await put(row)

    async def _ask(self, request: Request) -> Row | None:
        attempts = count(1)
        try:
            answer = await self._attempt(request, attempts)
        except ModelError as error:
            return await self._ask_again(request, attempts, error)
        return self._answered(answer)

    async def _ask_again(self, request: Request, attempts: Iterator[int], error: ModelError) -> Row | None:
        """Hand a request over to tenacity once it has failed: its bookkeeping would slow down every request."""
        failed = [error]

        async def attempt() -> Answer:
            if failed:
                raise failed.pop()
            return await self._attempt(request, attempts)

        try:
            answer: Answer = await self.patience.retrying()(attempt)
        except Interrupted:
            return None
        except ModelError as last:
            return self._give_up(request, last, next(attempts) - 1)
        return self._answered(answer)

    def _answered(self, answer: Answer) -> Answer:
        self.patience.reached = True
        self.failures.success()
        return answer

    async def _attempt(self, request: Request, attempts: Iterator[int]) -> Answer:
        self.limited += 1
        try:
            await self.limits.acquire(request.messages)
        finally:
            self.limited -= 1
        async with self.gate:
            ticket, attempt = self.gate.ticket, next(attempts)
            begun = time.perf_counter()
            try:
                completion = await self.model.complete(request.messages, request.params)
            except RateLimitError:
                self.gate.too_fast(ticket)
                raise
            latency = time.perf_counter() - begun
            self.gate.succeeded()
        self.limits.learn(completion)
        return Answer(
            key=request.key,
            model=self.model.name,
            text=completion.text,
            finish_reason=completion.finish_reason,
            resolved_model=completion.model,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            price=self.price(completion.prompt_tokens, completion.completion_tokens),
            latency=latency,
            attempts=attempt,
            answered_at=_now(),
        )

    def _give_up(self, request: Request, error: ModelError, attempts: int) -> Failure:
        stopped = self.failures.failure(error, too_long=self.patience.too_long(error))
        if stopped is not None:
            self.verdict = self.verdict or stopped
            self.stop.set()
        return Failure(
            key=request.key,
            model=self.model.name,
            error=type(error).__name__,
            message=str(error),
            status=error.status,
            attempts=attempts,
            failed_at=_now(),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


async def ask_all(
    requests: Iterable[Request],
    *,
    model: ChatModel,
    store: Store,
    pace: Pace,
    price: Price = lambda prompt_tokens, completion_tokens: None,
    settler: Settler | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> Tally:
    """Ask every request once and store every answer.

    Requests are taken one by one as there is room to ask them, so a plan of any length costs no memory. An answer is
    committed before `progress` hears of it.

    Parameters
    ----------
    requests
        What to ask. The caller leaves out what the store already answers.
    model, store
        Whom to ask, and the run file, open for writing.
    pace
        Limits, retries and the failure gate.
    price
        US dollars of an answer by its prompt and completion tokens, None where not known.
    settler
        Decides answers once they are stored.
    progress
        Hears of answers, failures and waits.
    stop
        Once set, nothing new is asked; requests in flight are waited for, since they are paid for. Set by this
        function when the run must stop.

    Returns
    -------
    Tally
        What it came to; a request whose every attempt failed is counted and stored as a failure.

    Raises
    ------
    RunStoppedError
        When too much fails, the key is wrong, or the model does not exist. Everything answered is stored.
    StorageError
        When the run file cannot be written any more, or is not where it was.
    """
    progress = _Unfailing(progress or Silent())
    stop = stop or asyncio.Event()
    asker = _Asker(model, iter(requests), pace=pace, price=price, progress=progress, stop=stop)
    writer = Writer(store, settler=settler, saved=asker.saved, stop=stop)
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_watch(store, stop))
            group.create_task(writer.run())
            async with asyncio.TaskGroup() as workers:
                for _ in range(asker.gate.most):
                    workers.create_task(asker.work(writer.put))
            writer.close()
            watch.cancel()
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    finally:
        if not store.in_place:
            raise StorageError(
                f"{store.path}: deleted or moved while it was written; stopped, everything answered is in "
                f"{store.rescue()}: give it the old name and start again"
            )
        writer.finish()
    if asker.verdict is not None:
        raise asker.verdict
    return asker.tally


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
