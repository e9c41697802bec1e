"""What is wrong with an item or with a whole reply."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """Which rule an item broke, or why a reply holds no items."""

    FORM = "form"
    GROUPS = "groups"
    OPTIONS = "options"
    PLACEHOLDER = "placeholder"
    LANGUAGE = "language"
    ROLE = "role"
    REPEAT = "repeat"
    EMPTY = "empty reply"
    REFUSED = "refused"
    UNREADABLE = "unreadable reply"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault.

    Parameters
    ----------
    rule
        The rule.
    reason
        What is wrong and what to do, for the model to read.
    text
        The item; "" where it is about the whole reply.
    """

    rule: Rule
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text!r}: {self.reason}" if self.text else self.reason
