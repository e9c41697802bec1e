"""Trials of questions: shares and majorities, how far trials agree, and what more of them would buy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from biaslens.stats.crossed import Clusters
from biaslens.stats.estimate import Estimate, counts_array, counts_within
from biaslens.stats.intervals import crossed_share


def share(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``part / whole`` of counts; NaN where the whole is 0, because a share of nothing is unknown.

    >>> share([1, 0], [4, 0])
    array([0.25,  nan])
    """
    some, all_ = counts_within(part, whole)
    result: NDArray[np.float64] = np.divide(some, all_, out=np.full(some.shape, np.nan), where=all_ > 0)
    return result


def coverage(valid: ArrayLike, planned: ArrayLike) -> NDArray[np.float64]:
    """Share of the planned trials (asked or not) that enter the denominator of a rate: biased, unbiased or refused.

    0, and not NaN, where nothing was planned: an empty run must never look complete.

    >>> coverage([3, 0], [4, 0])
    array([0.75, 0.  ])
    """
    return np.nan_to_num(share(valid, planned), nan=0.0)


def majority_threshold(planned: ArrayLike) -> NDArray[np.int64]:
    """Fewest trials that are more than half of those planned: 2 of 3, 2 of 2, 1 of 1."""
    threshold: NDArray[np.int64] = counts_array(planned, "planned") // 2 + 1
    return threshold


def biased_majority(biased: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether each question is biased: more than half of its planned trials are.

    The denominator is the plan and not the valid answers, so a missing answer never makes a question biased. A
    question without planned trials is not biased.

    >>> biased_majority([2, 1, 1], [3, 3, 1])
    array([ True, False,  True])
    """
    some, all_ = counts_within(biased, planned)
    verdict: NDArray[np.bool_] = some >= majority_threshold(all_)
    return verdict


def majority_decided(biased: ArrayLike, valid: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether the verdict of `biased_majority` stands, whatever the trials without a valid result would have been.

    >>> majority_decided([0, 1, 1], [2, 2, 1], 3)
    array([ True, False, False])
    """
    some, all_ = counts_within(biased, planned)
    known, _ = counts_within(valid, planned)
    need = majority_threshold(all_)
    decided: NDArray[np.bool_] = (all_ > 0) & ((some >= need) | (some + all_ - known < need))
    return decided


def biased_questions(biased: ArrayLike, planned: ArrayLike) -> int:
    """Count the questions that `biased_majority` calls biased: the study's headline number."""
    return int(np.count_nonzero(biased_majority(biased, planned)))


@dataclass(frozen=True, slots=True)
class Patterns:
    """What the trials of the questions agree on, counted over questions with all trials valid.

    `consistent`: all trials alike. `mostly_biased`: a split with a biased majority, two biased of three.
    `mostly_unbiased`: a split without one, one biased of three.
    """

    questions: int
    consistent: int
    mostly_biased: int
    mostly_unbiased: int


def _valid(results: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    table = np.asarray(results)
    if table.ndim != 2:
        raise ValueError(f"results must be questions by trials, not of shape {table.shape}")
    return (table == 1).sum(axis=1), (table >= 0).sum(axis=1), table.shape[1]


def patterns(results: ArrayLike) -> Patterns:
    """Count what the trials of each question agree on; results are 1 biased, 0 not, -1 not valid, shape (Q, T).

    >>> patterns([[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, -1]])
    Patterns(questions=3, consistent=1, mostly_biased=1, mostly_unbiased=1)
    """
    biased, valid, trials = _valid(results)
    biased = biased[(valid == trials) & (trials > 0)]
    split = (biased > 0) & (biased < trials)
    most = biased >= majority_threshold(trials)
    return Patterns(len(biased), int((~split).sum()), int((split & most).sum()), int((split & ~most).sum()))


def flip_rate(results: ArrayLike, clusters: Clusters, *, level: float = 0.95) -> Estimate:
    """Chance that two trials of a question come out differently: mean of 2 y (n - y) / (n (n - 1)) over questions.

    Unbiased for questions with two or more valid trials; the others are left out. The interval is that of
    `crossed_share`.

    Three trials, one biased: 2 * 1 * 2 / (3 * 2) = 2/3.

    >>> round(flip_rate([[1, 0, 0], [0, 0, 0]], Clusters(np.arange(2))), 3)
    0.333
    """
    biased, valid, _ = _valid(results)
    with np.errstate(divide="ignore", invalid="ignore"):
        flips = np.where(valid > 1, 2 * biased * (valid - biased) / (valid * (valid - 1)), np.nan)
    return crossed_share(flips, clusters, level=level)


@dataclass(frozen=True, slots=True)
class Possible:
    """What the data leave open of a number that they do not determine: its range, and the middle of that."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The number that is wrong by least at worst."""
        return (self.low + self.high) / 2


def verdicts_changed(results: ArrayLike) -> Possible:
    r"""Share of the majority verdicts that another set of as many trials would be expected to change.

    With p the chance that a trial of a question is biased, two sets of T trials differ with probability
    :math:`2 P (1 - P)`, P being the chance of a biased majority of T. How the p of the questions are distributed is
    known from T trials only as far as the shares of questions with 0 to T biased ones tell. Over all distributions that
    agree with these the mean of :math:`2 P (1 - P)` has a smallest and a largest value, found by linear programming on
    a grid of p (as the mixing distribution is bounded by Lindsay, *Mixture Models*, 1995, chapter 6). The range is one
    of distributions and no confidence interval. Shares that no distribution gives are first brought to the nearest that
    one does. NaN without a question of two valid trials; those of fewer trials than planned count by their share.

    >>> round(verdicts_changed([[1, 1, 1], [0, 0, 0]]).high, 5) == 0
    True
    """
    from scipy.optimize import linprog, nnls  # only here: it loads longer than all else of this package

    biased, valid, trials = _valid(results)
    biased, valid = biased[valid > 1], valid[valid > 1]
    if not len(valid):
        return Possible(np.nan, np.nan)
    p = np.linspace(0, 1, 401)
    # The equations: for every number of valid trials, the share of questions with each number of biased ones.
    chances, seen = [], []
    for count in np.unique(valid).tolist():
        share_of = (valid == count).mean()
        k = np.arange(count + 1)[:, None]
        chances.append(share_of * comb(count, k) * p**k * (1 - p) ** (count - k))
        seen.append(np.bincount(biased[valid == count], minlength=count + 1) / len(valid))
    table = np.vstack(chances)
    mixed = nnls(np.vstack([table, np.ones_like(p)]), np.append(np.concatenate(seen), 1.0))[0]
    nearest = table @ (mixed / mixed.sum())
    k = np.arange(int(majority_threshold(trials)), trials + 1)[:, None]
    majority = (comb(trials, k) * p**k * (1 - p) ** (trials - k)).sum(axis=0)
    change = 2 * majority * (1 - majority)
    ends = []
    for sign in (1, -1):
        # A little slack: equations met exactly by the nearest distribution are met by others up to rounding.
        found = linprog(
            change * sign,
            A_ub=np.vstack([table, -table]),
            b_ub=np.concatenate([nearest + _SLACK, _SLACK - nearest]),
            A_eq=np.ones((1, len(p))),
            b_eq=[1.0],
        )
        ends.append(sign * float(found.fun or 0.0) if found.success else np.nan)
    return Possible(max(ends[0], 0.0), ends[1])


_SLACK = 1e-6
