"""Commands that are loaded when they are called, and streams that may fail."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is not imported yet.

    `place` is its module within this package ("" for the package itself) and its name there,
    "report:report_command"; `summary`, with which help lists it, is the first line of the command's own help without
    its full stop.
    """

    place: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.place.partition(":")
        command: click.Command = getattr(import_module(f"biaslens.cli.{module}".rstrip(".")), attribute)
        return command


class LazyGroup(click.Group):
    """A group of lazy commands; `sections` are commands by name, by heading."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Lazy]], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.sections = sections
        self.lazy = {name: lazy for section in sections.values() for name, lazy in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order of the sections."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of a name."""
        lazy = self.lazy.get(cmd_name)
        return super().get_command(ctx, cmd_name) if lazy is None else lazy.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section, without importing a command."""
        del ctx
        width = max(map(len, self.lazy))
        for heading, section in self.sections.items():
            rows: Sequence[tuple[str, str]] = [(name.ljust(width), lazy.summary) for name, lazy in section.items()]
            with formatter.section(heading):
                formatter.write_dl(rows)
