"""Finding the words of protected groups in texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.tokens import Tokens, words_of
from biaslens.usecase.words.context import REACH, holds
from biaslens.usecase.words.model import AttributeWords, Context, Row
from biaslens.usecase.words.spoken import Spoken

_NOTHING, _CANDIDATE = -1, -2
_LESS = {"noun": 0, "plural": 0, "attributive": 1, "collective": 1}
"""Order in which readings are tried: as a noun, before a noun or as a group, others (2)."""


@dataclass(frozen=True, eq=False)
class Mentions:
    """Where words of protected groups stand in a corpus, in the order of the texts; they do not overlap.

    Parameters
    ----------
    token
        Index into ``tokens.ids`` of the first word, shape (mentions,).
    length
        Number of words.
    attribute
        Index in ``list(lexicon.attributes)``.
    group
        Index in the groups of that attribute.
    """

    token: NDArray[np.intp]
    length: NDArray[np.intp]
    attribute: NDArray[np.intp]
    group: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.token)


@dataclass(frozen=True, slots=True)
class Found:
    """A word of a protected group in a text: characters from `start` to `end`."""

    start: int
    end: int
    text: str
    attribute: str
    group: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a phrase may be: a cell of a row, where its rule holds."""

    attribute: int
    group: int
    row: Row
    rule: str
    context: Context

    @property
    def certain(self) -> bool:
        """Whether it counts wherever it stands."""
        return not self.rule and self.context == Context()


class Lexicon:
    """The words of one or several attributes, ready to be found.

    A word that is in the lists of two attributes counts for the first one; of phrases that overlap, the one that
    begins first counts, and of those the longest.

    Parameters
    ----------
    attributes
        By name, in a fixed order.
    """

    def __init__(self, attributes: Mapping[str, AttributeWords]) -> None:
        self.attributes: Mapping[str, AttributeWords] = dict(attributes)
        self._readings = _readings(list(self.attributes.values()))
        self._anchors = _anchors(self._readings)
        self._codes, self._plain = _codes(self._readings, self._anchors)

    def match(self, tokens: Tokens, *, prefer: str | None = None) -> Mentions:
        """Find the words in a corpus.

        Parameters
        ----------
        tokens
            The texts.
        prefer
            An attribute that goes before the others where a word is in the lists of several.
        """
        known = self._codes
        table = np.fromiter((known.get(word, _NOTHING) for word in tokens.vocabulary), np.int64, len(tokens.vocabulary))
        codes = table[tokens.ids]
        at = np.flatnonzero(codes != _NOTHING)
        found = codes[at]
        plain, code = at[found >= 0], found[found >= 0]
        candidates = at[found == _CANDIDATE]
        if not len(candidates):
            return Mentions(plain, np.ones_like(plain), self._plain[code, 0], self._plain[code, 1])
        read = self._read(tokens, candidates, prefer)
        if len(read) and len(plain):
            inside = np.concatenate([np.arange(token, token + length) for token, length in read[:, :2]])
            free = ~np.isin(plain, inside)
            plain, code = plain[free], code[free]
        token = np.concatenate([plain, read[:, 0]])
        order = np.argsort(token, kind="stable")
        return Mentions(
            token[order],
            np.concatenate([np.ones_like(plain), read[:, 1]])[order],
            np.concatenate([self._plain[code, 0], read[:, 2]])[order],
            np.concatenate([self._plain[code, 1], read[:, 3]])[order],
        )

    def find(self, text: str, *, prefer: str | None = None) -> list[Found]:
        """Find the words in one text, as characters; the same ones as :meth:`match` finds.

        Examples
        --------
        >>> from biaslens.usecase.words import load_words
        >>> [(found.text, found.group) for found in load_words(["race"]).find("Black coffee for a Black woman")]
        [('Black', 'black')]
        """
        spoken = Spoken.of(text)
        mentions = self.match(spoken.tokens, prefer=prefer)
        names = list(self.attributes.values())
        found = []
        for token, length, attribute, group in zip(
            mentions.token.tolist(),
            mentions.length.tolist(),
            mentions.attribute.tolist(),
            mentions.group.tolist(),
            strict=True,
        ):
            start, end = spoken.span(token, token + length)
            words = names[attribute]
            found.append(Found(start, end, text[start:end], words.name, words.groups[group]))
        return found

    def readings(self, words: Sequence[str]) -> Sequence[Reading]:
        """What a phrase may be, in the order in which its readings are tried."""
        return self._readings.get(tuple(words), ())

    @cached_property
    def _order(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.attributes)}

    def _read(self, tokens: Tokens, candidates: NDArray[np.intp], prefer: str | None) -> NDArray[np.intp]:
        first = self._order.get(prefer, -1) if prefer is not None else -1
        texts = np.searchsorted(tokens.starts, candidates, side="right") - 1
        begins, ends = tokens.starts[texts].tolist(), tokens.starts[texts + 1].tolist()
        found: set[tuple[int, int, int, int]] = set()
        for place, begin, end in zip(candidates.tolist(), begins, ends, strict=True):
            found.update(self._at(tokens, place, begin, end, first))
        kept: list[tuple[int, int, int, int]] = []
        until = 0
        for token, minus, attribute, group in sorted(found):
            if token >= until:
                kept.append((token, -minus, attribute, group))
                until = token - minus
        return np.array(kept, dtype=np.intp).reshape(-1, 4)

    def _at(self, tokens: Tokens, place: int, begin: int, end: int, first: int) -> Iterable[tuple[int, int, int, int]]:
        """Phrases around the candidate at `place` of the text from `begin` to `end`; the length is negative."""
        low = max(begin, place - REACH)
        vocabulary = tokens.vocabulary
        words = [vocabulary[number] for number in tokens.ids[low : min(end, place + REACH)].tolist()]
        here = place - low
        for offset, key in self._anchors[words[here]]:
            start, stop = here - offset, here - offset + len(key)
            if start < 0 or tuple(words[start:stop]) != key:
                continue
            readings = self._readings[key]
            if first >= 0:
                readings = sorted(readings, key=lambda reading: reading.attribute != first)
            for reading in readings:
                if holds(reading.rule, words, start, stop, reading.context):
                    yield low + start, -len(key), reading.attribute, reading.group
                    break


