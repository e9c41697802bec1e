"""Means, shares and differences over crossed clusters with their intervals, at one look at a run or at every one."""

from __future__ import annotations

from math import isnan, log, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr, stdtr, stdtrit

from biaslens.stats.crossed import Clusters, Layout, MeanVariance
from biaslens.stats.estimate import ROUNDING, Estimate, Floats, check_level, counts_within, wilson


def crossed_mean(
    values: ArrayLike, clusters: Clusters, *, bounds: tuple[float, float] = (-1.0, 1.0), level: float = 0.95
) -> Estimate:
    """Mean of values, one an item, with the interval value +- t x standard error of `Layout`, and p against 0.

    Items that are NaN are left out. NaN without a value; no interval with a single role. **Where all roles agree
    exactly** every role's mean is the mean D. Had a share of all roles another value, R roles alike would still be seen
    by chance: the interval reaches from D as far towards each of `bounds`, the range the mean can have, as Wilson's
    upper limit for 0 of R with t. p is 1 at D = 0, and else that of the sign test over roles, :math:`2^{1-R}`.

    Two roles with two questions each, D = 2/4; residual sums 0.5 + 0.5 and -0.5 - 0.5: var = 2 * (1 + 1) / 16.

    >>> mean = crossed_mean([1, 1, 0, 0], Clusters(np.array([7, 7, 8, 8])))
    >>> mean.value, round(mean.standard_error, 3)
    (0.5, 0.5)
    """
    layout, known = of_values(values, clusters)
    return mean_in(layout, known, bounds=bounds, level=level)


def of_values(values: ArrayLike, clusters: Clusters) -> tuple[Layout, Floats]:
    """Layout of the values that are not NaN, and these."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != np.shape(clusters.role) or found.ndim != 1:
        raise ValueError(
            f"values and clusters must be one row each of one length, not {found.shape} and {np.shape(clusters.role)}"
        )
    layout = Layout(~np.isnan(found), clusters)
    return layout, found[layout.known]


def mean_in(
    layout: Layout, values: Floats, *, bounds: tuple[float, float] = (-1.0, 1.0), level: float = 0.95
) -> Estimate:
    """`crossed_mean` of values of the known items of a layout, for many means over the same items."""
    check_level(level)
    value, found = _spread(layout, values, differences=True)
    if isnan(found.variance):
        return Estimate(value, items=layout.items, clusters=layout.roles, level=level)
    if found.variance > 0:
        error = float(np.sqrt(found.variance))
        t = float(stdtrit(found.freedom, (1 + level) / 2))
        ends = value - t * error, value + t * error
        p = float(2 * stdtr(found.freedom, -abs(value) / error))
    else:
        t, error = float(stdtrit(layout.roles - 1, (1 + level) / 2)), 0.0
        reach = t**2 / (layout.roles + t**2)
        ends = value - reach * (value - bounds[0]), value + reach * (bounds[1] - value)
        p = 1.0 if abs(value) <= ROUNDING else 2.0 ** (1 - layout.roles)
    low, high = (float(np.clip(end, *bounds)) for end in ends)
    free = found.freedom
    return Estimate(value, low, high, error, layout.items, clusters=layout.roles, level=level, p=p, freedom=free)


def crossed_share(values: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    """Mean of values from 0 to 1, one an item, with the interval of `crossed_rate`; NaN as in `crossed_mean`."""
    layout, known = of_values(values, clusters)
    return share_in(layout, known, level=level)


def crossed_rate(part: ArrayLike, whole: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    r"""Rate over the trials of all items, biased and valid trials of each, shape (N,), with an interval.

    The interval is symmetric on the logit scale: :math:`\log(p / (1 - p)) \pm t\,s / (p (1 - p))`, with the standard
    error s and t of `Layout` (Korn and Graubard, *Analysis of Health Surveys*, 1999, section 3.4). On the scale of the
    rate a symmetric interval is too short above a small rate, which is found small together with its variance.

    **Where nothing varies**, so also where no trial is biased, it is Wilson's with t on R-1 degrees of freedom and
    :math:`N^2 / \sum n_r^2` for its size, R for roles of one size: N over Kish's design effect when answers of one role
    are all alike. No answer biased in R roles is just what roles that are biased always or never would show, so it is
    evidence from R roles and not from N answers: with 5 roles the upper bound stays at 0.61, with 50 at 0.07.

    docs/statistics-detail.md has the simulated coverage. `items` of the result are the trials. NaN without a valid
    trial, never 0; no interval with a single role. ValueError for values that are no counts, or a level outside (0, 1).

    Three roles with 1, 2 and 3 biased answers of 4 each: p = 6/12, residuals -1, 0, 1, so the variance is
    3/2 * 2 / 12**2 and the standard error 0.144.

    >>> rate = crossed_rate([1, 2, 3], [4, 4, 4], Clusters(np.arange(3)))
    >>> rate.value, round(rate.standard_error, 3), rate.clusters, rate.items
    (0.5, 0.144, 3, 12)
    """
    y, n = counts_within(part, whole)
    layout = Layout(n, clusters)
    return share_in(layout, y[layout.known] / layout.weight, level=level)


class Share(NamedTuple):
    """A weighted share in a layout, and what its bounds hang on; `size` is that of Wilson's where nothing varies."""

    value: float
    error: float
    freedom: float
    size: float
    items: int
    roles: int

    def bounds(self, tail: float) -> tuple[float, float]:
        """Bounds beyond each of which a tail of the distribution lies; NaN with a single role."""
        if self.error > 0:
            return _logit_bounds(self.value, self.error, -float(stdtrit(self.freedom, tail)))
        low, high = wilson(self.value, self.size, -stdtrit(self.roles - 1, tail))
        return float(low), float(high)

    def estimate(self, level: float) -> Estimate:
        """The share with its interval; none with a single role."""
        check_level(level)
        if isnan(self.error):
            return Estimate(self.value, items=self.items, clusters=self.roles, level=level)
        low, high = self.bounds((1 - level) / 2)
        return Estimate(
            self.value, low, high, self.error, self.items, clusters=self.roles, level=level, freedom=self.freedom
        )


