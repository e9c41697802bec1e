r"""How alike the recommendations to two groups are: Jaccard-K, SERP-K and PRAG-K of ranked lists.

A list R holds K distinct items, the best first; its ranks start at 1. Longer lists are cut to K. A shorter list has no
value at K: NaN, with the reason. `k=None` takes the length of the shorter list of each pair for K.

.. math::

    J(1,2) &= |R_1 \cap R_2| / |R_1 \cup R_2| \\
    \psi(1,2) &= \sum_{v \in R_1} 1[v \in R_2] (K - rank(v, R_1) + 1) / (K (K + 1) / 2) \\
    \eta(1,2) &= \sum_{v_1, v_2 \in R_1} 1[v_1 \in R_2]\, 1[rank(v_1, R_1) < rank(v_2, R_1)]\,
        1[rank(v_1, R_2) < rank(v_2, R_2)] / (K (K + 1))

An item absent from :math:`R_2` ranks after all that are present. SERP-K is the smaller of :math:`\psi(1,2)` and
:math:`\psi(2,1)`, PRAG-K that of :math:`\eta(1,2)` and :math:`\eta(2,1)`, so all three are symmetric. Higher is fairer.
Jaccard-K and SERP-K are in [0, 1], 1 for equal lists (SERP-K also for the same items in another order). PRAG-K is in
[0, (K - 1) / (2 (K + 1))], because only K (K - 1) / 2 pairs are ordered while the divisor is K (K + 1): equal lists of
10 give 9/22 = 0.409. `normalise=True` divides by that bound, so that equal lists give 1, as do lists that
differ in their last item only, because it comes after all others wherever it is from.

Source: arXiv 2407.10853, after Zhang and others, *Is ChatGPT Fair for Recommendation?*, RecSys 2023, and Tomlein and
others, *An Audit of Misinformation Filter Bubbles on YouTube*, RecSys 2021.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from biaslens.stats.estimate import Value
from biaslens.stats.resampling import Sums, mean
from biaslens.usecase.metrics import Variant, check_variant

Ranked = Sequence[Hashable]
"""Distinct items, the best first."""
ListMeasure = Callable[[Ranked, Ranked, int | None], Value]
"""A measure of two lists at K, such as `jaccard_at_k`; a partial one sets its options."""

_NOTHING = "no pair of lists that are long enough"


def jaccard_at_k(first: Ranked, second: Ranked, k: int | None = None) -> Value:
    """Items in both lists over items in any of them, in [0, 1]; higher is fairer.

    Only the first `k` items count, as many as the shorter list has if not given. NaN, with the reason, for lists
    shorter than K, or empty; ValueError for an item that stands twice among the first K, or K below 1.

    Examples
    --------
    >>> jaccard_at_k(["a", "b", "c"], ["c", "d", "a"])  # a and c, of a, b, c and d
    0.5
    """
    one, two, reason = _cut(first, second, k)
    if reason:
        return Value.undefined(reason)
    return Value(len(one.keys() & two.keys()) / len(one.keys() | two.keys()))


def serp_at_k(first: Ranked, second: Ranked, k: int | None = None, *, variant: Variant = "paper") -> Value:
    """Items in both lists, each weighted by its rank: K for the first, 1 for the last; in [0, 1], higher is fairer.

    Parameters, NaN policy and errors as for `jaccard_at_k`. Variant `langfair`: that toolkit counts ranks from 0,
    divides by four times what the formula does, and looks from the first list only. Equal lists of 10 then give 0.295,
    and the measure is not symmetric.

    Examples
    --------
    Weights 3, 2, 1. From the first list a and c: 4 of 6; from the second c and a: 4 of 6, too.

    >>> round(serp_at_k(["a", "b", "c"], ["c", "d", "a"]), 3)
    0.667
    """
    check_variant(variant)
    one, two, reason = _cut(first, second, k)
    if reason:
        return Value.undefined(reason)
    size = len(one)
    if variant == "langfair":
        return Value(sum(size - rank + 2 for item, rank in one.items() if item in two) / (2 * size * (size + 1)))
    smaller = min(_rank_weight(one, two), _rank_weight(two, one))
    return Value(smaller / (size * (size + 1) / 2))


def prag_at_k(
    first: Ranked, second: Ranked, k: int | None = None, *, normalise: bool = False, variant: Variant = "paper"
) -> Value:
    """Pairs of items that stand in the same order in both lists, over K (K + 1); higher is fairer.

    In [0, (K - 1) / (2 (K + 1))]. K, NaN policy and errors as for `jaccard_at_k`. `normalise` divides by what equal
    lists give, (K - 1) / (2 (K + 1)); NaN for K = 1, where that is 0. Variant `langfair`: that toolkit looks from the
    first list only, so it is not symmetric; and with K = 1 it is 1 for equal lists, where the formula always gives 0.
    It cannot be normalised.

    Examples
    --------
    From the first list a before b, as b is absent from the second; c before a there. From the second c before d, as d
    is absent from the first. One pair each, over 3 * 4.

    >>> round(prag_at_k(["a", "b", "c"], ["c", "d", "a"]), 4)
    0.0833
    """
    check_variant(variant)
    if normalise and variant != "paper":
        raise ValueError("normalise: only for the paper's variant")
    one, two, reason = _cut(first, second, k)
    if reason:
        return Value.undefined(reason)
    size = len(one)
    if variant == "langfair":
        return Value(float(one == two) if size == 1 else _same_order(one, two) / (size * (size + 1)))
    pairs = min(_same_order(one, two), _same_order(two, one))
    if not normalise:
        return Value(pairs / (size * (size + 1)))
    return Value(pairs / (size * (size - 1) / 2)) if size > 1 else Value.undefined("one item alone has no order")


def mean_jaccard_at_k(first: Sequence[Ranked], second: Sequence[Ranked], k: int | None = None) -> Value:
    """Mean of `jaccard_at_k` over pairs of lists; pairs without a value are left out, and without any it is NaN."""
    return list_sums(jaccard_at_k, first, second, k).value()


def mean_serp_at_k(
    first: Sequence[Ranked], second: Sequence[Ranked], k: int | None = None, *, variant: Variant = "paper"
) -> Value:
    """Mean of `serp_at_k` over pairs of lists; pairs without a value are left out, and without any it is NaN."""
    return list_sums(lambda a, b, k: serp_at_k(a, b, k, variant=variant), first, second, k).value()


def mean_prag_at_k(
    first: Sequence[Ranked],
    second: Sequence[Ranked],
    k: int | None = None,
    *,
    normalise: bool = False,
    variant: Variant = "paper",
) -> Value:
    """Mean of `prag_at_k` over pairs of lists; pairs without a value are left out, and without any it is NaN."""

    def measure(a: Ranked, b: Ranked, k: int | None) -> Value:
        return prag_at_k(a, b, k, normalise=normalise, variant=variant)

    return list_sums(measure, first, second, k).value()


def list_sums(
    measure: ListMeasure,
    first: Sequence[Ranked],
    second: Sequence[Ranked],
    k: int | None = None,
    *,
    units: NDArray[np.intp] | None = None,
    count: int | None = None,
) -> Sums:
    """The mean of a measure over pairs of lists, as a metric over prompts.

    `units` are the prompt of each pair, from 0 to `count` - 1; each pair is its own if not given. Errors as
    `similarities`.
    """
    scores = similarities(measure, first, second, k)
    if units is None:
        units = np.arange(len(scores))
    return mean(scores, units, len(scores) if count is None else count, of=_NOTHING)


def similarities(
    measure: ListMeasure, first: Sequence[Ranked], second: Sequence[Ranked], k: int | None = None
) -> NDArray[np.float64]:
    """A measure of each pair of lists for the two groups, NaN where it has no value; shape (pairs,).

    Raises
    ------
    ValueError
        When there are not as many lists of both groups, or as the measure, naming the pair.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} lists of one group cannot be paired with {len(second)} of the other")
    found = np.empty(len(first))
    for index, (one, two) in enumerate(zip(first, second, strict=True)):
        try:
            found[index] = measure(one, two, k)
        except ValueError as error:
            raise ValueError(f"pair {index} (from 0): {error}") from None
    return found


