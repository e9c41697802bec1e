"""Shares of counts, and the majority rule over the trials of a question."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def counts_array(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Check counts and return them as int64.

    Raises
    ------
    ValueError
        When a value is negative, not finite or not whole.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biu" and not np.all(np.isfinite(array) & (array == np.floor(array))):
        raise ValueError(f"{name}: counts must be whole numbers")
    whole = array.astype(np.int64)
    if np.any(whole < 0):
        raise ValueError(f"{name}: counts must not be negative")
    return whole


def counts_within(part: ArrayLike, whole: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check counts of which one is a part of the other, and return them in one shape.

    Raises
    ------
    ValueError
        When one is no count, or a part exceeds its whole.
    """
    some, all_ = np.broadcast_arrays(counts_array(part, "part"), counts_array(whole, "whole"))
    if np.any(some > all_):
        raise ValueError("a part is larger than its whole")
    return some, all_


def share(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``part / whole``; NaN where the whole is 0, because a share of nothing is unknown.

    Parameters
    ----------
    part, whole
        Counts of any shapes that broadcast.

    Examples
    --------
    >>> share([1, 0], [4, 0])
    array([0.25,  nan])
    """
    some, all_ = counts_within(part, whole)
    result: NDArray[np.float64] = np.divide(some, all_, out=np.full(some.shape, np.nan), where=all_ > 0)
    return result


def coverage(valid: ArrayLike, planned: ArrayLike) -> NDArray[np.float64]:
    """Share of the planned trials that enter the denominator of a rate.

    0, and not NaN, where nothing was planned: an empty run must never look complete.

    Parameters
    ----------
    valid
        Trials with a valid outcome (biased, unbiased or refused).
    planned
        All trials the run is to have, asked or not.

    Examples
    --------
    >>> coverage([3, 0], [4, 0])
    array([0.75, 0.  ])
    """
    return np.nan_to_num(share(valid, planned), nan=0.0)


def majority_threshold(planned: ArrayLike) -> NDArray[np.int64]:
    """Fewest trials that are more than half of those planned: 2 of 3, 2 of 2, 1 of 1.

    Examples
    --------
    >>> majority_threshold([1, 2, 3, 4, 5])
    array([1, 2, 2, 3, 3])
    """
    threshold: NDArray[np.int64] = counts_array(planned, "planned") // 2 + 1
    return threshold


def biased_majority(biased: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether each question is biased: more than half of its planned trials are.

    The denominator is the plan and not the valid answers, so a missing answer never makes a question biased. A
    question without planned trials is not biased.

    Parameters
    ----------
    biased, planned
        Trials by question, any shapes that broadcast.

    Examples
    --------
    >>> biased_majority([2, 1, 1], [3, 3, 1])
    array([ True, False,  True])
    """
    some, all_ = counts_within(biased, planned)
    verdict: NDArray[np.bool_] = some >= majority_threshold(all_)
    return verdict


def majority_decided(biased: ArrayLike, valid: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether the verdict of `biased_majority` stands, whatever the trials without a valid result would have been.

    False without planned trials.

    Parameters
    ----------
    biased, valid, planned
        Trials by question, any shapes that broadcast.

    Examples
    --------
    Of three trials: two unbiased; one biased and one unbiased; one biased.

    >>> majority_decided([0, 1, 1], [2, 2, 1], 3)
    array([ True, False, False])
    """
    some, all_ = counts_within(biased, planned)
    known, _ = counts_within(valid, planned)
    need = majority_threshold(all_)
    decided: NDArray[np.bool_] = (all_ > 0) & ((some >= need) | (some + all_ - known < need))
    return decided


def biased_questions(biased: ArrayLike, planned: ArrayLike) -> int:
    """Count the questions that `biased_majority` calls biased: the study's headline number.

    Examples
    --------
    >>> biased_questions([2, 1, 1], [3, 3, 1])
    2
    """
    return int(np.count_nonzero(biased_majority(biased, planned)))
