"""Run the command line: `biaslens` in this process, `biaslens_process` in one of its own."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from biaslens.cli import main

COMMAND = (sys.executable, "-m", "biaslens")

Done = subprocess.CompletedProcess[str]


def environment(base_url: str | None = None, **more: str) -> dict[str, str]:
    values = {**os.environ, **more}
    if base_url is not None:
        values |= {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": base_url}
    return values


def endpoint(base_url: str) -> str:
    """Name a model of a server, and set it up in the working directory; its processes import no SDK, to be faster."""
    Path("biaslens.toml").write_text(f'[endpoints.fake]\nbase_url = "{base_url}"\n', encoding="utf-8")
    return "compatible/fake/fake"


def biaslens(
    *arguments: str | Path, base_url: str | None = None, cwd: Path | None = None, given: str = "", **more: str
) -> Done:
    """Run a command to its end as a process would; `given` is its stdin, `more` are environment variables."""
    args = ["biaslens", *map(str, arguments)]
    out, err = _stream("strict"), _stream("backslashreplace")
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment(base_url, **more), clear=True))
        stack.enter_context(contextlib.chdir(cwd or Path.cwd()))
        stack.enter_context(patch.multiple(sys, argv=args, stdin=io.StringIO(given), stdout=out, stderr=err))
        stack.enter_context(_logging_of_a_process())
        stack.enter_context(_warnings_of_a_process())
        stack.enter_context(_signals_put_back())
        stack.callback(_forget_files)
        code = _exit_code()
    return Done(args, code, _text(out), _text(err))


def biaslens_process(*arguments: str | Path, base_url: str | None = None, cwd: Path | None = None, **more: str) -> Done:
    """Run a command to its end in a process of its own: only for what `biaslens` cannot show, it takes a second."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        cwd=cwd,
        env=environment(base_url, **more),
    )


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:  # the interpreter prints whatever nobody caught
        traceback.print_exc()
        return 1
    return 0


def _forget_files() -> None:
    """Empty the caches that go by a path: the next command may find another file there."""
    sweep = sys.modules.get("biaslens.probe.run")
    if sweep is not None:
        sweep.load.cache_clear()
        sweep.read.cache_clear()


def _stream(errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors)


def _text(stream: io.TextIOWrapper) -> str:
    """Whatever was written, with the line ends that `subprocess` makes of it."""
    stream.flush()
    stream.seek(0)
    return io.TextIOWrapper(io.BytesIO(stream.buffer.read()), encoding="utf-8").read()


@contextlib.contextmanager
def _logging_of_a_process() -> Iterator[None]:
    """No handler, as in a process that sets none up: warnings go to stderr and not to pytest."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.contextmanager
def _warnings_of_a_process() -> Iterator[None]:
    """Python's own filters instead of pytest's, and the text on stderr."""

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextlib.contextmanager
def _signals_put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
