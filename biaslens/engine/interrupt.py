"""Ctrl-C: the first one lets what is in flight arrive, the second one drops it; threads are always waited for."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def graceful_interrupt(stop: asyncio.Event, notify: Callable[[], None]) -> Iterator[None]:
    """Set `stop` at the first SIGINT, SIGTERM or SIGHUP and call `notify`; cancel the current task at the second.

    Answers in flight are paid for, so the first signal waits for them. A signal that is ignored (as ``nohup`` lets
    SIGHUP be) stays so. Outside the main thread, and where the event
    loop takes no signal handlers (Windows), signals keep their ordinary meaning.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupted() -> None:
        if stop.is_set():
            task.cancel()
        else:
            stop.set()
            notify()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    try:
        for number in handled:
            loop.add_signal_handler(number, interrupted)
    except NotImplementedError:
        yield
        return
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


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
