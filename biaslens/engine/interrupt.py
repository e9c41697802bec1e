"""Ctrl-C: the first one lets what is in flight arrive, the second one drops it; threads are always waited for."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Interruptible(NamedTuple):
    """A task that can be told to stop."""

    stop: asyncio.Event
    notify: Callable[[], None]
    task: asyncio.Task[Any]


_interruptible: list[_Interruptible] = []
"""Tasks at work in the main thread's event loop: a signal is for all of them."""


@contextmanager
def graceful_interrupt(stop: asyncio.Event, notify: Callable[[], None]) -> Iterator[None]:
    """Set `stop` at the first SIGINT, SIGTERM or SIGHUP and call `notify`; cancel the current task at the second.

    Answers in flight are paid for, so the first signal waits for them. Tasks side by side are stopped by one signal,
    and one of them is notified. A signal that is ignored (as ``nohup`` lets SIGHUP be) stays so. Outside the main
    thread, and where the event loop takes no signal handlers (Windows), signals keep their ordinary meaning.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    try:
        for number in handled:
            loop.add_signal_handler(number, _interrupted)
    except NotImplementedError:
        yield
        return
    this = _Interruptible(stop, notify, task)
    _interruptible.append(this)
    try:
        yield
    finally:
        _interruptible.remove(this)
        if not _interruptible:
            for number in handled:
                loop.remove_signal_handler(number)


def _interrupted() -> None:
    working = [one for one in _interruptible if not one.stop.is_set()]
    if working:
        for one in working:
            one.stop.set()
        working[0].notify()
    else:
        for one in _interruptible:
            one.task.cancel()


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
