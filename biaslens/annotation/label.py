"""One person's label of one answer, and how it is read from what people give us."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from biaslens.errors import InputError
from biaslens.schema import Outcome

LONGEST_COMMENT = 5000
"""Characters of a comment."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
"""What an annotator may be called: the name becomes a file name, on any system."""


@dataclass(frozen=True, slots=True)
class Label:
    """What one person says an answer is.

    Parameters
    ----------
    key
        Of the response.
    outcome
        One of the five outcomes.
    sure
        Whether the person is.
    comment
        Anything worth saying; plain text, as `tidy` leaves it.
    at
        When it was given: UTC, ISO 8601; "" where that is not known.
    """

    key: str
    outcome: Outcome
    sure: bool = True
    comment: str = ""
    at: str = ""

    def contradicts(self, other: Label) -> bool:
        """Whether no one person can mean both: another outcome, or sure of one and unsure of the other."""
        return (self.outcome, self.sure) != (other.outcome, other.sure)


def check_name(annotator: str) -> str:
    """Give back a name that can be used.

    Raises
    ------
    InputError
        When it cannot.
    """
    if not NAME.fullmatch(annotator):
        raise InputError(
            f"annotator {annotator!r}: a name is 1 to 40 letters (a to z), digits, hyphens and underscores, "
            "and begins with a letter or digit; a pseudonym is best"
        )
    return annotator


def tidy(comment: str) -> str:
    r"""Plain text: one kind of line break, no control characters, no halves of characters, no space around it.

    Examples
    --------
    >>> tidy(" one\r\ntwo\x00 ")
    'one\ntwo'
    """
    text = comment.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text).strip()


def parse_label(row: Mapping[str, object], where: str) -> tuple[str, Label | None]:
    """Read the fields of a label: ``key``, ``outcome``, ``sure``, ``comment`` and, where there is one, ``at``.

    Parameters
    ----------
    row
        Texts of a table, or values of a JSON object. ``sure`` is "sure", "unsure", true or false; blank is sure.
    where
        File and row, for messages.

    Returns
    -------
    tuple
        The key; and the label, None where the outcome is blank.

    Raises
    ------
    InputError
        When a field cannot be read.
    """
    key = row.get("key")
    if not isinstance(key, str) or not key.strip():
        raise InputError(f"{where}: no key; the column key says which answer is meant")
    key = key.strip()
    where = f"{where}, key {_short(key)}"
    sure, comment, at = (_text(row.get(name), f"{where}: {name}") for name in ("sure", "comment", "at"))
    outcome = _text(row.get("outcome"), f"{where}: outcome").lower()
    if sure.lower() not in _SURE:
        raise InputError(f"{where}: sure is {_short(sure)!r}; write sure or unsure")
    if len(comment) > LONGEST_COMMENT:
        raise InputError(f"{where}: the comment has {len(comment):,} characters; at most {LONGEST_COMMENT:,} are kept")
    if not outcome:
        return key, None
    if outcome not in _OUTCOMES:
        raise InputError(f"{where}: unknown outcome {_short(outcome)!r}; it is one of {', '.join(_OUTCOMES)}")
    return key, Label(key, Outcome(outcome), _SURE[sure.lower()], comment, at)


_OUTCOMES = tuple(outcome.value for outcome in Outcome)
_SURE = {"": True, "sure": True, "true": True, "unsure": False, "false": False}


def _text(value: object, where: str) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value)
    if not isinstance(value, str):
        raise InputError(f"{where} is not text")
    return tidy(value)


def _short(text: str) -> str:
    """A foreign value within a message of one line."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return line if len(line) <= 60 else line[:57] + "..."
