"""Agreement of trials, and between raters: shares, majorities, coefficients and their intervals.

Ratings are a table of items by raters: whole numbers from 0 as categories, -1 for no rating. The trials of a question
are raters too. Every coefficient is :math:`1 - D_o / D_e`, disagreement seen over disagreement expected by chance; they
differ in what they expect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from biaslens._util import named
from biaslens.stats.crossed import Clusters
from biaslens.stats.estimate import (
    Estimate,
    cluster_codes,
    clustered_variance,
    counts_array,
    counts_within,
    item_weights,
    weighted_share,
)
from biaslens.stats.intervals import crossed_share
from biaslens.stats.resampling import resampled_sums

Totals = NDArray[Any]
"""Totals of features, shape (..., P), real or complex."""


class Coefficient(StrEnum):
    r"""The coefficients, and the disagreement :math:`D_e` that each expects by chance.

    RAW: the share of pairs of ratings of one item that agree, :math:`D_e = 1`. COHEN: Cohen's kappa (*Educational and
    Psychological Measurement* 20, 1960), for two raters, each with their own shares of the categories, :math:`D_e = 1 -
    \sum_k p_{k \cdot} p_{\cdot k}`. FLEISS: Fleiss' kappa (*Psychological Bulletin* 76, 1971), of items that all raters
    rated, with shares common to all, :math:`D_e = 1 - \sum_k p_k^2`. ALPHA: Krippendorff's alpha for nominal data
    (*Content Analysis*, 2nd ed., 2004, section 11.3), of items with two or more ratings; with :math:`c_k` ratings of
    category k among them, n in all, :math:`D_e = \sum_k c_k (n - c_k) / (n (n - 1))`. AC1: Gwet's (*British Journal of
    Mathematical and Statistical Psychology* 61, 2008), with shares over all items and K categories, :math:`D_e = 1 -
    \sum_k p_k (1 - p_k) / (K - 1)`; unlike kappa it does not fall towards 0 when nearly all items are of one category.
    """

    RAW = "raw"
    COHEN = "cohen"
    FLEISS = "fleiss"
    ALPHA = "alpha"
    AC1 = "ac1"


@dataclass(frozen=True, slots=True)
class Parts:
    """A coefficient as a function of totals over items.

    `features` of each item, shape (N, P); the items that are `compared` (with two ratings or more, for Fleiss' kappa
    with all), shape (N,); and observed and expected `disagreement`, shape (...), from totals of shape (..., P).
    """

    features: NDArray[np.float64]
    compared: NDArray[np.bool_]
    disagreement: Callable[[Totals], tuple[Totals, Totals]]

    def value(self, totals: Totals) -> Totals:
        """The coefficient; NaN where no disagreement is expected."""
        with np.errstate(divide="ignore", invalid="ignore"):
            observed, expected = self.disagreement(totals)
            result: Totals = 1 - observed / expected
        return result


def coefficient(ratings: ArrayLike, which: Coefficient, *, categories: int | None = None) -> float:
    """A coefficient without an interval; NaN where no item can be compared, or no disagreement is expected.

    That is so for the kappas and alpha where all ratings are of one category. `categories`, for AC1, is how many the
    raters had to choose from; as many as were used if not given, and at least 2.

    They agree on 3 of 4 and say 1 twice and once: Do = 1/4, De = 1 - (2/4 * 1/4 + 2/4 * 3/4) = 1/2 for Cohen's kappa;
    for AC1 p = 3/8 and 5/8, De = 1 - 2 * 15/64 = 34/64; 1 - 16/34. Raw: one pair of three agrees, then one of one:
    (1/3 + 1) / 2. Fleiss: p = 4/6, P = 1/2 * (1 + 1/3), Pe = 16/36 + 4/36: (2/3 - 5/9) / (4/9). Alpha: Do = 2 / 5 (one
    item splits 1 : 1, n - 1 = 1); De = 2 * 4 * 1 / (5 * 4) = 2 / 5.

    >>> table = [[1, 1], [1, 0], [0, 0], [0, 0]]
    >>> coefficient(table, Coefficient.COHEN), round(coefficient(table, Coefficient.AC1), 3)
    (0.5, 0.529)
    >>> round(raw_agreement([[1, 1, 0], [1, 1, -1]]), 3), round(fleiss_kappa([[1, 1, 1], [1, 0, 0]]), 3)
    (0.667, 0.25)
    >>> krippendorff_alpha([[1, 1, 1], [1, 0, -1]])
    0.0
    """
    parts = coefficient_parts(ratings, which, categories=categories)
    return float(parts.value(parts.features.sum(axis=0)))


_PLAIN = "{} of a table of items by raters, -1 for no rating; see `Coefficient`."
raw_agreement = named("raw_agreement", _PLAIN.format("Raw agreement"), coefficient, which=Coefficient.RAW)
cohen_kappa = named("cohen_kappa", _PLAIN.format("Cohen's kappa"), coefficient, which=Coefficient.COHEN)
fleiss_kappa = named("fleiss_kappa", _PLAIN.format("Fleiss' kappa"), coefficient, which=Coefficient.FLEISS)
krippendorff_alpha = named("krippendorff_alpha", _PLAIN.format("Alpha"), coefficient, which=Coefficient.ALPHA)
gwet_ac1 = named("gwet_ac1", _PLAIN.format("Gwet's AC1"), coefficient, which=Coefficient.AC1)


def coefficient_parts(ratings: ArrayLike, which: Coefficient, *, categories: int | None = None) -> Parts:
    """Take a coefficient of these ratings apart; ValueError for ratings that it is not defined for."""
    table = np.asarray(ratings)
    if table.ndim != 2 or table.dtype.kind not in "biu" or (table < -1).any():
        raise ValueError("ratings must be a table of items by raters, of whole numbers from -1 (no rating)")
    seen = np.unique(table[table >= 0])
    if which is Coefficient.COHEN:
        return _cohen(table, seen)
    # A comparison and a sum for each category: no larger array than the table is held.
    counts = np.stack([(table == k).sum(axis=1) for k in seen], axis=1) if len(seen) else np.zeros((len(table), 1))
    size = counts.sum(axis=1)
    compared = (size == table.shape[1]) & (size > 1) if which is Coefficient.FLEISS else size > 1
    pairs = np.maximum(size * (size - 1), 1)
    split = np.where(compared, (counts * (size[:, None] - counts)).sum(axis=1) / pairs, 0.0)
    shares = counts / np.maximum(size, 1)[:, None]
    features = {
        Coefficient.RAW: [compared, split],
        Coefficient.FLEISS: [compared, split, shares * compared[:, None]],
        Coefficient.ALPHA: [np.where(compared, size, 0), size * split, counts * compared[:, None]],
        Coefficient.AC1: [compared, split, shares],
    }[which]

    def disagreement(totals: Totals) -> tuple[Totals, Totals]:
        observed, of_category = totals[..., 1] / totals[..., 0], totals[..., 2:]
        if which is Coefficient.RAW:
            return observed, np.ones_like(observed)
        n = of_category.sum(axis=-1)
        # Sum of p_k (1 - p_k): exactly 0 where there is one category.
        mixing = (of_category * (n[..., None] - of_category)).sum(axis=-1) / n**2
        if which is Coefficient.AC1:
            return observed, 1 - mixing / (max(2, categories or len(seen)) - 1)
        return observed, mixing * n / (n - 1) if which is Coefficient.ALPHA else mixing

    return Parts(np.column_stack(features), compared, disagreement)


def _cohen(table: NDArray[Any], seen: NDArray[Any]) -> Parts:
    if table.shape[1] != 2:
        raise ValueError(f"Cohen's kappa is of two raters, not of {table.shape[1]}")
    k = max(1, len(seen))
    compared: NDArray[np.bool_] = np.all(table >= 0, axis=1)
    cell = np.searchsorted(seen, table[:, 0]) * k + np.searchsorted(seen, table[:, 1])
    features = (cell[:, None] == np.arange(k * k)) & compared[:, None]

    def disagreement(totals: Totals) -> tuple[Totals, Totals]:
        cells = totals.reshape(*totals.shape[:-1], k, k)
        one, two = cells.sum(axis=-1), cells.sum(axis=-2)
        n = one.sum(axis=-1)
        off = (cells * ~np.eye(k, dtype=np.bool_)).sum(axis=(-2, -1))
        return off / n, (one * (n[..., None] - two)).sum(axis=-1) / n**2

    return Parts(features.astype(np.float64), compared, disagreement)


_FEWEST_DEFINED = 0.95
"""Share of the bootstrap rounds in which a coefficient must be defined for an interval."""


def agreement(
    ratings: ArrayLike,
    which: Coefficient,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    categories: int | None = None,
    level: float = 0.95,
    rounds: int = 2000,
    seed: int = 0,
) -> Estimate:
    """A coefficient of agreement with its bootstrap interval.

    Items, or whole clusters, are drawn with replacement, and the interval holds the middle of the coefficients
    (percentile bootstrap: Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, section 13.3). The standard
    error is linearised: with :math:`u_r` the derivatives of the coefficient by the weights of the items, times these
    weights, summed over cluster r, it is the root of their `clustered_variance`; for Cohen's kappa of unweighted items
    that is what Fleiss, Cohen and Everitt (*Psychological Bulletin* 72, 1969) have, but for the factor. **Where no two
    ratings disagree** neither says anything. The interval then reaches from 1 down to :math:`1 - h / D_e`, h being the
    upper limit of `weighted_share` for the disagreements, none of which was seen.

    Simulated coverage of the 95 % interval of kappa, alpha, AC1 and raw agreement, two raters who err in 2 or 10 % of
    items of which 10 or 50 % are biased: 93 to 97 % with 372 items, and with 100 clusters of 10 (intraclass correlation
    0.3); 89 to 100 % with 50 and 100 items, where few disagreements make it jump.

    Ratings are categories from 0, -1 for no rating, shape (N, raters); weights and clusters are as for
    `weighted_share`. The value is NaN, with the reason, without an item to compare, and for the kappas and alpha where
    all ratings are of one category. The interval is NaN when all items are of one cluster, and where more than one draw
    in twenty leaves the coefficient undefined. ValueError for ratings as `coefficient_parts` refuses them, and for
    weights and lengths.

    >>> agreement([[1, 1], [1, 1]], Coefficient.COHEN).reason
    'all ratings are of one category'
    """
    parts = coefficient_parts(ratings, which, categories=categories)
    n = len(parts.features)
    weight, code = item_weights(weights, n), cluster_codes(clusters, n)
    items = int(parts.compared.sum())
    if not items:
        return Estimate.undefined("no item has two ratings to compare")
    used = parts.features.any(axis=1)
    code = np.unique(code[used], return_inverse=True)[1]
    # Weights of mean 1, so that alpha's small-sample term counts ratings.
    weighted = parts.features[used] * (weight[used] / weight[used].mean())[:, None]
    sums = np.zeros((int(code.max()) + 1, weighted.shape[1]))
    np.add.at(sums, code, weighted)
    totals = sums.sum(axis=0)
    value = float(parts.value(totals))
    if np.isnan(value):
        return Estimate.undefined("all ratings are of one category", items)
    if len(sums) < 2:
        return Estimate(value, items=items, reason="all items are of one cluster", level=level)
    observed, expected = parts.disagreement(totals)
    if not observed:
        unseen = weighted_share(np.zeros(len(code)), weights=weight[used], clusters=code, level=level).high
        return Estimate(value, 1 - unseen / float(expected), 1.0, 0.0, items)
    # Complex-step derivative, exact to rounding (Squire and Trapp, SIAM Review 40, 1998).
    step = 1e-30
    gradient = parts.value(totals + 1j * step * np.eye(len(totals))).imag / step
    error = float(np.sqrt(clustered_variance(sums @ gradient)))
    drawn = parts.value(resampled_sums(sums, rounds=rounds, seed=seed))
    known = drawn[~np.isnan(drawn)]
    if len(known) < _FEWEST_DEFINED * rounds:
        return Estimate(
            value, standard_error=error, items=items, reason="too few items of a second category for an interval"
        )
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), error, items)


def share(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``part / whole`` of counts; NaN where the whole is 0, because a share of nothing is unknown.

    >>> share([1, 0], [4, 0])
    array([0.25,  nan])
    """
    some, all_ = counts_within(part, whole)
    result: NDArray[np.float64] = np.divide(some, all_, out=np.full(some.shape, np.nan), where=all_ > 0)
    return result


