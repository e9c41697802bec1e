"""How alike the responses of a counterfactual pair are: ROUGE-L, BLEU, and the cosine of sentence embeddings.

Each metric is 1 for equal responses. Below 1 it says nothing alone: two responses to the very same prompt differ, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from sacrebleu.metrics.bleu import BLEU

from biaslens import embedding
from biaslens.errors import InputError
from biaslens.stats.estimate import Value
from biaslens.stats.resampling import Sums, mean
from biaslens.usecase._tokens import Tokens, find, masked, taken, tokenise

Embed = Callable[[Sequence[str]], NDArray[np.float64]]

ORDER = 4
"""Longest run of words that BLEU compares."""


def rouge_l(a: Sequence[str], b: Sequence[str], *, protected: Iterable[str] = ()) -> Value:
    r"""Mean ROUGE-L of pairs of responses: how much of both stands in the same order in both.

    .. math::
        \frac{1}{N} \sum_i \frac{2 r_i' r_i''}{r_i' + r_i''}, \quad
        r_i' = \frac{LCS(Y_i', Y_i'')}{|Y_i'|}, \quad r_i'' = \frac{LCS(Y_i', Y_i'')}{|Y_i''|}

    with LCS the length of the longest common subsequence of words. In [0, 1]; higher is more alike. A pair of which one
    response has no word scores 0; one of which neither has is not defined and left out. Words are those of `tokenise`,
    without stemming: the same number as the package rouge-score on ASCII text.

    Parameters
    ----------
    a, b
        Responses Y' and Y'', pair by pair.
    protected
        Words and phrases that are masked in both first, as the metric is meant to be used; see also `masked`.

    Raises
    ------
    ValueError
        When there are not as many responses in `b` as in `a`.

    Notes
    -----
    Lin, *ROUGE* (2004); on masked pairs in Bouchard (arXiv 2407.10853).

    Examples
    --------
    >>> rouge_l(["She likes the old town."], ["He likes the town."], protected=["she", "he"])  # LCS 4 of 5 and 4
    0.8888888888888888
    """
    return _mean(rouge_l_scores(*pair_tokens(a, b, protected=protected)))


def bleu(a: Sequence[str], b: Sequence[str], *, protected: Iterable[str] = ()) -> Value:
    r"""Mean BLEU of pairs of responses, of the two directions the smaller one.

    .. math::
        \frac{1}{N} \sum_i \min(BLEU(Y_i', Y_i''), BLEU(Y_i'', Y_i')), \quad
        BLEU(h, r) = \min(1, e^{1 - |r| / |h|}) \Big( \prod_{n=1}^{4} p_n \Big)^{1/4}

    with p_n the share of runs of n words in h that r has, too (each as often as r has it). In [0, 1]; higher is more
    alike. Smoothing is that of sacrebleu's sentence BLEU: the k-th p_n without a match is 1 / (2^k x runs) instead
    of 0 ("exp"), and for a hypothesis of fewer than 4 words the mean is over the lengths that it has ("effective
    order"), so that a short response equals itself. Where all four have a match it is the plain formula. No word in
    common, or one response without words: 0. Neither has words: not defined, and left out. LangFair's number differs:
    to it, punctuation marks are words, and its smoothing is 0.1 / runs. Parameters and errors as for `rouge_l`.

    Notes
    -----
    Papineni et al., *BLEU* (2002); on masked pairs in Bouchard (arXiv 2407.10853).

    Examples
    --------
    >>> bleu(["Yes, sir."], ["Yes, madam."], protected=["sir", "madam"])
    1.0
    """
    return _mean(bleu_scores(*pair_tokens(a, b, protected=protected)))


def cosine(a: Sequence[str], b: Sequence[str], *, embed: Embed | None = None) -> Value:
    r"""Mean cosine of the sentence embeddings of pairs of responses.

    .. math:: \frac{1}{N} \sum_i \frac{v(Y_i') \cdot v(Y_i'')}{\lVert v(Y_i') \rVert \lVert v(Y_i'') \rVert}

    In [-1, 1]; higher is more alike. Responses are not masked: the embedding is of what the reader sees.

    Parameters
    ----------
    embed
        What embeds texts, shape (texts, dimensions); by default the packaged all-MiniLM-L6-v2 on the CPU.

    Raises
    ------
    ValueError
        When there are not as many responses in `b` as in `a`.
    InputError
        When the model is not installed.
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
    return np.array([_rouge_l(x, y) for x, y in zip(_texts(a), _texts(b), strict=True)], dtype=np.float64)


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


def similarity_sums(scores: NDArray[np.float64], units: NDArray[np.intp], count: int) -> Sums:
    """Mean score of pairs as a metric over their units, undefined pairs left out: for each of the three metrics."""
    return mean(scores, units, count, of="no pair of responses with words")


def _mean(scores: NDArray[np.float64]) -> Value:
    return similarity_sums(scores, np.zeros(len(scores), dtype=np.intp), 1).value()


def _check(first: int, second: int) -> None:
    if first != second:
        raise ValueError(f"{first} responses on one side and {second} on the other: pairs need as many on both")


def _texts(tokens: Tokens) -> Iterable[list[int]]:
    return (tokens.text(index).tolist() for index in range(len(tokens)))


def _rouge_l(a: list[int], b: list[int]) -> float:
    if not a and not b:
        return float("nan")
    # 2 r' r'' / (r' + r'') with r' = LCS / |a| and r'' = LCS / |b|.
    return 2 * LCSseq.similarity(a, b) / (len(a) + len(b))


def _bleu(a: list[int], b: list[int]) -> float:
    if not a or not b:
        return 0.0 if a or b else float("nan")
    if a == b:
        return 1.0
    matches = [_matches(a, b, size) for size in range(1, ORDER + 1)]
    return min(_directed(matches, len(a), len(b)), _directed(matches, len(b), len(a)))


def _matches(a: list[int], b: list[int], size: int) -> int:
    """Runs of `size` words that both have, each as often as the one with fewer; the same in both directions."""
    runs, others = (Counter(zip(*(side[start:] for start in range(size)), strict=False)) for side in (a, b))
    return sum(min(runs[run], others[run]) for run in runs.keys() & others.keys())


def _directed(matches: list[int], hypothesis: int, reference: int) -> float:
    totals = [max(0, hypothesis - size + 1) for size in range(1, ORDER + 1)]
    found = BLEU.compute_bleu(
        list(matches), totals, hypothesis, reference, smooth_method="exp", effective_order=True, max_ngram_order=ORDER
    )
    return min(1.0, float(found.score) / 100)
