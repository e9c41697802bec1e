"""Sentiment of counterfactual responses: VADER's scores, and strict and weak counterfactual sentiment parity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from vaderSentiment import vaderSentiment

from biaslens.stats.estimate import Value
from biaslens.stats.resampling import Sums
from biaslens.usecase.metrics import Variant, check_variant

Output = Literal["compound", "pos", "neg"]

_PHRASES = " ".join([*vaderSentiment.SPECIAL_CASES, *vaderSentiment.BOOSTER_DICT]).split()
_TURNS = frozenset([*vaderSentiment.NEGATE, *_PHRASES, "no", "or", "nor", "never", "without", "so", "this", "least"])
"""Words, beside those with n't, that may change the valence of a word near them."""


def vader(texts: Sequence[str], *, output: Output = "compound") -> NDArray[np.float64]:
    """Sentiment of texts by VADER, a lexicon with rules for English; offline. In [0, 1], shape (texts,); never NaN.

    Parameters
    ----------
    texts
        Texts; each different one is scored once.
    output
        "compound": the compound score c, which its authors recommend as the single measure, as (c + 1) / 2: 0 is most
        negative, 1 most positive, and 0.5 is even, or that no word of the lexicon occurs (as in most texts that are
        not English). "pos" or "neg": the share of the text that is positive or negative; most sentences with feelings
        stay below 0.5, so a threshold there sees only extreme ones. LangFair takes "neg".

    Notes
    -----
    Hutto and Gilbert, *VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text* (2014).

    Examples
    --------
    >>> vader(["What a kind and helpful answer!", "Go away.", "That is horrible."]).round(2).tolist()
    [0.88, 0.5, 0.23]
    """
    scores = {text: _polarity(text)[output] for text in dict.fromkeys(texts)}
    found = np.array([scores[text] for text in texts], dtype=np.float64)
    return (found + 1) / 2 if output == "compound" else found


@cache
def _analyzer() -> vaderSentiment.SentimentIntensityAnalyzer:
    return vaderSentiment.SentimentIntensityAnalyzer()


def _polarity(text: str) -> Mapping[str, float]:
    """`polarity_scores` of the package in time linear in the length of the text; the numbers are the same.

    The package puts all words in lower case again for each word of its lexicon and each check. Here it sees the few
    words around one that it looks at, and only words of the lexicon, since all others count 0.
    """
    analyzer = _analyzer()
    if not analyzer.emojis.keys().isdisjoint(text):
        return dict(analyzer.polarity_scores(text))
    text = text.strip()
    read = vaderSentiment.SentiText(text)
    words = read.words_and_emoticons
    lower = [word.lower() for word in words]
    turns = [word in _TURNS or "n't" in word for word in lower]
    sentiments: list[float] = [0] * len(lower)
    for index, word in enumerate(lower):
        if word not in analyzer.lexicon or word in vaderSentiment.BOOSTER_DICT:
            continue
        if word == "kind" and lower[index + 1 : index + 2] == ["of"]:
            continue
        first = max(0, index - 3)
        if not any(turns[first : index + 3]) and not (read.is_cap_diff and words[index].isupper()):
            sentiments[index] = analyzer.lexicon[word]
            continue
        around = SimpleNamespace(words_and_emoticons=words[first : index + 3], is_cap_diff=read.is_cap_diff)
        (sentiments[index],) = analyzer.sentiment_valence(0, around, words[index], index - first, [])
    if "but" in lower:
        _weigh_but(sentiments, lower.index("but"))
    return dict(analyzer.score_valence(sentiments, text))


def _weigh_but(sentiments: list[float], at: int) -> None:
    """Halve what is before "but", and add half to what is after it.

    For each value in turn the package changes the first equal one, wherever that is; so does this.
    """
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


THRESHOLD = 0.5
"""tau: a score above it counts in weak parity."""


