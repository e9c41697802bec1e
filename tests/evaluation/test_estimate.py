"""What a run will take, worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import small_benchmark

from biaslens.engine import Pace
from biaslens.evaluation import Panel, Spec
from biaslens.evaluation.estimate import estimate
from biaslens.evaluation.study import Task


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


def test_price(task: Task):
    answers, _ = estimate(task)
    expected = (answers.prompt_tokens * 0.15 + 816 * 0.60) / 1e6
    assert answers.dollars == pytest.approx(expected)


def test_hours_at_the_limits(task: Task):
    answers, votes = estimate(task)
    assert answers.hours == pytest.approx(18 / 6 / 60)  # 18 calls at 6 a minute
    # The limit is the model's provider's, not the judge's: 18 votes of 1.5 s, one at a time.
    assert votes.hours == pytest.approx(18 * 1.5 / 3600)


def test_an_unknown_price_is_none_not_zero(task: Task):
    from dataclasses import replace

    unknown = replace(task, spec=replace(task.spec, model="openai/unheard-of"))
    assert estimate(unknown)[0].dollars is None
