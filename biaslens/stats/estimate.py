"""An estimate, and the estimates that all others rest on: ratios of sums over clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan, nan
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Residuals under this share of the largest sum are rounding, not disagreement of clusters."""


class Estimate(float):
    """An estimated number: it counts as its value, and knows how far it can be trusted, or why it is missing.

    NaN stands for what is not defined or not known, and `reason` says why. `low` and `high` are the bounds of the
    confidence interval of `level`; the standard error is 0 where nothing varies, and then the interval does not rest on
    it. `items` (trials, questions, labels, units) is how many it is taken from, `clusters` in how many, 0 where these
    were not counted; `freedom` are the degrees of freedom of the standard error, and `p` is two-sided against 0.

    >>> Estimate(0.25) * 2, Estimate(0.25, 0.1, 0.4).high, Estimate.undefined("no group word occurs").reason
    (0.5, 0.4, 'no group word occurs')
    """

    __slots__ = ("clusters", "freedom", "high", "items", "level", "low", "p", "reason", "standard_error")

    def __new__(
        cls,
        value: float,
        low: float = nan,
        high: float = nan,
        standard_error: float = nan,
        items: int = 0,
        *,
        reason: str = "",
        clusters: int = 0,
        level: float = 0.95,
        p: float = nan,
        freedom: float = nan,
    ) -> Self:
        """Make one."""
        made = super().__new__(cls, value)
        made.low, made.high, made.standard_error, made.p, made.level = low, high, standard_error, p, level
        made.items, made.clusters, made.reason, made.freedom = items, clusters, reason, freedom
        return made

    low: float
    high: float
    standard_error: float
    items: int
    clusters: int
    level: float
    p: float
    freedom: float
    reason: str

    @classmethod
    def undefined(cls, reason: str, items: int = 0) -> Self:
        """One that does not exist."""
        return cls(nan, items=items, reason=reason)

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    @property
    def interval(self) -> tuple[float, float]:
        """Both bounds."""
        return self.low, self.high

    def __repr__(self) -> str:
        number = float.__repr__(self)
        if isnan(self.low):
            return number
        return f"Estimate({number}, {self.low!r}, {self.high!r}, {self.standard_error!r}, {self.items!r})"

    __str__ = float.__repr__


@dataclass(frozen=True, slots=True)
class Estimates:
    """The same of many at once: arrays of one shape, and one reason for all intervals that are missing."""

    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    items: NDArray[np.int64]
    clusters: NDArray[np.int64]
    p: Floats
    level: float
    reason: str = ""

    def at(self, *index: int) -> Estimate:
        """One of them; no index where the shape is ()."""
        parts = (self.value, self.low, self.high, self.standard_error, self.p)
        value, low, high, error, p = (float(part[index]) for part in parts)
        items, clusters = int(self.items[index]), int(self.clusters[index])
        return Estimate(value, low, high, error, items, reason=self.reason, clusters=clusters, level=self.level, p=p)


