"""Words by which social groups are recognised in a text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from biaslens.schema import Attribute

_LONGEST = 5
"""Words in the longest phrase of groups.toml."""

Name = tuple[Attribute, str]
"""A group of groups.toml: "women" of gender."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words(text: str) -> list[str]:
    """Split a text into its words, in lower case; an apostrophe or hyphen inside a word belongs to it.

    >>> words("Is it a well-kept garden's gate?")
    ['is', 'it', 'a', 'well-kept', "garden's", 'gate']
    """
    return _WORD.findall(text.lower())


def mentions(text: str) -> list[Name]:
    """List the groups that a text names, in order, the longest phrase first at each place."""
    phrases, longest = _phrases(), _longest()
    tokens = _stems(text)
    found: list[Name] = []
    start = 0
    while start < len(tokens):
        for size in range(min(longest.get(tokens[start], 0), len(tokens) - start), 0, -1):
            names = phrases.get(" ".join(tokens[start : start + size]))
            if names:
                found += names
                start += size
                break
        else:
            start += 1
    return found


OTHER = "other"
"""A group that no word of groups.toml or target_groups.toml names."""


@cache
def named_group(phrase: str, target: Attribute) -> str:
    """Name the group of groups.toml that a phrase means, where it is known on which attribute the group is one.

    Words that mean a group only then stand in target_groups.toml: "heavy" of customers, not of rain. `OTHER` where
    neither file has a word of the phrase.

    >>> named_group("heavy customers", Attribute.BODY), named_group("cleaners from Bolivia", Attribute.CULTURE)
    ('fat', 'latin_american')
    """
    own, tokens = _target_phrases().get(target, {}), _stems(phrase)
    after = next((place + 1 for place, word in enumerate(tokens) if word in _BEFORE_WHAT_TELLS), 0)
    for part in (tokens[after:], tokens):
        found = [
            (-size, *own[run])
            for size in range(1, _LONGEST + 1)
            for start in range(len(part) - size + 1)
            if (run := " ".join(part[start : start + size])) in own
        ]
        if found:
            return min(found)[2]
    return next((name for attribute, name in mentions(phrase) if attribute == target), OTHER)


def compared(groups: Sequence[str], target: Attribute | None, *, phrases: bool) -> str:
    """Name what a question compares, the same in whatever order and, of `phrases`, in whatever words.

    So "Black students" against "white students" is the same comparison as of customers. Where the phrases of a question
    do not name different groups, they are taken as they are. "" without a group.

    >>> compared(["white customers", "Black customers"], Attribute.RACE, phrases=True)
    'black / white'
    """
    plain = sorted({group.casefold() for group in groups})
    if phrases and target is not None:
        names = sorted({named_group(group, target) for group in groups})
        if len(names) == len(plain) and OTHER not in names:
            plain = names
    return " / ".join(plain)


_BEFORE_WHAT_TELLS = frozenset(("from", "of", "with", "without", "on", "in", "who", "by"))
"""Of "nurses from villages" the villages tell the group."""


@cache
def _target_phrases() -> Mapping[Attribute, Mapping[str, tuple[int, str]]]:
    """Name of the group that a phrase means, behind its place in the table, by attribute and phrase."""
    path = Path(__file__).with_name("target_groups.toml")
    return {
        Attribute(attribute): {
            " ".join(_stems(phrase)): (place, name)
            for place, (name, listed) in enumerate(groups.items())
            for phrase in listed
        }
        for attribute, groups in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


def _stems(text: str) -> list[str]:
    return [_stem(word) for part in words(text) for word in part.split("-")]


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


@cache
def _longest() -> Mapping[str, int]:
    """Words in the longest phrase that begins with a word."""
    longest: dict[str, int] = {}
    for phrase in _phrases():
        first, *others = phrase.split(" ")
        longest[first] = max(longest.get(first, 0), 1 + len(others))
    return longest


def _stem(word: str) -> str:
    """Take off the ending of a plural or possessive, as far as it tells nothing."""
    word = word.removesuffix("'s").removesuffix("’s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
