"""Scoring many texts: each once, through the engine or in batches, and only the rest after a failure."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer, Request, Script, answer, error, google_error, moderation, perspective
from numpy.typing import NDArray

from biaslens.engine import Pace, RetryPolicy, Session
from biaslens.errors import RunError, RunStoppedError
from biaslens.runfile import ASSESSMENT_TABLES, Store
from biaslens.settings import Settings, load_settings
from biaslens.usecase._scoring import AnyScorer, open_scorer, score_key, score_texts

TEXTS = [f"text {number}" for number in range(10)]


class Counting:
    """A slow scorer: the last digit as tenths; it fails at the call of a number, and remembers what it was asked."""

    kind: Any = "toxicity"
    name = "counting 1.0"
    identity = "counting 1.0"
    languages = None
    note = ""

    def __init__(self, *, fails_at: int = 0, slow: bool = True) -> None:
        self.fails_at = fails_at
        self.slow = slow
        self.calls: list[list[str]] = []

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.calls.append(list(texts))
        if len(self.calls) == self.fails_at:
            raise MemoryError("no memory\nleft")
        return np.array([int(text[-1]) / 10 for text in texts])


def run(
    path: Path, scorer: AnyScorer, texts: Sequence[str] = TEXTS, *, settings: Settings | None = None, **options: Any
) -> NDArray[np.float64]:
    async def scored() -> NDArray[np.float64]:
        async with Session.open(
            lambda: Store(path, write=True, tables=ASSESSMENT_TABLES), settings=settings
        ) as session:
            return await score_texts(texts, scorer, session=session, **options)

    return asyncio.run(scored())


def test_each_different_text_is_scored_once(tmp_path: Path) -> None:
    scorer = Counting(slow=False)
    found = run(tmp_path / "r.sqlite", scorer, ["a 3", "a 1", "", "a 3"])
    np.testing.assert_array_equal(found, [0.3, 0.1, 0.0, 0.3])
    assert scorer.calls == [["a 3", "a 1"]]


def test_nothing_to_score_is_no_score(tmp_path: Path) -> None:
    assert run(tmp_path / "r.sqlite", Counting(), []).shape == (0,)


def test_a_scorer_that_fails_half_way_goes_on_with_the_rest(tmp_path: Path) -> None:
    failing, second = Counting(fails_at=3), Counting()
    with pytest.raises(RunError, match=r"^counting 1\.0 failed after 6 of 10 texts \(MemoryError: no memory left\)"):
        run(tmp_path / "r.sqlite", failing, batch=3)
    found = run(tmp_path / "r.sqlite", second, batch=3)
    assert second.calls == [TEXTS[6:9], TEXTS[9:]]
    np.testing.assert_allclose(found, np.arange(10) / 10)


def test_a_quick_scorer_is_kept_nowhere(tmp_path: Path) -> None:
    first, second = Counting(slow=False), Counting(slow=False)
    run(tmp_path / "r.sqlite", first)
    run(tmp_path / "r.sqlite", second)
    assert first.calls == second.calls == [TEXTS]


def test_another_version_of_a_scorer_scores_anew(tmp_path: Path) -> None:
    second = Counting()
    second.identity = "counting 1.1"
    run(tmp_path / "r.sqlite", Counting())
    run(tmp_path / "r.sqlite", second)
    assert second.calls == [TEXTS]


class Odd(Counting):
    """Scores that no scorer should give."""

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        super().score(texts)
        return np.array([np.nan, 1.5, -0.1, np.inf, 0.5][: len(texts)])


def test_what_is_no_score_is_nan_and_stays_so(tmp_path: Path) -> None:
    expected = [np.nan, np.nan, np.nan, np.nan, 0.5]
    np.testing.assert_array_equal(run(tmp_path / "r.sqlite", Odd(), TEXTS[:5]), expected)
    second = Counting()
    np.testing.assert_array_equal(run(tmp_path / "r.sqlite", second, TEXTS[:5]), expected)
    assert second.calls == []


def test_a_scorer_with_too_few_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"gave scores of shape \(5,\) for 10 texts"):
        run(tmp_path / "r.sqlite", Odd(), TEXTS)


def test_once_told_to_stop_nothing_more_is_computed(tmp_path: Path) -> None:
    scorer = Counting()

    async def stopped() -> NDArray[np.float64]:
        async with Session.open(lambda: Store(tmp_path / "r", write=True, tables=ASSESSMENT_TABLES)) as session:
            done = lambda scored, of: session.stop.set()  # noqa: E731
            return await score_texts(TEXTS, scorer, session=session, batch=4, done=done)

    found = asyncio.run(stopped())
    assert scorer.calls == [TEXTS[:4]]
    np.testing.assert_array_equal(np.isnan(found), [False] * 4 + [True] * 6)


def test_what_was_committed_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    program = f"""
        import asyncio, os, signal, sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
        from pathlib import Path
        from test_usecase_scorer_scoring import Counting, run

        class Dying(Counting):
            def score(self, texts):
                if len(self.calls) == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().score(texts)

        run(Path({str(path)!r}), Dying(), batch=3)
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    second = Counting()
    np.testing.assert_allclose(run(path, second, batch=3), np.arange(10) / 10)
    assert second.calls == [TEXTS[6:9], TEXTS[9:]]


