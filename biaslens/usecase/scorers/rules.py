"""Rules as data: regular expressions over marked sentences, put together from classes of words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

VERSION = 2
"""Version of the rules: part of the scorers' names, raised whenever a score may change."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a sentence scores where the pattern is found in it."""

    score: float
    pattern: re.Pattern[str]


@cache
def table(name: str) -> dict[str, Any]:
    """The file ``data/NAME.toml``."""
    return tomllib.loads(files("biaslens.usecase.scorers").joinpath(f"data/{name}.toml").read_text(encoding="utf-8"))


def compiled(
    listed: Sequence[Mapping[str, Any]],
    classes: Mapping[str, str],
    change: Callable[[str], str] = lambda pattern: pattern,
) -> list[Rule]:
    """Rules of a file, highest score first; {name} in a pattern stands for a class, which may name those before it."""
    known: dict[str, str] = {}
    for name, words in classes.items():
        known[name] = words.format(**known) if "{" in words else words
    made = [
        Rule(
            float(rule["score"]), re.compile("|".join(change(pattern.format(**known)) for pattern in rule["patterns"]))
        )
        for rule in listed
    ]
    return sorted(made, key=lambda rule: -rule.score)


def highest(rules: Sequence[Rule], sentence: str) -> float:
    """Score of the first rule whose pattern is found; 0 for none."""
    return next((rule.score for rule in rules if rule.pattern.search(sentence)), 0.0)
