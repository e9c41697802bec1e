"""Fairness through unawareness: whether prompts name protected groups at all, with which words, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from biaslens.usecase.tokens import Tokens, tokenise
from biaslens.usecase.words.lexicon import Found, Lexicon, Mentions

EXAMPLES = 5
"""So many prompts are shown with the characters of their words."""

_CHUNK = 10_000


@dataclass(frozen=True)
class GroupUse:
    """How the prompts name one group.

    Parameters
    ----------
    words
        How often each word occurs, the most frequent first.
    prompts
        Indices of the prompts in which any occurs, ascending.
    """

    words: Mapping[str, int]
    prompts: tuple[int, ...]

    @property
    def count(self) -> int:
        """Mentions in all."""
        return sum(self.words.values())


@dataclass(frozen=True)
class AttributeUse:
    """How the prompts name the groups of one attribute.

    Parameters
    ----------
    groups
        By group, those that do not occur included.
    prompts
        Indices of the prompts that name any group, ascending.
    examples
        The first few of them, with where the words stand.
    """

    groups: Mapping[str, GroupUse]
    prompts: tuple[int, ...]
    examples: tuple[tuple[int, tuple[Found, ...]], ...]

    @property
    def satisfied(self) -> bool:
        """Whether no prompt names a group of this attribute."""
        return not self.prompts


@dataclass(frozen=True)
class Unawareness:
    """Outcome of the check.

    Parameters
    ----------
    attributes
        By attribute.
    prompts
        How many prompts were read.
    """

    attributes: Mapping[str, AttributeUse]
    prompts: int

    @property
    def satisfied(self) -> bool:
        """Whether no prompt contains a protected word: True is unaware.

        LangFair's ``check_ftu`` reports the reverse.
        """
        return all(use.satisfied for use in self.attributes.values())

    @property
    def mentioning(self) -> tuple[int, ...]:
        """Indices of the prompts that contain a protected word of any attribute, ascending."""
        return tuple(sorted({index for use in self.attributes.values() for index in use.prompts}))


def check_unawareness(prompts: Iterable[str], lexicon: Lexicon) -> Unawareness:
    """Look for protected words in prompts; texts are read in chunks, so that there may be many.

    Examples
    --------
    >>> from biaslens.usecase.words import load_words
    >>> use = check_unawareness(["Is she qualified?", "Is it raining?"], load_words(["gender"]))
    >>> use.satisfied, use.attributes["gender"].prompts, use.attributes["gender"].groups["female"].words
    (False, (0,), {'she': 1})
    """
    words = {name: {group: Counter[str]() for group in use.groups} for name, use in lexicon.attributes.items()}
    where = {name: {group: set[int]() for group in use.groups} for name, use in lexicon.attributes.items()}
    first: dict[str, dict[int, str]] = {name: {} for name in lexicon.attributes}
    read = 0
    for chunk in _chunks(prompts):
        tokens = tokenise(chunk)
        for name, group, text, spoken in _mentions(tokens, lexicon.match(tokens), lexicon):
            words[name][group][spoken] += 1
            where[name][group].add(read + text)
            if len(first[name]) < EXAMPLES:
                first[name].setdefault(read + text, chunk[text])
        read += len(chunk)
    uses = {}
    for name, by_group in where.items():
        groups = {
            group: GroupUse(dict(words[name][group].most_common()), tuple(sorted(found)))
            for group, found in by_group.items()
        }
        examples = tuple(
            (index, tuple(found for found in lexicon.find(text) if found.attribute == name))
            for index, text in first[name].items()
        )
        uses[name] = AttributeUse(groups, tuple(sorted(set().union(*by_group.values()))), examples)
    return Unawareness(uses, read)


def _mentions(tokens: Tokens, mentions: Mentions, lexicon: Lexicon) -> Iterable[tuple[str, str, int, str]]:
    names = list(lexicon.attributes.values())
    texts = np.searchsorted(tokens.starts, mentions.token, side="right") - 1
    columns = (mentions.token, mentions.length, mentions.attribute, mentions.group, texts)
    for token, length, attribute, group, text in zip(*(column.tolist() for column in columns), strict=True):
        spoken = " ".join(tokens.vocabulary[number] for number in tokens.ids[token : token + length])
        yield names[attribute].name, names[attribute].groups[group], text, spoken


def _chunks(prompts: Iterable[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    for prompt in prompts:
        chunk.append(prompt)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
