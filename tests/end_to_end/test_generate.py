"""`biaslens generate` as a user runs it: asks first, says what is missing, survives being killed."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from batch_answers import answer_files, json_lines
from batch_server import BatchProvider
from command import COMMAND, biaslens, endpoint, environment
from fake_server import FakeServer, Reply, Request, answer

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark_llm"))
from writer import again, as_json, items_for, persona_of, shipped, shipped_roles, wants_roles, writes

SIZE = ("--attribute", "age", "--attribute", "race", "--roles-per-attribute", "3", "--questions-per-kind", "4")
LISTS = 2 + 2 * 3  # two lists of roles, and one of encounters for each of six roles
STUBBORN = next(row for row in shipped_roles() if row["attribute"] == "race")
FILES = ("roles.csv", "questions.csv", "benchmark.toml")


def run(
    base_url: str, *options: str, out: str = "made", model: str = "openai/writer"
) -> subprocess.CompletedProcess[str]:
    return biaslens("generate", "--with", model, "--out", out, *SIZE, *options, base_url=base_url)


def start(base_url: str, *, out: str = "made") -> subprocess.Popen[str]:
    command = [*COMMAND, "generate", "--with", endpoint(base_url), "--out", out, *SIZE, "--concurrency", "2", "--yes"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(base_url))


def stored() -> int:
    if not Path("made/generation.sqlite").exists():
        return 0
    connection = sqlite3.connect("file:made/generation.sqlite?mode=ro", uri=True)
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
        time.sleep(0.01)


def half_first(request: Request) -> Reply:
    """Half of the items at first, and some of them the same for every role; slow enough to be killed meanwhile."""
    items = items_for(request.prompt)
    if not again(request.prompt):
        items = items[: max(1, len(items) // 2)]
        if not wants_roles(request.prompt):
            items[0] = items[0] | {"why": shipped(STUBBORN["persona"])[3]["why"]}
    return answer(as_json(request.prompt, items), delay=0.05)


def content(folder: str) -> list[str]:
    return [Path(folder, name).read_text() for name in FILES]


def test_a_benchmark_is_written_and_can_be_evaluated():
    with FakeServer(writes) as server:
        done = run(server.base_url, "--yes")
        assert (done.returncode, done.stdout) == (0, "made: 6 roles, 24 encounters\n"), done.stderr
        assert "openai/writer: 8 calls, about" in done.stderr
        assert "price unknown; more if replies fail the checks" in done.stderr
        assert "accepted of the first replies: 100% of 24 encounters" in done.stderr
        again = run(server.base_url)  # nothing left to pay for, so nothing to ask
        assert (again.returncode, again.stdout) == (0, done.stdout)
        assert len(server.requests) == LISTS
    plan = biaslens("plan", "openai/gpt-4o-mini", "--benchmark", "made", "--trials", "1")
    assert plan.returncode == 0, plan.stderr


def test_without_a_terminal_and_without_yes_nothing_is_asked():
    with FakeServer(writes) as server:
        done = biaslens("generate", "--with", "openai/writer", "--out", "made", *SIZE, base_url=server.base_url)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            "biaslens: there is no terminal to confirm the cost at; add --yes to continue without asking"
        )
        assert server.requests == []
    assert not Path("made").exists()


@pytest.mark.parametrize(("reply", "code"), [(b"n\n", 1), (b"y\n", 0)])
def test_at_a_terminal_it_asks_first(reply: bytes, code: int):
    terminal, end = pty.openpty()
    with FakeServer(writes) as server:
        command = [*COMMAND, "generate", "--with", "openai/writer", "--out", "made", *SIZE]
        with subprocess.Popen(
            command, stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(server.base_url)
        ) as process:
            os.write(terminal, reply)
            _, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert b"Continue? [y/N]" in err
        assert len(server.requests) == (0 if code else LISTS)
    os.close(terminal)
    os.close(end)


def test_kill_9_between_and_within_calls_changes_nothing_about_the_result():
    with FakeServer(half_first) as server:
        undisturbed = start(server.base_url, out="whole")
        _, err = undisturbed.communicate(timeout=60)
        assert undisturbed.returncode == 0, err
        needed = len(server.requests)
        kills = (1, 5, 12)
        for number in kills:
            process = start(server.base_url)
            wait_until(lambda number=number: stored() >= number, process)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.communicate()
        process = start(server.base_url)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert stored() == needed
        # Asked twice is only what was in flight, or arrived and was about to be committed, when a process was killed.
        assert len(server.requests) - 2 * needed <= 4 * len(kills)
    assert content("made") == content("whole")


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on():
    with FakeServer(half_first) as server:
        process = start(server.base_url)
        wait_until(lambda: stored() >= 5, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "the same command resumes" in err
        assert stored() == len(server.log)  # what was in flight is kept
        assert run(server.base_url, "--yes", model=endpoint(server.base_url)).returncode == 0
        assert stored() == len(server.log)


def test_what_is_missing_is_said_with_exit_code_3():
    def script(request: Request) -> Reply:
        stubborn = not wants_roles(request.prompt) and persona_of(request.prompt) == STUBBORN["persona"]
        return answer("Sorry, I cannot do that.") if stubborn else writes(request)

    with FakeServer(script) as server:
        done = run(server.base_url, "--yes", "--max-rounds", "2")
        assert (done.returncode, done.stdout) == (3, "")
        assert "rejected and requested again: 2 refused" in done.stderr
        assert (
            f"missing: race: 0 of 4 encounters for {STUBBORN['name']} after 2 rounds; last: the reply was"
            in done.stderr
        )
        assert "no benchmark written (--partial writes one): the same command resumes" in done.stderr
        assert not Path("made/questions.csv").exists()
        partial = run(server.base_url, "--yes", "--max-rounds", "2", "--partial")
        assert (partial.returncode, partial.stdout) == (3, "made: 5 roles, 20 encounters, partial\n")
        as_json_text = run(server.base_url, "--yes", "--max-rounds", "2", "--json").stdout
        (short,) = json.loads(as_json_text)["short"]
        assert (short["role"], short["made"], short["wanted"]) == (STUBBORN["name"], 0, 4)


def test_two_processes_do_not_write_one_folder():
    with FakeServer(lambda request: Reply(writes(request).text, delay=0.4)) as server:
        process = start(server.base_url)
        wait_until(lambda: stored() >= 2, process)
        second = run(server.base_url, "--yes", model=endpoint(server.base_url))
        assert second.returncode == 1
        assert "another process is writing this benchmark; wait for it, or give another --out" in second.stderr
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--with", "bank", "--max-rounds", "3"), "--max-rounds does not go with --with bank"),
        (("--with", "bank", "--yes"), "--yes does not go with --with bank"),
        (("--with", "bank", "--batch-files", "files"), "--batch-files does not go with --with bank"),
        (("--with", "encounters", "--roles", "roles.csv"), "--roles does not go with --with encounters"),
        (("--with", "openai/writer", "--encounters", "mine"), "--encounters does not go with a model"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(options: tuple[str, ...], message: str):
    done = biaslens("generate", *options, "--out", "made")
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("name", ["nobody/model", "gpt-4o"])
def test_an_unknown_generator_is_one_line(name: str):
    done = biaslens("generate", "--with", name, "--out", "made", "--yes")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("biaslens: ")
    assert "Traceback" not in done.stderr


def by_files(*options: str, out: str = "made") -> subprocess.CompletedProcess[str]:
    return biaslens(
        "generate", "--with", "openai/writer", "--out", out, *SIZE, "--batch-files", f"{out}-files", *options
    )


def test_by_files_it_comes_to_the_same_as_by_asking():
    with FakeServer(half_first) as server:
        assert run(server.base_url, "--yes", out="asked").returncode == 0
        asked = len(server.requests)
    answered = 0
    while (done := by_files()).returncode == 3:
        assert re.search(r"\d+ requests wait for answers \(made-files.requests-00\d.jsonl\)", done.stderr), done.stderr
        answered += answer_files(Path("made-files"), half_first)
    assert (done.returncode, done.stdout, answered) == (0, "made: 6 roles, 24 encounters\n", asked), done.stderr
    assert content("made") == content("asked")
    assert len(list(Path("made-files").glob("requests-*"))) == 4  # roles, then encounters, each asked for again


def test_in_batches_it_comes_to_the_same_as_by_asking():
    provider = BatchProvider(half_first)
    with FakeServer(provider) as server:
        assert run(server.base_url, "--yes", out="asked").returncode == 0
        done = run(server.base_url, "--yes", "--batch")
    assert (done.returncode, done.stdout) == (0, "made: 6 roles, 24 encounters\n"), done.stderr
    assert content("made") == content("asked")
    assert (len(provider.batches), set(provider.submitted.values())) == (4, {1})


def test_by_files_no_key_is_needed_and_strange_lines_are_said():
    assert by_files().returncode == 3
    answer_files(Path("made-files"), writes)
    Path("made-files/strange.jsonl").write_text('{"custom_id": "nobody", "response": null, "error": null}\nnot JSON\n')
    done = by_files()
    assert "2 requests answered, 0 failed" in done.stderr
    assert (
        "made-files: lines passed over: 1 of no request of this run (first: strange.jsonl:1), "
        "1 no batch output (first: strange.jsonl:2)" in done.stderr
    )
    assert "6 requests wait for answers" in done.stderr


def test_a_weak_model_fails_politely_by_files_too():
    while (done := by_files("--max-rounds", "2")).returncode == 3 and "wait for answers" in done.stderr:
        answer_files(
            Path("made-files"),
            lambda request: writes(request) if wants_roles(request.prompt) else answer('{"encounters": [{"a":'),
        )
    assert (done.returncode, done.stdout) == (3, "")
    assert "accepted of the first replies" not in done.stderr
    assert done.stderr.count(" encounters for ") == 6
    assert "after 2 rounds; last: the reply held no JSON" in done.stderr


def test_kill_9_while_files_are_exchanged_loses_nothing_and_asks_nothing_twice():
    while by_files(out="whole").returncode == 3:
        answer_files(Path("whole-files"), half_first)
    command = [*COMMAND, "generate", "--with", "openai/writer", "--out", "made", *SIZE, "--batch-files", "made-files"]
    begun = time.monotonic()
    assert subprocess.run(command, check=False, capture_output=True, env=environment()).returncode == 3
    whole = time.monotonic() - begun
    code, killed = 3, 0
    while code == 3:
        answer_files(Path("made-files"), half_first)
        for share in (0.7, 0.9):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
            time.sleep(share * whole)
            killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate()
        code = by_files().returncode
    assert killed
    assert content("made") == content("whole")
    assert json_lines(Path("made-files"), "requests-*") == json_lines(Path("whole-files"), "requests-*")


def test_the_bank_still_needs_nothing_else():
    done = biaslens(
        "generate",
        "--with",
        "bank",
        "--roles-per-attribute",
        "1",
        "--questions-per-kind",
        "1",
        "--mirrors",
        "--out",
        "b",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("b: 11 roles, ")
