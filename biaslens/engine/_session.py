"""One session at a run file: everything that asks a model does it through here."""

from __future__ import annotations

import asyncio
import platform
import shlex
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial, wraps
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Self, TypeVar, cast

from biaslens import __version__
from biaslens._util.text import Unfailing, printable, without_secrets
from biaslens.engine._asking import Asker, Hook, Observer, Price, Request, Row, Tally, in_thread
from biaslens.engine._pacing import Pace
from biaslens.errors import InputError
from biaslens.models import ChatModel, open_model
from biaslens.models.catalogue import price
from biaslens.models.endpoints import rate_limits
from biaslens.runfile import Store, WantedAnswers, forget_unanswered, stored_keys
from biaslens.settings import Settings, load_settings

if TYPE_CHECKING:
    from biaslens.engine._batching import Exchange
    from biaslens.models._batches import BatchClient

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the requests of a session came to; its clients add what they made of the replies."""

    answered: int
    failed: int
    interrupted: bool  #: whether it was told to stop
    cost: float  #: US dollars, as far as prices are known
    why_failed: str  #: what most of the requests that failed did so with; "" where none did


@dataclass(frozen=True, slots=True)
class Batching:
    """That a session asks in batches; what failed in them is asked directly `then_online`, else in the next batch."""

    then_online: bool = False

    @property
    def waiting(self) -> int:
        """None: a session waits for its batches itself."""
        return 0


Requests = Callable[[Store, Sequence[str]], Iterable[Request]]
"""Makes the requests of some keys, given the run file to read."""


class Session:
    """A run file that is open for writing, the models that are asked for it, and whoever watches.

    A client says which answers it wants, how each is asked for, and what follows from it. The session holds the lock,
    finds what is missing, asks within limits, stores, prices and counts, and stops cleanly: the first Ctrl-C waits for
    the answers in flight, a second one drops them.

    The `store` is not to be written to while `ask` is at work; nothing that the `observer` does wrong ends the session;
    `stop` is set once it is to ask nothing more. Through an `exchange` it asks by files, and not the models themselves.
    """

    store: Store

    def __init__(
        self,
        settings: Settings | None,
        observer: Observer | None,
        open_model: Callable[[str, Settings], ChatModel],
        exchange: Exchange | Batching | None = None,
    ) -> None:
        self.exchange = None if isinstance(exchange, Batching) else exchange
        self.batching = exchange if isinstance(exchange, Batching) else None
        self.settings = settings or load_settings()
        self.observer = cast(Observer, Unfailing(observer or Observer()))
        self.stop = asyncio.Event()
        self._open_model = open_model
        self._models: dict[str, ChatModel] = {}
        self._batch_clients: dict[str, BatchClient] = {}
        self._closing = AsyncExitStack()
        self.tally = Tally()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        open_store: Callable[[], AbstractContextManager[Store]],
        *,
        models: Iterable[str] = (),
        settings: Settings | None = None,
        observer: Observer | None = None,
        open_model: Callable[[str, Settings], ChatModel] = open_model,
        exchange: Exchange | Batching | None = None,
    ) -> AsyncIterator[Self]:
        """Open these models, then the run file: what is wrong with a name or a key leaves no file behind.

        Other models are opened when something is to be asked of them; none is where files are exchanged. With
        `Batching` models are asked in batches of their provider.
        """
        session = cls(settings, observer, open_model, exchange)
        async with session._closing as closing:
            closing.enter_context(_graceful_interrupt(session.stop, session.observer.interrupted))
            for name in models:
                if exchange is not None:
                    from biaslens.models._batches import require_batchable

                    require_batchable(name, session.settings)
                if session.exchange is not None and session.exchange.engine is not None:
                    session.exchange.engine.require(name)
                if session.exchange is None:
                    session.model(name)
                if session.batching is not None:
                    session.batch_client(name)
            session.store = closing.enter_context(open_store())
            yield session
            if session.exchange is not None:
                session.exchange.know(stored_keys(session.store, session.exchange.unknown()))

    def model(self, name: str) -> ChatModel:
        """Get a model of this session, opening it where it is not open yet."""
        if name not in self._models:
            self._models[name] = self._open_model(name, self.settings)
            self._closing.push_async_callback(self._models[name].close)
        return self._models[name]

    def batch_client(self, name: str) -> BatchClient:
        """Get what a model's batches go through; an InputError where its provider has none."""
        if name not in self._batch_clients:
            found = getattr(self.model(name), "batches", None)
            if found is None:
                raise InputError(f"{name}: is not asked in batches here; --batch-files writes files to submit yourself")
            self._batch_clients[name] = found()
            self._closing.push_async_callback(self._batch_clients[name].close)
        return self._batch_clients[name]

    def runtime(self, name: str) -> dict[str, str]:
        """What a model of this session runs on; nothing where files are exchanged with others."""
        if self.exchange is not None:
            return {} if self.exchange.engine is None else self.exchange.engine.runtime(name)
        return dict(self.model(name).runtime)

    def require(self, identity: Mapping[str, object], *, model: str, hint: str) -> None:
        """Refuse a run file of something else: of another model, other weights, or with another `identity`.

        One in which nothing was answered is freed before: a first session with a wrong name or key binds nobody.

        Raises `RunMismatchError`, naming the first thing that differs; `hint` says what to do.
        """
        forget_unanswered(self.store)
        weights = self.runtime(model).get("sha256")
        self.store.require_meta({"model": model, "weights": weights} | dict(identity), hint=hint)

    def record(self, facts: Mapping[str, object] | None = None) -> None:
        """Write facts about the run into its file, and add this session to those recorded there."""
        begun = datetime.now(UTC).isoformat(timespec="seconds")
        known = self.store.meta()
        start = {
            "at": begun,
            "package_version": __version__,
            "python": platform.python_version(),
            "command": this_command(),
            "runtime": {name: dict(model.runtime) for name, model in self._models.items()},
        }
        first = {} if "created_at" in known else {"created_at": begun}
        self.store.set_meta({**(facts or {}), **first, "starts": [*known.get("starts", []), start]})

    async def catch_up(self, hook: Hook) -> None:
        """Decide what an earlier session has stored and was killed before deciding."""

        def decide() -> None:
            decided = hook.decide(item for item in hook.left_over(self.store) if not self.stop.is_set())
            with self.store.transaction():
                hook.store(self.store, decided)

        await in_thread(decide)

    async def ask(
        self,
        model: str,
        keys: Collection[str],
        requests: Requests,
        *,
        pace: Pace | None = None,
        title: str | None = None,
        hook: Hook | None = None,
        enough: Callable[[], bool] = lambda: False,
    ) -> int:
        """Ask for the answers that the run file does not hold yet; how many are missing in the end.

        Through an exchange, take in those that have come, and write requests for the others.

        They are asked for in the order of the keys, an order as good as random: what an interrupted session has asked
        is a random sample. `requests` makes the requests of the keys that are missing, some at a time. Limits that the
        pace leaves open are those of the model's endpoint. The hook stores what follows from the answers, those of
        earlier sessions first. `enough` is asked before each request whether to leave the rest. The phase is called by
        its title, or by the model's name.

        Raises `RunStoppedError` when too much fails (every answer is kept); `StorageError` when the run file cannot be
        written.
        """
        if hook is not None:
            await self.catch_up(hook)
        with self.store.reader() as reader:
            wanted = WantedAnswers(reader, keys)
            missing = wanted.count_missing()
            self.observer.phase(title or model, total=wanted.size, done=wanted.size - missing)
            if not missing or self.stop.is_set():
                return missing
            if self.exchange is not None:
                await self._ask_by_files(self.exchange, model, reader, wanted, requests)
                if hook is not None:
                    await self.catch_up(hook)
                return wanted.count_missing()
            if self.batching is not None:
                await self._ask_in_batches(self.batching, model, reader, wanted, requests)
                if hook is not None:
                    await self.catch_up(hook)
                if not (self.batching.then_online and wanted.count_missing()) or self.stop.is_set():
                    return wanted.count_missing()
            asked = (request for part in wanted.missing() for request in requests(reader, part))
            asking = Asker(
                self.model(model),
                self.store,
                pace=pace_for(model, pace or Pace(), self.settings),
                price=_price_of(model, self.settings),
                hook=hook,
                observer=self.observer,
                stop=self.stop,
            )
            tally = await asking.ask_all(takewhile(lambda _: not enough(), asked))
            self._add(tally)
            return wanted.count_missing()

    async def _ask_by_files(
        self, exchange: Exchange, model: str, reader: Store, wanted: WantedAnswers, requests: Requests
    ) -> None:
        """Store the answers that have come, and write requests for those that are missing; an engine answers them."""
        for part in wanted.missing():
            self._take_in(exchange.take(part, model))
        due = (exchange.due(part) for part in wanted.missing())
        exchange.write(chain.from_iterable(requests(reader, part) for part in due if part), model, self.settings)
        if exchange.engine is None:
            return
        places = exchange.places(chain.from_iterable(wanted.missing()))
        async with aclosing(exchange.engine.answers(model, places)) as answers:
            async for rows in answers:
                exchange.settle(rows)
                self._take_in(rows)
                if self.stop.is_set():
                    return

    def _take_in(self, rows: Sequence[Row]) -> None:
        with self.store.transaction() as connection:
            self.store.save(connection, rows)
        self.store.sync()
        self.tally.count(rows)
        self.observer.update(self.tally, {})

    async def _ask_in_batches(
        self, batching: Batching, model: str, reader: Store, wanted: WantedAnswers, requests: Requests
    ) -> None:
        from biaslens.engine._batching import Batches

        asking = Batches(
            model,
            self.store,
            self.batch_client(model),
            settings=self.settings,
            observer=self.observer,
            stop=self.stop,
            price=_price_of(model, self.settings, batch=True),
            retry=not batching.then_online,
        )
        try:
            await asking.ask_all(wanted.missing, partial(requests, reader))
        finally:
            self._add(asking.tally)

    def _add(self, tally: Tally) -> None:
        self.tally.answered += tally.answered
        self.tally.failed += tally.failed
        self.tally.cost += tally.cost
        self.tally.reasons += tally.reasons

    def asked(self) -> dict[str, Any]:
        """Values of the fields of `Asked`."""
        known = {name: getattr(self.tally, name) for name in ("answered", "failed", "cost", "why_failed")}
        return known | {"interrupted": self.stop.is_set()}


