"""A command run in this process is told from one in a process of its own by nothing, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import warnings
from pathlib import Path

import click
import pytest
from command import Done, biaslens, biaslens_process

from biaslens.cli import app


def shown(done: Done) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["models"],
        ["report", "missing.sqlite"],
        ["report", "--turbo"],
        ["generate", "--with", "openai/writer", "--out", "made"],
    ],
)
def test_it_says_what_a_process_says(arguments: list[str]):
    Path("here").mkdir()
    Path("here/biaslens.toml").write_text("threads = 1\n")
    given = {"base_url": "http://127.0.0.1:1/v1", "cwd": Path("here"), "COLUMNS": "60"}
    assert shown(biaslens(*arguments, **given)) == shown(biaslens_process(*arguments, **given))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch):
    """Add a command to the command line for one test."""

    def add(body) -> None:
        monkeypatch.setitem(app.commands, "made", click.command("made")(body))

    return add


def test_whatever_nobody_caught_is_a_traceback_and_1(command):
    def body() -> None:
        click.echo("before")
        raise ZeroDivisionError("made to fail")

    command(body)
    done = biaslens("made")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert done.stderr.startswith("Traceback") and "ZeroDivisionError: made to fail" in done.stderr


@pytest.mark.parametrize(("code", "returned", "said"), [(3, 3, ""), (None, 0, ""), ("no", 1, "no\n")])
def test_the_exit_code_is_the_process_s(command, code, returned, said):
    command(lambda: sys.exit(code))
    assert shown(biaslens("made")) == (returned, "", said)


def test_warnings_and_log_lines_are_on_stderr_and_fail_nothing(command):
    def body() -> None:
        warnings.warn("seen", UserWarning, stacklevel=1)
        warnings.warn("not seen", DeprecationWarning, stacklevel=1)
        logging.getLogger("made").warning("logged")
        logging.getLogger("made").info("not logged")

    command(body)
    done = biaslens("made")
    assert done.returncode == 0
    assert "UserWarning: seen" in done.stderr
    assert "logged\n" in done.stderr
    assert "not " not in done.stderr


def test_stdin_is_what_is_given_and_no_terminal(command):
    command(lambda: click.echo(f"{sys.stdin.isatty()} {sys.stdin.read()}"))
    assert biaslens("made", given="yes").stdout == "False yes\n"


def test_nothing_is_left_behind(command):
    def state() -> tuple[object, ...]:
        root = logging.getLogger()
        return (
            dict(os.environ), Path.cwd(), sys.argv, sys.stdin, sys.stdout, sys.stderr, root.level, root.handlers[:],
            warnings.filters[:], warnings.showwarning, signal.getsignal(signal.SIGINT),
        )  # fmt: skip

    def body() -> None:
        os.environ["MADE"] = "1"
        os.chdir("/")
        logging.basicConfig(level=logging.DEBUG)
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        asyncio.run(asyncio.sleep(0))

    command(body)
    before = state()
    assert biaslens("made", base_url="http://127.0.0.1:1/v1", NAME="value").returncode == 0
    assert state() == before
