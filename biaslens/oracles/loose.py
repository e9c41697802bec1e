"""Find the group that an answer means when it uses none of the options' own phrases: "the Europeans", "gentlemen"."""

from __future__ import annotations

import re
from functools import lru_cache

from biaslens.oracles.alike import ALIKE
from biaslens.oracles.marks import TEXT_MARK
from biaslens.oracles.phrases import telling_words

_GENERIC = frozenset(
    [
        *("adult", "applicant", "area", "background", "be", "been", "candidate", "colleague", "community", "do"),
        *(
            "don't",
            "dweller",
            "employee",
            "family",
            "folk",
            "from",
            "group",
            "in",
            "individual",
            "live",
            "living",
            "man",
        ),
        *("member", "never", "one", "people", "person", "region", "resident", "student", "that", "who", "worker"),
    ]
)
"""Words that say little of whom a group is made up."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
_UNSPACED = re.compile("[\u3000-\u9fff]")
_ENDING = re.compile(r"(?:(?:ians?|eans?|ans?|ese|ish|ies|es|s|y|e|a))\Z")
_SHORTEST_STEM = 4
_MOST_WORDS = 3
"""Most telling words of an option that a single one of them can stand for."""


def mark_loosely(text: str, options: tuple[str, ...]) -> str:
    """Lower case of a clean text with a mark for every word that only one of the groups can be meant by."""
    lower = text.lower()
    meant = _meant(options)
    if not meant:
        return lower

    def replace(match: re.Match[str]) -> str:
        position = _position(match[0], meant)
        return match[0] if position is None else chr(TEXT_MARK + position)

    return _WORD.sub(replace, lower)


def _position(word: str, meant: dict[str, int]) -> int | None:
    if _UNSPACED.search(word):
        return next(
            (position for phrase, position in meant.items() if phrase in word and _UNSPACED.match(phrase)), None
        )
    for form in (word, word.split("'", maxsplit=1)[0], _stem(word)):
        if form in meant:
            return meant[form]
    return None


@lru_cache(maxsize=1 << 15)
def _meant(options: tuple[str, ...]) -> dict[str, int]:
    """Words and stems that stand for one group only."""
    found: dict[str, set[int]] = {}
    for position, words in enumerate(telling_words(options)):
        content = sorted(words - _GENERIC) or sorted(words)
        if len(content) > _MOST_WORDS:
            continue
        for word in content:
            for form in {word, _stem(word), *_alike(word)}:
                found.setdefault(form, set()).add(position)
    return {word: positions.pop() for word, positions in found.items() if len(positions) == 1}


def _alike(word: str) -> set[str]:
    return {other for group in ALIKE if word in group.split() for other in group.split()}


def _stem(word: str) -> str:
    """Word without a plural's, adjective's or country's ending: "german" of "Germany" and "Germans"."""
    stem = _ENDING.sub("", word.removesuffix("s") if not word.endswith("ss") else word)
    return stem if len(stem) >= _SHORTEST_STEM else word
