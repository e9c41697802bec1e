"""Compare models that answered the same questions: differences, ties, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from biaslens.stats.means import Mean, mean_of_sums
from biaslens.stats.multiple import holm
from biaslens.stats.resampling import resampled_sums


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models on the same questions.

    Parameters
    ----------
    first, second
        Positions of the models.
    difference
        Mean over questions of the first's rate less the second's, with its interval and p-value.
    p_holm
        p-value adjusted for the number of pairs.
    minimal_difference
        Smallest true difference that this design would find four times out of five.
    """

    first: int
    second: int
    difference: Mean
    p_holm: float
    minimal_difference: float


def compare_pairs(sums: ArrayLike, sizes: ArrayLike, *, level: float = 0.95, power: float = 0.8) -> list[Pair]:
    r"""Compare every two of M models, question by question, clustered by role.

    The minimal difference is :math:`(t_{(1 + level) / 2} + t_{power}) \cdot SE` with R-1 degrees of freedom (Bloom,
    *Evaluation Review* 19, 1995), for one pair on its own, without Holm's adjustment; NaN where the standard error is
    not known or 0.

    Parameters
    ----------
    sums
        Sum over the questions of each role of a model's rate of biased trials, shape (M, R).
    sizes
        Questions of each role, the same ones for all models, shape (R,).
    """
    table, size = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.int64)
    pairs = list(combinations(range(len(table)), 2))
    means = [mean_of_sums(table[a] - table[b], size, level=level) for a, b in pairs]
    adjusted = holm([mean.p for mean in means])
    return [
        Pair(a, b, mean, float(p), _minimal(mean, level=level, power=power))
        for (a, b), mean, p in zip(pairs, means, adjusted, strict=True)
    ]


def _minimal(mean: Mean, *, level: float, power: float) -> float:
    if not mean.standard_error > 0:
        return float("nan")
    freedom = mean.clusters - 1
    return float((stdtrit(freedom, (1 + level) / 2) + stdtrit(freedom, power)) * mean.standard_error)


def rank_intervals(
    sums: ArrayLike, sizes: ArrayLike, *, seed: int = 0, rounds: int = 2000, level: float = 0.95
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Interval of each model's rank (1: the lowest rate) over a bootstrap of roles.

    Whole roles are drawn with replacement, the same ones for all models (cluster bootstrap: Field and Welsh, *JRSS B*
    69, 2007). Models with equal rates share the best of their ranks. With one role there is nothing to draw, and every
    rank is possible. Simulated with five models of rates 0.2, 0.25, 0.26, 0.3 and 0.5 the 95 % interval covers each
    model's rank in 95 to 100 % with 5, 10, 50 and 550 roles.

    Parameters
    ----------
    sums, sizes
        As for `compare_pairs`.
    seed, rounds
        Of the bootstrap.

    Returns
    -------
    tuple of arrays
        Lowest and highest rank, shape (M,) each.

    Examples
    --------
    >>> rank_intervals([[0, 0, 0], [1, 1, 1]], [1, 1, 1])
    (array([1, 2]), array([1, 2]))
    """
    table = np.asarray(sums, dtype=np.float64)
    models, roles = table.shape
    if roles < 2:
        return np.ones(models, dtype=np.int64), np.full(models, models)
    tail = (1 - level) / 2
    ranks = _drawn_ranks(table, np.asarray(sizes), seed=seed, rounds=rounds)
    low, high = np.quantile(ranks, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.int64), high.astype(np.int64)


def rank_shares(sums: ArrayLike, sizes: ArrayLike, *, seed: int = 0, rounds: int = 2000) -> NDArray[np.float64]:
    """Share of the bootstrap rounds of `rank_intervals` in which each model has each rank.

    Returns
    -------
    array
        Shape (M, M), models by ranks from 1; each row adds up to 1. NaN with fewer than two roles.

    Examples
    --------
    >>> rank_shares([[0, 0, 0], [1, 1, 1]], [1, 1, 1])
    array([[1., 0.],
           [0., 1.]])
    """
    table = np.asarray(sums, dtype=np.float64)
    models, roles = table.shape
    if roles < 2:
        return np.full((models, models), np.nan)
    ranks = _drawn_ranks(table, np.asarray(sizes), seed=seed, rounds=rounds)
    shares: NDArray[np.float64] = (ranks[:, :, None] == np.arange(1, models + 1)).mean(axis=0)
    return shares


def _drawn_ranks(table: NDArray[np.float64], sizes: NDArray[np.int64], *, seed: int, rounds: int) -> NDArray[np.int64]:
    drawn = resampled_sums(np.column_stack([table.T, sizes]), rounds=rounds, seed=seed)
    # Rounded: two models with the same answers must tie, whatever the order of the sums.
    rates = np.round(drawn[:, :-1] / np.maximum(drawn[:, -1:], 1), 12)
    ranks: NDArray[np.int64] = 1 + (rates[:, None, :] < rates[:, :, None]).sum(axis=2)
    return ranks


def tied_with(model: int, pairs: Sequence[Pair], *, models: int, level: float = 0.95) -> list[bool]:
    """Which models are not told apart from one of them, itself among them.

    Parameters
    ----------
    model
        Position of the one, such as that with the lowest rate.
    pairs
        From `compare_pairs`; a pair without a p-value counts as not told apart.
    models
        How many there are.

    Examples
    --------
    >>> from biaslens.stats.means import Mean
    >>> apart = Pair(0, 1, Mean(-0.2, -0.3, -0.1, 0.05, 0.001, 9, 9), 0.001, 0.1)
    >>> tied_with(0, [apart], models=3)
    [True, False, True]
    """
    apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.p_holm < 1 - level}
    return [frozenset((model, other)) not in apart for other in range(models)]


def tied_groups(rates: Sequence[float], pairs: Sequence[Pair], *, level: float = 0.95) -> list[str]:
    """Letters by which models are read as tied: two that share a letter are not told apart.

    The compact letter display of Piepho (*Journal of Computational and Graphical Statistics* 13, 2004): insert and
    absorb. Letters go from the lowest rate up. A pair without a p-value counts as not told apart. Being tied is not
    transitive: a model can have several letters, the best one too, so who is tied with it is asked of `tied_with`.

    Parameters
    ----------
    rates
        By model; they order the letters.
    pairs
        From `compare_pairs`.

    Examples
    --------
    >>> from biaslens.stats.means import Mean
    >>> apart = Pair(0, 1, Mean(-0.2, -0.3, -0.1, 0.05, 0.001, 9, 9), 0.001, 0.1)
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
    return [
        "".join(_letter(number) for number, group in enumerate(groups) if model in group) for model in range(len(rates))
    ]


def _letter(number: int) -> str:
    return ascii_lowercase[number % 26] + ("" if number < 26 else str(number // 26))