def pace_for(model: str, pace: Pace, settings: Settings) -> Pace:
    """Fill the limits that a pace leaves open with those configured for the model's endpoint."""
    requests, tokens = rate_limits(model, settings)
    return replace(
        pace,
        requests_per_minute=pace.requests_per_minute or requests,
        tokens_per_minute=pace.tokens_per_minute or tokens,
    )


def _price_of(model: str, settings: Settings, *, batch: bool = False) -> Price:
    def dollars(prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        if prompt_tokens is None or completion_tokens is None:
            return None
        return price(model, prompt_tokens, completion_tokens, settings, batch=batch)

    return dollars


def this_command() -> str:
    """The command line of this process, as it can be typed again."""
    name = Path(sys.argv[0]).name
    program = "biaslens" if name == "__main__.py" else name
    return printable(str(without_secrets(shlex.join([program, *sys.argv[1:]]))))


def ordinary(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a function for ordinary code of an asynchronous one; a second Ctrl-C in it is a KeyboardInterrupt."""

    @wraps(work)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return asyncio.run(work(*arguments, **named))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    run.__name__ = run.__qualname__ = work.__name__.removesuffix("_async")
    return run


async def cancel_batch_async(model: str, batch_id: str, *, settings: Settings | None = None) -> str:
    """Cancel a batch at its provider; what the provider says of it now."""
    session = Session(settings, None, open_model)
    async with session._closing:
        return (await session.batch_client(model).cancel(batch_id)).status


cancel_batch = ordinary(cancel_batch_async)
"""Cancels a batch from ordinary code."""


_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _Interruptible(NamedTuple):
    """A task that can be told to stop."""

    stop: asyncio.Event
    notify: Callable[[], None]
    task: asyncio.Task[Any]


_interruptible: list[_Interruptible] = []
"""Tasks at work in the main thread's event loop: a signal is for all of them."""


@contextmanager
def _graceful_interrupt(stop: asyncio.Event, notify: Callable[[], None]) -> Iterator[None]:
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
