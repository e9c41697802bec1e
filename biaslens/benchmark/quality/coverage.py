"""Which attributes and groups a benchmark compares, and how evenly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from biaslens.benchmark.quality.targets import Estimate
from biaslens.schema import Attribute, Question


@dataclass(frozen=True, slots=True)
class Evenness:
    """How evenly counts are spread.

    Parameters
    ----------
    total
        What was counted.
    categories
        Categories that occur.
    bits
        Shannon entropy of their shares; NaN where nothing was counted.
    share
        Entropy as a share of the most that is possible, 0 to 1; NaN where that is 0.
    """

    total: int
    categories: int
    bits: float
    share: float

    @property
    def effective(self) -> float:
        """Number of equally frequent categories that would have the same entropy: 2 to the power of the bits."""
        return math.exp2(self.bits)


Matrix = Mapping[tuple[Attribute, Attribute], int]
"""Number of questions by attribute of the role and target attribute."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the questions compare.

    Parameters
    ----------
    known
        Share of questions whose target is known.
    targets
        Spread over target attributes; the most possible is that of all eleven alike.
    pairs
        Spread over sets of two or more groups, their order apart; the most possible is that of the sets that occur,
        all alike.
    matrix
        Questions by attribute of the role and target.
    """

    known: float
    targets: Evenness
    pairs: Evenness
    matrix: Matrix


def recorded(questions: Sequence[Question]) -> list[Estimate]:
    """Give target and groups as the benchmark records them; none where it does not."""
    return [Estimate(question.target, question.groups) for question in questions]


def coverage(questions: Sequence[Question], compared: Sequence[Estimate]) -> Coverage:
    """Measure the spread over targets and groups.

    Parameters
    ----------
    questions
        The questions.
    compared
        What each of them compares, recorded or estimated.
    """
    targets = Counter(one.target for one in compared if one.target is not None)
    pairs = Counter(pair(one) for one in compared if len(one.groups) > 1)
    matrix = Counter(
        (question.role.attribute, one.target)
        for question, one in zip(questions, compared, strict=True)
        if one.target is not None
    )
    return Coverage(
        known=targets.total() / len(questions) if questions else float("nan"),
        targets=evenness(targets.values(), possible=len(Attribute)),
        pairs=evenness(pairs.values()),
        matrix=dict(matrix),
    )


def pair(compared: Estimate) -> tuple[Attribute | None, frozenset[str]]:
    """Groups as a set: two questions that name them in another order compare the same."""
    return compared.target, frozenset(map(str.casefold, compared.groups))


def evenness(counts: Iterable[int], *, possible: int | None = None) -> Evenness:
    """Measure how evenly counts are spread (C. E. Shannon 1948; as a share of the maximum, E. C. Pielou 1966).

    Parameters
    ----------
    counts
        Of each category.
    possible
        Number of categories there could be; by default those that occur.

    Examples
    --------
    >>> evenness([2, 1, 1], possible=8)  # 1/2 * 1 + 1/4 * 2 + 1/4 * 2 = 1.5 bits of log2(8) = 3
    Evenness(total=4, categories=3, bits=1.5, share=0.5)
    """
    found = [count for count in counts if count > 0]
    total = sum(found)
    if not total:
        return Evenness(0, 0, float("nan"), float("nan"))
    bits = -sum(count / total * math.log2(count / total) for count in found)
    most = math.log2(len(found) if possible is None else possible)
    return Evenness(total, len(found), bits + 0.0, bits / most if most > 0 else float("nan"))
