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
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from biaslens.stats.estimate import ROUNDING, Floats

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
