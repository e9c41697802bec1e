"""Asking many things: everything is answered once, stored once, and a stop loses nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from biaslens.engine import Observer, Pace, Request, RetryPolicy, Session, Tally
from biaslens.errors import (
    AuthenticationError,
    ModelError,
    RateLimitError,
    RejectedError,
    ReplyError,
    RunStoppedError,
    StorageError,
    UnavailableError,
)
from biaslens.models import Completion, Message, Params
from biaslens.runfile import Store
from biaslens.schema import Outcome

FAST = Pace(concurrency=4, retry=RetryPolicy(attempts=4, first_attempts=2, first_wait=0.01, longest_wait=0.02))


class Scripted:
    """A model that fails as told: the script maps the number of a call to an error or an answer."""

    name = "test/scripted"
    runtime: dict[str, str] = {}
    max_concurrency = None

    def __init__(self, script: Callable[[int], Exception | str]) -> None:
        self.script = script
        self.calls = 0
        self.in_flight = 0
        self.most_in_flight = 0

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        self.calls += 1
        call = self.calls
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0.001)
        self.in_flight -= 1
        result = self.script(call)
        if isinstance(result, Exception):
            raise result
        return Completion(result, "stop", "scripted-1", 10, 2)

    async def close(self) -> None: ...


def request(key: str) -> Request:
    return Request(key, (Message("user", f"question {key}"),), Params())


async def ask(
    store: Store, model: Scripted, n: int, *, pace: Pace = FAST, stop: asyncio.Event | None = None,
    observer: Observer | None = None, make: Callable[[str], Request] = request, **options,
) -> Tally:  # fmt: skip
    keys = [f"key{number:06}" for number in range(n)]
    async with Session.open(lambda: nullcontext(store), observer=observer, open_model=lambda *_: model) as session:
        session.stop = stop or session.stop
        await session.ask(model.name, keys, lambda reader, part: map(make, part), pace=pace, **options)
        return session.tally


def run(path: Path, model: Scripted, n: int, **options) -> Tally:
    with Store(path, write=True) as store:
        return asyncio.run(ask(store, model, n, **options))


def stored(path: Path) -> tuple[int, int]:
    with Store(path) as store:
        counts = [store.connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("answers", "failures")]
    return counts[0], counts[1]


def test_every_request_is_answered_and_stored_once(tmp_path: Path):
    model = Scripted(lambda call: "No.")
    tally = run(tmp_path / "r.sqlite", model, 100)
    assert (tally.answered, tally.failed, model.calls) == (100, 0, 100)
    assert stored(tmp_path / "r.sqlite") == (100, 0)
    assert model.most_in_flight == 4


def test_requests_are_taken_only_as_there_is_room(tmp_path: Path):
    taken = 0

    def make(key: str) -> Request:
        nonlocal taken
        taken += 1
        assert taken <= model.calls + 4
        return request(key)

    model = Scripted(lambda call: "No.")
    run(tmp_path / "r.sqlite", model, 1000, make=make)
    assert taken == 1000


@pytest.mark.parametrize(
    "error", [RateLimitError("429", status=429), UnavailableError("503", status=503), ReplyError("garbled")]
)
def test_a_passing_fault_is_retried(tmp_path: Path, error: ModelError):
    model = Scripted(lambda call: error if call == 1 else "No.")
    tally = run(tmp_path / "r.sqlite", model, 3)
    assert (tally.answered, tally.failed, model.calls) == (3, 0, 4)
    with Store(tmp_path / "r.sqlite") as store:
        assert sorted(n for (n,) in store.connection.execute("SELECT attempts FROM answers")) == [1, 1, 2]


def test_a_rejected_request_is_not_retried_and_stored_as_failed(tmp_path: Path):
    model = Scripted(lambda call: RejectedError("too long", status=400) if call == 1 else "No.")
    tally = run(tmp_path / "r.sqlite", model, 3)
    assert (tally.answered, tally.failed, model.calls) == (2, 1, 3)
    assert stored(tmp_path / "r.sqlite") == (2, 1)


def test_the_same_garbled_reply_is_not_asked_for_a_third_time(tmp_path: Path):
    model = Scripted(lambda call: ReplyError("not JSON"))
    run(tmp_path / "r.sqlite", model, 1)
    assert model.calls == 2


def test_attempts_are_capped(tmp_path: Path):
    model = Scripted(lambda call: UnavailableError("503", status=503))
    tally = run(tmp_path / "r.sqlite", model, 1)
    assert (tally.failed, model.calls) == (1, 4)


def test_an_address_that_never_answered_gets_less_patience(tmp_path: Path):
    model = Scripted(lambda call: UnavailableError("connection refused"))
    run(tmp_path / "r.sqlite", model, 1)
    assert model.calls == 2


def test_one_attempt_is_one_also_at_an_address_that_never_answered(tmp_path: Path):
    model = Scripted(lambda call: UnavailableError("connection refused"))
    run(tmp_path / "r.sqlite", model, 1, pace=Pace(retry=RetryPolicy(attempts=1)))
    assert model.calls == 1


def test_retry_after_is_obeyed(tmp_path: Path):
    waits = []

    class Watch(Observer):
        def waiting(self, error, seconds):
            waits.append(seconds)

    model = Scripted(lambda call: RateLimitError("429", status=429, retry_after=0.2) if call == 1 else "No.")
    run(tmp_path / "r.sqlite", model, 1, observer=Watch())
    assert 0.2 <= waits[0] <= 0.2 + 0.1 * 0.2 + 0.1


def test_a_wrong_key_stops_the_run_and_keeps_what_is_answered(tmp_path: Path):
    model = Scripted(lambda call: "No." if call <= 10 else AuthenticationError("the key is wrong", status=401))
    with pytest.raises(RunStoppedError, match="the key is wrong"):
        run(tmp_path / "r.sqlite", model, 1000)
    assert stored(tmp_path / "r.sqlite")[0] == 10
    assert model.calls <= 10 + 4


def test_too_many_failures_stop_the_run(tmp_path: Path):
    model = Scripted(lambda call: RejectedError("no", status=400) if call > 50 and call % 2 else "No.")
    with pytest.raises(RunStoppedError, match=r"of the last \d+ requests failed"):
        run(tmp_path / "r.sqlite", model, 1000)
    assert model.calls < 200


def test_a_429_storm_shrinks_the_concurrency(tmp_path: Path):
    # The server takes two at once and refuses the rest.
    model = Scripted(lambda call: RateLimitError("429", status=429) if model.in_flight >= 2 else "No.")
    pace = Pace(concurrency=16, retry=RetryPolicy(attempts=50, first_wait=0.01, longest_wait=0.02))
    tally = run(tmp_path / "r.sqlite", model, 200, pace=pace)
    assert tally.answered == 200
    # Without a shrinking concurrency 14 of every 16 calls would be refused: 1,600 calls.
    assert model.calls < 600


def test_progress_says_how_many_wait_on_limits(tmp_path: Path):
    seen = []

    class Watch(Observer):
        def update(self, tally, outcomes):
            seen.append(tally.waiting)

    pace = Pace(concurrency=4, requests_per_minute=600, retry=FAST.retry)  # 10 at once, then 10 a second
    run(tmp_path / "r.sqlite", Scripted(lambda call: "No."), 20, pace=pace, observer=Watch())
    # Four workers; while one request is in flight or just answered, the others wait for the limit.
    assert 3 <= max(seen) <= 4


def test_a_stop_waits_for_what_is_in_flight_and_asks_nothing_new(tmp_path: Path):
    async def scenario() -> tuple[int, int]:
        stop = asyncio.Event()
        model = Scripted(lambda call: stop.set() or "No.")  # type: ignore[func-returns-value]
        with Store(tmp_path / "r.sqlite", write=True) as store:
            tally = await ask(store, model, 100, stop=stop)
        return tally.answered, model.calls

    answered, calls = asyncio.run(scenario())
    assert answered == calls == 4


def test_a_stop_ends_waits(tmp_path: Path):
    async def scenario() -> int:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, stop.set)
        model = Scripted(lambda call: RateLimitError("429", status=429, retry_after=600))
        with Store(tmp_path / "r.sqlite", write=True) as store:
            async with asyncio.timeout(5):
                tally = await ask(store, model, 100, stop=stop)
        return tally.failed

    assert asyncio.run(scenario()) == 0
    assert stored(tmp_path / "r.sqlite") == (0, 0)


def test_cancelling_keeps_what_has_arrived(tmp_path: Path):
    async def scenario() -> int:
        model = Scripted(lambda call: "No.")
        with Store(tmp_path / "r.sqlite", write=True) as store:
            asking = asyncio.create_task(ask(store, model, 100_000))
            while model.calls < 100:
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        return model.calls - 4  # the last four were in flight

    answered = asyncio.run(scenario())
    assert stored(tmp_path / "r.sqlite")[0] >= answered > 50


def test_progress_hears_of_rows_only_when_they_are_on_disk(tmp_path: Path):
    path = tmp_path / "r.sqlite"

    class Watch(Observer):
        def update(self, tally, outcomes):
            assert stored(path)[0] >= tally.answered

    run(path, Scripted(lambda call: "No."), 50, observer=Watch())


def test_a_full_disk_stops_with_what_to_do_and_keeps_what_is_stored(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    with Store(path, write=True) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 40}")
        with pytest.raises(StorageError, match="free some space"):
            asyncio.run(ask(store, Scripted(lambda call: "x" * 200), 5000))
    there = stored(path)[0]
    assert there > 0
    model = Scripted(lambda call: "No.")
    assert run(path, model, 5000).answered == 5000 - there


class Failing:
    """A hook with a fault."""

    outcomes: Mapping[Outcome, int] = {}

    def left_over(self, store):
        return []

    def look_up(self, store, answers):
        return answers

    def decide(self, found):
        if list(found):
            raise RuntimeError("a fault in the oracle")

    def store(self, store, decided): ...


def test_a_fault_in_deciding_costs_no_answer(tmp_path: Path):
    model = Scripted(lambda call: "No.")
    with pytest.raises(RuntimeError, match="a fault in the oracle"):
        run(tmp_path / "r.sqlite", model, 1000, hook=Failing())
    assert stored(tmp_path / "r.sqlite")[0] == model.calls < 1000


def test_an_answer_is_on_disk_before_anything_decides_it_and_the_loop_runs_on(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    model = Scripted(lambda call: "No.")

    class Slow(Failing):
        def decide(self, found):
            end = time.monotonic() + 60
            while list(found) and stored(path)[0] < 100:  # the other answers arrive while the first one is decided
                assert time.monotonic() < end
            return found

    assert run(path, model, 100, hook=Slow()).answered == 100


def test_progress_that_cannot_be_shown_ends_nothing(tmp_path: Path):
    class Gone(Observer):
        def update(self, tally, outcomes):
            raise BrokenPipeError

        def waiting(self, error, seconds):
            raise ValueError("I/O operation on closed file")

    model = Scripted(lambda call: RateLimitError("429", status=429) if call == 1 else "No.")
    assert run(tmp_path / "r.sqlite", model, 50, observer=Gone()).answered == 50


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_run_file_that_goes_away_stops_the_run_and_is_kept_beside(tmp_path: Path, how: str):
    path = tmp_path / "r.sqlite"

    def script(call: int) -> str:
        if call == 20 and how == "deleted":
            path.unlink()
        elif call == 20:
            path.rename(tmp_path / "elsewhere.sqlite")
        return "No."

    model = Scripted(script)
    slow = Pace(concurrency=4, requests_per_minute=600)
    with pytest.raises(StorageError, match=r"deleted or moved .* everything answered is in .*r\.rescued\.sqlite"):
        run(path, model, 1000, pace=slow)
    assert stored(tmp_path / "r.rescued.sqlite")[0] == model.calls < 100


def test_a_first_commit_that_fails_is_the_last_question(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    model = Scripted(lambda call: "x" * 200)
    with Store(path, write=True) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 40}")
        with pytest.raises(StorageError, match=r"\d that arrived could not be stored"):
            asyncio.run(ask(store, model, 5000))
    assert model.calls - stored(path)[0] <= 4  # what was in flight


def test_what_could_not_be_stored_is_tried_again_at_the_end(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    with Store(path, write=True) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages + 40}")

        class Roomy(Scripted):
            async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
                completion = await super().complete(messages, params)
                if self.full:
                    store.connection.execute("PRAGMA max_page_count = 100000")
                return completion

            full = False

        class Noticing(asyncio.Event):
            def set(self) -> None:
                model.full = True
                super().set()

        model = Roomy(lambda call: "x" * 200)
        stop = Noticing()
        with pytest.raises(StorageError, match="free some space"):
            asyncio.run(ask(store, model, 5000, stop=stop))
    assert stored(path)[0] == model.calls
