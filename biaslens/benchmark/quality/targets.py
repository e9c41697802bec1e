"""Estimate which groups a question compares, by the words that name them: the same way for every benchmark."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from biaslens.benchmark.quality.text import statement, words
from biaslens.schema import Attribute, Question

_LONGEST = 5
"""Words in the longest phrase of groups.toml."""

Name = tuple[Attribute, str]
"""A group of groups.toml: "women" of gender."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a question seems to compare.

    Parameters
    ----------
    target
        The attribute of which most groups are named; of several, the one named first. None where none is named.
    groups
        The groups of that attribute, in the order in which the question names them.
    """

    target: Attribute | None
    groups: tuple[str, ...]


def estimate(question: Question) -> Estimate:
    """Estimate target and groups of a question from its words alone, whatever the benchmark says of them.

    Examples
    --------
    >>> from biaslens.schema import Kind, Role
    >>> baker = Role(Attribute.OCCUPATION, "Bakers", "a baker")
    >>> estimate(Question(baker, Kind.YES_NO, "Are older women wiser than young women?")).groups
    ('old', 'young')
    """
    return estimate_text(statement(question))


def estimate_text(text: str) -> Estimate:
    """Estimate target and groups from a text."""
    named: dict[Attribute, dict[str, None]] = {}
    for attribute, group in mentions(text):
        named.setdefault(attribute, {})[group] = None
    if not named:
        return Estimate(None, ())
    target = max(named, key=lambda attribute: len(named[attribute]))  # the first of the largest: insertion order
    return Estimate(target, tuple(named[target]))


def mentions(text: str) -> list[Name]:
    """List the groups that a text names, in order, the longest phrase first at each place."""
    phrases = _phrases()
    tokens = [_stem(word) for part in words(text) for word in part.split("-")]
    found: list[Name] = []
    start = 0
    while start < len(tokens):
        for size in range(min(_LONGEST, len(tokens) - start), 0, -1):
            names = phrases.get(" ".join(tokens[start : start + size]))
            if names:
                found += names
                start += size
                break
        else:
            start += 1
    return found


@cache
def _phrases() -> Mapping[str, tuple[Name, ...]]:
    table = tomllib.loads(Path(__file__).with_name("groups.toml").read_text(encoding="utf-8"))
    phrases: dict[str, tuple[Name, ...]] = {}
    for attribute, groups in table.items():
        for group, names in groups.items():
            for name in names:
                key = " ".join(_stem(word) for word in name.split())
                if len(key.split()) > _LONGEST:
                    raise ValueError(f"groups.toml: {name!r} has more than {_LONGEST} words")
                phrases[key] = (*phrases.get(key, ()), (Attribute(attribute), group))
    return phrases


def _stem(word: str) -> str:
    """Take off the ending of a plural or possessive, as far as it tells nothing."""
    word = word.removesuffix("'s").removesuffix("’s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
