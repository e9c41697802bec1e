"""How far raters agree: raw agreement and the coefficients that take chance out of it.

Ratings are an array of items by raters, whole numbers from 0 as categories and -1 for no rating. Trials of a question
are raters too. All coefficients are :math:`1 - D_o / D_e`, disagreement seen over disagreement expected; they differ in
what they expect. Each is a function of sums over items, which weights, clusters and the bootstrap act on alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from biaslens.stats.estimate import Estimate
from biaslens.stats.resampling import draw_clusters

type _Sums = NDArray[np.float64] | NDArray[np.complex128]


class Coefficient(StrEnum):
    r"""The coefficients of agreement, and the disagreement that each expects by chance.

    Attributes
    ----------
    RAW
        Share of pairs of ratings of one item that agree: :math:`D_e = 1`.
    COHEN
        Cohen's kappa (*Educational and Psychological Measurement* 20, 1960), for two raters:
        :math:`D_e = 1 - \sum_k p_{k.} p_{.k}`, each rater with their own shares of the categories.
    FLEISS
        Fleiss' kappa (*Psychological Bulletin* 76, 1971): :math:`D_e = 1 - \sum_k p_k^2` with shares common to all
        raters. Of items that all raters rated.
    ALPHA
        Krippendorff's alpha for nominal data (*Content Analysis*, 2nd ed., 2004, section 11.3), of items with two or
        more ratings: with :math:`c_k` ratings of category k, n in all,
        :math:`D_e = (n^2 - \sum_k c_k^2) / (n (n - 1))`.
    AC1
        Gwet's AC1 (*British Journal of Mathematical and Statistical Psychology* 61, 2008):
        :math:`D_e = 1 - \sum_k p_k (1 - p_k) / (K - 1)` for K categories, p over all items rated. Unlike kappa it does
        not fall to 0 when nearly all items are of one category.
    """

    RAW = "raw"
    COHEN = "cohen"
    FLEISS = "fleiss"
    ALPHA = "alpha"
    AC1 = "ac1"


@dataclass(frozen=True, slots=True)
class _Parts:
    """Features of each item, and observed and expected disagreement from their (weighted) sums."""

    features: NDArray[np.float64]
    disagreement: Callable[[_Sums], tuple[_Sums, _Sums]]


def fleiss_kappa(ratings: ArrayLike) -> float:
    """Fleiss' kappa: see `Coefficient`. NaN without an item that all rated, with one rater, and in one category.

    Examples
    --------
    p = 4/6, P = 1/2 * (1 + 1/3), Pe = 16/36 + 4/36: (2/3 - 5/9) / (4/9).

    >>> round(fleiss_kappa([[1, 1, 1], [1, 0, 0]]), 3)
    0.25
    """
    return agreement_value(ratings, Coefficient.FLEISS)


def krippendorff_alpha(ratings: ArrayLike) -> float:
    """Krippendorff's alpha: see `Coefficient`. NaN without an item rated twice, and in one category.

    Examples
    --------
    Do = 2 / 5 (one item splits 1 : 1, n - 1 = 1); De = 2 * 4 * 1 / (5 * 4) = 2 / 5.

    >>> krippendorff_alpha([[1, 1, 1], [1, 0, -1]])
    0.0
    """
    return agreement_value(ratings, Coefficient.ALPHA)


def agreement_value(ratings: ArrayLike, coefficient: Coefficient, *, categories: int | None = None) -> float:
    """The value of `agreement` alone, without weights or an interval; NaN where it is not defined.

    Examples
    --------
    Two raters agree on 3 of 4; each says 1 twice and once: De = 1 - (2/4 * 1/4 + 2/4 * 3/4) = 1/2, 1 - (1/4) / (1/2).

    >>> agreement_value([[1, 1], [1, 0], [0, 0], [0, 0]], Coefficient.COHEN)
    0.5
    """
    parts = _parts(_ratings(ratings), coefficient, categories)
    return float(_value(parts, parts.features.sum(axis=0)))


def agreement(
    ratings: ArrayLike,
    coefficient: Coefficient,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    categories: int | None = None,
    level: float = 0.95,
    rounds: int = 2000,
    seed: int = 0,
) -> Estimate:
    r"""Agreement of raters with a bootstrap interval.

    The interval holds the middle of the values over `rounds` draws of items (or whole clusters) with replacement
    (percentile bootstrap: Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, section 13.3). Draws in which
    the coefficient is not defined are left out; where these are more than one in twenty the interval is NaN. The
    standard error is linearised: with :math:`u_i` the derivative of the coefficient by the weight of item i,
    times that weight, summed by cluster, it is the root of :math:`R / (R - 1) \sum_r u_r^2`. For Cohen's kappa of
    unweighted items that is the formula of Fleiss, Cohen and Everitt (*Psychological Bulletin* 72, 1969) but for the
    factor. **Where no two ratings disagree** both say nothing; the interval then reaches from 1 down to
    :math:`1 - h / D_e`, h Wilson's upper limit for 0 of R (with t; R the effective number, :math:`(\sum w)^2 / \sum
    w^2`, where weighted).

    MEASURED

    Parameters
    ----------
    ratings
        Categories from 0, -1 for no rating, shape (items, raters).
    coefficient
        Which one.
    weights
        Positive weight of each item, such as one over its chance of being sampled; all 1 if not given.
    clusters
        Cluster of each item, any integers; each item its own if not given.
    categories
        How many categories the raters had; the number of those seen if not given. It matters for AC1 alone.
    level, rounds, seed
        Of the interval and its bootstrap.

    Returns
    -------
    Estimate
        NaN policy: the value is NaN, with the reason, where no item was rated twice, and where chance alone leaves no
        disagreement because all ratings are of one category (but for RAW and AC1). The interval is NaN with fewer
        than two clusters.

    Raises
    ------
    ValueError
        For ratings that are no table of whole numbers, weights that are not positive, lengths that differ, or Cohen's
        kappa of other than two raters.

    Examples
    --------
    >>> agreement([[1, 1], [1, 1]], Coefficient.COHEN).reason
    'all ratings are of one category'
    """
    table = _ratings(ratings)
    parts = _parts(table, coefficient, categories)
    weight = _weights(weights, len(table))
    code = _codes(clusters, len(table))
    used = parts.features.any(axis=1)
    items = int(used.sum())
    weighted = parts.features * weight[:, None]
    sums = weighted.sum(axis=0)
    value = float(_value(parts, sums))
    if np.isnan(value):
        reason = "all ratings are of one category" if items else "no item was rated twice"
        return Estimate.undefined(reason, items)
    found = np.unique(code[used], return_inverse=True)[1]
    count = int(found.max()) + 1
    if count < 2:
        return Estimate(value, np.nan, np.nan, np.nan, items, "all items are of one cluster")
    by_cluster = np.zeros((count, len(sums)))
    np.add.at(by_cluster, found, weighted[used])
    observed, expected = parts.disagreement(sums)
    if not observed:
        size = np.bincount(found, weight[used])
        low = 1 - _nothing_seen(size, level=level) / float(expected.real)
        return Estimate(value, low, 1.0, 0.0, items)
    linear = by_cluster @ _gradient(parts, sums)
    error = float(np.sqrt(count / (count - 1) * np.square(linear).sum()))
    values = _value(parts, draw_clusters(count, rounds=rounds, seed=seed) @ by_cluster)
    known = values[~np.isnan(values)]
    if len(known) < 0.95 * rounds:
        return Estimate(value, np.nan, np.nan, error, items, "too few items of a second category for an interval")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), error, items)
