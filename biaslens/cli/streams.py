"""Standard output and error of the command line, when they fail too."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress

import click

from biaslens.errors import BiasLensError


def guarded(command: Callable[[], object]) -> None:
    """Run a command; what it cannot do, or cannot say, becomes one line on stderr and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A file's name may hold bytes that are no text; it is shown with them escaped.
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except BiasLensError as error:
        click.echo(f"biaslens: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:  # whoever read it has seen enough
        _silence()
        sys.exit(1)
    except OSError as error:
        _silence()
        place = "standard output" if error.filename is None else os.fsdecode(error.filename)
        with suppress(OSError):
            click.echo(f"biaslens: {place}: {error.strerror or error}; free some space or name another", err=True)
        sys.exit(1)


def _silence() -> None:
    """Let nothing be written to standard output any more, not even at the end of the process."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
