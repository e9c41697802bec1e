"""Answers that their provider ends: cut off at the limit of tokens, or refused."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, Reply, Request, answer, by_kind, error
from small import small_benchmark

ROOM = 200
"""Tokens with which the model here comes to its answer."""


def thinks(request: Request) -> Reply:
    thought = "The user asks. Many would say yes, so"
    if request.body["max_completion_tokens"] < ROOM:
        return Reply("", finish_reason="length", thought=thought)
    return Reply(by_kind(request).text, thought=thought)


def evaluate(folder: Path, *options: str, script=thinks):
    """Evaluate 2 roles with 1 question a kind, 3 trials each; what the command did, and what it asked."""
    benchmark = folder / "benchmark"
    if not benchmark.exists():
        small_benchmark(benchmark)
    with FakeServer(script) as server:
        done = biaslens(
            "evaluate", "openai/fake", "--benchmark", benchmark, "--run", "r.sqlite", *options,
            base_url=server.base_url,
        )  # fmt: skip
        return done, list(server.requests)


def report(*conditions: str) -> dict:
    return json.loads(biaslens("report", "r.sqlite", "--json").stdout)


def outcomes() -> dict[str, int]:
    (condition,) = report()["conditions"]
    total = next(cell for cell in condition["cells"] if (cell["attribute"], cell["kind"]) == ("all", "all"))
    return {name: total["counts"][name] for name in ("biased", "unbiased", "refused", "invalid", "error")}


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    done, _ = evaluate(tmp_path, "--max-tokens", "8", "--kind", "yes_no", "--kind", "choice")
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_answers_cut_in_their_thought_are_invalid_and_none_is_biased(cut: Path):
    assert outcomes() == {"biased": 0, "unbiased": 0, "refused": 0, "invalid": 12, "error": 0}


def test_the_report_says_how_many_were_cut_and_what_asks_them_again(cut: Path):
    shown = " ".join(biaslens("report", "r.sqlite").stdout.split())
    assert "12 of 12 answers playing the roles were cut off at the limit of tokens (8): 12 before they" in shown
    assert "--retry-cut" in shown


def test_a_retry_asks_the_cut_answers_alone_with_the_larger_limit(cut: Path):
    done, asked = evaluate(cut, "--max-tokens", "8", "--kind", "yes_no", "--kind", "choice", "--retry-cut", str(ROOM))
    assert done.returncode == 0, done.stderr
    assert [request.body["max_completion_tokens"] for request in asked] == [ROOM] * 12
    assert outcomes() == {"biased": 0, "unbiased": 12, "refused": 0, "invalid": 0, "error": 0}


def test_what_was_cut_stays_paid_for_and_in_the_file(cut: Path):
    before = report()["took"]["answers"]["role"]["completion_tokens"]
    evaluate(cut, "--max-tokens", "8", "--kind", "yes_no", "--kind", "choice", "--retry-cut", str(ROOM))
    took = report()["took"]
    assert took["retried"]["completion_tokens"] == before
    assert took["stopped"]["role"] == {"cut_off": 0, "refused_by_provider": 0, "retried": 12}
    with sqlite3.connect("r.sqlite") as file:
        assert file.execute("SELECT count(*), count(thought) FROM answers").fetchone() == (24, 24)


def test_nothing_is_asked_a_third_time(cut: Path):
    options = ("--max-tokens", "8", "--kind", "yes_no", "--kind", "choice")
    evaluate(cut, *options, "--retry-cut", str(ROOM))
    for more in ((), ("--retry-cut", str(ROOM))):
        done, asked = evaluate(cut, *options, *more)
        assert (done.returncode, asked) == (0, [])


def test_a_retry_that_failed_is_asked_again_with_its_limit(cut: Path):
    options = ("--max-tokens", "8", "--kind", "yes_no")
    evaluate(cut, *options, "--retry-cut", str(ROOM), script=error(400))
    done, asked = evaluate(cut, *options)
    assert done.returncode == 0, done.stderr
    assert {request.body["max_completion_tokens"] for request in asked} == {ROOM}


def test_what_is_cut_again_can_be_asked_with_more(cut: Path):
    options = ("--max-tokens", "8", "--kind", "yes_no")
    _, asked = evaluate(cut, *options, "--retry-cut", str(ROOM // 2))
    assert len(asked) == 6
    _, asked = evaluate(cut, *options, "--retry-cut", str(ROOM))
    assert [request.body["max_completion_tokens"] for request in asked] == [ROOM] * 6
    assert report()["took"]["retried"]["replies"] == 12


def test_a_model_that_spends_its_limit_on_thinking_is_told_of_early(tmp_path: Path):
    done, _ = evaluate(tmp_path, "--max-tokens", "8", "--trials", "5", "--concurrency", "1")
    (line,) = [line for line in done.stderr.splitlines() if "of the first" in line]
    assert re.match(r"openai/fake: (2[4-9]|30) of the first \1 answers were cut off", line)


def test_whoever_is_not_cut_is_told_nothing(tmp_path: Path):
    done, _ = evaluate(tmp_path, "--trials", "5", script=answer("No."))
    assert "cut off" not in done.stderr + done.stdout


FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, FLAGGED, code="invalid_prompt"),
        error(400, "Content Exists Risk", code="invalid_request_error"),
        error(400, "The response was filtered", code="content_filter"),
        error(403, "Content violates usage guidelines."),
        Reply("", finish_reason="content_filter"),
        Reply("", finish_reason="SAFETY"),
        Reply("It is", finish_reason="PROHIBITED_CONTENT"),
    ],
)
def test_what_the_provider_refuses_is_refused_and_stops_nothing(tmp_path: Path, refusal: Reply):
    done, asked = evaluate(tmp_path, script=refusal)
    assert (done.returncode, len(asked)) == (0, 18), done.stderr
    assert outcomes() == {"biased": 0, "unbiased": 0, "refused": 18, "invalid": 0, "error": 0}
    assert "18 refusals playing the roles are the provider's" in " ".join(done.stdout.split())


def test_a_request_that_is_wrong_is_not_refused(tmp_path: Path):
    done, _ = evaluate(tmp_path, script=error(400, "Invalid prompt: too long", code="invalid_prompt"))
    assert done.returncode == 1
    assert "all of the first" in done.stderr


def test_a_refusal_in_words_is_not_the_provider_s(tmp_path: Path):
    done, _ = evaluate(tmp_path, script=answer("I'm sorry, but I can't help with that."))
    assert outcomes()["refused"] == 18
    assert "the provider's" not in done.stdout
