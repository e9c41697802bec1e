"""Keep what stands behind the numbers: a score a response, a similarity a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from biaslens.usecase.responses import Response


class Recorder(Protocol):
    """Hears the score of every response and of every pair."""

    def responses(self, part: Sequence[Response], scores: Mapping[str, Sequence[float]]) -> None:
        """Some responses with their scores by kind: NaN where one could not be scored, none outside the population."""

    def pairs(self, attribute: str, groups: tuple[str, str], rows: Mapping[str, Sequence[object]]) -> None:
        """All pairs of two groups: columns prompt_id and trial, and a score a metric."""


class Unrecorded:
    """Scores that nobody keeps."""

    def responses(self, part: Sequence[Response], scores: Mapping[str, Sequence[float]]) -> None:
        """Ignore."""

    def pairs(self, attribute: str, groups: tuple[str, str], rows: Mapping[str, Sequence[object]]) -> None:
        """Ignore."""
