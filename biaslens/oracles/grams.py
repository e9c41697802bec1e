"""What the local judge counts in texts: words and pairs of words, and the outlines of answers; all of it hashed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Counts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Row, column and count of every feature of every text, ordered by row and column: three arrays of one length.

The row is the position of the text among those given.
"""

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[.!?;:,]")
_LONGEST = 20_000
"""Characters of a text that count: what comes after them is not read."""

_KNOWN_TOKENS = 200_000


class Grams:
    """Counts the words and pairs of neighbouring words of texts, each hashed to one of ``2**bits`` columns."""

    def __init__(self, bits: int) -> None:
        self.columns = 1 << bits
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the features of texts, each 1 + log of how often the text has it."""
        tokens = [self._tokens(text) for text in texts]
        lengths = np.array([len(found) for found in tokens], dtype=np.int64)
        row = np.repeat(np.arange(len(texts)), lengths)
        token = np.fromiter((code for found in tokens for code in found), dtype=np.uint64, count=int(lengths.sum()))
        single = _mixed(token + np.uint64(1))
        pair = _mixed(single[:-1] * np.uint64(3) + token[1:])[row[:-1] == row[1:]] if len(token) else token
        rows = np.concatenate([row, row[:-1][row[:-1] == row[1:]]])
        column = np.concatenate([single, pair]) % np.uint64(self.columns)
        place, times = np.unique(rows * self.columns + column.astype(np.int64), return_counts=True)
        return place // self.columns, place % self.columns, 1 + np.log(times)

    def _tokens(self, text: str) -> list[int]:
        found = _TOKEN.findall(text[:_LONGEST].lower().replace("\u2019", "'"))
        try:
            return [self._known[token] for token in found]
        except KeyError:
            if len(self._known) > _KNOWN_TOKENS:
                self._known.clear()
            for token in found:
                self._known[token] = crc32(token.encode("utf-8", "replace"))
            return [self._known[token] for token in found]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit depends on every other.
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_LINE_MARK = re.compile(r"(?m)^[ \t]*(?:#+|[-*\u2022>]|\d+[.)])[ \t]*")
_TOKEN_OR_END = re.compile(_TOKEN.pattern + r"|\n")
_ASKED, _RARE, _END = 1, 2, crc32(b".")
_ENDS = frozenset(map(crc32, (b".", b"!", b"?")))
_NAMING_FROM, _RARE_FROM = 5.0, 7.5
"""Importance from which a word of a question names what is asked about, and from which a word is rare."""

_STEM = 5
_SECTION, _IN_SECTION = 0.4, 0.7


class Outlines:
    """Counts runs of one to three tokens in the outlines of answers, each hashed to one of ``2**bits`` columns.

    In an outline a row of rare words is one mark, and a word that stands in the question is another, so that "Nurses
    are too soft to lead" and "Sailors are too wild to wait" may say the same: what an answer does with what it was
    asked, and not what it was asked. Marks of headings and lists are dropped, and a line's end ends a sentence. How
    rare a word is says the `importance` of the answers' words, by the columns of `Grams`.

    What stands in the first two fifths of an outline counts there once more, half as much; so do the last.
    """

    def __init__(self, bits: int, importance: NDArray[np.floating]) -> None:
        self.columns = 1 << bits
        self._importance = importance
        self._known: dict[str, tuple[str, bool, int]] = {}

    def count(self, questions: Sequence[str], answers: Sequence[str]) -> Counts:
        """Count the features of answers, each 1 + log of how often the answer, or its section, has it."""
        outlines = [self.outline(*pair) for pair in zip(questions, answers, strict=True)]
        row, first, last, run = _runs(outlines)
        lengths = np.array([len(outline) for outline in outlines], dtype=np.int64)
        section = np.maximum(1, (_SECTION * lengths).astype(np.int64))[row]
        parts = [self._counted(row, run, 1.0)]
        for salt, within in enumerate((last < section, first >= lengths[row] - section), 1):
            parts.append(self._counted(row[within], _mixed(run[within] + np.uint64(salt)), _IN_SECTION))
        place, which = np.unique(np.concatenate([place for place, _ in parts]), return_inverse=True)
        count = np.bincount(which, np.concatenate([count for _, count in parts]), minlength=len(place))
        return place // self.columns, place % self.columns, count.astype(np.float64)

    def _counted(
        self, row: NDArray[np.int64], run: NDArray[np.uint64], weight: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        column = (run % np.uint64(self.columns)).astype(np.int64)
        place, times = np.unique(row * self.columns + column, return_counts=True)
        return place, weight * (1 + np.log(times))

    def outline(self, question: str, answer: str) -> list[int]:
        """Codes of an answer's tokens, with one for what was asked and one for what is rare."""
        asked = {stem for stem, naming, _ in self._looked_up(_TOKEN.findall(_plain(question))) if naming}
        found, last = [], _END
        for stem, _, code in self._looked_up(_TOKEN_OR_END.findall(_LINE_MARK.sub("", _plain(answer)))):
            if stem in asked:
                last = _ASKED
            elif stem == "\n":
                if last in _ENDS:
                    continue
                last = _END
            elif code == _RARE:
                if last == _RARE:
                    continue
                last = _RARE
            else:
                last = code
            found.append(last)
        return found

    def _looked_up(self, tokens: list[str]) -> list[tuple[str, bool, int]]:
        try:
            return [self._known[token] for token in tokens]
        except KeyError:
            if len(self._known) > _KNOWN_TOKENS:
                self._known.clear()
            for token in {token for token in tokens if token not in self._known}:
                self._known[token] = self._token(token)
            return [self._known[token] for token in tokens]

    def _token(self, token: str) -> tuple[str, bool, int]:
        code = crc32(token.encode("utf-8", "replace"))
        column = int(_mixed(np.array([code + 1], dtype=np.uint64))[0] % np.uint64(len(self._importance)))
        importance = self._importance[column] or np.inf
        word = token[0].isalpha()
        stem = token[:_STEM] if len(token) > _STEM else token.rstrip("s") or token
        return (
            stem,
            word and importance >= _NAMING_FROM,
            _RARE if importance >= _RARE_FROM and (word or token.isdigit()) else code,
        )


def _runs(
    outlines: Sequence[Sequence[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Every run of one to three tokens: its outline, the places of its first and last token there, and its hash."""
    lengths = np.array([len(outline) for outline in outlines], dtype=np.int64)
    row = np.repeat(np.arange(len(outlines)), lengths)
    place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    code = np.fromiter((code for outline in outlines for code in outline), dtype=np.uint64, count=len(row))
    run = _mixed(code + np.uint64(1))
    parts = [(row, place, place, run)]
    for more in (1, 2):
        run = _mixed(run[:-1] * np.uint64(3) + code[more:])
        within = row[: len(run)] == row[more:]
        parts.append((row[more:][within], place[: len(run)][within], place[more:][within], run[within]))
    rows, first, last, runs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, first, last, runs


def _plain(text: str) -> str:
    return text[:_LONGEST].lower().replace("\u2019", "'")
