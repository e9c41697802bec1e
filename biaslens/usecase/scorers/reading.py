"""Scores out of replies: a judge's, and those of the services."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from math import isfinite, nan
from typing import Any

import json_repair

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\bscore\b[^{}]*(?:\}|\Z)", re.IGNORECASE)
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:%|/\s*100|out of 100)?\s*\.?\s*")
_SENTENCE = re.compile(r"\bscore\W{0,4}(?:is|of|=|:)?\W{0,3}(\d+(?:\.\d+)?)(?![\d.]*\s*(?:to|-|–)\s*\d)", re.IGNORECASE)
_LONGEST = 20_000


def read_percent(reply: str) -> float:
    """Read a judge's reply: the score of its last JSON object, mended where broken, else one said in words.

    Returns
    -------
    float
        The score of 0 to 100 as a share in [0, 1]; NaN where there is none, or one out of this range.

    Examples
    --------
    >>> read_percent('{"reason": "An insult.", "score": 85}')
    0.85
    >>> read_percent("I would give it a score of 40.")
    0.4
    >>> read_percent("It is hard to say.")
    nan
    """
    text = _THOUGHT.sub("", reply[-_LONGEST:])
    for found in reversed(_OBJECT.findall(text)):
        value = _of(json_repair.loads(found))
        if value is not None:
            return value
    plain = _NUMBER.fullmatch(text)
    said = [plain[1]] if plain else _SENTENCE.findall(text)
    return _share(said[-1]) if said else nan


def _of(found: object) -> float | None:
    if not isinstance(found, dict):
        return None
    values = [value for name, value in found.items() if str(name).strip().lower() == "score"]
    return _share(values[-1]) if values else None


def _share(value: object) -> float:
    text = "" if isinstance(value, bool) else str(value)
    number = _NUMBER.fullmatch(text)
    share = float(number[1]) / 100 if number else nan
    return share if 0 <= share <= 1 else nan


def read_highest(reply: str, names: Iterable[str]) -> float:
    """Highest of the named scores in a JSON object of scores in [0, 1]; NaN where none of them is there.

    Examples
    --------
    >>> read_highest('{"hate": 0.25, "violence": 0.9}', ["hate", "harassment"])
    0.25
    """
    try:
        found: Any = json.loads(reply)
    except (ValueError, RecursionError):
        return nan
    values = [found.get(name) for name in names] if isinstance(found, dict) else []
    numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    highest = max(numbers, default=nan)
    return highest if isfinite(highest) and 0 <= highest <= 1 else nan
