"""Watching an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from biaslens.engine import Tally
from biaslens.errors import ModelError
from biaslens.schema import Outcome


class Observer(Protocol):
    """Watches an evaluation."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """A phase begins: `done` of its `total` requests were answered by earlier starts."""

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """More of the phase is on disk: what this start asked, and the outcomes of what it decided."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """A request waits `seconds` before it is tried again."""

    def interrupted(self) -> None:
        """The run was told to stop and waits for what is in flight."""


class Unwatched:
    """An evaluation that nobody watches."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Ignore."""

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """Ignore."""

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Ignore."""

    def interrupted(self) -> None:
        """Ignore."""


@dataclass(frozen=True, slots=True)
class Unfailing:
    """An observer whose own reader may go away: a closed terminal or pipe ends no evaluation."""

    observer: Observer

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Pass it on."""
        with suppress(OSError, ValueError):
            self.observer.phase(title, total=total, done=done)

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """Pass it on."""
        with suppress(OSError, ValueError):
            self.observer.update(tally, outcomes)

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Pass it on."""
        with suppress(OSError, ValueError):
            self.observer.waiting(error, seconds)

    def interrupted(self) -> None:
        """Pass it on."""
        with suppress(OSError, ValueError):
            self.observer.interrupted()


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """The engine's progress, told to an observer together with the outcomes that the phase decides."""

    observer: Observer
    outcomes: Mapping[Outcome, int]

    def saved(self, tally: Tally) -> None:
        """Pass it on."""
        self.observer.update(tally, self.outcomes)

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Pass it on."""
        self.observer.waiting(error, seconds)
