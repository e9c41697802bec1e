"""Command groups that import a command when it is used, so that help and other commands do not wait for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is not imported yet.

    Parameters
    ----------
    place
        Module and attribute, "biaslens.cli.report:report_command".
    summary
        What help lists it with: the first line of the command's own help, without its full stop.
    """

    place: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


class LazyGroup(click.Group):
    """A group of lazy commands under headings.

    Parameters
    ----------
    sections
        Commands by name, by heading.
    """

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
