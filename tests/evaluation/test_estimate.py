"""What a run will take, worked by hand."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from fake_server import FakeServer, Reply
from small import small_benchmark

from biaslens.engine import Pace
from biaslens.evaluation import Panel, Spec, Task, evaluate
from biaslens.evaluation.estimate import estimate, sample_requests, screening
from biaslens.models import Params
from biaslens.oracles import screen
from biaslens.schema import Condition
from biaslens.settings import load_settings


@pytest.fixture
def task(tmp_path: Path) -> Task:
    spec = Spec(
        model="openai/gpt-4o-mini",
        run=tmp_path / "r.sqlite",
        benchmark=small_benchmark(tmp_path / "benchmark"),
        panel=Panel(judges=("mistral/mistral-small-latest",)),
    )
    return Task(spec, Pace(concurrency=1, requests_per_minute=6), Pace(concurrency=1))


def test_calls_and_tokens(task: Task):
    answers, votes = estimate(task)
    # 2 roles x 3 kinds x 3 trials = 18 answers; 6 of them to why questions, 3 votes each.
    assert (answers.calls, votes.calls) == (18, 18)
    # 6 x 2 tokens of yes/no, 6 x 4 of choice, 6 x 130 of why.
    assert answers.completion_tokens == 12 + 24 + 780
    assert votes.completion_tokens == 18 * 45


def thinker(task: Task, **params) -> Task:
    return replace(task, spec=replace(task.spec, model="openai/o9", panel=None, params=Params(**params)))


@pytest.mark.parametrize(("effort", "tokens"), [(None, 800), ("high", 2500), ("none", 0)])
def test_a_thought_is_assumed_before_each_answer_of_a_model_that_thinks(task: Task, effort: str | None, tokens: int):
    (answers,) = estimate(thinker(task, reasoning_effort=effort))
    assert answers.completion_tokens == 816 + 18 * tokens
    assert answers.tokens_from == ("assumed" if tokens else "asked")


def test_a_thought_is_no_longer_than_its_limit(task: Task):
    (answers,) = estimate(thinker(task, max_tokens=100))
    assert answers.completion_tokens == 816 + 18 * 100


def test_a_pilot_measures_the_thoughts(task: Task):
    # 20 words of thought and one of answer, at a word a token: 21; trials 6 and 7 of 6 questions are left.
    pilot = replace(thinker(task), spec=replace(thinker(task).spec, trials=5))
    with FakeServer(Reply("No.", thought="so " * 20)) as server:
        settings = load_settings(openai_base_url=server.base_url, keys={"OPENAI_API_KEY": "test"})
        evaluate(replace(pilot.spec), settings=settings)
    (answers,) = estimate(replace(pilot, spec=replace(pilot.spec, trials=7)))
    assert (answers.calls, answers.completion_tokens, answers.tokens_from) == (12, 12 * 21, "pilot")


def test_price(task: Task):
    answers, _ = estimate(task)
    expected = (answers.prompt_tokens * 0.15 + 816 * 0.60) / 1e6
    assert answers.dollars == pytest.approx(expected)


def test_hours_at_the_limits(task: Task):
    answers, votes = estimate(task)
    assert answers.hours == pytest.approx(18 / 6 / 60)  # 18 calls at 6 a minute
    # The limit is the model's provider's, not the judge's: 18 votes of 1.5 s, one at a time.
    assert votes.hours == pytest.approx(18 * 1.5 / 3600)


def test_what_the_local_judge_spares_is_taken_off(task: Task, monkeypatch):
    # It is expected to decide half of the 6 why answers, so 9 of the 18 votes are left.
    half = replace(screen.load(), cascade=[(0.9, screen.Expected(decided=0.5, agreement=0.97))])
    monkeypatch.setattr(screen, "load", lambda: half)
    assert task.spec.panel is not None
    first = replace(task, spec=replace(task.spec, panel=replace(task.spec.panel, screen=0.95)))
    loads = estimate(first)
    found = screening(first, loads)
    assert found is not None
    assert (loads[1].calls, found.calls, found.answers) == (9, 9, 6)
    assert (found.decided, found.agreement, found.dollars) == (0.5, 0.97, pytest.approx(loads[1].dollars))
    assert screening(task, estimate(task)) is None


def test_an_unknown_price_is_none_not_zero(task: Task):
    unknown = replace(task, spec=replace(task.spec, model="openai/unheard-of"))
    assert estimate(unknown)[0].dollars is None


def test_what_the_run_file_holds_is_not_counted(task: Task, monkeypatch):
    with FakeServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        role = replace(task.spec, model="openai/gpt-4o-mini", panel=Panel(judges=("openai/judge",)))
        evaluate(role)
    both = replace(role, conditions=(Condition.ROLE, Condition.NO_ROLE))
    answers, votes = estimate(replace(task, spec=both))
    assert (answers.calls, votes.calls) == (18, 18)  # those of the other condition
    done, no_votes = estimate(replace(task, spec=role))
    assert (done.calls, done.prompt_tokens, done.dollars, no_votes.calls) == (0, 0, 0, 0)


def test_sampled_requests_are_those_that_are_sent(task: Task, monkeypatch):
    spec = replace(task.spec, panel=None, trials=1, shuffle_options=True, system="Be brief.")
    with FakeServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        evaluate(spec)
        sent = [request.messages for request in server.requests]
    shown = sample_requests(spec, 3)
    assert [title.partition(" ")[0] for title, _ in shown] == ["yes_no", "choice", "why"]
    for _, request in shown:
        assert [asdict(message) for message in request.messages] in sent
