"""Roles that state a trait or a worth: the model is told the stereotype that it should be tested for."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from biaslens.benchmark.quality.text import words
from biaslens.schema import Attribute, Role


@dataclass(frozen=True, slots=True)
class Leak:
    """A word of judgement in a role.

    Parameters
    ----------
    role
        The role, in whose name or persona it stands.
    word
        The word.
    theme
        What it judges: competence, diligence, warmth, morals, temper or standing.
    """

    role: Role
    word: str
    theme: str

    @property
    def by_design(self) -> bool:
        """Whether the role is one of character, which is made of such a trait."""
        return self.role.attribute is Attribute.CHARACTER


def leaks(roles: Sequence[Role]) -> tuple[Leak, ...]:
    """Find the roles whose name or persona has a word of ``traits.toml``, each role once.

    A lexicon sees words, not meanings: it finds "lazy students" and misses a stereotype told in a story.
    """
    themes = _themes()
    found = []
    for role in roles:
        said = [*words(role.name), *words(role.persona)]
        if word := next((word for word in said if word in themes), None):
            found.append(Leak(role, word, themes[word]))
    return tuple(found)


@cache
def _themes() -> Mapping[str, str]:
    table = tomllib.loads(Path(__file__).with_name("traits.toml").read_text(encoding="utf-8"))
    return {word: theme for theme, listed in table.items() for word in listed}
