"""Comparisons: paired verdicts, several models on the same questions, groups exchanged; corrections for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from biaslens.stats.crossed import Clusters, Layout
from biaslens.stats.estimate import Estimate
from biaslens.stats.intervals import crossed_mean, crossed_rate, difference_in, share_of
from biaslens.stats.resampling import Sums, blocks_of, steps


@dataclass(frozen=True, slots=True)
class McNemar:
    """A paired comparison of two binary results a question.

    `only_first` and `only_second` are the discordant questions; the odds ratio is the conditional one, only_first /
    only_second. `p` and the interval of the odds ratio know the clusters; they are NaN with fewer than two of them.
    `p_exact` is McNemar's own, the exact interval binomial: they take every question as independent, and so are too
    small and too short when questions cluster.
    """

    only_first: int
    only_second: int
    p: float
    p_exact: float
    odds_ratio: float
    odds_ratio_low: float
    odds_ratio_high: float
    odds_ratio_exact_low: float
    odds_ratio_exact_high: float


def mcnemar(first: ArrayLike, second: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> McNemar:
    r"""Compare two binary results of the same questions; arrays of shape (Q,).

    With b and c the discordant counts: the conditional odds ratio of matched pairs is :math:`b / c`, and McNemar's
    exact test is binomial on b of b + c (McNemar, *Psychometrika* 12, 1947); the exact interval turns that of
    Clopper and Pearson (*Biometrika* 26, 1934) for the share :math:`s = b / (b + c)` into odds, :math:`s / (1 - s)`.

    Clustered, the test is that of the mean of first - second being 0, as `crossed_mean` has it. Unlike the
    cluster-adjusted McNemar tests of Obuchowski (*Statistics in Medicine* 17, 1998) and Durkalski and others
    (*Statistics in Medicine* 22, 2003) it takes the variance around the mean, and t instead of normal quantiles. The
    interval of the odds ratio is that of the share s from `crossed_rate`, turned into odds: symmetric around the
    logarithm.

    >>> result = mcnemar([1, 1, 1, 0], [0, 0, 1, 1], Clusters(np.arange(4)))
    >>> result.only_first, result.only_second, result.odds_ratio
    (2, 1, 2.0)
    """
    from scipy.stats import binomtest  # only here: it loads longer than all else of this package

    one, two = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    b, c = one & ~two, two & ~one
    only_first, only_second = int(b.sum()), int(c.sum())
    discordant = only_first + only_second
    share = crossed_rate(b, b | c, clusters, level=level)
    exact = binomtest(only_first, discordant) if discordant else None
    exact_low, exact_high = exact.proportion_ci(level, method="exact") if exact else (np.nan, np.nan)
    return McNemar(
        only_first=only_first,
        only_second=only_second,
        p=crossed_mean(one.astype(np.float64) - two, clusters, level=level).p,
        p_exact=float(exact.pvalue) if exact else np.nan,
        odds_ratio=_ratio(only_first, only_second),
        odds_ratio_low=_ratio(share.low, 1 - share.low),
        odds_ratio_high=_ratio(share.high, 1 - share.high),
        odds_ratio_exact_low=_ratio(exact_low, 1 - exact_low),
        odds_ratio_exact_high=_ratio(exact_high, 1 - exact_high),
    )


def unpaired_difference(values: ArrayLike, first: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    r"""Mean of the `first` items (a mask) less that of the others; the two may share roles and comparisons.

    The values, one an item and NaN where there is none, are put into those that have the difference D as their mean and
    its linearised residuals as their own, :math:`D \pm (y_i - \bar y_g) N / n_g` with the mean and number of the item's
    group: `crossed_mean` then counts what the groups share once, with its sign. Where each role has as many items in
    both, and comparisons and strata are left out, it is the paired t test of the roles' means.

    Two roles, 1 and 0.5 against 0.5 and 0, so differences of 0.5 both:

    >>> roles = Clusters(np.array([1, 1, 2, 2, 1, 1, 2, 2]))
    >>> found = unpaired_difference([1, 1, 1, 0, 1, 0, 0, 0], [True] * 4 + [False] * 4, roles)
    >>> found.value, found.items, found.clusters
    (0.5, 8, 2)
    """
    y, one = np.asarray(values, dtype=np.float64), np.asarray(first, dtype=np.bool_)
    known = ~np.isnan(y)
    groups = [known & one, known & ~one]
    if not all(group.any() for group in groups):
        return Estimate.undefined("one of the two groups has no value", int(known.sum()))
    means = [float(y[group].mean()) for group in groups]
    made = np.full(y.shape, np.nan)
    for group, mean, sign in zip(groups, means, (1, -1), strict=True):
        made[group] = means[0] - means[1] + sign * (y[group] - mean) * known.sum() / group.sum()
    return crossed_mean(made, clusters, level=level)


def _ratio(part: float, rest: float) -> float:
    if rest:
        return float(part / rest)
    return np.inf if part else np.nan


def holm(p: ArrayLike) -> NDArray[np.float64]:
    r"""Adjust p-values by Holm's step-down method, which keeps the chance of any false finding under the level.

    The i-th smallest of m becomes :math:`\max_{j \le i} \min(1, (m - j + 1) p_{(j)})` (Holm, *Scandinavian Journal of
    Statistics* 6, 1979). NaN (a test that could not be made) stays NaN and is not counted among the m.

    >>> holm([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.06, 0.06,  nan])
    """
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models, by position, on the same questions.

    `difference` is the mean over questions of the first's rate less the second's, `p_holm` its p-value adjusted for the
    number of pairs, `minimal_difference` the smallest true one that this design would find four times out of five.
    """

    first: int
    second: int
    difference: Estimate
    p_holm: float
    minimal_difference: float


