"""Recommendations to each group against those to nobody in particular."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biaslens.usecase.metrics.recommendation import Measure, Ranked, similarity_sums
from biaslens.usecase.value import Value


@dataclass(frozen=True, slots=True)
class AgainstNeutral:
    """How much alike the lists of each group and the neutral ones are.

    Parameters
    ----------
    similarity
        Mean similarity of each group; a low one is a group that gets something else than others.
    spread
        Highest less lowest of them (SNSR); 0 is fair.
    deviation
        Their standard deviation, divided by the number of groups (SNSV); 0 is fair.
    """

    similarity: Mapping[str, Value]
    spread: Value
    deviation: Value


def against_neutral(
    measure: Measure, neutral: Sequence[Ranked], groups: Mapping[str, Sequence[Ranked]], k: int | None = None
) -> AgainstNeutral:
    """Compare the lists of each group with those of neutral prompts.

    Source: Zhang and others, *Is ChatGPT Fair for Recommendation?*, RecSys 2023.

    Parameters
    ----------
    measure
        `jaccard_at_k`, `serp_at_k` or `prag_at_k`.
    neutral
        Lists for prompts that name no group.
    groups
        Lists of each group for the same prompts, in the same order.
    k
        How many items count.

    Returns
    -------
    AgainstNeutral
        A group without a pair of lists that are long enough has NaN, and is left out of spread and deviation; these are
        NaN with fewer than two others.

    Raises
    ------
    ValueError
        As `similarities`, naming the group.

    Examples
    --------
    Group a has both neutral items, group b one of three.

    >>> from biaslens.usecase.metrics.recommendation import jaccard_at_k
    >>> found = against_neutral(jaccard_at_k, [["x", "y"]], {"a": [["y", "x"]], "b": [["x", "z"]]})
    >>> [round(value, 3) for value in (*found.similarity.values(), found.spread, found.deviation)]
    [1.0, 0.333, 0.667, 0.333]
    """
    similarity = {name: _similarity(measure, name, lists, neutral, k) for name, lists in groups.items()}
    known = np.array([value for value in similarity.values() if not np.isnan(value)])
    if len(known) < 2:
        none = Value.undefined("fewer than two groups have lists to compare with the neutral ones")
        return AgainstNeutral(similarity, none, none)
    return AgainstNeutral(similarity, Value(float(np.ptp(known))), Value(float(known.std())))


def _similarity(
    measure: Measure, name: str, lists: Sequence[Ranked], neutral: Sequence[Ranked], k: int | None
) -> Value:
    try:
        return similarity_sums(measure, lists, neutral, k).value()
    except ValueError as error:
        raise ValueError(f"group {name!r}: {error}") from None
