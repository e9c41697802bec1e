"""A session of batches may end between any two of its steps: nothing is submitted twice, and nothing paid is lost.

The steps are what is written into the ledger and what the provider is asked; a crash leaves one done or not begun.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from batch_server import PROVIDERS, BatchProvider
from fake_server import FakeServer, answer

from biaslens.engine import Batching, Request, Session, _batching
from biaslens.models import Message, Params, together
from biaslens.models._batches import OpenAIBatches, SdkBatches
from biaslens.models.mistral import _MistralBatches
from biaslens.runfile import Store
from biaslens.settings import Settings, load_settings

RUN = Path("run.sqlite")


class Crash(BaseException):
    """As far as anything here is concerned, the process is gone."""


class Steps:
    """Counts steps; the process ends after the step of this number, which is before the next one."""

    def __init__(self) -> None:
        self.crash_at: float = float("inf")
        self.count = 0

    def step(self) -> None:
        self.count += 1
        if self.count == self.crash_at:
            raise Crash

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(function):

            @wraps(function)
            async def lines(*arguments: Any) -> AsyncIterator[str]:
                async for line in function(*arguments):
                    yield line
                self.step()

            return lines
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def asking(*arguments: Any, **named: Any) -> Any:
                found = await function(*arguments, **named)
                self.step()
                return found

            return asking

        @wraps(function)
        def writing(*arguments: Any, **named: Any) -> Any:
            found = function(*arguments, **named)
            self.step()
            return found

        return writing


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    steps = Steps()
    for owner in (SdkBatches, OpenAIBatches, _MistralBatches, together._TogetherBatches):
        for name in {"upload", "submit", "find", "status", "lines"} & vars(owner).keys():
            monkeypatch.setattr(owner, name, steps.around(vars(owner)[name]))
        monkeypatch.setattr(owner, "most_lines", 4)
    for name in ("add_batch", "note_batch", "forget_unsent"):
        monkeypatch.setattr(_batching.runfile, name, steps.around(getattr(_batching.runfile, name)))
    monkeypatch.setattr(Store, "save", staticmethod(steps.around(Store.save)))
    monkeypatch.setattr(_batching, "_LOOK_AGAIN", 0)
    return steps


def session(provider: BatchProvider, settings: Settings, keys: Sequence[str]) -> int:
    def requests(_: Store, missing: Sequence[str]) -> Iterable[Request]:
        return (Request(key, (Message("user", f"Say {key}"),), Params(max_tokens=9)) for key in missing)

    async def ask() -> int:
        opened = Session.open(
            lambda: Store(RUN, write=True), models=[provider.model], settings=settings, exchange=Batching()
        )
        async with opened as one:
            one.require({"purpose": "test"}, model=provider.model, hint="")
            return await one.ask(provider.model, keys, requests)

    return asyncio.run(ask())


def crashing(steps: Steps, provider: BatchProvider, keys: Sequence[str], *moments: float) -> int:
    """Sessions that crash at these steps of theirs, and one that does not; how many did."""
    with FakeServer(provider, keep_log=False) as server:
        address = {f"{provider.setting.lower()}_base_url": server.base_url}
        settings = load_settings(**address, keys={f"{provider.setting}_API_KEY": "test"})  # type: ignore[arg-type]
        crashed = 0
        for steps.crash_at in (*moments, float("inf")):
            steps.count = 0
            try:
                assert session(provider, settings, keys) == 0
            except Crash:
                crashed += 1
        return crashed


def stored() -> dict[str, str]:
    with closing(Store(RUN)) as store:
        return dict(store.rows("SELECT key, text FROM answers"))


def provider_of(dialect: type[BatchProvider]) -> BatchProvider:
    return dialect(lambda request: answer(f"You said: {request.prompt}"))


def expires_first(number: int, lines: list[str]) -> tuple[str, list[str], list[str]]:
    """Nothing comes of the first batch: its requests go out again, as a file of the same bytes."""
    return ("completed", lines, []) if number > 1 else ("expired", [], [])


@pytest.mark.parametrize("dialect", PROVIDERS, ids=lambda dialect: dialect.setting.lower())
def test_a_crash_at_every_step(dialect: type[BatchProvider], steps: Steps) -> None:
    keys = ["k1", "k2"]
    crashing(steps, provider_of(dialect), keys)
    undisturbed = steps.count
    assert undisturbed > 10
    for moment in range(1, undisturbed + 1):
        for file in Path().glob("run.sqlite*"):
            file.unlink()
        provider = provider_of(dialect)
        assert crashing(steps, provider, keys, moment) == 1
        assert (provider.submitted, stored()) == (Counter(keys), {key: f"You said: Say {key}" for key in keys})


@pytest.mark.parametrize("dialect", PROVIDERS, ids=lambda dialect: dialect.setting.lower())
def test_a_crash_while_what_expired_is_sent_again(dialect: type[BatchProvider], steps: Steps) -> None:
    keys = ["k1", "k2"]
    crashing(steps, provider_of(dialect), keys)
    once = steps.count
    for moment in range(once, 2 * once - 2, 2):
        for file in Path().glob("run.sqlite*"):
            file.unlink()
        provider = provider_of(dialect)
        provider.spoil = expires_first
        assert crashing(steps, provider, keys, moment) == 1
        assert (len(provider.batches), len(stored())) == (2, 2)


@pytest.mark.parametrize("dialect", PROVIDERS, ids=lambda dialect: dialect.setting.lower())
def test_fifty_crashes_at_random_steps(dialect: type[BatchProvider], steps: Steps) -> None:
    chance = random.Random(20)
    keys = [f"k{number}" for number in range(80)]
    provider = provider_of(dialect)
    moments = [chance.randint(1, 11) for _ in range(50)]
    assert crashing(steps, provider, keys, *moments) == 50
    assert (provider.submitted, stored().keys()) == (Counter(keys), set(keys))
