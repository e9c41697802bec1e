"""Rates of clustered answers, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit


def counts_array(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Check counts and return them as int64.

    Raises
    ------
    ValueError
        When a value is negative, not finite or not whole.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biu" and not np.all(np.isfinite(array) & (array == np.floor(array))):
        raise ValueError(f"{name}: counts must be whole numbers")
    whole = array.astype(np.int64)
    if np.any(whole < 0):
        raise ValueError(f"{name}: counts must not be negative")
    return whole


def counts_within(part: ArrayLike, whole: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check counts of which one is a part of the other, and return them in one shape.

    Raises
    ------
    ValueError
        When one is no count, or a part exceeds its whole.
    """
    some, all_ = np.broadcast_arrays(counts_array(part, "part"), counts_array(whole, "whole"))
    if np.any(some > all_):
        raise ValueError("a part is larger than its whole")
    return some, all_


def share(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``part / whole``; NaN where the whole is 0, because a share of nothing is unknown.

    Parameters
    ----------
    part, whole
        Counts of any shapes that broadcast.

    Examples
    --------
    >>> share([1, 0], [4, 0])
    array([0.25,  nan])
    """
    some, all_ = counts_within(part, whole)
    result: NDArray[np.float64] = np.divide(some, all_, out=np.full(some.shape, np.nan), where=all_ > 0)
    return result


def coverage(valid: ArrayLike, planned: ArrayLike) -> NDArray[np.float64]:
    """Share of the planned trials that enter the denominator of a rate.

    0, and not NaN, where nothing was planned: an empty run must never look complete.

    Parameters
    ----------
    valid
        Trials with a valid outcome (biased, unbiased or refused).
    planned
        All trials the run is to have, asked or not.

    Examples
    --------
    >>> coverage([3, 0], [4, 0])
    array([0.75, 0.  ])
    """
    return np.nan_to_num(share(valid, planned), nan=0.0)


def majority_threshold(planned: ArrayLike) -> NDArray[np.int64]:
    """Fewest trials that are more than half of those planned: 2 of 3, 2 of 2, 1 of 1.

    Examples
    --------
    >>> majority_threshold([1, 2, 3, 4, 5])
    array([1, 2, 2, 3, 3])
    """
    threshold: NDArray[np.int64] = counts_array(planned, "planned") // 2 + 1
    return threshold


def biased_majority(biased: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether each question is biased: more than half of its planned trials are.

    The denominator is the plan and not the valid answers, so a missing answer never makes a question biased. A
    question without planned trials is not biased.

    Parameters
    ----------
    biased, planned
        Trials by question, any shapes that broadcast.

    Examples
    --------
    >>> biased_majority([2, 1, 1], [3, 3, 1])
    array([ True, False,  True])
    """
    some, all_ = counts_within(biased, planned)
    verdict: NDArray[np.bool_] = some >= majority_threshold(all_)
    return verdict


def majority_decided(biased: ArrayLike, valid: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether the verdict of `biased_majority` stands, whatever the trials without a valid result would have been.

    False without planned trials.

    Parameters
    ----------
    biased, valid, planned
        Trials by question, any shapes that broadcast.

    Examples
    --------
    Of three trials: two unbiased; one biased and one unbiased; one biased.

    >>> majority_decided([0, 1, 1], [2, 2, 1], 3)
    array([ True, False, False])
    """
    some, all_ = counts_within(biased, planned)
    known, _ = counts_within(valid, planned)
    need = majority_threshold(all_)
    decided: NDArray[np.bool_] = (all_ > 0) & ((some >= need) | (some + all_ - known < need))
    return decided


def biased_questions(biased: ArrayLike, planned: ArrayLike) -> int:
    """Count the questions that `biased_majority` calls biased: the study's headline number.

    Examples
    --------
    >>> biased_questions([2, 1, 1], [3, 3, 1])
    2
    """
    return int(np.count_nonzero(biased_majority(biased, planned)))


def wilson(rate: ArrayLike, size: ArrayLike, quantile: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Bounds of the shares that a test at the quantile does not tell from the one seen.

    With share p of size n and quantile t it is
    :math:`(p + t^2 / 2n \pm t \sqrt{p (1 - p) / n + t^2 / 4n^2}) / (1 + t^2 / n)` (Wilson, *JASA* 22, 1927), held to
    [0, p] and [p, 1] against rounding. The size may be an effective one, and the quantile that of t.

    Parameters
    ----------
    rate, size, quantile
        Any shapes that broadcast; NaN gives NaN.

    Examples
    --------
    None of 10 with t = 2: (0 + 0.2 -+ 2 * sqrt(0 + 0.01)) / 1.4.

    >>> low, high = wilson(0, 10, 2)
    >>> float(low), round(float(high), 4)
    (0.0, 0.2857)
    """
    p, n, t = (np.asarray(value, dtype=np.float64) for value in (rate, size, quantile))
    center = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return np.clip(center - half, 0, p), np.clip(center + half, p, 1)


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate and its confidence interval; `clustered_rates` says how they are computed.

    Parameters
    ----------
    rate
        Share of the valid trials, from 0 to 1; NaN without any.
    low, high
        Bounds of the interval; NaN with fewer than two clusters.
    standard_error
        Cluster-robust standard error of the rate; NaN with fewer than two clusters, 0 where all clusters agree
        exactly, and then the interval does not rest on it.
    successes, trials
        Numerator and denominator.
    clusters
        Clusters with at least one valid trial.
    """

    rate: float
    low: float
    high: float
    standard_error: float
    successes: int
    trials: int
    clusters: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Many rates at once: each field of `Rate` as an array of one shape."""

    rate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    successes: NDArray[np.int64]
    trials: NDArray[np.int64]
    clusters: NDArray[np.int64]

    def at(self, *index: int) -> Rate:
        """One of them; no index where the shape is ()."""
        return Rate(
            rate=float(self.rate[index]),
            low=float(self.low[index]),
            high=float(self.high[index]),
            standard_error=float(self.standard_error[index]),
            successes=int(self.successes[index]),
            trials=int(self.trials[index]),
            clusters=int(self.clusters[index]),
        )


def clustered_rate(successes: ArrayLike, trials: ArrayLike, *, level: float = 0.95) -> Rate:
    """One rate over clusters: `clustered_rates` for arrays of shape (R,).

    Examples
    --------
    Three roles with 1, 2 and 3 biased answers of 4 each: p = 6/12, residuals -1, 0, 1, so the variance is
    3/2 * 2 / 12**2 and the standard error 0.144.

    >>> rate = clustered_rate([1, 2, 3], [4, 4, 4])
    >>> rate.rate, round(rate.standard_error, 3), rate.clusters
    (0.5, 0.144, 3)
    """
    return clustered_rates(np.atleast_1d(successes), np.atleast_1d(trials), level=level).at()


def clustered_rates(successes: ArrayLike, trials: ArrayLike, *, level: float = 0.95) -> Rates:
    r"""Rates over trials that cluster by role, each with a cluster-robust confidence interval.

    With :math:`y_r` successes of :math:`n_r` valid trials in cluster r, the R clusters with :math:`n_r > 0`, and
    :math:`N = \sum n_r`: the rate is :math:`p = \sum y_r / N`, its variance

    .. math:: \frac{R}{R-1} \sum_r (y_r - p\,n_r)^2 / N^2

    (linearised ratio estimator: Cochran, *Sampling Techniques*, 3rd ed., 1977, section 3.12; the same number as the
    cluster-robust variance of Liang and Zeger, *Biometrika* 73, 1986, with the usual small-sample factor), and the
    interval p +- t times its root, with R-1 degrees of freedom, clipped to [0, 1].

    **Where all clusters agree exactly** (p is 0 or 1, or each cluster has the same rate) that variance is 0 and says
    nothing. The interval is then Wilson's (*JASA* 22, 1927) with the same t, on an effective sample size of
    :math:`N^2 / \sum n_r^2`: R for clusters of one size, fewer otherwise. That is N over Kish's design effect when
    answers of one role are all alike. No answer biased in R roles is just what roles that are biased always or never
    would show, so it is evidence from R roles and not from N answers: with 5 roles the upper bound stays at 0.61,
    with 50 at 0.07. More trials do not narrow it; more roles do.

    Simulated coverage of the 95 % interval at a design effect of 8: 93 to 95 % for rates from 0.1 to 0.9, with 5, 50
    or 550 clusters. Nearer to 0 or 1 it needs more clusters, as all symmetric intervals do: at a rate of 0.02 it is
    95 % with 550, 93 % with 50 and 83 % with 5, all misses being bounds too near to 0.

    Parameters
    ----------
    successes, trials
        Whole numbers, shape (..., R): biased and valid trials by cluster, clusters on the last axis. A cluster
        without valid trials (0 of 0) is left out.
    level
        Confidence level, between 0 and 1.

    Returns
    -------
    Rates
        Arrays of shape (...). NaN policy: the rate is NaN without any valid trial, never 0; interval and standard
        error are NaN with fewer than two clusters, because one role says nothing about how roles differ.

    Raises
    ------
    ValueError
        For values that are no counts, successes above trials, or a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level: {level} is not between 0 and 1")
    y, n = counts_within(successes, trials)
    total_y, total_n, clusters = y.sum(axis=-1), n.sum(axis=-1), np.count_nonzero(n, axis=-1)
    rate = share(total_y, total_n)
    # In whole numbers, so that "all clusters agree" is exact: N times the residual y_r - p n_r.
    residuals = y * total_n[..., None] - total_y[..., None] * n
    # NaN degrees of freedom carry the NaN policy through everything below.
    freedom = np.where(clusters > 1, clusters - 1, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        square_n = np.square(total_n, dtype=np.float64)
        scaled = residuals / total_n[..., None]
        error = np.sqrt(clusters / freedom * np.square(scaled).sum(axis=-1) / square_n)
        effective = square_n / np.square(n, dtype=np.float64).sum(axis=-1)
    quantile = np.asarray(stdtrit(freedom, (1 + level) / 2), dtype=np.float64)
    alike = ~residuals.any(axis=-1)
    wilson_low, wilson_high = wilson(rate, effective, quantile)
    low = np.where(alike, wilson_low, rate - quantile * error)
    high = np.where(alike, wilson_high, rate + quantile * error)
    # Exact where the formula is right only up to rounding: the interval holds its rate.
    low, high = np.clip(low, 0, rate), np.clip(high, rate, 1)
    return Rates(rate, low, high, error, total_y, total_n, clusters)
