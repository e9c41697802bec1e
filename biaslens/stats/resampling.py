"""The bootstrap: a metric as a function of sums over units, and the ways in which units are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import ndtr, stdtrit

from biaslens.stats.estimate import Estimate, Estimates, Floats, check_level, student, undefined, wilson

HELD = 2**22
"""Numbers that are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Sums:
    """A metric that depends on its units (prompts, rows, clusters) only through sums over them.

    What makes its value so makes its bootstrap and its test. `sums` is what each unit adds, shape (units, features);
    sparse where each unit has few of many features. `statistic` is the metric from totals of shape (..., features),
    shape (...), NaN where it is not defined; `reason` says why it is not, for totals of shape (features,), "" where it
    is. `exchange` is which feature each one becomes when the two sides of a comparison change places, shape
    (features,), or, where there is more than one other way to place the sides, in each of them, shape (ways, features);
    None where there are no sides.
    """

    sums: Floats | sparse.csr_array
    statistic: Callable[[Floats], Floats]
    reason: Callable[[Floats], str]
    exchange: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.sums.shape[0])

    @property
    def ways(self) -> int:
        """How many ways there are to place the sides in a unit, that in which they stand included."""
        return 1 + len(self._other_ways())

    @property
    def adding(self) -> NDArray[np.bool_]:
        """Which units have an entry at all, shape (units,)."""
        if isinstance(self.sums, np.ndarray):
            return np.asarray(self.sums.any(axis=1))
        return np.asarray(np.diff(self.sums.indptr) > 0)

    def totals(self) -> Floats:
        """Sums over all units, shape (features,)."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def value(self) -> Estimate:
        """The metric itself, without an interval: every unit counts once."""
        totals = self.totals()
        value = float(self.statistic(totals))
        return Estimate.undefined(self.reason(totals)) if np.isnan(value) else Estimate(value)

    def at(self, weights: Floats) -> Floats:
        """The metric for weights of shape (rounds, units), e.g. how often a bootstrap drew each; shape (rounds,)."""
        return self._of(weights, self.sums, 0.0)

    def under(self, placed: NDArray[np.bool_] | NDArray[np.integer]) -> Floats:
        """The metric with the sides placed in the units as said: shape (rounds, units) to (rounds,).

        0 (False) leaves a unit as it is; 1 (True) and on are the ways of `exchange`.
        """
        ways = self.exchanged()
        # A unit stands once for each way, and counts in the one that it is placed in.
        changes: list[Any] = [way.sums - self.sums for way in ways]
        stacked = np.concatenate(changes) if isinstance(self.sums, np.ndarray) else sparse.vstack(changes, format="csr")
        chosen = np.concatenate([placed == way for way in range(1, len(ways) + 1)], axis=1)
        return self._of(chosen, stacked, self.totals())

    def exchanged(self) -> list[Self]:
        """The same metric with the sides placed in each other way, in all units."""
        return [replace(self, sums=self.sums[:, way]) for way in self._other_ways()]

    def _other_ways(self) -> NDArray[np.intp]:
        if self.exchange is None:
            raise ValueError("this metric has no sides to exchange")
        return np.atleast_2d(self.exchange)

    def of_units(self, kept: NDArray[np.bool_]) -> Self:
        """The same metric over some of the units."""
        return replace(self, sums=self.sums[kept])

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over fewer, larger units: `blocks` gives the new unit of each one, shape (units,)."""
        count = int(blocks.max(initial=-1)) + 1
        if isinstance(self.sums, np.ndarray):
            merged = np.zeros((count, self.sums.shape[1]))
            np.add.at(merged, blocks, self.sums)
            return replace(self, sums=merged)
        members = sparse.csr_array((np.ones(self.units), (blocks, np.arange(self.units))), shape=(count, self.units))
        return replace(self, sums=sparse.csr_array(members @ self.sums))

    def _of(self, weights: NDArray[Any], sums: Any, more: Floats | float) -> Floats:  # noqa: ANN401
        if isinstance(sums, np.ndarray):
            return self.statistic(weights.astype(np.float64) @ sums + more)
        turned = sparse.csr_array(sums.T)
        found = [
            self.statistic((turned @ weights[part].T.astype(np.float64)).T + more)
            for part in steps(len(weights), sums.shape[1])
        ]
        return np.concatenate(found) if found else np.zeros(0)