def share_of(layout: Layout, values: Floats) -> Share:
    """Find the share that values of the known items of a layout have as their mean."""
    value, found = _spread(layout, values, differences=False)
    error = float(np.sqrt(found.variance)) if isnan(found.variance) or 0 < value < 1 else 0.0
    size = layout.total**2 / float(np.square(np.bincount(layout.role, layout.weight)).sum()) if layout.items else nan
    return Share(value, error, found.freedom, size, round(layout.total), layout.roles)


def share_in(layout: Layout, values: Floats, *, level: float = 0.95) -> Estimate:
    """`crossed_share` of values of the known items of a layout."""
    return share_of(layout, values).estimate(level)


def difference_in(
    layout: Layout, first: Floats, second: Floats, shares: tuple[Share, Share] | None = None, *, level: float = 0.95
) -> Estimate:
    r"""Mean of first - second, both from 0 to 1 for the known items of a layout, with its interval and p against 0.

    A rate that chance makes low is found together with too small a variance, and so is a difference from it: the
    symmetric interval of `mean_in` holds one between rates of 0.02 and 0.06 in 82 % where 11 roles differ much. So it
    reaches at least as far as intervals [l, u] of the two rates on the logit scale (`share_in`) say together, below the
    difference by :math:`\sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}`, and above it alike (Zou and Donner, *Statistics in
    Medicine* 27, 2008). These are of each rate's own variance, less the covariance of both, with the degrees of
    freedom of the difference: what the draw of roles and comparisons does to both alike does not move it. p is at least
    where that interval ends at 0, so test and interval agree. docs/statistics-detail.md has the simulated coverage.
    `shares` are those of the two, found if not given.

    Where the two differ in no item, or every role's difference is the same, it is the interval of `mean_in`.
    """
    found = mean_in(layout, first - second, level=level)
    if not found.standard_error > 0:
        return found
    one, other = shares or (share_of(layout, first), share_of(layout, second))
    variance = found.standard_error**2
    shared = (one.error**2 + other.error**2 - variance) / 2 if one.error > 0 and other.error > 0 else 0.0
    own = np.maximum(np.square([one.error, other.error]) - shared, 0.0)
    errors = np.sqrt(own * (variance / own.sum())).tolist() if own.sum() > 0 else [0.0, 0.0]
    # One that does not vary keeps the bounds it has; one without a variance of its own is next to its own bound.
    apart = [
        share._replace(error=max(error, ROUNDING), freedom=found.freedom) if share.error > 0 else share
        for share, error in zip((one, other), errors, strict=True)
    ]

    def reach(tail: float) -> tuple[float, float]:
        (low, high), (other_low, other_high) = (share.bounds(tail) for share in apart)
        return (
            float(np.hypot(one.value - low, other_high - other.value)),
            float(np.hypot(high - one.value, other.value - other_low)),
        )

    below, above = reach((1 - level) / 2)
    low, high = min(found.low, found.value - below), max(found.high, found.value + above)
    towards = 0 if found.value > 0 else 1
    p = found.p
    if 0 < p < 1 and reach(p / 2)[towards] > abs(found.value):
        least, most = np.log(p), 0.0
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            inside = reach(float(np.exp(middle)) / 2)[towards] > abs(found.value)
            least, most = (middle, most) if inside else (least, middle)
        p = float(np.exp(most))
    return Estimate(
        found.value, max(low, -1.0), min(high, 1.0), found.standard_error, found.items,
        clusters=found.clusters, level=level, p=p, freedom=found.freedom,
    )  # fmt: skip


