"""How fast to ask: the provider's limits per minute, and a concurrency that gives way when it says "too fast"."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from aiolimiter import AsyncLimiter

from biaslens.models.base import Completion, Message

if sys.platform != "win32":
    import resource

CHARACTERS_PER_TOKEN = 4.0
"""Rule of thumb for English text, good enough to pace requests and to estimate a price beforehand."""

_TOKEN_WINDOW = 6.0

_OTHER_FILES = 32
"""Files that may have to be opened while connections are: templates, the catalogue, the run file's readers."""

_log = logging.getLogger(__name__)


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Rough number of prompt tokens, from the number of characters."""
    return 1 + int(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)


def fitting(concurrency: int) -> int:
    """As many requests at once, up to `concurrency`, as this process may open connections for.

    The limit on open files is raised as far as it may be. Where that is too little, half of what is left is taken,
    since connections of another model may have to be opened beside these, and a warning says so.
    """
    if sys.platform == "win32":
        return concurrency
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = len(list(Path("/dev/fd").iterdir())) + _OTHER_FILES
    wanted = taken + 2 * concurrency
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return concurrency
    most = max(1, min(concurrency, (soft - taken) // 2))
    if most < concurrency:
        _log.warning(
            "%d requests at once do not fit the limit of %d open files (ulimit -n): asking %d at once",
            concurrency, soft, most,
        )  # fmt: skip
    return most


class RateLimits:
    """Requests and tokens per minute, spread evenly: no burst at the start of a minute.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute
        The provider's limits; None for none.
    """

    def __init__(self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None
        if requests_per_minute is not None:
            self._requests = _bucket(requests_per_minute, 1.0)
        if tokens_per_minute is not None:
            self._tokens = _bucket(tokens_per_minute, _TOKEN_WINDOW)
        self._completion_tokens = 50.0

    async def acquire(self, messages: Sequence[Message]) -> None:
        """Wait until one more request may be sent."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None:
            left = estimate_tokens(messages) + self._completion_tokens
            while left > 0:
                part = min(left, self._tokens.max_rate)
                await self._tokens.acquire(part)
                left -= part

    def learn(self, completion: Completion) -> None:
        """Adapt the expected length of an answer to the answers seen."""
        if completion.completion_tokens is not None:
            self._completion_tokens += 0.05 * (completion.completion_tokens - self._completion_tokens)


def _bucket(per_minute: float, seconds: float) -> AsyncLimiter:
    """A bucket that holds what may pass in so many seconds, or else one: it could let nothing through if it held less.

    One that held a whole minute's would let twice the limit through in the first minute.
    """
    seconds = max(seconds, 60 / per_minute)
    return AsyncLimiter(max(1.0, per_minute * seconds / 60), seconds)


class Gate:
    """How many requests may be in flight: halved when the provider says "too fast", regained one by one.

    Additive increase, multiplicative decrease (Chiu & Jain 1989): one more request in flight for each full round of
    successes, half as many at a refusal. Refusals of requests that were already in flight at the last cut do not cut
    again: they tell of the same moment.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._entered = 0
        self._cut_at = 0

    async def __aenter__(self) -> Self:
        if self.active >= int(self.limit):
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                # A place granted in the same instant must pass on, or it would be lost for good.
                if place.done() and not place.cancelled():
                    self.active -= 1
                    self._admit()
                raise
        else:
            self.active += 1
        self._entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.active -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.active < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.active += 1
                place.set_result(None)

    @property
    def ticket(self) -> int:
        """Serial number of the last request let in; `too_fast` takes it to tell old refusals from new ones."""
        return self._entered

    def too_fast(self, ticket: int) -> None:
        """Halve the concurrency, unless the request `ticket` entered before the last cut."""
        if ticket > self._cut_at:
            self.limit = max(1.0, self.limit / 2)
            self._cut_at = self._entered

    def succeeded(self) -> None:
        """Regain some concurrency."""
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)
            self._admit()
