"""A metric as a function of sums over prompts: what makes its value also makes its bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.value import Value


class Resampleable(Protocol):
    """A metric over units (prompts, or rows) that can be worked out again for any weights of the units."""

    @property
    def units(self) -> int:
        """How many units there are."""

    def value(self) -> Value:
        """The metric itself: every unit counts once."""

    def at(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The metric for weights of shape (rounds, units), e.g. how often a bootstrap drew each; shape (rounds,)."""

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over fewer, larger units: `blocks` gives the new unit of each one, shape (units,)."""


@dataclass(frozen=True, eq=False)
class Sums:
    """A metric that depends on its units only through sums over them.

    Parameters
    ----------
    sums
        What each unit adds, shape (units, features).
    statistic
        The metric from totals of shape (..., features), shape (...); NaN where it is not defined.
    reason
        Why it is not defined for these totals, shape (features,); "" where it is.
    """

    sums: NDArray[np.float64]
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    reason: Callable[[NDArray[np.float64]], str]

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.sums)

    def value(self) -> Value:
        """The metric itself."""
        totals = self.sums.sum(axis=0)
        value = float(self.statistic(totals))
        return Value.undefined(self.reason(totals)) if np.isnan(value) else Value(value)

    def at(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The metric for weights of shape (rounds, units)."""
        return self.statistic(weights @ self.sums)

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over blocks of units."""
        merged = np.zeros((int(blocks.max(initial=-1)) + 1, self.sums.shape[1]))
        np.add.at(merged, blocks, self.sums)
        return type(self)(merged, self.statistic, self.reason)


def mean(scores: NDArray[np.float64], units: NDArray[np.intp], count: int, *, of: str) -> Sums:
    """The mean of scores, NaN ones left out, as a metric over the units they belong to.

    Parameters
    ----------
    scores, units
        Shape (scores,): each score, and the unit from 0 to `count` - 1 that it belongs to.
    count
        How many units there are.
    of
        What is scored, for the reason when nothing is: "no pair of responses".
    """
    known = ~np.isnan(scores)
    total = np.bincount(units[known], scores[known], count)
    number = np.bincount(units[known], minlength=count).astype(np.float64)
    sums = np.stack([total, number], axis=1)
    return Sums(sums, ratio, lambda totals: "" if totals[1] else f"there is {of}")


def ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """First total divided by the second, NaN for nothing; shape (..., 2) to (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals[..., 1] > 0, totals[..., 0] / totals[..., 1], np.nan)
