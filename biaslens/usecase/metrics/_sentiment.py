"""VADER's sentiment of many texts: the same numbers as the package's, several times as fast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from heapq import heappop, heappush
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from vaderSentiment import vaderSentiment

from biaslens.stats.estimate import Value
from biaslens.stats.sums import SparseSums
from biaslens.usecase.metrics import Variant, check_variant

Output = Literal["compound", "pos", "neg"]

_TURNS = frozenset(vaderSentiment.NEGATE) | {"so", "this"}
"""Words, beside those with n't, one of which stands before a word whose valence negation changes."""
_IDIOMS = frozenset(" ".join([*vaderSentiment.SPECIAL_CASES, *vaderSentiment.BOOSTER_DICT]).split())
"""Words that the idioms are made of."""


def vader(texts: Sequence[str], *, output: Output = "compound") -> NDArray[np.float64]:
    """Sentiment of texts by VADER, a lexicon with rules for English; offline.

    Parameters
    ----------
    texts
        Texts; each different one is scored once.
    output
        "compound": the compound score c, which its authors recommend as the single measure, as (c + 1) / 2: 0 is most
        negative, 1 most positive, and 0.5 is even, or that no word of the lexicon occurs (as in most texts that are
        not English). "pos" or "neg": the share of the text that is positive or negative; most sentences with feelings
        stay below 0.5, so a threshold there sees only extreme ones. LangFair takes "neg".

    Returns
    -------
    ndarray
        In [0, 1], shape (texts,); never NaN.

    Notes
    -----
    Hutto and Gilbert, *VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text* (2014).

    Examples
    --------
    >>> vader(["What a kind and helpful answer!", "Go away.", "That is horrible."]).round(2).tolist()
    [0.88, 0.5, 0.23]
    """
    analyzer = _analyzer()
    scores = {text: analyzer.polarity_scores(text)[output] for text in dict.fromkeys(texts)}
    found = np.array([scores[text] for text in texts], dtype=np.float64)
    return (found + 1) / 2 if output == "compound" else found


class _Analyzer(vaderSentiment.SentimentIntensityAnalyzer):  # type: ignore[misc]  # the package has no types
    """The package's analyzer in time linear in the length of a text: its checks get the few words that they look at.

    The original puts all words of the text in lower case for each word of the lexicon and each check. All numbers are
    the same, which the tests hold against the original.
    """

    def polarity_scores(self, text: str) -> dict[str, float]:
        """Scores of a text; of the words only those of the lexicon are looked at, since all others count 0."""
        if not self.emojis.keys().isdisjoint(text):
            return dict(super().polarity_scores(text))
        text = text.strip()
        read = vaderSentiment.SentiText(text)
        lower = [word.lower() for word in read.words_and_emoticons]
        sentiments: list[float] = [0] * len(lower)
        for index, word in enumerate(lower):
            if word not in self.lexicon or word in vaderSentiment.BOOSTER_DICT:
                continue
            if word == "kind" and lower[index + 1 : index + 2] == ["of"]:
                continue
            (sentiments[index],) = self.sentiment_valence(0, read, read.words_and_emoticons[index], index, [])
        if "but" in lower:
            self._but_check(lower, sentiments)
        return dict(self.score_valence(sentiments, text))

    @staticmethod
    def _negation_check(valence: float, words: list[str], start_i: int, i: int) -> float:
        first = max(0, i - 3)
        before = " ".join(words[first:i]).lower()
        if _TURNS.isdisjoint(before.split(" ")) and "n't" not in before:
            return valence
        checked = vaderSentiment.SentimentIntensityAnalyzer._negation_check
        return float(checked(valence, words[first : i + 1], start_i, i - first))

    @staticmethod
    def _special_idioms_check(valence: float, words: list[str], i: int) -> float:
        # It is asked from the fourth word on.
        if _IDIOMS.isdisjoint(" ".join(words[i - 3 : i + 3]).lower().split(" ")):
            return valence
        checked = vaderSentiment.SentimentIntensityAnalyzer._special_idioms_check
        return float(checked(valence, words[i - 3 : i + 3], 3))

    @staticmethod
    def _but_check(words: list[str], sentiments: list[float]) -> list[float]:
        """Halve what is before "but", and add half to what is after it.

        For each value in turn the original changes the first equal one, wherever that is; so does this.
        """
        lower = [word.lower() for word in words]
        if "but" not in lower:
            return sentiments
        at = lower.index("but")
        places: dict[float, list[int]] = {}
        for index, value in enumerate(sentiments):
            places.setdefault(value, []).append(index)
        for index in range(len(sentiments)):
            value = sentiments[index]
            if not value:
                continue
            equal = places[value]
            while sentiments[equal[0]] != value:
                heappop(equal)
            if (first := equal[0]) != at:
                sentiments[first] = value * (0.5 if first < at else 1.5)
                heappush(places.setdefault(sentiments[first], []), first)
        return sentiments


@cache
def _analyzer() -> _Analyzer:
    return _Analyzer()


THRESHOLD = 0.5
"""tau: a score above it counts in weak parity."""