def _readings(attributes: Sequence[AttributeWords]) -> dict[tuple[str, ...], list[Reading]]:
    """Readings of each phrase, each with the rule that decides it."""
    readings: dict[tuple[str, ...], list[Reading]] = {}
    for number, words in enumerate(attributes):
        groups = {group: index for index, group in enumerate(words.groups)}
        own: dict[tuple[str, ...], list[Reading]] = {}
        for row in words.rows:
            for group, forms in row.recognised.items():
                for form in forms:
                    key = tuple(words_of(form))
                    context = words.context.get(" ".join(key), Context())
                    own.setdefault(key, []).append(Reading(number, groups[group], row, "", context))
        for key, found in own.items():
            readings.setdefault(key, []).extend(_ruled(found))
    return readings


def _ruled(readings: Sequence[Reading]) -> list[Reading]:
    """Readings of one phrase in one attribute, in the order of trial, with their rules.

    A noun that is also an adjective counts as a noun only where it is used as one.
    """
    free = {reading.row.kind for reading in readings if not reading.row.needs}
    several = len(free & {"noun", "adjective", "attributive"}) > 1
    ruled = []
    for reading in sorted(readings, key=lambda reading: -1 if reading.row.needs else _LESS.get(reading.row.kind, 2)):
        rule = reading.row.needs or reading.context.needs
        if not reading.row.needs:
            if reading.row.kind == "noun" and several:
                rule = "nominal"
            elif reading.row.kind in {"attributive", "collective"}:
                rule = reading.row.kind
        ruled.append(Reading(reading.attribute, reading.group, reading.row, rule, reading.context))
    return ruled


def _anchors(readings: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """By the rarest word of each phrase (taken to be the longest): its place in the phrase, and the phrase."""
    anchors: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for key in readings:
        place = max(range(len(key)), key=lambda index: len(key[index]))
        anchors.setdefault(key[place], []).append((place, key))
    for phrases in anchors.values():
        phrases.sort(key=lambda phrase: (-len(phrase[1]), phrase))
    return anchors


def _codes(
    readings: Mapping[tuple[str, ...], Sequence[Reading]], anchors: Mapping[str, Sequence[tuple[int, tuple[str, ...]]]]
) -> tuple[dict[str, int], NDArray[np.intp]]:
    """By word: -2 for what needs a look, else a row of the table of attributes and groups."""
    codes: dict[str, int] = {}
    plain: list[tuple[int, int]] = []
    for word, phrases in anchors.items():
        alone = readings.get((word,), ())
        if len(phrases) == 1 and alone and any(reading.certain for reading in alone) and _same_group(alone):
            codes[word] = len(plain)
            plain.append((alone[0].attribute, alone[0].group))
        else:
            codes[word] = _CANDIDATE
    return codes, np.array(plain, dtype=np.intp).reshape(-1, 2)


def _same_group(readings: Sequence[Reading]) -> bool:
    return len({(reading.attribute, reading.group) for reading in readings}) == 1