def _cut(first: Ranked, second: Ranked, k: int | None) -> tuple[dict[Hashable, int], dict[Hashable, int], str]:
    """Rank of each item of both lists, and the reason why there is no value at K."""
    if k is not None and k < 1:
        raise ValueError(f"k: {k} is not at least 1")
    size = min(len(first), len(second)) if k is None else k
    one, two = _ranks(first[:size]), _ranks(second[:size])
    if not one or not two:
        return one, two, "a list is empty"
    shorter = min(len(one), len(two))
    return one, two, f"a list has {shorter} of {size} items" if shorter < size else ""


def _ranks(items: Ranked) -> dict[Hashable, int]:
    if isinstance(items, str):
        raise ValueError(f"a list of items is needed, not the text {items!r}")  # noqa: TRY004
    ranks = {item: rank for rank, item in enumerate(items, 1)}
    if len(ranks) < len(items):
        twice = Counter(items).most_common(1)[0][0]
        raise ValueError(f"item {twice!r} occurs twice in a list; items must be distinct")
    return ranks


def _rank_weight(one: dict[Hashable, int], two: dict[Hashable, int]) -> int:
    """Sum of K - rank + 1 over the items of the first list that are in the second."""
    size = len(one)
    return sum(size - rank + 1 for item, rank in one.items() if item in two)


def _same_order(one: dict[Hashable, int], two: dict[Hashable, int]) -> int:
    """Ordered pairs of the first list whose first item is in the second, and before the other there."""
    absent = len(two) + 1
    there = [two.get(item, absent) for item in one]
    return sum(rank < other for index, rank in enumerate(there) if rank < absent for other in there[index + 1 :])


@dataclass(frozen=True, slots=True)
class AgainstNeutral:
    """Mean similarity of each group's lists to the neutral ones: a low one is a group that gets something else.

    `spread` is the highest less the lowest of them (SNSR), `deviation` their standard deviation, divided by the number
    of groups (SNSV); 0 is fair for both.
    """

    similarity: Mapping[str, Value]
    spread: Value
    deviation: Value


def against_neutral(
    measure: ListMeasure, neutral: Sequence[Ranked], groups: Mapping[str, Sequence[Ranked]], k: int | None = None
) -> AgainstNeutral:
    """Compare the lists of each group with those of neutral prompts, the same prompts in the same order.

    A group without a pair of lists that are long enough has NaN, and is left out of spread and deviation; these are NaN
    with fewer than two others. Errors as `similarities`, naming the group. Source: Zhang and others, *Is ChatGPT Fair
    for Recommendation?*, RecSys 2023.

    Examples
    --------
    Group a has both neutral items, group b one of three.

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
    measure: ListMeasure, name: str, lists: Sequence[Ranked], neutral: Sequence[Ranked], k: int | None
) -> Value:
    try:
        return list_sums(measure, lists, neutral, k).value()
    except ValueError as error:
        raise ValueError(f"group {name!r}: {error}") from None
