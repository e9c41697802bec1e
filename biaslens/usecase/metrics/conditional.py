"""Exact tests of a difference of two rates: the groups exchanged, all counts kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from biaslens.usecase.value import Value

_TIE = 1e-9
"""Differences that differ by less are equal but for rounding."""
_HELD = 2**21
"""Entries of the permutations that are held in memory at once."""


def permutation_p(k1: int, n1: int, k2: int, n2: int) -> Value:
    """Two-sided p-value of the difference of two rates of independent rows, exact.

    If group and outcome are independent, every way to give the rows to the groups, n1 and n2 of them, is equally
    likely, and the successes of the first group are hypergeometric. The p-value is the chance of an absolute difference
    of rates at least as large as the one seen (within 1e-9). It is Fisher's test (*Statistical Methods for Research
    Workers*, 5th ed., 1934, section 21.02) with the difference, and not the probability, for what is extreme.

    Parameters
    ----------
    k1, n1, k2, n2
        Successes and rows of both groups.

    Returns
    -------
    Value
        In (0, 1]; NaN where a group has no row.

    Raises
    ------
    ValueError
        For counts that are negative, or successes above rows.

    Examples
    --------
    2 of 2 against 0 of 2: of the 6 ways to draw 2 rows of 4, one gives the first group both, one none.

    >>> round(permutation_p(2, 2, 0, 2), 4)
    0.3333
    """
    from scipy.stats import hypergeom  # only here: it loads longer than all else of this package

    if not (0 <= k1 <= n1 and 0 <= k2 <= n2):
        raise ValueError(f"{k1} of {n1} and {k2} of {n2} are no counts of successes and rows")
    if not n1 or not n2:
        return Value.undefined("a group has no rows to compare")
    successes = k1 + k2
    first = np.arange(max(0, successes - n2), min(successes, n1) + 1)
    gaps = np.abs(first / n1 - (successes - first) / n2)
    chances = hypergeom.pmf(first, n1 + n2, successes, n1)
    return Value(min(1.0, float(chances[gaps >= abs(k1 / n1 - k2 / n2) - _TIE].sum())))


def clustered_permutation_p(
    successes: ArrayLike, trials: ArrayLike, second: ArrayLike, *, rounds: int = 9999, seed: int = 0
) -> Value:
    """Two-sided p-value of the difference of two rates of rows that cluster, each cluster being of one group.

    Whole clusters change the group, as many being in each as there are, and :math:`p = (1 + b) / (1 + R)` with b of R
    random ways to do so that give an absolute difference at least as large as the one seen (within 1e-9).

    Parameters
    ----------
    successes, trials
        Rows of each cluster, shape (clusters,).
    second
        Whether a cluster is of the second group, shape (clusters,).
    rounds, seed
        Of the permutations. Those that leave a group without rows are left out.

    Returns
    -------
    Value
        In (0, 1]; NaN where a group has no row.

    Examples
    --------
    Ten people, two rows each; the first five always pass, the others never. p is 2 in 252 ways.

    >>> p = clustered_permutation_p([2] * 5 + [0] * 5, [2] * 10, [False] * 5 + [True] * 5)
    >>> 0.004 < p < 0.012
    True
    """
    counts = np.stack([np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)], axis=1)
    members = np.asarray(second, dtype=np.bool_)
    observed = _differences(counts, members[None])[0]
    if np.isnan(observed):
        return Value.undefined("a group has no rows to compare")
    rng = np.random.default_rng(seed)
    larger = known = 0
    step = max(1, _HELD // len(members))
    for start in range(0, rounds, step):
        drawn = rng.permuted(np.tile(members, (min(step, rounds - start), 1)), axis=1)
        found = _differences(counts, drawn)
        larger += int((found >= observed - _TIE).sum())
        known += int((~np.isnan(found)).sum())
    return Value((1 + larger) / (1 + known))


def _differences(counts: NDArray[np.float64], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Absolute difference of the two rates for each row of memberships."""
    two = second.astype(np.float64) @ counts
    one = counts.sum(axis=0) - two
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps: NDArray[np.float64] = np.abs(one[:, 0] / one[:, 1] - two[:, 0] / two[:, 1])
    return gaps