def mean(scores: Floats, units: NDArray[np.intp], count: int, *, of: str) -> Sums:
    """The mean of scores but NaN over units, from 0 to `count` - 1; `of` is what is missing where there is none."""
    known = ~np.isnan(scores)
    total = np.bincount(units[known], scores[known], count)
    number = np.bincount(units[known], minlength=count).astype(np.float64)
    return Sums(np.stack([total, number], axis=1), ratio, lambda totals: "" if totals[1] else f"there is {of}")


def ratio(totals: Floats) -> Floats:
    """First total divided by the second, NaN for nothing; shape (..., 2) to (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals[..., 1] > 0, totals[..., 0] / totals[..., 1], np.nan)


def steps(rounds: int, width: int) -> Iterator[slice]:
    """The rounds in parts, of which none needs more memory than `HELD` numbers at `width` a round."""
    size = max(1, HELD // max(1, width))
    for start in range(0, rounds, size):
        yield slice(start, min(rounds, start + size))


def resampled_sums(sums: ArrayLike, *, rounds: int, seed: int) -> Floats:
    """Totals over clusters that are drawn with replacement, as many as there are; (R, P) gives (rounds, P).

    A statistic of totals is so resampled without touching the items again (cluster bootstrap: Field and Welsh, *JRSS
    B* 69, 2007). The same seed gives the same totals. Here each round draws five clusters of size 2:

    >>> resampled_sums([[2]] * 5, rounds=3, seed=0).ravel()
    array([10., 10., 10.])
    """
    table = np.asarray(sums, dtype=np.float64)
    clusters = len(table)
    # Clusters with the same sums are one kind, drawn in proportion: unclustered items are of very few kinds.
    kinds, counts = np.unique(table, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    totals = np.empty((rounds, table.shape[1]))
    for part in steps(rounds, len(kinds)):
        totals[part] = rng.multinomial(clusters, counts / clusters, size=part.stop - part.start) @ kinds
    return totals


def rescaled_draws(levels: int, rounds: int, rng: np.random.Generator) -> Floats:
    """Weights of the levels of a factor: n - 1 of n are drawn, and weigh n / (n - 1); shape (rounds, levels).

    So the variance of a mean is right with few levels, where the plain bootstrap is too narrow by the factor
    (n - 1) / n (Rao and Wu, *JASA* 83, 1988). The only one of its kind is always drawn.

    >>> rescaled_draws(3, 2, np.random.default_rng(0))
    array([[1.5, 0. , 1.5],
           [0. , 0. , 3. ]])
    """
    if levels == 1:
        return np.ones((rounds, 1))
    drawn = rng.multinomial(levels - 1, np.full(levels, 1 / levels), size=rounds)
    return np.asarray(drawn * (levels / (levels - 1)), dtype=np.float64)


MOST_UNITS = 4096
"""More units than this are put together in so many blocks."""
_FEWEST_DEFINED = 0.95
"""Share of the rounds in which a metric must be defined for an interval."""
_EQUAL = 1e-12
"""Values that differ by less are equal but for rounding."""


@dataclass(frozen=True)
class Fold:
    """How a metric with a direction, which turns at `fair`, becomes the one without: a gap, monotone on both sides.

    Drawn gaps are never below 0 and hardly ever 0, so the percentiles of |difference| nearly always exclude 0, fair or
    not. The interval is therefore that of the metric with its direction, folded: it holds 0 where that one does.
    """

    fair: float
    of: Callable[[float], float]

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The interval without the direction; NaN bounds stay.

        >>> GAP.interval(-0.3, -0.1), GAP.interval(-0.1, 0.2)
        ((0.1, 0.3), (0.0, 0.2))
        """
        if np.isnan(low) or np.isnan(high):
            return low, high
        ends = [self.of(low), self.of(high), *([self.of(self.fair)] if low < self.fair < high else [])]
        return min(ends), max(ends)


GAP = Fold(0.0, abs)
"""A signed difference becomes a gap."""
RATIO = Fold(0.5, lambda part: min(part, 1 - part) / max(part, 1 - part))
"""a / (a + b) becomes the smaller of a and b over the larger."""