def check_level(level: float) -> None:
    """Refuse a level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level: {level} is not between 0 and 1")


def wilson(rate: ArrayLike, size: ArrayLike, quantile: ArrayLike) -> tuple[Floats, Floats]:
    r"""Bounds of the shares that a test at the quantile does not tell from the one seen.

    With share p of size n and quantile t it is
    :math:`(p + t^2 / 2n \pm t \sqrt{p (1 - p) / n + t^2 / 4n^2}) / (1 + t^2 / n)` (Wilson, *JASA* 22, 1927), held to
    [0, p] and [p, 1] against rounding. The size may be an effective one, and the quantile that of t. Any shapes that
    broadcast; NaN gives NaN.

    None of 10 with t = 2: (0 + 0.2 -+ 2 * sqrt(0 + 0.01)) / 1.4.

    >>> low, high = wilson(0, 10, 2)
    >>> float(low), round(float(high), 4)
    (0.0, 0.2857)
    """
    p, n, t = (np.asarray(value, dtype=np.float64) for value in (rate, size, quantile))
    center = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return np.clip(center - half, 0, p), np.clip(center + half, p, 1)


def clustered_variance(influence: ArrayLike, clusters: ArrayLike | None = None) -> Floats:
    r"""Variance of an estimate from its derivatives by the weights of the items, summed within each cluster.

    :math:`R / (R - 1) \sum_r u_r^2` (linearisation: Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*,
    1992, section 5.5; the cluster-robust variance of Liang and Zeger, *Biometrika* 73, 1986, with the usual
    small-sample factor). Every standard error of this package but those of a bootstrap is the root of one. The shape is
    (..., R); `clusters` is R where some of the entries are no cluster. NaN for fewer than two.
    """
    u = np.asarray(influence, dtype=np.float64)
    count = np.asarray(u.shape[-1] if clusters is None else clusters, dtype=np.float64)
    factor = np.divide(count, count - 1, out=np.full(count.shape, np.nan), where=count > 1)
    result: Floats = factor * np.square(u).sum(axis=-1)
    return result


def clustered_ratio(
    part: ArrayLike,
    whole: ArrayLike,
    interval: Callable[[Floats, Floats, NDArray[np.int64]], tuple[Floats, Floats]],
    *,
    level: float,
) -> tuple[Estimates, NDArray[np.bool_]]:
    r"""The ratio of two sums over clusters, shape (..., R), with its interval, and whether all clusters agree exactly.

    With :math:`y_r` of :math:`n_r` in cluster r, the R clusters with :math:`n_r > 0`, and :math:`N = \sum n_r`: the
    ratio is :math:`p = \sum y_r / N`, its variance

    .. math:: \frac{R}{R-1} \sum_r (y_r - p\,n_r)^2 / N^2

    (linearised ratio estimator: Cochran, *Sampling Techniques*, 3rd ed., 1977, section 3.12; `clustered_variance`), and
    the interval p +- t times its root, with R-1 degrees of freedom. Where all clusters agree that variance is 0 and
    says nothing; there the interval is `interval(p, t, R)`. All is NaN without anything, interval and error with fewer
    than two clusters, because one cluster says nothing about how clusters differ.
    """
    check_level(level)
    y, n = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    size, clusters = n.sum(axis=-1), np.count_nonzero(n > 0, axis=-1)
    # NaN degrees of freedom carry the NaN policy through everything below.
    freedom = np.where(clusters > 1, clusters - 1, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = y.sum(axis=-1) / size
        residual = y - value[..., None] * n
        largest = np.abs(y).max(axis=-1, initial=1.0)
        alike = np.abs(residual).max(axis=-1, initial=0.0) <= ROUNDING * largest
        error = np.where(alike, 0 * freedom, np.sqrt(clustered_variance(residual, clusters)) / size)
        t = np.asarray(stdtrit(freedom, (1 + level) / 2), dtype=np.float64)
        low, high = interval(value, t, clusters)
        low, high = np.where(alike, low, value - t * error), np.where(alike, high, value + t * error)
        p = np.asarray(2 * stdtr(freedom, -np.abs(value / error)), dtype=np.float64)
    found = Estimates(value, low, high, error, size.astype(np.int64), np.asarray(clusters), p, level)
    return found, np.asarray(alike)


def weighted_share(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    reason: str = "no items",
) -> Estimate:
    r"""Share of items, weighted and clustered, with an interval that is sound near 0 and 1.

    With values :math:`h_i` from 0 to 1 and weights :math:`w_i`: the share and its variance are those of
    `clustered_ratio` for the sums of :math:`w_i h_i` and :math:`w_i` by cluster (Hájek's ratio, linearised: Särndal,
    Swensson and Wretman, *Model Assisted Survey Sampling*, 1992, section 5.7). The interval is Wilson's with t on R-1
    degrees of freedom and the effective sample size :math:`p (1 - p) / variance`, at most the number of items (Franco,
    Little, Louis and Slud, *Journal of Survey Statistics and Methodology* 7, 2019). **Where all clusters agree** the
    variance is 0, and the effective size is Kish's, :math:`W^2 / \sum_r W_r^2` with the weight of each cluster. It is
    not for answers of a benchmark, whose clusters cross; see `crossed_rate`.

    Simulated coverage of the 95 % interval, with and without weights of 1 and 5: 93 to 98 % for shares of 0.5, 0.9 and
    0.97 of 30, 100 and 400 items; 92 to 98 % with 50 clusters of 4 and 10 of 10 items, intraclass correlation 0.2.

    Values of shape (N,) that are NaN are left out; where there are no others, `reason` says so. Weights are positive,
    such as one over the chance of being sampled, 1 if not given; clusters are any integers, each item its own if not
    given. ValueError for values outside [0, 1], other weights, or lengths that differ.

    0 of 20: t(19)^2 / (20 + t(19)^2) = 4.3808 / 24.3808.

    >>> round(weighted_share([0] * 20).high, 4)
    0.1797
    """
    h = np.asarray(values, dtype=np.float64)
    w, code = item_weights(weights, len(h)), cluster_codes(clusters, len(h))
    known = ~np.isnan(h)
    h, w = h[known], w[known]
    items = len(h)
    if not items:
        return Estimate.undefined(reason)
    if h.min() < 0 or h.max() > 1:
        raise ValueError("values of a share must be from 0 to 1")
    code = np.unique(code[known], return_inverse=True)[1]
    wholes = np.bincount(code, w)

    def wilsons(p: Floats, t: Floats, _: object) -> tuple[Floats, Floats]:
        return wilson(p, wholes.sum() ** 2 / np.square(wholes).sum(), t)

    arrays, alike = clustered_ratio(np.bincount(code, w * h), wholes, wilsons, level=level)
    found = arrays.at()
    p, error, count = found.value, found.standard_error, found.clusters
    if count < 2:
        return Estimate(p, items=items, reason="all items are of one cluster", clusters=count, level=level)
    low, high = found.interval
    if not alike:
        bounds = wilson(p, min(items, p * (1 - p) / error**2), stdtrit(count - 1, (1 + level) / 2))
        low, high = map(float, bounds)
    return Estimate(p, low, high, error, items, clusters=count, level=level)


def student(
    value: Floats, error: Floats, freedom: ArrayLike, *, level: float, alike: str = "nothing varies"
) -> Estimates:
    """Value +- t x standard error with p against 0, shape (G,); no interval, but the reason `alike`, without error."""
    check_level(level)
    varies = error > ROUNDING
    error = np.where(varies, error, np.nan)
    free = np.broadcast_to(np.asarray(freedom, dtype=np.float64), value.shape)
    reach = stdtrit(free, 0.5 + level / 2) * error
    p = np.asarray(2 * stdtr(free, -np.abs(value) / error), dtype=np.float64)
    error = np.where(varies | np.isnan(value), error, 0.0)
    count = np.zeros(value.shape, dtype=np.int64)
    reason = "" if varies.all() else alike
    return Estimates(value, value - reach, value + reach, error, count, count, p, level, reason)


def undefined(value: Floats, reason: str, *, level: float) -> Estimates:
    """Values without intervals."""
    nothing, count = np.full(value.shape, np.nan), np.zeros(value.shape, dtype=np.int64)
    return Estimates(value, nothing, nothing, nothing, count, count, nothing, level, reason)


def item_weights(weights: ArrayLike | None, items: int) -> Floats:
    """Weights of the items, 1 each if not given; refuses others than so many positive ones."""
    if weights is None:
        return np.ones(items)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (items,) or not (np.isfinite(w) & (w > 0)).all():
        raise ValueError(f"weights must be {items} positive numbers")
    return w


def cluster_codes(clusters: ArrayLike | None, items: int) -> NDArray[np.int64]:
    """Cluster of each item as a number from 0, each item its own if not given; refuses others than so many."""
    if clusters is None:
        return np.arange(items)
    codes = np.asarray(clusters)
    if codes.shape != (items,):
        raise ValueError(f"clusters must be {items} numbers, one an item")
    found: NDArray[np.int64] = np.unique(codes, return_inverse=True)[1]
    return found


def counts_array(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Counts as int64; refuses values that are negative, not finite or not whole."""
    array = np.asarray(values)
    if array.dtype.kind not in "biu" and not np.all(np.isfinite(array) & (array == np.floor(array))):
        raise ValueError(f"{name}: counts must be whole numbers")
    whole = array.astype(np.int64)
    if np.any(whole < 0):
        raise ValueError(f"{name}: counts must not be negative")
    return whole


def counts_within(part: ArrayLike, whole: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts of which one is a part of the other, in one shape; refuses a part that exceeds its whole."""
    some, all_ = np.broadcast_arrays(counts_array(part, "part"), counts_array(whole, "whole"))
    if np.any(some > all_):
        raise ValueError("a part is larger than its whole")
    return some, all_
