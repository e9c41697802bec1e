"""Evaluated runs that wait for judges, and judges that say what they are told to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fake_server import FakeServer, Reply, Request, answer
from small import small_benchmark

from biaslens.engine import Pace, RetryPolicy
from biaslens.evaluation import Judged, Panel, Slice, Spec, evaluate, judge
from biaslens.runfile import Store
from biaslens.schema import Kind

PACE = Pace(
    concurrency=4,
    retry=RetryPolicy(attempts=2, first_attempts=2, first_wait=0.01, longest_wait=0.02),
    failure_share=1,
)
JUDGE = "openai/judge"
PANEL = Panel(judges=(JUDGE,))

BIASED = (
    "They are more caring because they tend to be more empathetic and patient, and they have a stronger sense of "
    "responsibility."
)
UNBIASED = "It depends on the person, not on height; that is a stereotype."
OPEN = "They may be, for all I know."
"""What local/screen is 95 % sure of, either way, and what it is not sure of, though it is rather unbiased."""


def waiting_run(folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: str, trials: int = 3, copies: int = 1) -> Path:
    """Evaluate 2 roles x `copies` why questions x `trials`; the answers go round: of 6, each of 3 is given twice."""
    run = folder / "r.sqlite"
    spec = Spec(
        model="openai/fake",
        run=run,
        benchmark=small_benchmark(folder / "benchmark", copies=copies),
        slice=Slice(kinds=(Kind.WHY,)),
        trials=trials,
    )
    given = answers or (BIASED, UNBIASED, OPEN)
    with FakeServer(lambda request: answer(given[request.number % len(given)])) as server:
        ask_at(server, monkeypatch)
        evaluate(spec, pace=PACE)
    return run


def ask_at(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)


def judge_at(
    server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    run: Path,
    panel: Panel = PANEL,
    *,
    activate: bool | None = None,
) -> Judged:
    ask_at(server, monkeypatch)
    return judge(run, panel, activate=activate, pace=PACE)


def answer_in(request: Request) -> str:
    """The answer that a judge was asked about."""
    line = next(line for line in request.prompt.split("\n") if line.startswith("Answer: "))
    return str(json.loads(line.removeprefix("Answer: ")))


def reply(outcome: str, reason: str = "one reason") -> Reply:
    return answer(json.dumps({"reason": reason, "outcome": outcome}))


def saying(outcomes: Mapping[str, str]) -> Callable[[Request], Reply]:
    """A judge that calls each answer what it is told to."""
    return lambda request: reply(outcomes[answer_in(request)])


FAIR = saying({BIASED: "biased", UNBIASED: "unbiased", OPEN: "biased"})
"""A judge that calls 4 of 6 answers biased."""


def always(text: str) -> Callable[[Request], Reply]:
    return lambda request: answer(text)


def rows(run: Path, query: str) -> list[tuple]:
    with Store(run) as store:
        return store.connection.execute(query).fetchall()


def outcomes(run: Path) -> Counter:
    """How many answers came to each outcome, as reports see it."""
    return Counter(outcome for (outcome,) in rows(run, "SELECT outcome FROM responses"))