def bootstrap(
    metric: Sums,
    *,
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    share: bool = False,
    fold: Fold | None = None,
) -> Estimate:
    r"""A metric with its bootstrap interval over units; the same seed gives the same one.

    Each round draws as many units as there are, with replacement. The interval holds the middle of the metrics drawn,
    its percentiles widened for few units: with n of them they are :math:`\Phi(\pm \sqrt{n / (n - 1)}\, t)`, t with n -
    1 degrees of freedom (the expanded percentile interval: Hesterberg, *The American Statistician* 69, 2015, section
    5.2). For a share, or a mean of values in [0, 1], it is Wilson's interval with the same t and the effective size
    :math:`p (1 - p) / v`, v being the variance over the rounds times n / (n - 1), as `biaslens.stats.weighted_share`
    does it. `fold` is for a metric with a direction, whose value and interval are wanted without; the standard error is
    still that of the metric with its direction.

    **Where every round gives the same value** all units are alike and the rounds say nothing. A share then has Wilson's
    interval with the number of units for its size (for a ratio of sums Kish's, as in `crossed_rate`); other metrics
    have none.

    More than 4,096 units are first put together at random in 4,096 blocks of nearly one size. Blocks of independent
    units are independent units, so the variance is the same but for a factor of 4095 / 4096. Units that add nothing at
    all are left out, but for sparse metrics.

    Simulated coverage of the 95 % interval with 20 to 200 units: 92 to 96 % for means of skewed scores, a ratio of two
    sums and a difference of rates of 0.4 and 0.2; 96 to 98 % for a share of 0.05, and 88, 92 and 95 % with 20, 50 and
    200 units where its 25 responses a prompt cluster (intraclass correlation 0.33; plain percentiles: 83 % with 20). A
    difference of small rates of small groups is covered worse, as a rate of 0 does not vary between rounds: 80 % for
    0.1 and 0.05 in two groups of 10, 93 % in groups of 25.

    `items` counts the units. All is NaN where the metric is not defined; the interval is NaN, with the reason, with
    fewer than two units, where more than 5 % of the rounds leave the metric undefined (fewer are left out), and where
    all units are alike. ValueError for a level outside (0, 1), fewer than one round, or a share outside [0, 1].

    >>> found = bootstrap(mean(np.array([0.1, 0.2, 0.2, 0.9]), np.arange(4), 4, of="no score"))
    >>> round(found.value, 2), found.low < 0.2, found.high > 0.5
    (0.35, True, True)
    """
    check_level(level)
    if rounds < 1:
        raise ValueError(f"rounds: {rounds} is not at least 1")
    if isinstance(metric.sums, np.ndarray):
        metric = metric.of_units(metric.adding)
    directed, units = metric.value(), metric.units
    if np.isnan(directed):
        return Estimate.undefined(directed.reason, units)
    if share and not -_EQUAL <= directed <= 1 + _EQUAL:
        raise ValueError(f"a share is between 0 and 1, and not {directed}")
    low, high, error, reason = _interval(metric, float(directed), rounds=rounds, level=level, seed=seed, share=share)
    value = float(directed)
    if fold is not None:
        value, (low, high) = fold.of(value), fold.interval(low, high)
    return Estimate(value, low, high, error, units, reason=reason, level=level)


def blocks_of(units: int, rng: np.random.Generator) -> NDArray[np.intp] | None:
    """A random block for each unit, all blocks of nearly one size; None where units are few enough without."""
    return rng.permutation(units) % MOST_UNITS if units > MOST_UNITS else None


def _interval(
    metric: Sums, value: float, *, rounds: int, level: float, seed: int, share: bool
) -> tuple[float, float, float, str]:
    """Low, high, standard error, and the reason where there is no interval."""
    units = metric.units
    if units < 2:
        return np.nan, np.nan, np.nan, "one unit alone says nothing about how units differ"
    drawn = _drawn(metric, rounds, np.random.default_rng(seed))
    known = drawn[~np.isnan(drawn)]
    if len(known) < _FEWEST_DEFINED * rounds:
        lost = 1 - len(known) / rounds
        return np.nan, np.nan, np.nan, f"too few units for an interval: {lost:.0%} of the rounds leave it undefined"
    n = min(units, MOST_UNITS)
    alike = np.ptp(known) <= _EQUAL * max(1.0, abs(value))
    error = 0.0 if alike else float(known.std() * np.sqrt(n / (n - 1)))
    t = stdtrit(units - 1, (1 + level) / 2)
    if share:
        value, worth = min(max(value, 0.0), 1.0), float(units)
        if alike and metric.statistic is ratio:
            sizes = np.asarray(metric.sums[:, 1])
            worth = float(sizes.sum() ** 2 / np.square(sizes).sum())
        low, high = wilson(value, worth if alike else value * (1 - value) / error**2, t)
    elif alike:
        return np.nan, np.nan, error, "all units are alike, so they say nothing about how far it may be off"
    else:
        reach = t * np.sqrt(n / (n - 1))
        low, high = np.quantile(known, ndtr([-reach, reach]))
    return float(low), float(high), error, ""