def compare_pairs(
    rates: ArrayLike, clusters: Clusters, *, level: float = 0.95, power: float = 0.8
) -> tuple[list[Estimate], list[Pair]]:
    r"""Mean rate of each of M models over the same questions, and every two of them compared question by question.

    `rates` are the shares of a model's trials of a question that are biased, shape (M, Q). The minimal difference is
    :math:`(t_{(1 + level) / 2} + t_{power}) \cdot SE` with the degrees of freedom of the difference (Bloom, *Evaluation
    Review* 19, 1995), for one pair on its own, without Holm's adjustment; NaN where the standard error is not known
    or 0.
    """
    table = np.asarray(rates, dtype=np.float64)
    layout = Layout(np.ones(table.shape[1]), clusters)
    shares = [share_of(layout, row) for row in table]
    pairs = list(combinations(range(len(table)), 2))
    differences = [difference_in(layout, table[a], table[b], (shares[a], shares[b]), level=level) for a, b in pairs]
    return [share.estimate(level) for share in shares], pairs_of(pairs, differences, level=level, power=power)


def pairs_of(
    pairs: Sequence[tuple[int, int]], differences: Sequence[Estimate], *, level: float = 0.95, power: float = 0.8
) -> list[Pair]:
    """Pairs with p-values adjusted for their number."""
    adjusted = holm([difference.p for difference in differences])
    return [
        Pair(a, b, difference, float(p), _minimal(difference, level, power))
        for (a, b), difference, p in zip(pairs, differences, adjusted, strict=True)
    ]


def _minimal(difference: Estimate, level: float, power: float) -> float:
    if not difference.standard_error > 0:
        return float("nan")
    return float(stdtrit(difference.freedom, [(1 + level) / 2, power]).sum() * difference.standard_error)


def rank_intervals(
    pairs: Sequence[Pair], *, models: int, level: float = 0.95
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lowest and highest rank of each model (1: the lowest rate) that the pairs leave open, shape (M,) each.

    The lowest is 1 + the models that are significantly lower, the highest M less those significantly higher, by the
    adjusted p-values: the intervals hold all true ranks at once (Mogstad, Romano, Shaikh and Wilhelm, *Review of
    Economic Studies* 91, 2024; a bootstrap of ranks does not where models are close). docs/statistics-detail.md has the
    simulated coverage.

    >>> apart = Pair(0, 1, Estimate(-0.2, -0.3, -0.1, 0.05, 9), 0.001, 0.1)
    >>> rank_intervals([apart], models=3)
    (array([1, 2, 1]), array([2, 3, 3]))
    """
    low, high = np.ones(models, dtype=np.int64), np.full(models, models)
    for pair in pairs:
        if pair.p_holm < 1 - level:
            lower, higher = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
            low[higher] += 1
            high[lower] -= 1
    return low, high


def tied_with(model: int, pairs: Sequence[Pair], *, models: int, level: float = 0.95) -> list[bool]:
    """Which of so many models are not told apart from one of them, itself among them, by pairs of `compare_pairs`.

    >>> apart = Pair(0, 1, Estimate(-0.2, -0.3, -0.1, 0.05, 9), 0.001, 0.1)
    >>> tied_with(0, [apart], models=3)
    [True, False, True]
    """
    apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.p_holm < 1 - level}
    return [frozenset((model, other)) not in apart for other in range(models)]


def tied_groups(rates: Sequence[float], pairs: Sequence[Pair], *, level: float = 0.95) -> list[str]:
    """Letters by which models are read as tied: two that share a letter are not told apart.

    The compact letter display of Piepho (*Journal of Computational and Graphical Statistics* 13, 2004): insert and
    absorb, from the lowest rate up. Being tied is not transitive: a model can have several letters, the best one too,
    so who is tied with it is asked of `tied_with`, of which pairs and level are.

    >>> apart = Pair(0, 1, Estimate(-0.2, -0.3, -0.1, 0.05, 9), 0.001, 0.1)
    >>> tied_groups([0.1, 0.3], [apart])
    ['a', 'b']
    """
    groups = [frozenset(range(len(rates)))] if len(rates) else []
    for pair in pairs:
        if not pair.p_holm < 1 - level:
            continue
        split: list[frozenset[int]] = []
        for group in groups:
            both = {pair.first, pair.second} <= group
            split += [group - {pair.first}, group - {pair.second}] if both else [group]
        groups = [group for group in dict.fromkeys(split) if not any(group < other for other in split)]
    order = np.argsort(np.argsort(rates, kind="stable"), kind="stable")
    groups.sort(key=lambda group: sorted(order[list(group)].tolist()))
    letters = [f"{ascii_lowercase[number % 26]}{number // 26 or ''}" for number in range(len(groups))]
    return ["".join(compress(letters, (model in group for group in groups))) for model in range(len(rates))]


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
