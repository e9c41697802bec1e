"""Classes of English words that the rules of context use."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SUFFIXES = ("al", "ic", "ive", "ous", "ful", "less", "able", "ible", "ish", "ese", "ly", "ed", "ing")
"""Endings of words that may stand between an adjective and its noun."""


_MEMBERS = ("race", "religion", "age", "sexual_orientation", "disability", "nationality", "socioeconomic_status")
"""Attributes whose nouns name people, and may be adjectives, too."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """Words in lower case by what they are; the file ``persons.toml`` says what each class is for."""

    singular: frozenset[str]
    plural: frozenset[str]
    modifiers: frozenset[str]
    follow: frozenset[str]
    verbs: frozenset[str]
    be: frozenset[str]
    adverbs: frozenset[str]
    pronouns: frozenset[str]
    determiners: frozenset[str]
    definite: frozenset[str]
    things: frozenset[str]
    origin: frozenset[str]
    names: frozenset[str]
    members: frozenset[str]

    def person(self, word: str) -> bool:
        """Whether a word is a noun for a person, or for people."""
        return word in self.singular or word in self.plural

    def modifies(self, word: str) -> bool:
        """Whether a word may stand between an adjective and the noun."""
        return word in self.modifiers or word.isdigit() or (word.endswith(_SUFFIXES) and word not in self.follow)

    def verb(self, word: str) -> bool:
        """Whether a word after a person noun is likely its verb."""
        return word in self.verbs or (word.endswith("ed") and len(word) > 3)


@cache
def grammar() -> Grammar:
    """The classes, read once."""
    data = Path(__file__).with_name("data")
    table = tomllib.loads((data / "persons.toml").read_text(encoding="utf-8"))
    names = tomllib.loads((data / "names.toml").read_text(encoding="utf-8"))
    classes = {key: frozenset(text.split()) for key, text in table.items()}
    classes["singular"] |= _forms(data / "gender.toml", "noun")
    for attribute in (
        "gender",
        "race",
        "age",
        "sexual_orientation",
        "disability",
        "nationality",
        "socioeconomic_status",
    ):
        classes["plural"] |= _forms(data / f"{attribute}.toml", "plural")
    classes["plural"] |= {f"{word}s" for word in classes["singular"]}
    given = (name for lists in names.values() for group in lists.values() if isinstance(group, list) for name in group)
    classes["members"] = frozenset[str]().union(*(_forms(data / f"{attribute}.toml", "noun") for attribute in _MEMBERS))
    classes["plural"] |= {f"{word}s" for word in classes["members"] if not word.endswith("s")}
    return Grammar(**classes, names=frozenset(name.lower() for name in given))


def _forms(path: Path, kind: str) -> frozenset[str]:
    """Single words of one kind in a word list."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["words"][kind]
    cells = [cell if isinstance(cell, list) else [cell] for row in rows for cell in row.values()]
    forms = (form.removeprefix("=").lower() for cell in cells for form in cell)
    return frozenset(form for form in forms if form.isalpha())