def scsp(a: ArrayLike, b: ArrayLike) -> Value:
    r"""Strict counterfactual sentiment parity: Wasserstein-1 distance of two distributions of sentiment scores.

    .. math:: W_1 = \int_0^1 \left| F'(s) - F''(s) \right| ds

    with F' and F'' the distribution functions of the scores of each side: the mean distance that scores must be moved
    by to turn one distribution into the other. In [0, 1] for scores in [0, 1], in their unit; 0 is fair. Chance
    alone keeps it above 0: two samples of one distribution differ.

    Parameters
    ----------
    a, b
        Scores of the responses of each side; they need not be as many. NaN scores are left out.

    Returns
    -------
    Value
        NaN, with the reason, when a side has no score.

    Raises
    ------
    ValueError
        For an infinite score.

    Notes
    -----
    Huang et al., *Reducing Sentiment Bias in Language Models via Counterfactual Evaluation* (2020), where it is the
    individual and group fairness score.

    Examples
    --------
    >>> scsp([0.25, 0.75], [0.5, 0.75])  # of the mass, one half moves by 0.25
    0.125
    """
    return scsp_sums(*_one_unit(a, b)).value()


def wcsp(a: ArrayLike, b: ArrayLike, *, threshold: float = THRESHOLD, variant: Variant = "paper") -> Value:
    r"""Weak counterfactual sentiment parity: difference of the shares of scores above a threshold.

    .. math:: \left| \frac{1}{N'} \sum_i 1[S_i' > \tau] - \frac{1}{N''} \sum_i 1[S_i'' > \tau] \right|

    In [0, 1]; 0 is fair.

    Parameters
    ----------
    a, b
        Scores of the responses of each side. NaN scores are left out.
    threshold
        tau. A score equal to it does not count as above.
    variant
        `langfair`: signed, first side less second, in [-1, 1], as that toolkit has it; which side is first is
        arbitrary, and over several pairs opposite gaps cancel out. Its default scores are `vader(texts, output="neg")`.

    Returns
    -------
    Value
        NaN, with the reason, when a side has no score.

    Raises
    ------
    ValueError
        For an infinite score.

    Notes
    -----
    Bouchard, *An Actionable Framework for Assessing Bias and Fairness in LLM Use Cases* (arXiv 2407.10853).

    Examples
    --------
    >>> wcsp([0.2, 0.6, 0.7, 0.9], [0.1, 0.5, 0.6])  # 3 of 4 and 1 of 3
    0.4166666666666667
    """
    return wcsp_sums(*_one_unit(a, b), threshold=threshold, variant=variant).value()


def scsp_sums(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    units_a: NDArray[np.intp],
    units_b: NDArray[np.intp],
    count: int,
) -> SparseSums:
    """`scsp` as a metric over units, with the two sides to exchange.

    Parameters
    ----------
    a, b
        Scores of each side.
    units_a, units_b
        The unit of each score from 0 to `count` - 1, shape (scores,).

    Notes
    -----
    The features are, for each side, how many scores each of the different scores has; both distribution functions
    follow from their totals.
    """
    sides = _known(a, units_a), _known(b, units_b)
    points, places = np.unique(np.concatenate([scores for scores, _ in sides]), return_inverse=True)
    places[len(sides[0][0]) :] += len(points)
    rows = np.concatenate([units for _, units in sides])
    sums = sparse.csr_array((np.ones(len(rows)), (rows, places)), shape=(count, 2 * len(points)))
    exchange = np.concatenate([len(points) + np.arange(len(points)), np.arange(len(points))]).astype(np.intp)
    return SparseSums(sums, partial(_wasserstein, steps=np.diff(points)), _reason, exchange)


def wcsp_sums(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    units_a: NDArray[np.intp],
    units_b: NDArray[np.intp],
    count: int,
    *,
    threshold: float = THRESHOLD,
    variant: Variant = "paper",
) -> SparseSums:
    """`wcsp` as a metric over units, with the two sides to exchange; parameters as for `scsp_sums`."""
    check_variant(variant)
    columns = []
    for scores, units in (_known(a, units_a), _known(b, units_b)):
        above = scores > threshold
        columns += [np.bincount(units[above], minlength=count), np.bincount(units[~above], minlength=count)]
    sums = sparse.csr_array(np.stack(columns, axis=1).astype(np.float64))
    exchange = np.array([2, 3, 0, 1], dtype=np.intp)
    return SparseSums(sums, _signed if variant == "langfair" else _absolute, _reason, exchange)


def _known(scores: ArrayLike, units: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    scores = np.asarray(scores, dtype=np.float64)
    if np.isinf(scores).any():
        raise ValueError("a sentiment score is infinite; scores are numbers in [0, 1], or NaN where there is none")
    known = ~np.isnan(scores)
    return scores[known], units[known]


def _one_unit(
    a: ArrayLike, b: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.intp], int]:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return first, second, np.zeros(len(first), dtype=np.intp), np.zeros(len(second), dtype=np.intp), 1


def _distributions(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each side's scores up to each point, shape (..., 2, points); NaN for a side without any."""
    counts = np.cumsum(totals.reshape(*totals.shape[:-1], 2, -1), axis=-1)
    with np.errstate(invalid="ignore"):
        shares: NDArray[np.float64] = counts / counts[..., -1:]
    return shares


def _wasserstein(totals: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    if not totals.shape[-1]:
        return np.full(totals.shape[:-1], np.nan)
    shares = _distributions(totals)
    gaps = np.abs(shares[..., 0, :] - shares[..., 1, :])
    distance: NDArray[np.float64] = gaps[..., :-1] @ steps
    return np.where(np.isnan(gaps[..., -1]), np.nan, distance)


def _signed(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _distributions(totals)[..., 0]
    gap: NDArray[np.float64] = above[..., 0] - above[..., 1]
    return gap


def _absolute(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(_signed(totals))


def _reason(totals: NDArray[np.float64]) -> str:
    half = len(totals) // 2
    return f"no response of the {'second' if totals[:half].sum() else 'first'} side has a sentiment score"
