"""Watching an assessment."""

from __future__ import annotations

from typing import Protocol

from biaslens.engine import Progress, Silent


class Watcher(Progress, Protocol):
    """Watches requests being asked and texts being scored, phase by phase."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """A phase begins: `done` of its `total` requests were answered by earlier starts."""

    def scored(self, done: int, total: int) -> None:
        """A local scorer has scored so many of so many texts."""

    def interrupted(self) -> None:
        """The run was told to stop and waits for what is in flight."""


class Unwatched(Silent):
    """An assessment that nobody watches."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Ignore."""

    def scored(self, done: int, total: int) -> None:
        """Ignore."""

    def interrupted(self) -> None:
        """Ignore."""
