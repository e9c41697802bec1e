"""Comparisons: paired verdicts, several models on the same questions, and the correction for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, compress
from string import ascii_lowercase

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from biaslens.stats.crossed import Clusters, Layout
from biaslens.stats.estimate import Estimate
from biaslens.stats.intervals import crossed_mean, crossed_rate, difference_in, share_of


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
