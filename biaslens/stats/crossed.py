"""Means over questions that share a role, a comparison of groups, or both.

A benchmark crosses two samples: many roles, and comparisons of groups that recur in many roles. Answers to questions of
one role resemble each other, and so do answers to questions that compare the same groups, whoever is asked. An interval
that is to hold for other roles and other comparisons like these has to cover the draw of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import isnan, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtr, stdtrit

from biaslens.stats.estimate import ROUNDING, Estimate, Floats, check_level, counts_within, wilson

Codes = NDArray[np.int64]

_SHRINK = 10.0
"""Questions from which a group weighs half as much as a very large one, when components are estimated."""


_FEWEST_FREE = 2.0
"""Degrees of freedom that the variance of a share keeps, however few roles or comparisons make it up."""

_FEWEST_FREE_OF_DIFFERENCES = 5.0
"""The same of a difference, which errs to both sides alike."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """What items share, as integers of shape (N,) each.

    Without `comparison` roles alone are a sample: the estimand is these questions, put to other roles. `stratum` is the
    attribute of the role. The strata are all there are, so that they differ adds nothing to the variance.
    """

    role: Codes
    comparison: Codes | None = None
    stratum: Codes | None = None

    def at(self, chosen: ArrayLike) -> Clusters:
        """Those of some items, by mask or position."""
        place = np.asarray(chosen)
        role, comparison, stratum = (
            None if codes is None else np.asarray(codes)[place] for codes in (self.role, self.comparison, self.stratum)
        )
        return Clusters(np.asarray(role), comparison, stratum)


@dataclass(frozen=True, slots=True)
class MeanVariance:
    """Variance of a mean, its degrees of freedom, and the part of it that is due to the draw of comparisons."""

    variance: float
    freedom: float
    of_comparisons: float


@dataclass(frozen=True)
class Level:
    """One way to group the items: the group of each, an item of each group, and the groups' weights by stratum."""

    rank: int
    group: Codes
    first: Codes
    weight: Floats
    by_stratum: Floats | None
    """Shape (G, H) where groups cross strata, None where each lies in one."""


class Estimand(StrEnum):
    """What an interval is for."""

    LIKE_THESE = "questions like these"
    """Other roles and other comparisons of groups, drawn as these were."""
    THESE = "these questions"
    """Other roles, put the same questions: what would come out if the roles alone were drawn anew."""


ROLE, COMPARISON, BOTH, ITEM = range(4)


