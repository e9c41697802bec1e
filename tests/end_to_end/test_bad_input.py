"""What a user sees when something is wrong: one line, the exit code, and nothing lost."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from command import biaslens
from fake_server import FAULTS, FakeServer, Request, by_kind, error, hang, rate_limited
from small import small_benchmark

from biaslens.runfile import Store


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    return small_benchmark(tmp_path / "benchmark")


def count(run: Path, table: str) -> int:
    with Store(run) as store:
        return store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def one_line(text: str) -> str:
    """The only line of biaslens' own on stderr, beside the progress bar's."""
    lines = [line for line in text.splitlines() if line.startswith("biaslens:")]
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["evaluate", "gpt-4o-mini"], 1, "PROVIDER/MODEL"),
        (["evaluate", "nobody/m"], 1, "no provider 'nobody'"),
        (["plan", "nobody/m"], 1, "no provider 'nobody'"),
        (["evaluate", "openai/gpt-4o-mini"], 1, "OPENAI_API_KEY is not set"),
        (["evaluate", "local/missing.gguf"], 1, "missing.gguf"),
        (["evaluate", "compatible/nowhere/m"], 1, "nowhere"),
        (["evaluate", "openai/m", "--benchmark", "missing"], 1, "missing"),
        (["evaluate", "--study", "missing.toml"], 1, "missing.toml"),
        (["report", "missing.sqlite"], 1, "no such run file"),
        (["leaderboard", "missing.sqlite", "--out", "x"], 1, "no such run file"),
        (["generate", "--with", "magic", "--out", "x"], 1, "'magic' is not of the form PROVIDER/MODEL"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], code: int, says: str):
    done = biaslens(*arguments)
    assert done.returncode == code
    assert says in one_line(done.stderr)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["evaluate"], "give either a MODEL"),
        (["evaluate", "openai/m", "--turbo"], "--turbo"),
        (["evaluate", "openai/m", "--kind", "essay"], "essay"),
        (["evaluate", "openai/m", "--trials", "0"], "trials"),
        (["report"], "RUN"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], says: str):
    done = biaslens(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def evaluate(benchmark: Path, base_url: str, *more: str):
    return biaslens("evaluate", "openai/fake", "--benchmark", benchmark, "--run", "r.sqlite", *more, base_url=base_url)


def test_a_wrong_key_stops_at_once(benchmark: Path):
    with FakeServer(error(401, "Incorrect API key")) as server:
        done = evaluate(benchmark, server.base_url)
        assert done.returncode == 1
        assert "OPENAI_API_KEY" in one_line(done.stderr)
        assert len(server.log) <= 16


def test_an_unknown_model_stops_at_once(benchmark: Path):
    with FakeServer(error(404, "The model does not exist", code="model_not_found")) as server:
        done = evaluate(benchmark, server.base_url)
    assert done.returncode == 1
    assert "does not exist" in one_line(done.stderr)


def test_an_address_that_refuses_is_said_within_seconds(benchmark: Path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        done = evaluate(benchmark, url)
    assert done.returncode == 1
    assert url in one_line(done.stderr)


@pytest.mark.parametrize("fault", ["429", "429-retry-after", "500", "503", "truncated", "dropped", "garbage", "empty"])
def test_a_passing_fault_costs_nothing(benchmark: Path, fault: str):
    def script(request: Request):
        return FAULTS[fault]() if request.number in {2, 9} else by_kind(request)

    with FakeServer(script) as server:
        done = evaluate(benchmark, server.base_url)
        assert done.returncode == 0, done.stderr
        assert len(server.log) == 18 + 2
    assert count(Path("r.sqlite"), "answers") == 18


def test_a_server_that_hangs_is_given_up_and_the_run_is_incomplete(benchmark: Path):
    def script(request: Request):
        return hang() if "Teenagers" in request.prompt and "kinder at work" in request.prompt else by_kind(request)

    with FakeServer(script) as server:
        done = biaslens(
            "evaluate", "openai/fake", "--benchmark", benchmark, "--run", "r.sqlite", "--max-attempts", "2",
            base_url=server.base_url, BIASLENS_REQUEST_TIMEOUT="0.5",
        )  # fmt: skip
    assert done.returncode == 3
    assert "3 of 18 answers are missing" in done.stderr
    assert count(Path("r.sqlite"), "answers") == 15
    assert count(Path("r.sqlite"), "failures") == 3


def test_a_filter_is_a_refusal(benchmark: Path):
    def script(request: Request):
        return FAULTS["filter"]() if "kinder at home" in request.prompt else by_kind(request)

    with FakeServer(script) as server:
        done = evaluate(benchmark, server.base_url)
    assert done.returncode == 0
    with Store(Path("r.sqlite")) as store:
        kinds = store.connection.execute("SELECT DISTINCT kind, reason FROM responses WHERE outcome = 'refused'")
        assert kinds.fetchall() == [("choice", "content_filter")]


def test_a_quota_that_ends_tomorrow_stops_the_run(benchmark: Path):
    with FakeServer(rate_limited("7200")) as server:
        done = evaluate(benchmark, server.base_url)
    assert done.returncode == 1
    assert "7200 s" in one_line(done.stderr)


def test_a_run_of_another_model_is_refused_and_kept(benchmark: Path):
    with FakeServer(by_kind) as server:
        evaluate(benchmark, server.base_url)
        done = biaslens(
            "evaluate", "openai/other", "--benchmark", benchmark, "--run", "r.sqlite", base_url=server.base_url
        )
    assert done.returncode == 1
    assert 'this run has model = "openai/fake"' in one_line(done.stderr)
    assert count(Path("r.sqlite"), "answers") == 18


def test_a_full_disk_keeps_what_is_stored(benchmark: Path, tmp_path: Path):
    """A file size limit of the operating system gives SQLite the same error as a full disk."""
    big = small_benchmark(tmp_path / "big", copies=80)
    with FakeServer(by_kind) as server:
        limited = (
            "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1_200_000, 1_200_000)); "
            "from biaslens.cli import main; main()"
        )
        import subprocess
        import sys

        from command import environment

        done = subprocess.run(
            [sys.executable, "-c", limited, "evaluate", "openai/fake", "--benchmark", big, "--run", "r.sqlite"],
            capture_output=True, text=True, check=False, timeout=120, env=environment(server.base_url),
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert "free some space" in one_line(done.stderr)
        stored = count(Path("r.sqlite"), "answers")
        assert 0 < stored < 1440
        again = biaslens("evaluate", "openai/fake", "--benchmark", big, "--run", "r.sqlite", base_url=server.base_url)
        assert again.returncode == 0, again.stderr
        assert f"{1440 - stored} requests answered" in again.stderr
    assert count(Path("r.sqlite"), "answers") == 1440


def test_json_goes_to_stdout_alone(benchmark: Path):
    with FakeServer(by_kind) as server:
        done = evaluate(benchmark, server.base_url, "--json")
    assert json.loads(done.stdout)[0]["complete"] is True
    done = biaslens("report", "r.sqlite", "--json")
    cells = json.loads(done.stdout)["conditions"][0]["cells"]
    assert {cell["kind"] for cell in cells} == {"yes_no", "choice", "why", "all"}
