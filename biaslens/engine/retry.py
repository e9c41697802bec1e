"""When to ask again after a failure, and how long to wait first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from biaslens.errors import ModelError, RateLimitError, ReplyError, UnavailableError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient to be.

    Parameters
    ----------
    attempts
        Most attempts at one request.
    first_attempts
        Most attempts while nothing has been heard of the provider: a wrong address should not take minutes to show.
    first_wait, longest_wait
        Seconds: the wait grows from the first to the longest by doubling, with full jitter. What the provider asks
        for in Retry-After counts instead.
    longest_retry_after
        Seconds: a provider that asks for more (a daily quota, say) is not waited for.
    """

    attempts: int = 8
    first_attempts: int = 3
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_retry_after: float = 900.0


class Interrupted(Exception):  # noqa: N818 - no error: the run was told to stop while a request waited
    """A wait was cut short because the run stops; the request counts as not asked."""


class Patience:
    """What one run has learnt about waiting for its provider; makes a fresh tenacity policy for each request.

    Parameters
    ----------
    policy
        The limits.
    stop
        Once set, nothing is retried and waits end at once.
    waiting
        Called with the error and the seconds before each wait.

    Attributes
    ----------
    reached
        Whether the provider has answered anything yet.
    sleeping
        Requests that wait now.
    """

    def __init__(
        self, policy: RetryPolicy, *, stop: asyncio.Event, waiting: Callable[[ModelError, float], None]
    ) -> None:
        self.policy = policy
        self.reached = False
        self.sleeping = 0
        self._stop = stop
        self._waiting = waiting
        self._backoff = wait_random_exponential(multiplier=policy.first_wait, max=policy.longest_wait)

    def retrying(self) -> AsyncRetrying:
        """Policy for one request: call it with the attempt and its arguments. The last error is raised as it is."""
        garbled: list[str] = []

        def again(state: RetryCallState) -> bool:
            error = _error(state)
            if isinstance(error, ReplyError):
                # A reply garbled twice in the same way will be garbled a third time.
                same = str(error) in garbled
                garbled.append(str(error))
                return not same and not self._stop.is_set()
            transient = isinstance(error, RateLimitError | UnavailableError)
            return transient and not self._stop.is_set() and not self.too_long(cast(ModelError, error))

        return AsyncRetrying(
            retry=again, stop=self._enough, wait=self._wait, before_sleep=self._tell, sleep=self._sleep, reraise=True
        )

    def too_long(self, error: ModelError) -> bool:
        """Whether the provider asks for a longer wait than anyone sits through."""
        return (error.retry_after or 0.0) > self.policy.longest_retry_after

    def _enough(self, state: RetryCallState) -> bool:
        heard = self.reached or cast(ModelError, _error(state)).status is not None
        most = self.policy.attempts if heard else min(self.policy.attempts, self.policy.first_attempts)
        return state.attempt_number >= most

    def _wait(self, state: RetryCallState) -> float:
        asked = cast(ModelError, _error(state)).retry_after
        if asked is None:
            return self._backoff(state)
        # All that were refused together must not come back together.
        return asked + random.uniform(0, 0.1 * asked + 0.1)  # noqa: S311 - jitter, not a secret

    def _tell(self, state: RetryCallState) -> None:
        assert state.next_action is not None
        self._waiting(cast(ModelError, _error(state)), state.next_action.sleep)

    async def _sleep(self, seconds: float) -> None:
        self.sleeping += 1
        try:
            await asyncio.wait_for(self._stop.wait(), timeout=seconds)
        except TimeoutError:
            return
        finally:
            self.sleeping -= 1
        raise Interrupted


def _error(state: RetryCallState) -> BaseException | None:
    assert state.outcome is not None
    return state.outcome.exception()
