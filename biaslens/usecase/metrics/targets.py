"""Words that the stereotype metrics look at by default, from `targets.toml` and `stop_words.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.marked import numbers_of
from biaslens.usecase.tokens import Tokens, words_of

_FOLDER = Path(__file__).parent


@cache
def professions() -> tuple[str, ...]:
    """Default target words: names of professions, the singular and the plural of each."""
    lines = _lists("targets.toml")["professions"]
    return tuple(dict.fromkeys(words_of(" ".join(lines))))


@cache
def adjectives() -> tuple[str, ...]:
    """Default target words: adjectives that describe a person."""
    return tuple(_lists("targets.toml")["adjectives"])


@cache
def stop_words() -> tuple[str, ...]:
    """English words of the closed classes, and what is left of contractions when an apostrophe ends a word."""
    return tuple(dict.fromkeys(word for words in _lists("stop_words.toml").values() for word in words))


def targets_or_default(targets: Iterable[str] | None) -> tuple[str, ...]:
    """Different target words in lower case, by default professions and adjectives; ValueError for one of two words."""
    if targets is None:
        return (*professions(), *adjectives())
    found = {}
    for target in targets:
        if len(words := words_of(target)) != 1:
            raise ValueError(f"the target {target!r} is {len(words)} words; a target is a single word")
        found[words[0]] = True
    return tuple(found)


def target_numbers(tokens: Tokens, targets: tuple[str, ...]) -> NDArray[np.int64]:
    """Number of the target that each word of the vocabulary is, or -1."""
    return numbers_of(tokens, {word: number for number, word in enumerate(targets)})


def _lists(name: str) -> dict[str, list[str]]:
    data = tomllib.loads((_FOLDER / name).read_text(encoding="utf-8"))
    return {key: value for key, value in data.items() if isinstance(value, list)}
