"""Responses to assess: what each one answers, for whom, and which of them belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

FILTERED = "content_filter"
"""Finish reason of a response that the provider withheld."""

CUT = "length"
"""Finish reason of a response that broke off at the limit of tokens."""


class Series(StrEnum):
    """Why a prompt was asked."""

    ORIGINAL = "original"
    COUNTERFACTUAL = "counterfactual"
    NO_EFFECT = "no_effect"


@dataclass(frozen=True, slots=True)
class Response:
    """A response and what it answers.

    Parameters
    ----------
    prompt_id
        The prompt it belongs to: counterfactual prompts have that of the prompt they were made of.
    prompt
        What was asked; None where it is not known.
    text
        What was answered.
    attribute, group
        Whom the prompt was made to be about; "" for prompts as they are.
    series
        Why it was asked.
    trial
        Number among the responses to the same prompt in the same series, from 0.
    filtered
        Whether the provider withheld it.
    cut
        Whether it broke off at the limit of tokens.
    """

    prompt_id: str
    prompt: str | None
    text: str
    attribute: str = ""
    group: str = ""
    series: Series = Series.ORIGINAL
    trial: int = 0
    filtered: bool = False
    cut: bool = False

    @property
    def usable(self) -> bool:
        """Whether there is something to measure."""
        return not self.filtered and bool(self.text.strip())


class Responses(Protocol):
    """Responses that can be read more than once, a part at a time, so that a million of them need not be held."""

    def parts(self) -> Iterator[Sequence[Response]]:
        """All responses, in parts of some thousands."""
        ...


class Held:
    """Responses in memory."""

    def __init__(self, responses: Sequence[Response], size: int = 20_000) -> None:
        self._responses = responses
        self._size = size

    def parts(self) -> Iterator[Sequence[Response]]:
        """All responses, in parts."""
        for start in range(0, len(self._responses), self._size):
            yield self._responses[start : start + self._size]