def _drawn(metric: Sums, rounds: int, rng: np.random.Generator) -> Floats:
    """The metric in each round."""
    if (blocks := blocks_of(metric.units, rng)) is not None:
        metric = metric.merged(blocks)
    units = metric.units
    drawn = np.empty(rounds)
    for part in steps(rounds, 2 * units):
        size = part.stop - part.start
        # Draws of all rounds of the step counted at once: many times faster than a multinomial of as many units.
        cells = rng.integers(units, size=(size, units)) + units * np.arange(size)[:, None]
        weights = np.bincount(cells.ravel(), minlength=size * units).reshape(size, units)
        drawn[part] = metric.at(weights.astype(np.float64))
    return drawn


@dataclass(frozen=True)
class Crossed:
    """Values that depend on crossed factors (prompts, templates, terms) through weights of their levels.

    The levels of each factor stand in blocks of them that are drawn by themselves: all templates together, terms within
    their group. `statistic` gives the G values of each round, shape (rounds, G), from the weights of each factor, shape
    (rounds, levels) each; the weights of a block sum to the number of its levels, and a value is NaN where it is not
    defined. `width` is how many numbers the statistic holds a round.
    """

    factors: Sequence[Sequence[NDArray[np.intp]]]
    statistic: Callable[..., Floats]
    width: int

    def value(self) -> Floats:
        """With every level as it is, shape (G,)."""
        result: Floats = self.statistic(*self._ones(1))[0]
        return result

    def draws(self, rounds: int, seed: int) -> Floats:
        """With the levels of every block drawn anew in each round by `rescaled_draws`, shape (rounds, G)."""
        rng = np.random.default_rng(seed)
        found = []
        for part in steps(rounds, self.width):
            size = part.stop - part.start
            weights = self._ones(size)
            for of_factor, blocks in zip(weights, self.factors, strict=True):
                for block in blocks:
                    of_factor[:, block] = rescaled_draws(len(block), size, rng)
            found.append(self.statistic(*weights))
        return np.concatenate(found)

    def components(self) -> Iterator[tuple[Floats, int]]:
        """Variance of the values due to each block alone, by the jackknife, and its degrees of freedom."""
        for number, blocks in enumerate(self.factors):
            for block in blocks:
                n = len(block)
                if n > 1:
                    weights = self._ones(n)
                    weights[number][:, block] = n / (n - 1) * (1 - np.eye(n))
                    left_out = self.statistic(*weights)
                    yield (n - 1) / n * np.square(left_out - left_out.mean(axis=0)).sum(axis=0), n - 1

    def _ones(self, rounds: int) -> list[Floats]:
        return [np.ones((rounds, sum(map(len, blocks)))) for blocks in self.factors]


_FEWEST_CROSSED = 0.9
"""Share of the rounds in which all values must be defined for an interval over crossed factors."""


def crossed_bootstrap(
    metric: Crossed,
    *,
    more: Sequence[tuple[Floats, int]] = (),
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    missing: str = "too few levels for an interval",
    alike: str = "nothing varies",
) -> Estimates:
    """Intervals that cover the draw of the levels of all factors at once, shape (G,).

    The standard error comes from the joint draws. The interval is value +- t x standard error, where the degrees of
    freedom follow from how much of the variance is due to each factor (Satterthwaite, *Biometrics Bulletin* 2, 1946):
    three terms of a group are three observations, however many sentences they make. `more` is variance that draws
    cannot show, shape (G,), and its degrees of freedom. `missing` and `alike` are the reasons why there is no interval.
    """
    value, draws = metric.value(), metric.draws(rounds, seed)
    defined = np.isfinite(draws[:, np.isfinite(value)]).all(axis=1)
    if defined.mean() < _FEWEST_CROSSED:
        return undefined(value, missing, level=level)
    variance = draws[defined].var(axis=0, ddof=1)
    for part, _ in more:
        variance = variance + part
    variances, freedoms = zip(*metric.components(), *more, strict=True)
    parts, free = np.nan_to_num(np.stack(variances)), np.array(freedoms)[:, None]
    with np.errstate(invalid="ignore"):
        freedom = parts.sum(axis=0) ** 2 / (parts**2 / free).sum(axis=0)
    return student(value, np.sqrt(variance), freedom, level=level, alike=alike)
