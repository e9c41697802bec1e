"""Pacing: limits per minute, and a concurrency that gives way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from biaslens.engine._pacing import Gate, RateLimits, estimate_tokens
from biaslens.models import Completion, Message

SHORT = (Message("user", "x" * 38),)


def test_tokens_are_counted_at_four_characters_each():
    assert estimate_tokens(SHORT) == 1 + 9  # 38 / 4 = 9.5, rounded down


class InstantLoop(asyncio.SelectorEventLoop):
    """An event loop in which every wait is over at once, and its clock shows that it took as long as it should."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        wait = self._selector.select

        def select(timeout: float | None) -> Any:
            self._now += timeout or 0.0
            return wait(0)

        self._selector.select = select

    def time(self) -> float:
        return self._now


def seconds(work: Coroutine[Any, Any, None]) -> float:
    """How long work takes by the clock of its event loop."""

    async def timed() -> float:
        await work
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        return runner.run(timed())


def test_requests_are_spread_evenly_over_the_minute():
    async def ask_sixteen() -> None:
        limits = RateLimits(requests_per_minute=600)  # 10 a second
        for _ in range(16):
            await limits.acquire(SHORT)

    # The bucket holds 10 requests; the other 6 wait a tenth of a second each.
    assert seconds(ask_sixteen()) == pytest.approx(0.6, abs=0.01)


@given(st.floats(0.1, 100_000) | st.integers(1, 100_000))
@example(55)
def test_every_limit_lets_a_first_request_through_and_keeps_its_pace(per_minute: float):
    limits = RateLimits(requests_per_minute=per_minute, tokens_per_minute=per_minute)
    assert limits._requests is not None
    assert limits._tokens is not None
    asyncio.run(limits._requests.acquire())
    for bucket in (limits._requests, limits._tokens):
        assert bucket.max_rate >= 1
        assert bucket.max_rate * 60 / bucket.time_period == pytest.approx(per_minute)


def test_a_prompt_larger_than_the_window_waits_instead_of_failing():
    async def ask() -> None:
        limits = RateLimits(tokens_per_minute=6000)  # 600 in a window of 6 s, 100 a second
        await limits.acquire((Message("user", "x" * 4 * 599),))  # 600 tokens and 50 expected ones

    assert seconds(ask()) == pytest.approx(0.5, abs=0.01)  # 50 of 650 do not fit: 50 / 100 s


def test_the_expected_answer_follows_the_answers_seen():
    limits = RateLimits(tokens_per_minute=6000)
    for _ in range(200):
        limits.learn(Completion("", "stop", "m", 1, 400))
    assert limits._completion_tokens == pytest.approx(400, abs=1)


def test_refusals_of_one_moment_cut_the_concurrency_once():
    async def scenario() -> float:
        gate = Gate(16)
        tickets = []
        for _ in range(8):
            await gate.__aenter__()
            tickets.append(gate.ticket)
        for ticket in tickets:
            gate.too_fast(ticket)
        return gate.limit

    assert asyncio.run(scenario()) == 8.0


def test_concurrency_is_regained_by_one_a_round_of_successes():
    gate = Gate(16)
    gate.limit = 4.0
    for _ in range(4):
        gate.succeeded()
    # 4 + 1/4 = 4.25; + 1/4.25 = 4.485; + 1/4.485 = 4.708; + 1/4.708 = 4.921
    assert gate.limit == pytest.approx(4.921, abs=0.001)


def test_a_cancelled_wait_does_not_lose_its_place():
    async def scenario() -> int:
        gate = Gate(1)
        await gate.__aenter__()
        waiter = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0)
        gate.active -= 1
        gate._admit()  # the place is granted,
        waiter.cancel()  # and in the same instant its taker is cancelled
        with pytest.raises(asyncio.CancelledError):
            await waiter
        return gate.active

    assert asyncio.run(scenario()) == 0


@given(st.lists(st.sampled_from(["succeed", "refuse"]), max_size=60), st.integers(1, 8))
def test_never_more_in_flight_than_the_limit_and_never_stuck(events: list[str], most: int):
    async def scenario() -> None:
        gate = Gate(most)

        async def one(event: str) -> None:
            async with gate:
                assert gate.active <= most
                ticket = gate.ticket
                await asyncio.sleep(0)
                if event == "succeed":
                    gate.succeeded()
                else:
                    gate.too_fast(ticket)
                assert 1 <= gate.limit <= most

        async with asyncio.timeout(5):
            await asyncio.gather(*map(one, events))
        assert gate.active == 0

    asyncio.run(scenario())