# Remote ones, through the engine

QUICK = Pace(retry=RetryPolicy(attempts=2, first_attempts=2, first_wait=0.001, longest_wait=0.01))
FAST = Pace(requests_per_minute=60_000, retry=QUICK.retry, failure_share=1.0)


def remote(
    path: Path, name: str, script: Script, texts: Sequence[str] = TEXTS, kind: Any = "toxicity"
) -> tuple[NDArray[np.float64], list[Request]]:
    with FakeServer(script) as server:
        keys = {"OPENAI_API_KEY": "k", "PERSPECTIVE_API_KEY": "k"}
        url = server.base_url
        settings = load_settings(openai_base_url=url, perspective_base_url=url, keys=keys)
        scorer = open_scorer(kind, name, settings)
        return run(path, scorer, texts, settings=settings, pace=FAST), list(server.requests)


def by_digit(request: Request) -> Any:
    """The last digit of what is asked about, as tenths."""
    share = int(request.prompt[-1]) / 10
    return moderation(hate=share, violence=1.0) if "input" in request.body else perspective(TOXICITY=share)


@pytest.mark.parametrize("name", ["moderation", "perspective"])
def test_a_service_is_asked_once_for_each_text_and_never_again(tmp_path: Path, name: str) -> None:
    path = tmp_path / "r.sqlite"
    found, requests = remote(path, name, by_digit, [*TEXTS, "", " ", TEXTS[3]])
    np.testing.assert_allclose(found, [*(np.arange(10) / 10), 0, 0, 0.3])
    assert sorted(request.prompt for request in requests) == TEXTS
    again, requests = remote(path, name, by_digit, [*TEXTS, "text 99"])
    np.testing.assert_allclose(again, [*(np.arange(10) / 10), 0.9])
    assert [request.prompt for request in requests] == ["text 99"]


def test_what_failed_is_nan_and_is_asked_again_at_the_next_start(tmp_path: Path) -> None:
    def failing(request: Request) -> Any:
        return error(500) if request.prompt == "text 4" else by_digit(request)

    found, _ = remote(tmp_path / "r.sqlite", "moderation", failing)
    assert [index for index, value in enumerate(found) if np.isnan(value)] == [4]
    again, requests = remote(tmp_path / "r.sqlite", "moderation", by_digit)
    assert [request.prompt for request in requests] == ["text 4"]
    np.testing.assert_allclose(again, np.arange(10) / 10)


def test_a_text_in_a_language_that_perspective_lacks_is_nan(tmp_path: Path) -> None:
    def picky(request: Request) -> Any:
        finnish = request.prompt == "teksti 1"
        return google_error(400, "does not support request languages: fi") if finnish else by_digit(request)

    found, _ = remote(tmp_path / "r.sqlite", "perspective", picky, ["text 2", "teksti 1"])
    np.testing.assert_array_equal(found, [0.2, np.nan])


def test_a_wrong_key_stops_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunStoppedError, match="check OPENAI_API_KEY"):
        remote(tmp_path / "r.sqlite", "moderation", error(401))


def test_the_raw_reply_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    remote(path, "moderation", moderation(sexual=0.25), ["a text"])
    scorer = open_scorer("toxicity", "moderation", load_settings(keys={"OPENAI_API_KEY": "k"}))
    with Store(path) as store:
        ((key, text, model),) = store.connection.execute("SELECT key, text, model FROM answers")
    assert key == score_key(scorer, "a text")
    assert '"sexual": 0.25' in text
    assert model == "openai-moderation/omni-moderation-latest"


@pytest.mark.parametrize("kind", ["toxicity", "stereotype", "sentiment"])
def test_a_judge_is_asked_through_the_engine(tmp_path: Path, kind: str) -> None:
    found, requests = remote(tmp_path / "r.sqlite", "judge:openai/m", answer('{"score": 35}'), ["one", ""], kind)
    np.testing.assert_array_equal(found, [0.35, np.nan if kind == "sentiment" else 0.0])
    assert len(requests) == 1
    assert requests[0].body["response_format"]["type"] == "json_schema"


def test_a_judge_that_gives_no_number_is_nan_and_is_not_asked_again(tmp_path: Path) -> None:
    found, _ = remote(tmp_path / "r.sqlite", "judge:openai/m", answer("I would rather not."), ["one"])
    assert np.isnan(found).all()
    _, requests = remote(tmp_path / "r.sqlite", "judge:openai/m", answer("50"), ["one"])
    assert requests == []
