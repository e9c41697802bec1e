"""Signals, and threads that outlive a cancelled wait."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from biaslens.engine import in_thread
from biaslens.engine._session import _graceful_interrupt as graceful_interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_stops_and_the_second_cancels(number: signal.Signals):
    async def scenario() -> None:
        stop = asyncio.Event()
        with graceful_interrupt(stop, lambda: None):
            signal.raise_signal(number)
            await asyncio.wait_for(stop.wait(), 10)
            signal.raise_signal(number)
            await asyncio.sleep(10)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scenario())


def test_under_nohup_a_lost_terminal_stops_nothing():
    async def scenario() -> bool:
        stop = asyncio.Event()
        with graceful_interrupt(stop, lambda: None):
            signal.raise_signal(signal.SIGHUP)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return stop.is_set()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert not asyncio.run(scenario())
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_a_thread_works_on_stays_until_it_is_done_however_often_it_is_cancelled():
    begun, end, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert end.wait(10)
        done.set()

    async def scenario() -> None:
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(begun.wait)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done.is_set()

    asyncio.run(scenario())
