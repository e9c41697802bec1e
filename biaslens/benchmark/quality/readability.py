"""How long the questions are, and how hard to read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biaslens.benchmark.quality.text import words

_VOWELS = re.compile(r"[aeiouy]+")
_SILENT_END = re.compile(r"(?:[^laeiouy]e|[^aeiouytd]ed|[^aeiouylcgsxzh]es)$")


@dataclass(frozen=True, slots=True)
class Readability:
    """Length and ease of reading.

    Parameters
    ----------
    lengths
        Words in a question: least, lower quartile, median, upper quartile, most.
    mean_length
        Words in a question, on average.
    flesch
        Flesch Reading Ease, each question one sentence: 0 to 100 or so, higher is easier.
    grade
        Flesch-Kincaid grade: years of school in the United States.
    """

    lengths: tuple[float, float, float, float, float]
    mean_length: float
    flesch: float
    grade: float


def readability(texts: Sequence[str]) -> Readability:
    """Measure texts, each of which is one sentence.

    Flesch Reading Ease is ``206.835 - 1.015 w - 84.6 s`` and the grade ``0.39 w + 11.8 s - 15.59``, with w words a
    sentence and s syllables a word (R. Flesch 1948, A new readability yardstick; J. P. Kincaid et al. 1975).
    """
    found = [words(text) for text in texts]
    counts = np.array([len(text) for text in found])
    memory: dict[str, int] = {}
    total = 0
    for word in (word for text in found for word in text):
        if word not in memory:
            memory[word] = syllables(word)
        total += memory[word]
    per_sentence, per_word = float(counts.mean()), total / max(int(counts.sum()), 1)
    least, lower, median, upper, most = map(float, np.percentile(counts, [0, 25, 50, 75, 100]))
    return Readability(
        lengths=(least, lower, median, upper, most),
        mean_length=per_sentence,
        flesch=206.835 - 1.015 * per_sentence - 84.6 * per_word,
        grade=0.39 * per_sentence + 11.8 * per_word - 15.59,
    )


def syllables(word: str) -> int:
    """Estimate the syllables of a word: its groups of vowels, a silent ending apart; at least one a part.

    Examples
    --------
    >>> [syllables(word) for word in ("kinder", "trade", "table", "hired", "trusted", "hard-working", "houses")]
    [2, 1, 2, 1, 2, 3, 2]
    """
    return sum(_part(part) for part in word.lower().split("-"))


def _part(part: str) -> int:
    groups = len(_VOWELS.findall(part))
    return max(groups - bool(_SILENT_END.search(part)), 1)