class Layout:
    r"""Items with their weights and clusters: what of a mean's variance depends on the design alone.

    Weights are counts of trials, or 1; items without weight are left out. **The variance of a mean** is that of the
    stratified roles,

    .. math:: \sum_h \frac{R_h}{R_h - 1} \sum_{r \in h} u_r^2, \quad u_r = \sum_{i \in r} w_i (y_i - \bar y_h) / W

    (linearised: Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*, 1992, section 5.5), and what is left
    of two-way clustering (Cameron, Gelbach and Miller, *Journal of Business and Economic Statistics* 29, 2011), the
    pairs of items that share the comparison and not the role. Their covariance, times their share of all pairs, is

    .. math:: \hat\sigma_c^2 \left(\sum_c w_c^2 - \sum_{rc} w_{rc}^2\right) / W^2.

    It is not taken from the residuals of these pairs, as there: where one comparison makes two fifths of the items, the
    mean follows it, its residuals shrink, and the variance comes out half as large as it is. It is the component of a
    random-effects model with role, comparison, their combination and question, by quadratic forms that are set equal to
    their exact expectations given the weights and strata (Searle, Casella and McCulloch, *Variance Components*, 1992,
    chapter 5), in which large groups hardly count for more than middling ones. A negative one is set to 0. Strata of a
    single role are put together. Where no comparison recurs in another role nothing is added.
    """

    def __init__(self, weights: ArrayLike, clusters: Clusters) -> None:
        weight = np.asarray(weights, dtype=np.float64)
        self.known: NDArray[np.bool_] = weight > 0
        self.weight = weight[self.known]
        of = clusters.at(self.known)
        self.role = _codes(of.role)
        stratum = np.zeros_like(self.role) if of.stratum is None else _codes(of.stratum)
        self.stratum = _collapsed(stratum, self.role)
        self.total = float(self.weight.sum())
        self.items, self.roles = len(self.weight), _count(self.role)
        self.strata = _count(self.stratum)
        self.comparison = None if of.comparison is None else _codes(of.comparison)
        self.comparisons = 0 if self.comparison is None else _count(self.comparison)

    @cached_property
    def of_stratum(self) -> Floats:
        """Weight of each stratum."""
        weight: Floats = np.bincount(self.stratum, self.weight, self.strata).astype(np.float64)
        return weight

    def residuals(self, values: Floats) -> Floats:
        """Values less the mean of their stratum."""
        means: Floats = np.bincount(self.stratum, self.weight * values, self.strata) / self.of_stratum
        result: Floats = values - means[self.stratum]
        return result

    @cached_property
    def levels(self) -> dict[int, Level]:
        """Roles, comparisons, both and items, without those that would group alike."""
        role, items = self.role, np.arange(self.items)
        if self.comparison is None:
            found = {ROLE: role, ITEM: items}
        else:
            both = _codes(role * self.comparisons + self.comparison)
            found = {ROLE: role, COMPARISON: self.comparison, BOTH: both, ITEM: items}
            cells = _count(both)
            if cells == self.items:
                del found[BOTH]
            if self.comparisons in (1, cells):
                del found[COMPARISON]
        if self.roles <= self.strata:
            del found[ROLE]
        return {which: self._level(which, codes) for which, codes in found.items()}

    def _level(self, which: int, codes: Codes) -> Level:
        groups, first = _count(codes), np.unique(codes, return_index=True)[1]
        weight = np.bincount(codes, self.weight, groups)
        by_stratum = None
        if which == COMPARISON:
            flat = np.bincount(codes * self.strata + self.stratum, self.weight, groups * self.strata)
            by_stratum = flat.reshape(groups, self.strata)
        mean = self.total / self.items
        return Level(which, codes, first, weight / mean, None if by_stratum is None else by_stratum / mean)

    def share(self, which: int) -> float:
        """Sum over the groups of a level of their share of the weight, squared."""
        level = self.levels.get(which)
        return 0.0 if level is None else float(np.square(level.weight / level.weight.sum()).sum())

    def concentrated(self, level: Level) -> Floats:
        """Sum of the squared shares of the groups of a level within each stratum."""
        if level.by_stratum is not None:
            sums = np.square(level.by_stratum).sum(axis=0)
        else:
            sums = np.bincount(self.stratum[level.first], np.square(level.weight), self.strata)
        result: Floats = sums / np.square(self.of_stratum * self.items / self.total)
        return result

    @cached_property
    def crossed(self) -> float:
        """Share of the pairs of items, by weight, that share the comparison and not the role."""
        if COMPARISON not in self.levels:
            return 0.0
        pairs = self.levels.get(BOTH, self.levels[ITEM])
        return self.share(COMPARISON) - float(np.square(pairs.weight / pairs.weight.sum()).sum())

    @cached_property
    def _forms(self) -> dict[int, list[tuple[Level, Floats]]]:
        """By level a sum of squared sums over groups, less those within: the products of items that share just that.

        Each part is a level with the weights of its groups.
        """
        forms = {}
        for which, level in self.levels.items():
            weights = 1 / np.square(level.weight + _SHRINK)
            within = self.levels.get(BOTH if which in (ROLE, COMPARISON) else ITEM, self.levels[ITEM])
            forms[which] = [(level, weights)]
            if within is not level:
                forms[which].append((within, -weights[level.group[within.first]]))
        return forms

    @cached_property
    def _solve(self) -> Floats:
        """Components from the quadratic forms: the inverse of their expectations."""
        expected = [
            [sum(self._expected(part, weights, of) for part, weights in parts) for of in self.levels.values()]
            for parts in self._forms.values()
        ]
        return np.asarray(np.linalg.pinv(np.array(expected), rcond=1e-10), dtype=np.float64)

    def _expected(self, p: Level, weights: Floats, k: Level) -> float:
        """Expectation of a weighted sum of squares when only the effects of a level vary, by 1."""
        met = self._within(p, k)
        group, effect, size = p.group[met.first], k.group[met.first], met.weight
        stratum, whole = self.stratum[met.first], self.of_stratum * self.items / self.total
        if p.by_stratum is not None and k.by_stratum is not None:
            overlap = (p.by_stratum[group] * k.by_stratum[effect] / whole).sum(axis=1)
        else:
            overlap = _in(p, group, stratum) * _in(k, effect, stratum) / whole[stratum]
        first = (weights[group] * size * (size - 2 * overlap)).sum()
        both = self._products(p, weights) * self._products(k, np.ones_like(k.weight))
        return float(first + (both / np.outer(whole, whole)).sum())

    def _within(self, p: Level, k: Level) -> Level:
        """The coarsest level that is within both: a role and a comparison meet in what they share."""
        if p is k:
            return p
        finer = max(p.rank, k.rank)
        return self.levels.get(BOTH if finer == COMPARISON else finer, self.levels[ITEM])

    def _products(self, level: Level, weights: Floats) -> Floats:
        if level.by_stratum is not None:
            return np.asarray((level.by_stratum * weights[:, None]).T @ level.by_stratum)
        stratum = self.stratum[level.first]
        return np.diag(np.bincount(stratum, weights * np.square(level.weight), self.strata))

    def components(self, values: Floats) -> dict[int, float]:
        """Variance of the effects of each level, unbiased and so perhaps negative."""
        forms = [square.sum() for square in self._squares(values).values()]
        return dict(zip(self.levels, (self._solve @ np.array(forms)).tolist(), strict=True))

    def _squares(self, values: Floats) -> dict[int, Floats]:
        """What each group adds to the quadratic form of its level."""
        residual = self.residuals(values) * self.weight * self.items / self.total
        found = {}
        for which, parts in self._forms.items():
            of = self.levels[which].group
            added = np.zeros(len(self.levels[which].weight))
            for part, weights in parts:
                sums = np.bincount(part.group, residual, len(part.weight))
                np.add.at(added, of[part.first], weights * np.square(sums))
            found[which] = added
        return found

    @cached_property
    def _role_factor(self) -> Floats:
        """R / (R - 1) of the stratum of each role."""
        stratum = self.stratum[np.unique(self.role, return_index=True)[1]]
        count = np.bincount(stratum, minlength=self.strata)
        result: Floats = (count / np.maximum(count - 1, 1))[stratum]
        return result

    def spread(self, values: Floats, *, differences: bool = False) -> MeanVariance:
        r"""Variance of the weighted mean of the values; NaN where all roles are one.

        The variance of a share is found small together with the share, where the few roles that are biased often are
        not among those drawn. Its part that is due to roles has :math:`2 / (1 / (k - 1) - 1 / R)` degrees of freedom,
        k being the effective number of roles, :math:`(\sum u_r^2)^2 / \sum u_r^4`: about 2 (k - 1) where few make it
        up, never more than roles less strata. That due to comparisons has those of its normal theory, and fewer where
        the squares scatter more. `differences` scatter around 0 alike; there a t test is conservative for long tails as
        it is (Benjamini, *JASA* 78, 1983), and both parts keep all their degrees of freedom. Together they have at
        least 2, or 5: Satterthwaite's formula, which adds the parts up, gives next to none where the component of
        comparisons is small and its error large.
        """
        most = self.roles - self.strata
        if most < 1:
            return MeanVariance(nan, nan, nan)
        sums = np.bincount(self.role, self.residuals(values) * self.weight, self.roles) / self.total
        squares = self._role_factor * np.square(sums)
        of_roles = float(squares.sum())
        free = float(most) if differences else _effective(squares, most)
        added, freedom = self.of_comparisons(values, differences=differences)
        if not added > 0:
            return MeanVariance(of_roles, free, 0.0)
        joint = joint_freedom((of_roles, free), (added, freedom), differences=differences)
        return MeanVariance(of_roles + added, joint, added)

    def of_comparisons(self, values: Floats, *, differences: bool = False) -> tuple[float, float]:
        """What the draw of comparisons adds to the variance, and its degrees of freedom; 0 and NaN for nothing."""
        crossed = self.crossed
        if not crossed > 0:
            return 0.0, nan
        found = self.components(values)
        component = found[COMPARISON]
        # A component of rounding errors has a sign that depends on the order of the items, and degrees of freedom.
        if component <= ROUNDING * max(map(abs, found.values())):
            return 0.0, nan
        counts, noise = self._of_pairs(found)
        whole = component * float(counts.sum())
        freedom = min(whole**2 / float(np.square(counts * (component + noise)).sum()), self.comparisons - 1)
        if not differences:
            scatter = float(np.square(self._squares(values)[COMPARISON] - counts * component).sum())
            if scatter > 0:
                freedom = float(np.clip(2 * whole**2 / scatter, min(3.0, freedom), freedom))
        return component * crossed, freedom

    def component_of_comparisons(self, values: Floats, *, expected: float = 0.0) -> tuple[float, float]:
        """Component of comparisons, perhaps negative, and its standard error if it is as expected; NaN without."""
        if COMPARISON not in self.levels:
            return nan, nan
        found = self.components(values)
        counts, noise = self._of_pairs(found)
        return found[COMPARISON], float(np.sqrt(2 * np.square(counts * (expected + noise)).sum()) / counts.sum())

    def _of_pairs(self, found: Mapping[int, float]) -> tuple[Floats, Floats]:
        """By comparison how much its pairs count in the component, and what the other components add to its square."""
        level = self.levels[COMPARISON]
        noise = np.zeros_like(level.weight)
        for which in {ROLE, BOTH, ITEM} & self.levels.keys():
            meet = self.levels.get(BOTH if which == ROLE else which, self.levels[ITEM])
            square = np.bincount(level.group[meet.first], np.square(meet.weight), len(noise))
            noise += max(found[which], 0.0) * square / np.square(level.weight)
        pairs = self.levels.get(BOTH, self.levels[ITEM])
        inside = np.bincount(level.group[pairs.first], np.square(pairs.weight), len(noise))
        return (np.square(level.weight) - inside) / np.square(level.weight + _SHRINK), noise


