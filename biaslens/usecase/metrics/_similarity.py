r"""How alike the responses, and the recommendations, to two groups are.

**Texts** of a counterfactual pair: ROUGE-L, BLEU, and the cosine of sentence embeddings. Each is 1 for equal responses.
Below 1 it says nothing alone: two responses to the very same prompt differ, too.

**Ranked lists**: Jaccard-K, SERP-K and PRAG-K. A list R holds K distinct items, the best first; its ranks start at 1.
Longer lists are cut to K. A shorter list has no value at K: NaN, with the reason. `k=None` takes the length of the
shorter list of each pair for K.

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
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from sacrebleu.metrics.bleu import BLEU

from biaslens import embedding
from biaslens._util import named
from biaslens.errors import InputError
from biaslens.stats import Estimate
from biaslens.stats.resampling import mean
from biaslens.usecase._lexicon import find
from biaslens.usecase._tokens import Tokens, masked, taken, tokenise
from biaslens.usecase.metrics import Variant, check_variant

Embed = Callable[[Sequence[str]], NDArray[np.float64]]

NO_WORDS = "no pair of responses with words"
ORDER = 4
"""Longest run of words that BLEU compares."""


def rouge_l(a: Sequence[str], b: Sequence[str], *, protected: Iterable[str] = ()) -> Estimate:
    r"""Mean ROUGE-L of pairs of responses: how much of both stands in the same order in both.

    .. math::
        \frac{1}{N} \sum_i \frac{2 r_i' r_i''}{r_i' + r_i''}, \quad
        r_i' = \frac{LCS(Y_i', Y_i'')}{|Y_i'|}, \quad r_i'' = \frac{LCS(Y_i', Y_i'')}{|Y_i''|}

    with LCS the length of the longest common subsequence of words, without stemming: the same number as the package
    rouge-score on ASCII text. In [0, 1]; higher is more alike. A pair of which one response has no word scores 0; one
    of which neither has is left out. Words and phrases that are `protected` are masked in both first. ValueError when
    there are not as many responses in `b` as in `a`. Source: Lin, *ROUGE* (2004); on masked pairs in Bouchard (arXiv
    2407.10853).

    >>> rouge_l(["She likes the old town."], ["He likes the town."], protected=["she", "he"])  # LCS 4 of 5 and 4
    0.8888888888888888
    """
    return _mean(rouge_l_scores(*pair_tokens(a, b, protected=protected)))


def bleu(a: Sequence[str], b: Sequence[str], *, protected: Iterable[str] = ()) -> Estimate:
    r"""Mean BLEU of pairs of responses, of the two directions the smaller one.

    .. math::
        \frac{1}{N} \sum_i \min(BLEU(Y_i', Y_i''), BLEU(Y_i'', Y_i')), \quad
        BLEU(h, r) = \min(1, e^{1 - |r| / |h|}) \Big( \prod_{n=1}^{4} p_n \Big)^{1/4}

    with p_n the share of runs of n words in h that r has, too (each as often as r has it). In [0, 1]; higher is more
    alike. Smoothing is that of sacrebleu's sentence BLEU: the k-th p_n without a match is 1 / (2^k x runs) instead of 0
    ("exp"), and for a hypothesis of fewer than 4 words the mean is over the lengths that it has ("effective order"), so
    that a short response equals itself. No word in common, or one response without words: 0. Neither has words: left
    out. LangFair's number differs: to it, punctuation marks are words, and its smoothing is 0.1 / runs. Parameters and
    errors as for `rouge_l`. Source: Papineni et al., *BLEU* (2002); on masked pairs in Bouchard (arXiv 2407.10853).

    >>> bleu(["Yes, sir."], ["Yes, madam."], protected=["sir", "madam"])
    1.0
    """
    return _mean(bleu_scores(*pair_tokens(a, b, protected=protected)))


def cosine(a: Sequence[str], b: Sequence[str], *, embed: Embed | None = None) -> Estimate:
    r"""Mean cosine of the sentence embeddings of pairs of responses.

    .. math:: \frac{1}{N} \sum_i \frac{v(Y_i') \cdot v(Y_i'')}{\lVert v(Y_i') \rVert \lVert v(Y_i'') \rVert}

    In [-1, 1]; higher is more alike. Responses are not masked: the embedding is of what the reader sees. `embed` gives
    vectors of shape (texts, dimensions), by default those of the packaged all-MiniLM-L6-v2 on the CPU: an InputError
    where that is not installed. ValueError as for `rouge_l`.
    """
    return _mean(cosine_scores(a, b, embed=embed))


def pair_tokens(a: Sequence[str], b: Sequence[str], *, protected: Iterable[str] = ()) -> tuple[Tokens, Tokens]:
    """Tokens of both sides of pairs, protected words masked: what `rouge_l_scores` and `bleu_scores` compare."""
    _check(len(a), len(b))
    tokens = tokenise([*a, *b])
    places = find(tokens, [protected])
    half, hidden = len(a), masked(tokens, places) if len(places) else tokens
    return taken(hidden, np.arange(half)), taken(hidden, np.arange(half, 2 * half))


def rouge_l_scores(a: Tokens, b: Tokens) -> NDArray[np.float64]:
    """ROUGE-L of each pair, shape (pairs,); NaN where neither side has a word. One vocabulary for both sides."""
    _check(len(a), len(b))
    # 2 r' r'' / (r' + r'') with r' = LCS / |a| and r'' = LCS / |b|.
    pairs = zip(_texts(a), _texts(b), strict=True)
    found = [2 * LCSseq.similarity(x, y) / (len(x) + len(y)) if x or y else np.nan for x, y in pairs]
    return np.array(found, dtype=np.float64)


def bleu_scores(a: Tokens, b: Tokens) -> NDArray[np.float64]:
    """The smaller BLEU of each pair, shape (pairs,); NaN where neither side has a word. One vocabulary for both."""
    _check(len(a), len(b))
    return np.array([_bleu(x, y) for x, y in zip(_texts(a), _texts(b), strict=True)], dtype=np.float64)


def cosine_scores(a: Sequence[str], b: Sequence[str], *, embed: Embed | None = None) -> NDArray[np.float64]:
    """Cosine of each pair, shape (pairs,); each different text is embedded once."""
    _check(len(a), len(b))
    if embed is None:
        if not embedding.available():
            raise InputError(f"cosine similarity needs the embedding model: {embedding.HOW_TO_INSTALL}")
        embed = embedding.embed
    if not a:
        return np.zeros(0)
    number = {text: index for index, text in enumerate(dict.fromkeys([*a, *b]))}
    vectors = embed(list(number))
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = ([number[text] for text in side] for side in (a, b))
    return np.asarray(np.einsum("ij,ij->i", vectors[first], vectors[second]).clip(-1, 1), dtype=np.float64)


def _mean(scores: NDArray[np.float64]) -> Estimate:
    return mean(scores, np.zeros(len(scores), dtype=np.intp), 1, of=NO_WORDS).value()


def _check(first: int, second: int) -> None:
    if first != second:
        raise ValueError(f"{first} responses on one side and {second} on the other: pairs need as many on both")


def _texts(tokens: Tokens) -> Iterable[list[int]]:
    return (tokens.text(index).tolist() for index in range(len(tokens)))


def _bleu(a: list[int], b: list[int]) -> float:
    if not a or not b:
        return 0.0 if a or b else float("nan")
    if a == b:
        return 1.0
    # Runs of so many words that both have, each as often as the one with fewer; the same in both directions.
    matches = []
    for size in range(1, ORDER + 1):
        runs, others = (Counter(zip(*(side[start:] for start in range(size)), strict=False)) for side in (a, b))
        matches.append((runs & others).total())
    return min(_directed(matches, len(a), len(b)), _directed(matches, len(b), len(a)))


def _directed(matches: list[int], hypothesis: int, reference: int) -> float:
    totals = [max(0, hypothesis - size + 1) for size in range(1, ORDER + 1)]
    found = BLEU.compute_bleu(
        list(matches), totals, hypothesis, reference, smooth_method="exp", effective_order=True, max_ngram_order=ORDER
    )
    return min(1.0, float(found.score) / 100)


Ranked = Sequence[Hashable]
"""Distinct items, the best first."""
_Ranks = dict[Hashable, int]
ListMeasure = Callable[[Ranked, Ranked, int | None], Estimate]
"""A measure of two lists at K, such as `jaccard_at_k`; a partial one sets its options."""


def jaccard_at_k(first: Ranked, second: Ranked, k: int | None = None) -> Estimate:
    """Items in both lists over items in any of them, in [0, 1]; higher is fairer.

    Only the first `k` items count, as many as the shorter list has if not given. NaN, with the reason, for lists
    shorter than K, or empty; ValueError for an item that stands twice among the first K, or K below 1.

    >>> jaccard_at_k(["a", "b", "c"], ["c", "d", "a"])  # a and c, of a, b, c and d
    0.5
    """
    return _at_k(first, second, k, lambda one, two: len(one.keys() & two.keys()) / len(one.keys() | two.keys()))


def serp_at_k(first: Ranked, second: Ranked, k: int | None = None, *, variant: Variant = "paper") -> Estimate:
    """Items in both lists, each weighted by its rank: K for the first, 1 for the last; in [0, 1], higher is fairer.

    Parameters, NaN policy and errors as for `jaccard_at_k`. Variant `langfair`: that toolkit counts ranks from 0,
    divides by four times what the formula does, and looks from the first list only. Equal lists of 10 then give 0.295.
    Weights 3, 2, 1: from the first list a and c, 4 of 6; from the second c and a, 4 of 6, too.

    >>> round(serp_at_k(["a", "b", "c"], ["c", "d", "a"]), 3)
    0.667
    """
    check_variant(variant)

    def score(one: _Ranks, two: _Ranks) -> float:
        size = len(one)
        if variant == "langfair":
            return sum(size - rank + 2 for item, rank in one.items() if item in two) / (2 * size * (size + 1))
        return min(_rank_weight(one, two), _rank_weight(two, one)) / (size * (size + 1) / 2)

    return _at_k(first, second, k, score)


def prag_at_k(
    first: Ranked, second: Ranked, k: int | None = None, *, normalise: bool = False, variant: Variant = "paper"
) -> Estimate:
    """Pairs of items that stand in the same order in both lists, over K (K + 1); higher is fairer.

    K, NaN policy and errors as for `jaccard_at_k`. `normalise` divides by what equal lists give, (K - 1) / (2 (K + 1));
    NaN for K = 1, where that is 0. Variant `langfair`: that toolkit looks from the first list only, so it is not
    symmetric; and with K = 1 it is 1 for equal lists, where the formula always gives 0. From the first list a before b,
    as b is absent from the second; c before a there. From the second c before d, as d is absent from the first. One
    pair each, over 3 * 4:

    >>> round(prag_at_k(["a", "b", "c"], ["c", "d", "a"]), 4)
    0.0833
    """
    check_variant(variant)
    if normalise and variant != "paper":
        raise ValueError("normalise: only for the paper's variant")

    def score(one: _Ranks, two: _Ranks) -> float:
        size = len(one)
        if variant == "langfair":
            return float(one == two) if size == 1 else _same_order(one, two) / (size * (size + 1))
        pairs = min(_same_order(one, two), _same_order(two, one))
        if not normalise:
            return pairs / (size * (size + 1))
        return pairs / (size * (size - 1) / 2) if size > 1 else Estimate.undefined("one item alone has no order")

    return _at_k(first, second, k, score)


def _at_k(first: Ranked, second: Ranked, k: int | None, score: Callable[[_Ranks, _Ranks], float]) -> Estimate:
    """The score of the first `k` items of two lists, by the rank of each item; NaN where a list is too short."""
    if k is not None and k < 1:
        raise ValueError(f"k: {k} is not at least 1")
    size = min(len(first), len(second)) if k is None else k
    one, two = _ranks(first[:size]), _ranks(second[:size])
    if not one or not two:
        return Estimate.undefined("a list is empty")
    if (shorter := min(len(one), len(two))) < size:
        return Estimate.undefined(f"a list has {shorter} of {size} items")
    found = score(one, two)
    return found if isinstance(found, Estimate) else Estimate(found)


def _ranks(items: Ranked) -> _Ranks:
    if isinstance(items, str):
        raise ValueError(f"a list of items is needed, not the text {items!r}")  # noqa: TRY004
    ranks = {item: rank for rank, item in enumerate(items, 1)}
    if len(ranks) < len(items):
        twice = Counter(items).most_common(1)[0][0]
        raise ValueError(f"item {twice!r} occurs twice in a list; items must be distinct")
    return ranks


def _rank_weight(one: _Ranks, two: _Ranks) -> int:
    """Sum of K - rank + 1 over the items of the first list that are in the second."""
    size = len(one)
    return sum(size - rank + 1 for item, rank in one.items() if item in two)


def _same_order(one: _Ranks, two: _Ranks) -> int:
    """Ordered pairs of the first list whose first item is in the second, and before the other there."""
    absent = len(two) + 1
    there = [two.get(item, absent) for item in one]
    return sum(rank < other for index, rank in enumerate(there) if rank < absent for other in there[index + 1 :])


def mean_at_k(
    measure: Callable[..., Estimate],
    first: Sequence[Ranked],
    second: Sequence[Ranked],
    k: int | None = None,
    **options: Any,  # noqa: ANN401 - those of the measure
) -> Estimate:
    """Mean of a measure over pairs of lists; pairs without a value are left out, and without any it is NaN."""
    scores = similarities(partial(measure, **options), first, second, k)
    return mean(scores, np.arange(len(scores)), len(scores), of="no pair of lists that are long enough").value()


_MEAN = "Mean over pairs of lists, without those that have no value, of `{}`; its options are those of that."
mean_jaccard_at_k = named("mean_jaccard_at_k", _MEAN.format("jaccard_at_k"), mean_at_k, jaccard_at_k)
mean_serp_at_k = named("mean_serp_at_k", _MEAN.format("serp_at_k"), mean_at_k, serp_at_k)
mean_prag_at_k = named("mean_prag_at_k", _MEAN.format("prag_at_k"), mean_at_k, prag_at_k)


def similarities(
    measure: ListMeasure, first: Sequence[Ranked], second: Sequence[Ranked], k: int | None = None
) -> NDArray[np.float64]:
    """A measure of each pair of lists, NaN where it has no value; ValueErrors name the pair."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} lists of one group cannot be paired with {len(second)} of the other")
    found = np.empty(len(first))
    for index, (one, two) in enumerate(zip(first, second, strict=True)):
        try:
            found[index] = measure(one, two, k)
        except ValueError as error:
            raise ValueError(f"pair {index} (from 0): {error}") from None
    return found


