"""Words and pairs of words of many texts as hashed features: what the local judge looks at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[.!?;:,]")
_LONGEST = 20_000
"""Characters of a text that count: what comes after them is not read."""

_KNOWN_TOKENS = 200_000


class Grams:
    """Counts the words and pairs of neighbouring words of texts, each hashed to one of ``2**bits`` columns.

    Parameters
    ----------
    bits
        Logarithm of the number of columns.
    """

    def __init__(self, bits: int) -> None:
        self.columns = 1 << bits
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Row, column and count of every feature of every text, ordered by row and column.

        Returns
        -------
        tuple of arrays, each of the same length
            Position of the text in `texts`; column; 1 + log of how often the text has the feature.
        """
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
