"""How fast and how patiently to ask: limits per minute, a concurrency that gives way, retries, and when to stop."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aiolimiter import AsyncLimiter

from biaslens import errors
from biaslens.errors import ModelError, RunStoppedError
from biaslens.models.base import Completion, Message

if sys.platform != "win32":
    import resource

_CHARACTERS_PER_TOKEN = 4.0
_TOKEN_WINDOW = 6.0
_OTHER_FILES = 32
"""Files that may have to be opened while connections are: templates, the catalogue, the run file's readers."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient to be."""

    attempts: int = 8  #: most attempts at one request
    #: most attempts while nothing has been heard of the provider: a wrong address should not take minutes to show
    first_attempts: int = 3
    #: seconds: the wait grows from the first to the longest by doubling, with full jitter. What the provider asks for
    #: in Retry-After counts instead.
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_retry_after: float = 900.0  #: seconds: a provider that asks for more (a daily quota, say) is not waited for


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast and how patiently to ask."""

    concurrency: int = 16  #: most requests in flight; less where the model itself takes less
    #: the provider's limits; None for none
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)  #: how patient to be with one request
    failure_share: float = 0.2  #: the run stops when more than this share of the latest requests failed, in [0, 1]


class Patience:
    """What one run has learnt about waiting for its provider.

    Once `stop` is set nothing is retried and waits end at once; `waiting` is told the error and the seconds before each
    wait. `reached` says whether the provider has answered anything yet, `sleeping` how many requests wait now.
    """

    def __init__(
        self, policy: RetryPolicy, *, stop: asyncio.Event, waiting: Callable[[ModelError, float], None]
    ) -> None:
        self.reached = False
        self.sleeping = 0
        self._policy = policy
        self._stop = stop
        self._waiting = waiting

    def again(self, failed: Sequence[ModelError]) -> bool:
        """Whether a request is to be tried again, by what all its attempts failed with."""
        *earlier, error = failed
        if isinstance(error, errors.ReplyError):
            # A reply garbled twice in the same way will be garbled a third time.
            transient = str(error) not in map(str, earlier)
        else:
            transient = isinstance(error, errors.RateLimitError | errors.UnavailableError) and not self.too_long(error)
        policy = self._policy
        heard = self.reached or error.status is not None
        most = policy.attempts if heard else min(policy.attempts, policy.first_attempts)
        return transient and len(failed) < most

    def too_long(self, error: ModelError) -> bool:
        """Whether the provider asks for a longer wait than anyone sits through."""
        return (error.retry_after or 0.0) > self._policy.longest_retry_after

    async def wait(self, failed: Sequence[ModelError]) -> bool:
        """Wait before the next attempt; False where the run has been told to stop: the request counts as not asked."""
        if self._stop.is_set():
            return False
        asked = failed[-1].retry_after
        if asked is None:
            longest = min(self._policy.first_wait * 2.0 ** (len(failed) - 1), self._policy.longest_wait)
            seconds = random.uniform(0, longest)  # noqa: S311 - jitter, not a secret
        else:
            # All that were refused together must not come back together.
            seconds = asked + random.uniform(0, 0.1 * asked + 0.1)  # noqa: S311
        self._waiting(failed[-1], seconds)
        self.sleeping += 1
        try:
            await asyncio.wait_for(self._stop.wait(), timeout=seconds)
        except TimeoutError:
            return True
        finally:
            self.sleeping -= 1
        return False


class FailureGate:
    """Stops a run whose requests keep failing.

    It stops at once for a wrong key or a model that does not exist; after `first` failures while nothing has
    succeeded; and when more than `share` of the last `window` requests failed. HTTP 403 may be about the one prompt:
    it counts as any failure.
    """

    def __init__(self, model: str, *, share: float = 0.2, window: int = 100, first: int = 5) -> None:
        self._model = model
        self._share = share
        self._first = first
        self._recent: deque[bool] = deque(maxlen=window)
        self._succeeded = False

    def success(self) -> None:
        """Count a request that was answered."""
        self._succeeded = True
        self._recent.append(False)

    def failure(self, error: ModelError, *, too_long: bool = False) -> RunStoppedError | None:
        """Count a request that was given up on; the error that should end the run, or None to go on.

        `too_long` says that the provider asks for a longer wait than anyone sits through.
        """
        self._recent.append(True)
        failed, seen = sum(self._recent), len(self._recent)
        no_key = isinstance(error, errors.AuthenticationError) and error.status != 403
        if no_key or (isinstance(error, errors.RejectedError) and error.status == 404):
            return RunStoppedError(f"{error}; stopped, every answer so far is kept")
        if too_long:
            return RunStoppedError(
                f"{error}; the provider asks to wait {error.retry_after:.0f} s; stopped, every answer so far is kept; "
                "the same command goes on later"
            )
        if not self._succeeded and failed >= self._first:
            return RunStoppedError(
                f"{self._model}: all of the first {failed} requests failed, the last with: {error}; "
                "stopped; the same command tries again"
            )
        if self._succeeded and seen >= 4 * self._first and failed > self._share * seen:
            return RunStoppedError(
                f"{self._model}: {failed} of the last {seen} requests failed, the last with: {error}; "
                "stopped, every answer so far is kept; the same command asks only what is missing"
            )
        return None


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Rough number of prompt tokens, at four characters each: good enough for English to pace and to price by."""
    return 1 + int(sum(len(message.content) for message in messages) / _CHARACTERS_PER_TOKEN)


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
    """Requests and tokens per minute, spread evenly: no burst at the start of a minute."""

    def __init__(self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self._requests = None if requests_per_minute is None else _bucket(requests_per_minute, 1.0)
        self._tokens = None if tokens_per_minute is None else _bucket(tokens_per_minute, _TOKEN_WINDOW)
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