@dataclass(frozen=True, slots=True)
class AgainstNeutral:
    """Mean similarity of each group's lists to the neutral ones: a low one is a group that gets something else.

    `spread` is the highest less the lowest of them (SNSR), `deviation` their standard deviation, divided by the number
    of groups (SNSV); 0 is fair for both.
    """

    similarity: Mapping[str, Estimate]
    spread: Estimate
    deviation: Estimate


def against_neutral(
    measure: ListMeasure, neutral: Sequence[Ranked], groups: Mapping[str, Sequence[Ranked]], k: int | None = None
) -> AgainstNeutral:
    """Compare the lists of each group with those of neutral prompts, the same prompts in the same order.

    A group without a pair of lists that are long enough has NaN, and is left out of spread and deviation; these are NaN
    with fewer than two others. Errors as `similarities`, naming the group. Source: Zhang and others, *Is ChatGPT Fair
    for Recommendation?*, RecSys 2023.

    Group a has both neutral items, group b one of three.

    >>> found = against_neutral(jaccard_at_k, [["x", "y"]], {"a": [["y", "x"]], "b": [["x", "z"]]})
    >>> [round(value, 3) for value in (*found.similarity.values(), found.spread, found.deviation)]
    [1.0, 0.333, 0.667, 0.333]
    """
    similarity = {}
    for name, lists in groups.items():
        try:
            similarity[name] = mean_at_k(measure, lists, neutral, k)
        except ValueError as error:
            raise ValueError(f"group {name!r}: {error}") from None
    known = np.array([value for value in similarity.values() if not np.isnan(value)])
    if len(known) < 2:
        none = Estimate.undefined("fewer than two groups have lists to compare with the neutral ones")
        return AgainstNeutral(similarity, none, none)
    return AgainstNeutral(similarity, Estimate(float(np.ptp(known))), Estimate(float(known.std())))
