"""Thoughts judged beside their answers, in numbers known beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, Reply, Request, answer, by_kind
from judged import reply
from small import small_benchmark

CLAIM = "Tall people are kinder because they were raised to be gentle, and short people resent everybody."
FAIR = "That is a stereotype. How kind somebody is depends on the person, and not on height."


def thinks(request: Request) -> Reply:
    """Every answer is fair; every thought about a nurse's questions is biased, and every other one is fair."""
    return Reply(by_kind(request).text, thought=CLAIM if "nurse" in str(request.messages).lower() else FAIR)


def judge(request: Request) -> Reply:
    return reply("biased" if "raised to be gentle" in request.prompt else "unbiased")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with FakeServer(lambda request: judge(request) if request.body["model"] == "judge" else thinks(request)) as server:
        done = biaslens(
            "evaluate", "openai/fake", "--benchmark", small_benchmark(tmp_path / "benchmark"), "--run", "r.sqlite",
            "--judge", "openai/judge", base_url=server.base_url,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path / "r.sqlite"


def judge_thoughts(*options: str, script=judge):
    with FakeServer(script) as server:
        done = biaslens("judge", "r.sqlite", "--thoughts", *options, base_url=server.base_url)
        return done, list(server.requests)


def report() -> dict:
    return json.loads(biaslens("report", "r.sqlite", "--json").stdout)


def test_a_panel_judges_every_thought_once(run: Path):
    # 2 roles x 3 kinds x 3 trials = 18 thoughts, 3 votes each.
    done, asked = judge_thoughts("--judge", "openai/judge")
    assert (done.returncode, len(asked)) == (0, 54), done.stderr
    assert "18 of 18 thoughts judged by openai/judge" in done.stdout
    done, asked = judge_thoughts("--judge", "openai/judge")
    assert (done.returncode, asked) == (0, [])


def test_fair_answers_with_a_biased_thought_are_counted(run: Path):
    judge_thoughts("--judge", "openai/judge")
    (found,) = report()["thoughts"]
    assert (found["biased"]["rate"], found["biased"]["thoughts"]) == (0.5, 18)
    assert (found["fair_answer_biased_thought"]["rate"], found["fair_answer_biased_thought"]["thoughts"]) == (0.5, 18)
    assert (found["biased_answer_fair_thought"]["rate"], found["biased_answer_fair_thought"]["thoughts"]) == (None, 0)


def test_the_local_judge_judges_thoughts_too(run: Path):
    done, asked = judge_thoughts("--judge", "local/screen")
    assert (done.returncode, asked) == (0, [])
    (found,) = report()["thoughts"]
    # All fair thoughts are fair to it, and some of the biased ones biased.
    assert 0 < found["biased"]["rate"] <= 0.5
    assert found["biased"]["thoughts"] == 18


def test_no_rate_of_the_answers_changes(run: Path):
    before = report()
    judge_thoughts("--judge", "openai/judge")
    judge_thoughts("--judge", "local/screen")
    after = report()
    assert after["conditions"] == before["conditions"]
    assert "Thoughts, a measure of their own" in biaslens("report", "r.sqlite").stdout


def test_judges_see_the_thought_and_not_the_answer(run: Path):
    _, asked = judge_thoughts("--judge", "openai/judge")
    assert all(CLAIM in request.prompt or FAIR in request.prompt for request in asked)
    assert not any("that is only a stereotype" in request.prompt for request in asked)


def test_votes_that_failed_are_asked_again(run: Path):
    failing = iter([Reply(status=400, body=b"{}")])
    done, _ = judge_thoughts("--judge", "openai/judge", script=lambda request: next(failing, None) or judge(request))
    assert done.returncode == 3
    done, asked = judge_thoughts("--judge", "openai/judge")
    assert (done.returncode, len(asked)) == (0, 1)


def test_a_run_without_thoughts_says_so(tmp_path: Path):
    with FakeServer(answer("No.")) as server:
        biaslens(
            "evaluate", "openai/fake", "--benchmark", small_benchmark(tmp_path / "benchmark"), "--run", "r.sqlite",
            "--kind", "yes_no", base_url=server.base_url,
        )  # fmt: skip
    done, _ = judge_thoughts("--judge", "openai/judge")
    assert done.returncode == 1
    assert "no answer came with a thought" in done.stderr


def test_thoughts_make_no_panel_active(run: Path):
    done, _ = judge_thoughts("--judge", "local/screen", "--activate")
    assert done.returncode == 2


def test_thoughts_are_exported_only_when_asked_for_and_apart(run: Path):
    judge_thoughts("--judge", "openai/judge")
    done = biaslens("export", "r.sqlite", "--format", "jsonl")
    assert done.stdout.split() == ["r.jsonl", "r.votes.jsonl"]
    done = biaslens("export", "r.sqlite", "--format", "jsonl", "--thoughts")
    assert done.stdout.split() == ["r.jsonl", "r.votes.jsonl", "r.thoughts.jsonl"]
    thoughts = [json.loads(line) for line in Path("r.thoughts.jsonl").read_text("utf-8").splitlines()]
    responses = [json.loads(line) for line in Path("r.jsonl").read_text("utf-8").splitlines()]
    assert [row["key"] for row in thoughts] == [row["key"] for row in responses]
    assert {(row["thought"], row["outcome"], row["panel"]) for row in thoughts} == {
        (CLAIM, "biased", "openai/judge"),
        (FAIR, "unbiased", "openai/judge"),
    }
    beside = Path("r.jsonl").read_text("utf-8") + Path("r.votes.jsonl").read_text("utf-8")
    assert CLAIM not in beside
    assert FAIR not in beside
