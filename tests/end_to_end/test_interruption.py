"""Runs that are killed or stopped: every answer is stored or asked again, and none is asked twice once stored."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from command import COMMAND, biaslens, endpoint, environment
from fake_server import FakeServer, by_kind, server_process
from small import small_benchmark

COPIES = 20
PLANNED = 2 * 3 * COPIES * 3  # 2 roles, 3 kinds, 3 trials


def start(
    benchmark: Path, base_url: str, *options: str, by_sdk: bool = False, files: int | None = None
) -> subprocess.Popen[str]:
    model = "openai/fake" if by_sdk else endpoint(base_url)
    command = [*COMMAND, "evaluate", model, "--benchmark", str(benchmark), "--run", "r.sqlite", *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(base_url))


def stored() -> list[str]:
    if not Path("r.sqlite").exists():
        return []
    connection = sqlite3.connect("file:r.sqlite?mode=ro", uri=True)
    try:
        return [key for (key,) in connection.execute("SELECT key FROM answers")]
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < end
        time.sleep(0.02)


def test_kill_9_twice_loses_and_repeats_nothing(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    log = tmp_path / "log.jsonl"
    kept: list[int] = []
    with server_process("--log", str(log), "--latency", "0.05") as base_url:
        for part in (3, 1.5):
            process = start(benchmark, base_url, by_sdk=True)
            wait_until(lambda part=part: len(stored()) > PLANNED / part, process)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kept.append(len(stored()))
        process = start(benchmark, base_url, by_sdk=True)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert PLANNED / 3 < kept[0] < kept[1] < PLANNED
    keys = stored()
    assert len(keys) == len(set(keys)) == PLANNED
    delivered = Counter(line["hash"] for line in map(json.loads, log.read_text().splitlines()) if line["delivered"])
    # Each request has a seed of its own, so each of the server's hashes is one planned response. What was asked beyond
    # the plan is only what was in flight when a process was killed.
    assert len(delivered) == PLANNED
    lost = sum(delivered.values()) - PLANNED
    assert 0 <= lost <= 2 * 16  # two kills, at most 16 in flight


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    with FakeServer(lambda request: by_kind(request, delay=0.05)) as server:
        process = start(benchmark, server.base_url, by_sdk=True)
        wait_until(lambda: len(stored()) > 50, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "the same command asks only what is missing" in err
        delivered = sum(line.delivered for line in server.log)
        assert len(stored()) == delivered == len(server.log)  # what was in flight is kept
        again = biaslens(
            "evaluate", "openai/fake", "--benchmark", benchmark, "--run", "r.sqlite", base_url=server.base_url
        )
        assert again.returncode == 0
        assert len(server.log) == PLANNED


def test_one_ctrl_c_stops_all_models_of_a_study(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    Path("study.toml").write_text(
        f'benchmark = "{benchmark}"\n[[models]]\nname = "openai/a"\nrun = "r.sqlite"\n[[models]]\nname = "together/b"\n'
    )
    with FakeServer(lambda request: by_kind(request, delay=0.05)) as server:
        process = subprocess.Popen(
            [*COMMAND, "evaluate", "--study", "study.toml"],
            env=environment(server.base_url, TOGETHER_API_KEY="x", TOGETHER_BASE_URL=server.base_url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: len(stored()) > 50, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert err.count("incomplete: ") == 2
        assert all(line.delivered for line in server.log)


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    with FakeServer(lambda request: by_kind(request, delay=0.05 if request.number < 100 else 600)) as server:
        process = start(benchmark, server.base_url)
        wait_until(lambda: len(stored()) >= 80 and len(server.log) >= 80, process)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)  # far less than what is in flight would take
        assert process.returncode == 130
        assert "Traceback" not in err
    assert len(stored()) >= 80


def test_a_second_process_on_the_same_run_is_refused(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    tried = Event()  # the first one must still be at work when the second one starts, however slow the machine
    with FakeServer(lambda request: by_kind(request, delay=0.01 if tried.is_set() else 1.0)) as server:
        process = start(benchmark, server.base_url)
        wait_until(lambda: len(stored()) > 20, process)
        model = endpoint(server.base_url)
        second = biaslens("evaluate", model, "--benchmark", benchmark, "--run", "r.sqlite")
        tried.set()
        assert second.returncode == 1
        assert "another process is writing this run" in second.stderr
        report = biaslens("report", "r.sqlite")
        assert report.returncode == 0  # reading goes on meanwhile
        assert process.wait(timeout=60) == 0
        process.communicate()
        assert len(server.log) == PLANNED


def test_a_reader_of_stderr_that_goes_away_ends_no_run(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    with FakeServer(lambda request: by_kind(request, delay=0.02)) as server:
        process = start(benchmark, server.base_url)
        assert process.stderr is not None
        wait_until(lambda: len(stored()) > 50, process)
        process.stderr.close()
        assert process.wait(timeout=60) == 0
    assert len(stored()) == PLANNED


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_stop_as_cleanly(tmp_path: Path, number: signal.Signals):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    with FakeServer(lambda request: by_kind(request, delay=0.05)) as server:
        process = start(benchmark, server.base_url)
        wait_until(lambda: len(stored()) > 50, process)
        process.send_signal(number)
        process.communicate(timeout=30)
        assert process.returncode == 130
        assert len(stored()) == len(server.log) < PLANNED


def test_more_requests_at_once_than_files_may_be_open_are_fewer_requests(tmp_path: Path):
    benchmark = small_benchmark(tmp_path / "benchmark", copies=COPIES)
    with FakeServer(lambda request: by_kind(request, delay=0.3)) as server:
        process = start(benchmark, server.base_url, "--concurrency", "300", files=128)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "300 requests at once do not fit the limit of 128 open files" in err
        assert len(stored()) == len(server.log) == PLANNED
