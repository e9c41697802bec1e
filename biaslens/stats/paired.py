"""Compare yes/no results of the same questions in two arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from biaslens.stats.means import clustered_mean
from biaslens.stats.rates import clustered_rate


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
        Its interval, which knows the clusters; NaN with fewer than two clusters that have discordant questions.
    odds_ratio_exact_low, odds_ratio_exact_high
        Its exact binomial interval, which takes every question as independent: too short when questions cluster. NaN
        without discordant questions.
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


def mcnemar(first: ArrayLike, second: ArrayLike, clusters: ArrayLike, *, level: float = 0.95) -> McNemar:
    r"""Compare two binary results of the same questions, which cluster by role.

    With b and c the discordant counts: the conditional odds ratio of matched pairs is :math:`b / c`, and McNemar's
    exact test is binomial on b of b + c (McNemar, *Psychometrika* 12, 1947); the exact interval turns that of
    Clopper and Pearson (*Biometrika* 26, 1934) for the share :math:`s = b / (b + c)` into odds, :math:`s / (1 - s)`.

    Clustered, the test is that of the mean of first - second being 0, as `clustered_mean` has it. It differs from the
    cluster-adjusted McNemar tests of Obuchowski (*Statistics in Medicine* 17, 1998) and Durkalski and others
    (*Statistics in Medicine* 22, 2003) in taking the variance around the mean, and t instead of normal quantiles:
    simulated without a difference, 20 questions a role, it rejects at 0.05 in 4.7, 5.1 and 4.7 % with 5, 10 and 50
    roles and a rate of 0.3, Obuchowski's in 1.8, 4.2 and 4.5 %; both in fewer at a rate of 0.05.

    The interval of the odds ratio is symmetric around its logarithm, the variance linearised by cluster,
    :math:`R / (R-1) \sum_r (b_r / b - c_r / c)^2` over the R clusters with discordant questions, t with R-1 degrees of
    freedom. Where all of these clusters have the same :math:`b_r / (b_r + c_r)`, so also where b or c is 0, it is the
    interval of that share from `clustered_rates`, turned into odds. Simulated coverage of the 95 % interval with 20
    questions a role and an intraclass correlation of 0.15: 94 to 96 % with 50 and 550 roles, 95 to 99 % with 5 and 10;
    of the exact one 87 to 91 % with 50 and 550.

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
    from scipy.stats import binomtest  # only here: it loads longer than all else of this package

    one, two = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(codes.max()) + 1 if codes.size else 0
    b = np.bincount(codes[one & ~two], minlength=count)
    c = np.bincount(codes[two & ~one], minlength=count)
    only_first, only_second = int(b.sum()), int(c.sum())
    discordant = only_first + only_second
    low, high = _odds_interval(b, c, level=level)
    exact = binomtest(only_first, discordant) if discordant else None
    exact_low, exact_high = exact.proportion_ci(level, method="exact") if exact else (np.nan, np.nan)
    return McNemar(
        only_first=only_first,
        only_second=only_second,
        p=clustered_mean(one.astype(np.float64) - two, codes, level=level).p,
        p_exact=float(exact.pvalue) if exact else np.nan,
        odds_ratio=_ratio(only_first, only_second),
        odds_ratio_low=low,
        odds_ratio_high=high,
        odds_ratio_exact_low=_ratio(exact_low, 1 - exact_low),
        odds_ratio_exact_high=_ratio(exact_high, 1 - exact_high),
    )


def _odds_interval(b: NDArray[np.int64], c: NDArray[np.int64], *, level: float) -> tuple[float, float]:
    """Interval of the odds ratio from the discordant counts of the clusters."""
    rate = clustered_rate(b, b + c, level=level)
    if not rate.standard_error > 0:
        return _ratio(rate.low, 1 - rate.low), _ratio(rate.high, 1 - rate.high)
    # The residuals of the logit are those of the share over s (1 - s): both give b_r / b - c_r / c.
    error = rate.standard_error / (rate.rate * (1 - rate.rate))
    reach = stdtrit(rate.clusters - 1, (1 + level) / 2) * error
    odds = b.sum() / c.sum()
    return float(odds * np.exp(-reach)), float(odds * np.exp(reach))


def _ratio(part: float, rest: float) -> float:
    if rest:
        return float(part / rest)
    return np.inf if part else np.nan