def coverage(valid: ArrayLike, planned: ArrayLike) -> NDArray[np.float64]:
    """Share of the planned trials (asked or not) that enter the denominator of a rate: biased, unbiased or refused.

    0, and not NaN, where nothing was planned: an empty run must never look complete.

    >>> coverage([3, 0], [4, 0])
    array([0.75, 0.  ])
    """
    return np.nan_to_num(share(valid, planned), nan=0.0)


def majority_threshold(planned: ArrayLike) -> NDArray[np.int64]:
    """Fewest trials that are more than half of those planned: 2 of 3, 2 of 2, 1 of 1."""
    threshold: NDArray[np.int64] = counts_array(planned, "planned") // 2 + 1
    return threshold


def biased_majority(biased: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether each question is biased: more than half of its planned trials are.

    The denominator is the plan and not the valid answers, so a missing answer never makes a question biased. A
    question without planned trials is not biased.

    >>> biased_majority([2, 1, 1], [3, 3, 1])
    array([ True, False,  True])
    """
    some, all_ = counts_within(biased, planned)
    verdict: NDArray[np.bool_] = some >= majority_threshold(all_)
    return verdict


def majority_decided(biased: ArrayLike, valid: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether the verdict of `biased_majority` stands, whatever the trials without a valid result would have been.

    >>> majority_decided([0, 1, 1], [2, 2, 1], 3)
    array([ True, False, False])
    """
    some, all_ = counts_within(biased, planned)
    known, _ = counts_within(valid, planned)
    need = majority_threshold(all_)
    decided: NDArray[np.bool_] = (all_ > 0) & ((some >= need) | (some + all_ - known < need))
    return decided


def biased_questions(biased: ArrayLike, planned: ArrayLike) -> int:
    """Count the questions that `biased_majority` calls biased: the study's headline number."""
    return int(np.count_nonzero(biased_majority(biased, planned)))


@dataclass(frozen=True, slots=True)
class Patterns:
    """What the trials of the questions agree on, counted over questions with all trials valid.

    `consistent`: all trials alike. `mostly_biased`: a split with a biased majority, two biased of three.
    `mostly_unbiased`: a split without one, one biased of three.
    """

    questions: int
    consistent: int
    mostly_biased: int
    mostly_unbiased: int


def _valid(results: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    table = np.asarray(results)
    if table.ndim != 2:
        raise ValueError(f"results must be questions by trials, not of shape {table.shape}")
    return (table == 1).sum(axis=1), (table >= 0).sum(axis=1), table.shape[1]


def patterns(results: ArrayLike) -> Patterns:
    """Count what the trials of each question agree on; results are 1 biased, 0 not, -1 not valid, shape (Q, T).

    >>> patterns([[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, -1]])
    Patterns(questions=3, consistent=1, mostly_biased=1, mostly_unbiased=1)
    """
    biased, valid, trials = _valid(results)
    biased = biased[(valid == trials) & (trials > 0)]
    split = (biased > 0) & (biased < trials)
    most = biased >= majority_threshold(trials)
    return Patterns(len(biased), int((~split).sum()), int((split & most).sum()), int((split & ~most).sum()))


def flip_rate(results: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    """Chance that two trials of a question come out differently: mean of 2 y (n - y) / (n (n - 1)) over questions.

    Unbiased for questions with two or more valid trials; the others are left out. The interval is that of
    `crossed_share`.

    Three trials, one biased: 2 * 1 * 2 / (3 * 2) = 2/3.

    >>> round(flip_rate([[1, 0, 0], [0, 0, 0]], Clusters(np.arange(2))), 3)
    0.333
    """
    biased, valid, _ = _valid(results)
    with np.errstate(divide="ignore", invalid="ignore"):
        flips = np.where(valid > 1, 2 * biased * (valid - biased) / (valid * (valid - 1)), np.nan)
    return crossed_share(flips, clusters, level=level)


@dataclass(frozen=True, slots=True)
class Possible:
    """What the data leave open of a number that they do not determine: its range, and the middle of that."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The number that is wrong by least at worst."""
        return (self.low + self.high) / 2


def verdicts_changed(results: ArrayLike) -> Possible:
    r"""Share of the majority verdicts that another set of as many trials would be expected to change.

    With p the chance that a trial of a question is biased, two sets of T trials differ with probability
    :math:`2 P (1 - P)`, P being the chance of a biased majority of T. How the p of the questions are distributed is
    known from T trials only as far as the shares of questions with 0 to T biased ones tell. Over all distributions that
    agree with these the mean of :math:`2 P (1 - P)` has a smallest and a largest value, found by linear programming on
    a grid of p (as the mixing distribution is bounded by Lindsay, *Mixture Models*, 1995, chapter 6). The range is one
    of distributions and no confidence interval. Shares that no distribution gives are first brought to the nearest that
    one does. NaN without a question of two valid trials; those of fewer trials than planned count by their share.

    >>> round(verdicts_changed([[1, 1, 1], [0, 0, 0]]).high, 5) == 0
    True
    """
    from scipy.optimize import linprog, nnls  # only here: it loads longer than all else of this package

    biased, valid, trials = _valid(results)
    biased, valid = biased[valid > 1], valid[valid > 1]
    if not len(valid):
        return Possible(np.nan, np.nan)
    p = np.linspace(0, 1, 401)
    # The equations: for every number of valid trials, the share of questions with each number of biased ones.
    chances, seen = [], []
    for count in np.unique(valid).tolist():
        share_of = (valid == count).mean()
        k = np.arange(count + 1)[:, None]
        chances.append(share_of * comb(count, k) * p**k * (1 - p) ** (count - k))
        seen.append(np.bincount(biased[valid == count], minlength=count + 1) / len(valid))
    table = np.vstack(chances)
    mixed = nnls(np.vstack([table, np.ones_like(p)]), np.append(np.concatenate(seen), 1.0))[0]
    nearest = table @ (mixed / mixed.sum())
    k = np.arange(int(majority_threshold(trials)), trials + 1)[:, None]
    majority = (comb(trials, k) * p**k * (1 - p) ** (trials - k)).sum(axis=0)
    change = 2 * majority * (1 - majority)
    ends = []
    for sign in (1, -1):
        # A little slack: equations met exactly by the nearest distribution are met by others up to rounding.
        found = linprog(
            change * sign,
            A_ub=np.vstack([table, -table]),
            b_ub=np.concatenate([nearest + _SLACK, _SLACK - nearest]),
            A_eq=np.ones((1, len(p))),
            b_eq=[1.0],
        )
        ends.append(sign * float(found.fun or 0.0) if found.success else np.nan)
    return Possible(max(ends[0], 0.0), ends[1])


_SLACK = 1e-6
