"""Tests that exchange what would be exchangeable if there were no gap: things within units, or groups between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from biaslens.stats.estimate import Estimate
from biaslens.stats.resampling import Sums, blocks_of, steps

_ENUMERATED = 4096
"""Up to so many ways to exchange, all are looked at."""
_TIE = 1e-12
"""Metrics that differ by less are equal but for rounding."""


def swap_p(metric: Sums, *, rounds: int = 9999, seed: int = 0) -> Estimate:
    r"""One-sided p-value of a metric against random exchanges in its units.

    If the two things are exchangeable within every unit, all :math:`2^n` ways to exchange are equally likely, and the
    share of them whose metric is at least the one seen is an exact p-value (Fisher's randomisation test of pairs:
    *The Design of Experiments*, 1935, section 21). So it is for more than two ways to place things in a unit, if each
    of them leads to each other one, as rotations do. Up to 4,096 ways are all looked at. Otherwise R random ones are,
    and :math:`p = (1 + b) / (1 + R)` with b of them at least as large, which keeps the level, too (Phipson and Smyth,
    *Statistical Applications in Genetics and Molecular Biology* 9, 2010). Ties within 1e-12 count as as large.

    More than 4,096 units are first put together at random in 4,096 blocks that are exchanged as a whole: that keeps the
    level, because whole blocks are exchangeable, too, and costs little power.

    The metric is oriented so that larger is less fair; `seed` is that of the exchanges and of the blocks. The result is
    in (0, 1], or NaN, with the reason, where the metric is not defined. Exchanges that leave it undefined are left out.
    """
    value = metric.value()
    if np.isnan(value):
        return Estimate.undefined(value.reason)
    rng = np.random.default_rng(seed)
    if (blocks := blocks_of(metric.units, rng)) is not None:
        metric = metric.merged(blocks)
    observed = float(metric.under(np.zeros((1, metric.units), dtype=np.bool_))[0])
    limit = observed - _TIE * max(1.0, abs(observed))
    ways = metric.ways
    exact = ways**metric.units <= _ENUMERATED
    size = ways**metric.units if exact else rounds
    larger = known = 0
    for part in steps(size, ways * metric.units):
        shape = part.stop - part.start, metric.units
        if exact:
            placed: NDArray[Any] = np.arange(part.start, part.stop)[:, None] // ways ** np.arange(metric.units) % ways
        else:
            placed = _placed_at_random(rng, ways, shape)
        found = metric.under(placed)
        larger += int((found >= limit).sum())
        known += int((~np.isnan(found)).sum())
    # One more for the way things are, which a random draw need not hit.
    return Estimate((larger + (not exact)) / (known + (not exact)))


def _placed_at_random(rng: np.random.Generator, ways: int, shape: tuple[int, int]) -> NDArray[Any]:
    if ways > 2:
        return rng.integers(ways, size=shape, dtype=np.uint8)
    bits = shape[0] * shape[1]
    return np.unpackbits(np.frombuffer(rng.bytes(-(-bits // 8)), dtype=np.uint8), count=bits).reshape(shape)


_BY_CHANCE = 999
"""Random exchanges behind what a metric is by chance."""
_FEWEST_BY_CHANCE, _DRAWN = 99, 2**27
"""Fewer for many units, with which it varies less: so many units are exchanged in all."""


def exchanged_at_random(metric: Sums, *, seed: int = 0) -> Estimate | None:
    """What a metric is with its sides exchanged at random in each unit, and the middle 95 % of that; None if undefined.

    That is what it comes to by chance, where it is above 0 even if the sides do not differ.
    """
    if np.isnan(metric.value()):
        return None
    rng = np.random.default_rng(seed)
    metric = metric.of_units(metric.adding)
    rounds = min(_BY_CHANCE, max(_FEWEST_BY_CHANCE, _DRAWN // metric.units))
    ways = metric.ways
    sizes = ((part.stop - part.start, metric.units) for part in steps(rounds, ways * metric.units))
    found = np.concatenate([metric.under(rng.integers(ways, size=size, dtype=np.uint8)) for size in sizes])
    low, high = np.nanquantile(found, [0.025, 0.975])
    return Estimate(float(np.nanmean(found)), float(low), float(high), float(np.nanstd(found)), metric.units)


_GAP_TIE = 1e-9
"""Differences that differ by less are equal but for rounding."""


def permutation_p(k1: int, n1: int, k2: int, n2: int) -> Estimate:
    """Two-sided p-value of the difference of two rates, k1 of n1 and k2 of n2 independent rows, exact.

    If group and outcome are independent, the successes of the first group are hypergeometric. The p-value is the chance
    of an absolute difference of rates at least as large as the one seen (within 1e-9): Fisher's test (*Statistical
    Methods for Research Workers*, 5th ed., 1934, section 21.02) with the difference, and not the probability, for what
    is extreme. NaN where a group has no row. 2 of 2 against 0 of 2: of the 6 ways to draw 2 rows of 4, one gives the
    first group both, one none.

    >>> round(permutation_p(2, 2, 0, 2), 4)
    0.3333
    """
    from scipy.stats import hypergeom  # only here: it loads longer than all else of this package

    if not (0 <= k1 <= n1 and 0 <= k2 <= n2):
        raise ValueError(f"{k1} of {n1} and {k2} of {n2} are no counts of successes and rows")
    if not n1 or not n2:
        return Estimate.undefined("a group has no rows to compare")
    successes = k1 + k2
    first = np.arange(max(0, successes - n2), min(successes, n1) + 1)
    gaps = np.abs(first / n1 - (successes - first) / n2)
    chances = hypergeom.pmf(first, n1 + n2, successes, n1)
    return Estimate(min(1.0, float(chances[gaps >= abs(k1 / n1 - k2 / n2) - _GAP_TIE].sum())))


def clustered_permutation_p(
    successes: ArrayLike, trials: ArrayLike, second: ArrayLike, *, rounds: int = 9999, seed: int = 0
) -> Estimate:
    """Two-sided p-value of the difference of two rates of rows that cluster, each cluster being of one group.

    Whole clusters change the group, and :math:`p = (1 + b) / (1 + R)` with b of R random ways that give an absolute
    difference at least as large as the one seen (within 1e-9); NaN where a group has no row. The arrays, of shape
    (clusters,), are the rows of each cluster, and whether it is of the second group. Ten people, two rows each; the
    first five always pass, the others never: p is 2 in 252 ways.

    >>> p = clustered_permutation_p([2] * 5 + [0] * 5, [2] * 10, [False] * 5 + [True] * 5)
    >>> 0.004 < p < 0.012
    True
    """
    counts = np.stack([np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)], axis=1)
    members = np.asarray(second, dtype=np.bool_)
    observed = _differences(counts, members[None])[0]
    if np.isnan(observed):
        return Estimate.undefined("a group has no rows to compare")
    rng = np.random.default_rng(seed)
    larger = known = 0
    for part in steps(rounds, 2 * len(members)):
        drawn = rng.permuted(np.tile(members, (part.stop - part.start, 1)), axis=1)
        found = _differences(counts, drawn)
        larger += int((found >= observed - _GAP_TIE).sum())
        known += int((~np.isnan(found)).sum())
    return Estimate((1 + larger) / (1 + known))


def _differences(counts: NDArray[np.float64], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Absolute difference of the two rates for each row of memberships."""
    two = second.astype(np.float64) @ counts
    one = counts.sum(axis=0) - two
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps: NDArray[np.float64] = np.abs(one[:, 0] / one[:, 1] - two[:, 0] / two[:, 1])
    return gaps