_HALVINGS = 40


def crossed_difference(first: ArrayLike, second: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    """`difference_in` of values from 0 to 1, one an item; items of which one is NaN are left out.

    Of eleven roles one is biased always, and another half the time where the role is left out: D = 10/110 - 5/110.

    >>> roles = np.repeat(np.arange(11), 10)
    >>> found = crossed_difference(roles == 0, (roles == 1) & (np.arange(110) % 2 == 0), Clusters(roles))
    >>> round(found.value, 4), round(found.low, 2), round(found.high, 2)
    (0.0455, -0.3, 0.51)
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    layout, _ = of_values(one - other, clusters)
    return difference_in(layout, one[layout.known], other[layout.known], level=level)


def logit_bounds(value: float, error: float, freedom: float, *, level: float) -> tuple[float, float]:
    """Bounds that are symmetric around the logit of a share."""
    return _logit_bounds(value, error, float(stdtrit(freedom, (1 + level) / 2)))


def _logit_bounds(value: float, error: float, quantile: float) -> tuple[float, float]:
    reach = quantile * error / (value * (1 - value))
    low, high = expit(logit(value) + np.array([-reach, reach]))
    return float(low), float(high)


def _spread(layout: Layout, values: Floats, *, differences: bool) -> tuple[float, MeanVariance]:
    """Weighted mean and its spread, of which what is rounding is 0."""
    if not layout.items:
        return nan, MeanVariance(nan, nan, nan)
    value = min(max(float((values * layout.weight).sum() / layout.total), float(values.min())), float(values.max()))
    found = layout.spread(values, differences=differences)
    largest = max(1.0, float(np.abs(values).max()))
    return value, MeanVariance(0.0, found.freedom, 0.0) if found.variance <= (ROUNDING * largest) ** 2 else found


def clustered_rate(successes: ArrayLike, trials: ArrayLike, *, level: float = 0.95) -> Estimate:
    """`crossed_rate` of one sample of clusters: successes and trials of each, shape (R,)."""
    count = np.atleast_1d(trials)
    return crossed_rate(np.atleast_1d(successes), count, Clusters(np.arange(len(count))), level=level)


def clustered_mean(
    values: ArrayLike, clusters: ArrayLike, *, bounds: tuple[float, float] = (-1.0, 1.0), level: float = 0.95
) -> Estimate:
    """`crossed_mean` of values that are clustered in one way, shape (N,)."""
    return crossed_mean(values, Clusters(np.asarray(clusters)), bounds=bounds, level=level)


TIGHTEST = 55
"""Roles at which the sequence is tuned to be tightest: five of each attribute."""


def always_valid(estimate: Estimate, *, share: bool = True) -> tuple[float, float]:
    r"""Bounds of a confidence sequence: with the estimate's level they hold the truth at all looks at once.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (*Annals of Statistics* 52,
    2024, theorem 2.2): after t roles the half-width is the standard error times

    .. math:: \sqrt{\frac{2 (t \rho^2 + 1)}{t \rho^2} \log \frac{\sqrt{t \rho^2 + 1}}{\alpha}}

    instead of 1.96: 3.0 at the `TIGHTEST` number of roles, for which :math:`\rho` is chosen, 3.4 at 11 and 3.2 at 550.
    The tail of the normal distribution that it stands for is put into t with the estimate's degrees of freedom. A
    `share` has it on the logit scale, Wilson's with the roles for its size where nothing varies. NaN without a standard
    error. docs/statistics-detail.md has its simulated coverage.

    >>> low, high = always_valid(Estimate(0.2, standard_error=0.02, clusters=55, freedom=54))
    >>> round(low, 3), round(high, 3)
    (0.144, 0.271)
    """
    roles, error = estimate.clusters, estimate.standard_error
    if roles < 2 or isnan(error) or isnan(estimate.freedom):
        return nan, nan
    quantile = _quantile_of_looks(roles, 1 - estimate.level)
    # A level so high that the ordinary interval at it is as long.
    level = float(2 * ndtr(quantile) - 1)
    t = float(stdtrit(estimate.freedom, (1 + level) / 2))
    value = estimate.value
    if not share:
        return max(value - t * error, -1.0), min(value + t * error, 1.0)
    if not error > 0 or not 0 < value < 1:
        low, high = wilson(value, roles, t)
        return float(low), float(high)
    return logit_bounds(value, error, estimate.freedom, level=level)


def _quantile_of_looks(roles: int, alpha: float) -> float:
    tuned = (-2 * log(alpha) + log(-2 * log(alpha) + 1)) / TIGHTEST
    time = roles * tuned
    return float(np.sqrt(2 * (time + 1) / time * log(sqrt(time + 1) / alpha)))
