"""Texts as word numbers, read once for every metric that counts words, and which of the words name a group."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"[^\W_]+")
"""A word: a run of letters and digits of any script. Apostrophes and hyphens end it: "women's" is "women", "s"."""

_ASCII = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
"""What becomes of each ASCII character before words are cut at spaces: the same words, three times as fast."""


@cache
def toml_data(name: str) -> dict[str, Any]:
    """The file ``data/NAME.toml`` of this package."""
    return tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))


def words_of(text: str) -> list[str]:
    return text.translate(_ASCII).split() if text.isascii() else WORD.findall(text.lower())


@dataclass(frozen=True, eq=False)
class Tokens:
    """Texts as numbers of words.

    `ids` has the number of each word in `vocabulary`, all texts one behind the other; `starts` where each text begins,
    and the end of the last one, shape (texts + 1,).
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    vocabulary: Sequence[str]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary)}

    @cached_property
    def text_of(self) -> NDArray[np.int64]:
        """Index of the text that each word stands in, shape (words,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def text(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.starts[index] : self.starts[index + 1]]

    def words(self, index: int) -> list[str]:
        return [self.vocabulary[number] for number in self.text(index)]


def tokenise(texts: Iterable[str]) -> Tokens:
    """Read texts into word numbers, once."""
    split = [words_of(text) for text in texts]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(split)))}
    starts = np.concatenate([[0], np.cumsum(np.fromiter(map(len, split), dtype=np.int64, count=len(split)))])
    ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(split)), dtype=np.int32, count=int(starts[-1]))
    return Tokens(ids, starts, list(numbers))


MASK = "_"
"""The word that stands for every masked word or phrase; no text has it, for the underscore is no letter."""
NONE = -1
"""Group of a word that is not protected."""
OTHER = -2
"""Group of a protected word of a group that is not compared."""


@dataclass(frozen=True, eq=False)
class Places:
    """Words and phrases in texts, in order, not overlapping: first word, number of words, group from 0 or `OTHER`."""

    token: NDArray[np.integer]
    length: NDArray[np.integer]
    group: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.token)


@dataclass(frozen=True, eq=False)
class Mentions(Places):
    """Words of several attributes; `group` is the index within the attribute, which `attribute` is the index of."""

    attribute: NDArray[np.integer]

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """First word, number of words, attribute and group of each."""
        columns = (self.token, self.length, self.attribute, self.group)
        return zip(*(column.tolist() for column in columns), strict=True)


@dataclass(frozen=True, eq=False)
class MarkedTexts:
    """Texts with the group of each token, `NONE`, or `OTHER`; each phrase of a group is one token."""

    tokens: Tokens
    group_of: NDArray[np.int64]


def without_overlap(found: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Those of sorted places, each a first word, a length below 0 and more, that begin behind the end of the last."""
    end = 0
    for place in found:
        if place[0] >= end:
            yield place
            end = place[0] - place[1]


def of_attribute(mentions: Mentions, attribute: int, groups: Sequence[int]) -> Places:
    """Places of the words of one attribute, numbered as `groups` (indices of the lexicon); other groups are `OTHER`."""
    kept = mentions.attribute == attribute
    number = np.full(max([*groups, int(mentions.group.max(initial=-1))]) + 1, OTHER, dtype=np.int64)
    number[list(groups)] = np.arange(len(groups))
    return Places(mentions.token[kept], mentions.length[kept], number[mentions.group[kept]])


def marked(tokens: Tokens, places: Places) -> MarkedTexts:
    """Put each phrase together to one token, and note the groups; a phrase then has the word `MASK`."""
    joined, first = _joined(tokens, places)
    group_of = np.full(len(joined.ids), NONE, dtype=np.int64)
    group_of[first] = places.group
    phrases = first[places.length > 1]
    return MarkedTexts(_with_mask(joined, phrases) if len(phrases) else joined, group_of)


def masked(tokens: Tokens, places: Places) -> Tokens:
    """Replace every protected word or phrase by one token, the same for all: only the rest of the texts is compared."""
    return _with_mask(*_joined(tokens, places))


def _joined(tokens: Tokens, places: Places) -> tuple[Tokens, NDArray[np.int64]]:
    """Texts with the first word alone of each span, and where these stand."""
    inside = np.zeros(len(tokens.ids) + 1, dtype=np.int8)
    np.add.at(inside, places.token + 1, 1)
    np.add.at(inside, places.token + places.length, -1)
    kept = np.cumsum(inside[:-1], dtype=np.int8) == 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return Tokens(tokens.ids[kept], before[tokens.starts], tokens.vocabulary), before[places.token]


def _with_mask(tokens: Tokens, at: NDArray[np.int64]) -> Tokens:
    ids = tokens.ids.copy()
    ids[at] = len(tokens.vocabulary)
    return Tokens(ids, tokens.starts, [*tokens.vocabulary, MASK])


def taken(tokens: Tokens, rows: NDArray[np.integer] | Sequence[int]) -> Tokens:
    """Some of the texts, in the order given, with the same vocabulary."""
    rows = np.asarray(rows, dtype=np.int64)
    lengths = np.diff(tokens.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(starts[-1]) + np.repeat(tokens.starts[rows] - starts[:-1], lengths)
    return Tokens(tokens.ids[at], starts, tokens.vocabulary)


def numbers_of(tokens: Tokens, words: Iterable[str]) -> NDArray[np.int64]:
    """The place in `words` of each word of the vocabulary, -1 for one that is not there; shape (vocabulary,)."""
    numbers = np.full(len(tokens.vocabulary), -1, dtype=np.int64)
    for number, word in enumerate(words):
        if (index := tokens.numbers.get(word)) is not None:
            numbers[index] = number
    return numbers
