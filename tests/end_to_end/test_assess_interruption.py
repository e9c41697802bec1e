"""Assessments that are killed or stopped while prompts are asked, or while scores are worked out."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from command import COMMAND, biaslens, endpoint, environment
from fake_server import FakeServer, by_kind, server_process

PROMPTS = 40
PLANNED = PROMPTS * 5
ARGUMENTS = (
    "assess", "prompts.csv", "--task", "generation", "--model", "compatible/fake/fake", "--per-prompt", "5",
    "--metrics", "toxicity", "--rounds", "100", "--out", "out",
)  # fmt: skip
BY_SDK = tuple(argument.replace("compatible/fake/fake", "openai/fake") for argument in ARGUMENTS)


def write_prompts() -> None:
    Path("prompts.csv").write_text("prompt\n" + "".join(f"Is it {number} o'clock?\n" for number in range(PROMPTS)))


def start(base_url: str, *arguments: str) -> subprocess.Popen[str]:
    endpoint(base_url)
    command = [*COMMAND, *(arguments or ARGUMENTS)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(base_url)
    )


def stored() -> int:
    run = Path("out/assessment.sqlite")
    if not run.exists():
        return 0
    connection = sqlite3.connect(f"file:{run}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < end
        time.sleep(0.02)


def test_kill_9_loses_and_repeats_nothing(tmp_path: Path):
    write_prompts()
    log = tmp_path / "log.jsonl"
    with server_process("--log", str(log), "--latency", "0.1") as base_url:
        process = start(base_url, *BY_SDK)
        wait_until(lambda: stored() > PLANNED / 4, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = stored()
        assert PLANNED / 4 < kept < PLANNED
        assert not Path("out/assessment.json").exists()
        done = biaslens(*BY_SDK, base_url=base_url)
        assert done.returncode == 0, done.stderr
    assert stored() == PLANNED
    assert json.loads(Path("out/assessment.json").read_text(encoding="utf-8"))["missing"] == 0
    # Each request has a seed of its own.
    delivered = Counter(line["hash"] for line in map(json.loads, log.read_text().splitlines()) if line["delivered"])
    assert len(delivered) == PLANNED
    # Asked twice is at most what was in flight or about to be committed when the process was killed.
    assert 0 <= sum(delivered.values()) - PLANNED <= 32


def test_ctrl_c_while_asking_keeps_what_is_in_flight():
    write_prompts()
    with FakeServer(lambda request: by_kind(request, delay=0.1)) as server:
        process = start(server.base_url)
        wait_until(lambda: stored() > 20, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "the same command asks only what is missing" in err
        assert out == ""
        assert stored() == len(server.log) < PLANNED
        done = biaslens(*ARGUMENTS, base_url=server.base_url)
        assert done.returncode == 0, done.stderr
        assert len(server.log) == PLANNED


def test_ctrl_c_while_a_judge_is_asked():
    Path("texts.csv").write_text("response\n" + "".join(f"Text {number}.\n" for number in range(200)))
    arguments = (
        "assess", "texts.csv", "--task", "generation", "--metrics", "toxicity", "--toxicity-scorer",
        "judge:compatible/fake/fake", "--rounds", "100", "--out", "out",
    )  # fmt: skip
    with FakeServer(lambda request: by_kind(request, delay=0.1)) as server:
        process = start(server.base_url, *arguments)
        wait_until(lambda: stored() > 20, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert stored() == len(server.log) < 200
        done = biaslens(*arguments, base_url=server.base_url)
        assert done.returncode == 0, done.stderr
        assert len(server.log) == 200


def test_ctrl_c_while_measuring_ends_it():
    rows = "".join(
        f"{number},gender,{group},{group} {number} likes the town and number {number * 7 % 31}.\n"
        for number in range(6000)
        for group in ("female", "male", "female", "male")
    )
    Path("texts.csv").write_text("prompt_id,attribute,group,response\n" + rows)
    # Intervals of this size take most of a minute.
    process = start("http://127.0.0.1:9/v1", "assess", "texts.csv", "--task", "generation", "--metrics",
                    "toxicity", "--rounds", "1000000", "--out", "out")  # fmt: skip
    wait_until(Path("out/assessment.sqlite").exists, process)
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert not Path("out/assessment.json").exists()


def test_a_second_process_is_refused():
    write_prompts()
    with FakeServer(lambda request: by_kind(request, delay=2)) as server:
        process = start(server.base_url)
        wait_until(lambda: stored() > 10, process)
        second = biaslens(*ARGUMENTS, base_url=server.base_url)
        assert second.returncode == 1
        assert "another process is writing this run" in second.stderr
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert stored() == len(server.log)