def joint_freedom(
    of_roles: tuple[float, float], of_comparisons: tuple[float, float], *, differences: bool = False
) -> float:
    """Degrees of freedom of a sum of two variances, each with its own (Satterthwaite, *Biometrics Bulletin* 2, 1946).

    They are at least as many as `Layout.spread` says, if those of roles are.
    """
    (first, free), (second, freedom) = of_roles, of_comparisons
    joint = (first + second) ** 2 / (first**2 / free + second**2 / freedom)
    return max(joint, min(_FEWEST_FREE_OF_DIFFERENCES if differences else _FEWEST_FREE, free))


def _effective(squares: Floats, most: int) -> float:
    """Degrees of freedom of a sum of squares, by the effective number of them."""
    whole, fourth = float(squares.sum()), float(np.square(squares).sum())
    if not fourth > 0:
        return float(most)
    beyond = whole**2 / fourth - 1
    free = 2 / (1 / beyond - 1 / len(squares)) if beyond > 0 else 0.0
    return float(np.clip(free, min(_FEWEST_FREE, most), most))


def _codes(values: ArrayLike) -> Codes:
    found: Codes = np.unique(np.asarray(values), return_inverse=True)[1]
    return found


def _count(codes: Codes) -> int:
    return int(codes.max()) + 1 if len(codes) else 0


def _in(level: Level, group: Codes, stratum: Codes) -> Floats:
    if level.by_stratum is None:
        return level.weight[group]
    result: Floats = level.by_stratum[group, stratum]
    return result


def _collapsed(stratum: Codes, role: Codes) -> Codes:
    """Strata with those of a single role put together, or into the smallest other one where there is one such."""
    if not len(role):
        return stratum
    of_role = stratum[np.unique(role, return_index=True)[1]]
    roles = np.bincount(of_role)
    single = roles == 1
    if not single.any():
        return stratum
    others = np.flatnonzero(~single)
    into = int(others[np.argmin(roles[others])]) if single.sum() == 1 and len(others) else len(roles)
    return _codes(np.where(single, into, np.arange(len(roles)))[stratum])


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