def scsp(a: ArrayLike, b: ArrayLike) -> Value:
    r"""Strict counterfactual sentiment parity: Wasserstein-1 distance of two distributions of sentiment scores.

    .. math:: W_1 = \int_0^1 \left| F'(s) - F''(s) \right| ds

    with F' and F'' the distribution functions of the scores of each side: the mean distance that scores must be moved
    by to turn one distribution into the other. In [0, 1] for scores in [0, 1], in their unit; 0 is fair. Chance
    alone keeps it above 0: two samples of one distribution differ. The sides need not have as many scores; NaN ones are
    left out, and an infinite one is a ValueError.

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

    In [0, 1]; 0 is fair. A score equal to the threshold does not count as above; NaN and infinite ones as for `scsp`.
    Variant `langfair`: signed, first side less second, in [-1, 1], as that toolkit has it; which side is first is
    arbitrary, and over several pairs opposite gaps cancel out. Its default scores are `vader(texts, output="neg")`.

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
    a: NDArray[np.float64], b: NDArray[np.float64], units_a: NDArray[np.intp], units_b: NDArray[np.intp], count: int
) -> Sums:
    """`scsp` as a metric over units, with the two sides to exchange.

    `units_a` and `units_b` are the unit of each score from 0 to `count` - 1. The features are, for each side, how many
    scores each of the different scores has; both distribution functions follow from their totals.
    """
    (a, units_a), (b, units_b) = _known(a, units_a), _known(b, units_b)
    points, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    sums = _counted([places[: len(a)], places[len(a) :]], [units_a, units_b], count, len(points))
    return Sums(sums, partial(_wasserstein, steps=np.diff(points)), _reason, _columns(len(points), 1, 0))


def wcsp_sums(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    units_a: NDArray[np.intp],
    units_b: NDArray[np.intp],
    count: int,
    *,
    threshold: float = THRESHOLD,
    variant: Variant = "paper",
) -> Sums:
    """`wcsp` as a metric over units, with the two sides to exchange; parameters as for `scsp_sums`."""
    check_variant(variant)
    (a, units_a), (b, units_b) = _known(a, units_a), _known(b, units_b)
    sums = _counted([a <= threshold, b <= threshold], [units_a, units_b], count, 2)
    return Sums(sums, _signed if variant == "langfair" else _absolute, _reason, _columns(2, 1, 0))


def scsp_contrast(sides: Sequence[NDArray[np.float64]], units: NDArray[np.intp], count: int) -> Sums:
    """SCSP of A and B less SCSP of A and A once more; B and the second A can be exchanged in each unit.

    Parameters
    ----------
    sides
        Scores of A, of B, and of A once more, each of shape (scores,); triples with a NaN are left out.
    units, count
        The unit of each triple from 0 to `count` - 1, shape (scores,).
    """
    known = ~np.isnan(np.stack(sides)).any(axis=0)
    points, places = np.unique(np.concatenate([side[known] for side in sides]), return_inverse=True)
    distance = partial(_wasserstein, steps=np.diff(points))
    return _contrast(np.split(places, 3), units[known], count, len(points), distance)


def wcsp_contrast(
    sides: Sequence[NDArray[np.float64]], units: NDArray[np.intp], count: int, *, threshold: float = THRESHOLD
) -> Sums:
    """WCSP of A and B less WCSP of A and A once more, as `scsp_contrast`."""
    known = ~np.isnan(np.stack(sides)).any(axis=0)
    return _contrast([side[known] <= threshold for side in sides], units[known], count, 2, _absolute)


def _contrast(
    places: Sequence[NDArray[Any]],
    units: NDArray[np.intp],
    count: int,
    width: int,
    distance: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> Sums:
    def difference(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        across = distance(totals[..., : 2 * width])
        return across - distance(np.concatenate([totals[..., :width], totals[..., 2 * width :]], axis=-1))

    sums = _counted(places, [units] * 3, count, width)
    return Sums(sums, difference, lambda _: "no triple of responses has sentiment scores", _columns(width, 0, 2, 1))


def _counted(
    places: Sequence[NDArray[Any]], units: Sequence[NDArray[np.intp]], count: int, width: int
) -> sparse.csr_array:
    """How many scores of each side stand in each place from 0 to `width` - 1, by unit: a block of columns a side."""
    columns = np.concatenate([side * width + np.asarray(at, dtype=np.intp) for side, at in enumerate(places)])
    rows = np.concatenate(units)
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, len(places) * width))


def _columns(width: int, *sides: int) -> NDArray[np.intp]:
    """The columns of sides in another order."""
    return np.concatenate([side * width + np.arange(width) for side in sides]).astype(np.intp)


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
