"""Ages as numbers: which group an age belongs to, and which one stands for a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biaslens.errors import InputError
from biaslens.usecase.words.model import Row

_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("sixteen", "seventeen", "eighteen", "nineteen")
_DECADES = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")


def spelled(number: int) -> str | None:
    """A number from 16 to 99 in words.

    Examples
    --------
    >>> spelled(25), spelled(80)
    ('twenty-five', 'eighty')
    """
    if 16 <= number < 20:
        return _TEENS[number - 16]
    if not 20 <= number < 100:
        return None
    tens, ones = _TENS[number // 10 - 2], number % 10
    return f"{tens}-{_ONES[ones - 1]}" if ones else tens


def number_rows(ages: object, where: str) -> list[Row]:
    """Rows of ages from the table ``[ages]``: by group ``{ from, to, write, decade }``.

    Ages from `from` to `to` belong to the group and `write` stands for it; decades ("in her 60s") go by `decade`.

    Raises
    ------
    InputError
        When an entry is not such a table.
    """
    if not ages:
        return []
    if not isinstance(ages, dict) or not all(_is_range(entry) for entry in ages.values()):
        raise InputError(f"{where}: ages needs a table of from, to, write and decade for each group")
    return [
        _row("number", ages, lambda entry: [str(age) for age in _ages(entry)]),
        _row("number", ages, lambda entry: [word for age in _ages(entry) if (word := spelled(age))]),
        _row("decade", ages, lambda entry: [f"{age}s" for age in _decades(entry)]),
        _row("decade", ages, lambda entry: [_DECADES[age // 10 - 2] for age in _decades(entry)]),
    ]


def _is_range(entry: object) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(key), int) for key in ("from", "to", "write", "decade"))


def _ages(entry: Mapping[str, int]) -> list[int]:
    return list(dict.fromkeys([entry["write"], *range(entry["from"], entry["to"] + 1)]))


def _decades(entry: Mapping[str, int]) -> list[int]:
    inside = [age for age in range(20, 100, 10) if entry["from"] <= age <= entry["to"]]
    return list(dict.fromkeys([entry["decade"], *inside]))


def _row(kind: str, ages: Mapping[str, Any], forms: Any) -> Row:  # noqa: ANN401
    recognised = {group: tuple(forms(entry)) for group, entry in ages.items()}
    return Row(kind, "age" if kind == "number" else "decade", recognised, {g: f[0] for g, f in recognised.items()})
