"""`biaslens judge`, and `plan` with a local judge, by the real command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FakeServer, Request, answer, by_kind, error
from small import small_benchmark

from biaslens.runfile import Store

CLAIM = (
    "They are more caring because they tend to be more empathetic and patient, and they have a stronger sense of duty."
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """18 answers of 2 roles; the 6 to why questions claim something and wait for a judge."""

    def script(request: Request):
        return answer(CLAIM) if "Why" in request.prompt else by_kind(request)

    with FakeServer(script) as server:
        benchmark = small_benchmark(tmp_path / "benchmark")
        done = biaslens(
            "evaluate", "openai/fake", "--benchmark", benchmark, "--run", "r.sqlite", base_url=server.base_url
        )
    assert done.returncode == 0, done.stderr
    return Path("r.sqlite")


def judge(*options: str, server: FakeServer | None = None):
    return biaslens("judge", "r.sqlite", *options, base_url=None if server is None else server.base_url)


def says(outcome: str):
    return answer(json.dumps({"reason": "one reason", "outcome": outcome}))


def test_it_prints_who_decided_what(run: Path):
    with FakeServer(says("biased")) as server:
        done = judge("--judge", "openai/judge", server=server)
    assert done.returncode == 0
    said, heading, _, row, *_ = done.stdout.splitlines()
    assert said == "r.sqlite: why answers judged by openai/judge"
    assert heading.split() == ["decided", "by", "biased", "unbiased", "refused", "invalid"]
    assert row.split() == ["judges:", "openai/judge", "6", "0", "0", "0"]
    assert "12 new votes" in done.stderr


def test_a_local_judge_needs_no_key_and_no_network(run: Path):
    done = judge("--judge", "local/screen")
    assert done.returncode == 0, done.stderr
    assert "local/screen 2 6 0 0 0" in " ".join(done.stdout.split())
    assert "0 new votes" in done.stderr


def test_json_is_for_programs(run: Path):
    with FakeServer(says("unbiased")) as server:
        done = judge("--judge", "openai/judge", "--json", server=server)
    assert json.loads(done.stdout) == {
        "run": "r.sqlite",
        "panel": "openai/judge",
        "active": True,
        "counts": {"judges: openai/judge": {"unbiased": 6}},
        "undecided": 0,
        "votes": 12,
        "unusable": 0,
        "cut": 0,
        "answered": 12,
        "failed": 0,
        "interrupted": False,
        "cost": 0.0,
        "why_failed": "",
        "complete": True,
    }


def test_the_same_command_again_asks_nothing(run: Path):
    with FakeServer(says("biased")) as server:
        first = judge("--judge", "openai/judge", server=server)
        second = judge("--judge", "openai/judge", server=server)
        assert len(server.log) == 12
    assert (second.returncode, second.stdout) == (0, first.stdout)
    assert "0 new votes" in second.stderr


def why_biased() -> int:
    """Biased answers to why questions in the report."""
    cells = json.loads(biaslens("report", "r.sqlite", "--json").stdout)["conditions"][0]["cells"]
    (cell,) = [cell for cell in cells if (cell["attribute"], cell["kind"]) == ("all", "why")]
    return int(cell["counts"]["biased"])


def test_reports_go_by_the_first_panel_until_another_is_active(run: Path):
    with FakeServer(says("unbiased")) as server:
        judge("--judge", "openai/judge", server=server)
    beside = judge("--judge", "local/screen")
    assert (
        "reports use the verdicts of another panel, the active one; --activate makes this panel active" in beside.stderr
    )
    assert why_biased() == 0
    counts = judge("--judge", "local/screen", "--activate")
    assert "--activate" not in counts.stderr
    assert why_biased() == 6


def test_an_incomplete_start_says_so_and_the_next_one_completes_it(run: Path):
    down = True

    def half(request: Request):
        return error(400) if down and request.number % 2 else says("biased")

    options = ("--judge", "openai/judge", "--failure-share", "1", "--concurrency", "1")
    with FakeServer(half) as server:
        first = judge(*options, server=server)
        assert len(server.log) == 12
        assert first.returncode == 3
        assert re.search(
            r"incomplete: [1-6] why answers await votes \(6 failed\); the same command asks only what is missing",
            first.stderr,
        )
        down = False
        second = judge(*options, "--json", server=server)
    assert second.returncode == 0
    result = json.loads(second.stdout)
    assert (result["answered"], result["undecided"]) == (6, 0)


def test_a_screen_spares_votes(run: Path):
    with FakeServer(says("unbiased")) as server:
        done = judge("--judge", "openai/judge", "--screen", "0.95", server=server)
        assert server.log == []  # it is sure of the claim
    assert "judged by openai/judge after local/screen 2 at 0.95" in done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "Missing option '--judge'"),
        (("--judge", "openai/j", "--screen", "0.5"), "0.5 is not in the range 0.5<x<1"),
        (("--judge", "openai/j", "--screen", "1"), "1.0 is not in the range 0.5<x<1"),
        (("--judge", "openai/j", "--votes", "0"), "0 is not in the range 1<=x<=1000"),
        (("--judge", "openai/j", "--judge-prompt", "kind"), "'kind' is not one of 'codebook', 'fairness'"),
    ],
)
def test_wrong_usage_is_exit_code_2(run: Path, options: tuple[str, ...], says: str):
    done = judge(*options)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--judge", "local/screen", "--judge", "openai/j"), "local/screen judges alone, or first: --screen 0.95"),
        (("--judge", "local/screen", "--screen", "0.9"), "it takes neither --screen nor --votes"),
        (("--judge", "local/screen", "--votes", "3"), "it takes neither --screen nor --votes"),
        (("--judge", "openai/j", "--judge", "openai/j"), "each judge of a panel is named once"),
        (("--judge", "openai/j"), "OPENAI_API_KEY is not set"),
        (("--judge", "nobody/j"), "nobody"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Path, options: tuple[str, ...], says: str):
    done = judge(*options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("biaslens: ")
    assert says in done.stderr


def test_a_missing_file_is_one_line():
    done = biaslens("judge", "no.sqlite", "--judge", "local/screen")
    assert (done.returncode, done.stderr) == (
        1, "biaslens: no.sqlite: no such run file; `biaslens evaluate` makes one\n"
    )  # fmt: skip
    assert not Path("no.sqlite").exists()


def test_a_locked_file_is_one_line(run: Path):
    with Store(run, write=True):
        done = judge("--judge", "local/screen")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "another process is writing this run" in done.stderr


def test_a_run_without_why_answers_is_one_line(tmp_path: Path):
    with FakeServer(by_kind) as server:
        biaslens(
            "evaluate", "openai/fake", "--benchmark", small_benchmark(tmp_path / "benchmark"), "--run", "r.sqlite",
            "--kind", "yes_no", base_url=server.base_url,
        )  # fmt: skip
    done = judge("--judge", "local/screen")
    assert (done.returncode, done.stderr) == (
        1, "biaslens: r.sqlite: no why question has an answer, there is nothing to judge\n"
    )  # fmt: skip


def test_a_first_wrong_name_does_not_bind_the_run(run: Path):
    with FakeServer(error(404)) as server:
        done = judge("--judge", "openai/typo", server=server)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert json.loads(judge("--judge", "local/screen", "--json").stdout)["active"]


PLAN = ("plan", "openai/gpt-4o-mini", "--judge", "openai/gpt-4o", "--benchmark", "benchmark")


@pytest.fixture
def benchmark(tmp_path: Path) -> None:
    small_benchmark(tmp_path / "benchmark", copies=200)


@pytest.mark.usefixtures("benchmark")
def test_the_plan_says_what_the_local_judge_spares():
    screened = json.loads(biaslens(*PLAN, "--screen", "0.95", "--json").stdout)
    answers, votes = json.loads(biaslens(*PLAN, "--json").stdout)
    assert [load["purpose"] for load in screened] == ["answers", "votes", "screening"]
    screening = screened[2]
    assert (screening["answers"], screening["sure"]) == (1200, 0.95)  # 400 why questions, three trials
    assert screened[0] == answers
    left = 1 - screening["decided"]
    assert screened[1]["calls"] == pytest.approx(votes["calls"] * left, abs=1)
    assert screening["calls"] == pytest.approx(votes["calls"] * screening["decided"], abs=3)
    assert screened[1]["dollars"] + screening["dollars"] == pytest.approx(votes["dollars"], rel=1e-3)


@pytest.mark.usefixtures("benchmark")
def test_the_plan_in_words():
    done = biaslens(*PLAN, "--screen", "0.95")
    screening = json.loads(biaslens(*PLAN, "--screen", "0.95", "--json").stdout)[2]
    line = next(line for line in done.stdout.splitlines() if line.startswith("With a screen threshold"))
    assert line == (
        f"With a screen threshold of 0.95, local/screen is expected to decide {100 * screening['decided']:.0f} % of "
        f"1,200 why answers, {100 * screening['agreement']:.1f} % of them as hand labels would. That saves up to "
        f"{screening['calls']:,} votes and US$ {screening['dollars']:.2f}, already deducted above."
    )


@pytest.mark.usefixtures("benchmark")
def test_a_plan_names_who_quotes_a_price_that_is_not_confirmed():
    said = "the price could not be confirmed with the provider by 20"
    planned = biaslens("plan", "openai/gpt-6-luna", "--judge", "openai/gpt-4o", "--benchmark", "benchmark").stdout
    assert [line.partition(":")[0] for line in planned.splitlines() if said in line] == ["openai/gpt-4o"]


def test_a_plan_with_the_local_judge_alone_has_no_votes():
    (load,) = json.loads(biaslens("plan", "openai/gpt-4o-mini", "--judge", "local/screen", "--json").stdout)
    assert load["purpose"] == "answers"
