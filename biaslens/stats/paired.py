"""Compare yes/no results of the same questions in two arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from scipy.stats import binomtest

from biaslens.stats.means import clustered_mean


@dataclass(frozen=True, slots=True)
class McNemar:
    """A paired comparison of two binary results a question.

    Parameters
    ----------
    only_first, only_second
        Discordant questions: true in one arm and not in the other.
    p
        Two-sided p-value that knows the clusters; NaN with fewer than two of them.
    p_exact
        McNemar's exact p-value, which takes every question as independent: too small when questions cluster.
    odds_ratio
        Conditional odds ratio, only_first / only_second; NaN without discordant questions, infinite where only the
        first has some.
    odds_ratio_low, odds_ratio_high
        Its interval, which knows the clusters; NaN where one of the counts is 0 or there are fewer than two clusters.
    """

    only_first: int
    only_second: int
    p: float
    p_exact: float
    odds_ratio: float
    odds_ratio_low: float
    odds_ratio_high: float


def mcnemar(first: ArrayLike, second: ArrayLike, clusters: ArrayLike, *, level: float = 0.95) -> McNemar:
    r"""Compare two binary results of the same questions, which cluster by role.

    With b and c the discordant counts: the conditional odds ratio of matched pairs is b / c, and McNemar's exact test
    is binomial on b of b + c (McNemar, *Psychometrika* 12, 1947). Clustered, the test is that of the mean of
    first - second being 0, its variance from the sums by cluster (Obuchowski, *Statistics in Medicine* 17, 1998, with
    t for small numbers of clusters: see `clustered_mean`). The interval of the log odds ratio is linearised in the
    same way, with :math:`u_r = b_r / b - c_r / c` and variance :math:`R / (R-1) \sum_r u_r^2`.

    Parameters
    ----------
    first, second
        Booleans, shape (Q,).
    clusters
        Cluster of each question, any integers, shape (Q,).
    level
        Confidence level.

    Examples
    --------
    >>> result = mcnemar([1, 1, 1, 0], [0, 0, 1, 1], [1, 2, 3, 4])
    >>> result.only_first, result.only_second, result.odds_ratio
    (2, 1, 2.0)
    """
    one, two = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(codes.max()) + 1 if codes.size else 0
    b = np.bincount(codes, one & ~two, minlength=count)
    c = np.bincount(codes, two & ~one, minlength=count)
    only_first, only_second = int(b.sum()), int(c.sum())
    discordant = only_first + only_second
    ratio = np.nan if not discordant else np.inf if not only_second else only_first / only_second
    low = high = np.nan
    if only_first and only_second and count > 1:
        u = b / only_first - c / only_second
        reach = stdtrit(count - 1, (1 + level) / 2) * np.sqrt(count / (count - 1) * np.square(u).sum())
        low, high = (float(ratio * np.exp(sign * reach)) for sign in (-1, 1))
    return McNemar(
        only_first=only_first,
        only_second=only_second,
        p=clustered_mean(one.astype(np.float64) - two, codes, level=level).p,
        p_exact=float(binomtest(only_first, discordant).pvalue) if discordant else np.nan,
        odds_ratio=float(ratio),
        odds_ratio_low=low,
        odds_ratio_high=high,
    )
