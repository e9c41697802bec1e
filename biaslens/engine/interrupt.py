"""Ctrl-C: the first one lets what is in flight arrive, the second one drops it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def graceful_interrupt(stop: asyncio.Event, notify: Callable[[], None]) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM and call `notify`; cancel the current task at the second.

    Answers in flight are paid for, so the first signal waits for them. Outside the main thread, and where the event
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
    try:
        for number in _SIGNALS:
            loop.add_signal_handler(number, interrupted)
    except NotImplementedError:
        yield
        return
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
