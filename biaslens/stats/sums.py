"""A metric as a function of sums over units: what makes its value also makes its bootstrap and its test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.stats.estimate import Estimate

_HELD = 2**22
"""Totals of a sparse metric that are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Sums:
    """A metric that depends on its units (prompts, rows, clusters) only through sums over them.

    Parameters
    ----------
    sums
        What each unit adds, shape (units, features); sparse where each unit has few of many features.
    statistic
        The metric from totals of shape (..., features), shape (...); NaN where it is not defined.
    reason
        Why it is not defined for these totals, shape (features,); "" where it is.
    exchange
        Which feature each one becomes when the two sides of a comparison change places, shape (features,); None
        where there are no two sides.
    """

    sums: NDArray[np.float64] | sparse.csr_array
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    reason: Callable[[NDArray[np.float64]], str]
    exchange: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.sums.shape[0])

    @property
    def adding(self) -> NDArray[np.bool_]:
        """Which units have an entry at all, shape (units,)."""
        if isinstance(self.sums, np.ndarray):
            return np.asarray(self.sums.any(axis=1))
        return np.asarray(np.diff(self.sums.indptr) > 0)

    def totals(self) -> NDArray[np.float64]:
        """Sums over all units, shape (features,)."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def value(self) -> Estimate:
        """The metric itself: every unit counts once."""
        totals = self.totals()
        value = float(self.statistic(totals))
        return Estimate.undefined(self.reason(totals)) if np.isnan(value) else Estimate(value)

    def at(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The metric for weights of shape (rounds, units), e.g. how often a bootstrap drew each; shape (rounds,)."""
        return self._of(weights, self.sums, 0.0)

    def under(self, masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The metric with the sides exchanged in the units of each mask: shape (rounds, units) to (rounds,)."""
        return self._of(masks, self.exchanged().sums - self.sums, self.totals())

    def exchanged(self) -> Self:
        """The same metric with the sides exchanged in all units."""
        if self.exchange is None:
            raise ValueError("this metric has no two sides to exchange")
        return replace(self, sums=self.sums[:, self.exchange])

    def of_units(self, kept: NDArray[np.bool_]) -> Self:
        """The same metric over some of the units."""
        return replace(self, sums=self.sums[kept])

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over fewer, larger units: `blocks` gives the new unit of each one, shape (units,)."""
        count = int(blocks.max(initial=-1)) + 1
        if isinstance(self.sums, np.ndarray):
            merged = np.zeros((count, self.sums.shape[1]))
            np.add.at(merged, blocks, self.sums)
            return replace(self, sums=merged)
        members = sparse.csr_array((np.ones(self.units), (blocks, np.arange(self.units))), shape=(count, self.units))
        return replace(self, sums=sparse.csr_array(members @ self.sums))

    def _of(self, weights: NDArray[Any], sums: Any, more: NDArray[np.float64] | float) -> NDArray[np.float64]:  # noqa: ANN401
        if isinstance(sums, np.ndarray):
            return self.statistic(weights.astype(np.float64) @ sums + more)
        step = max(1, _HELD // max(1, sums.shape[1]))
        turned = sparse.csr_array(sums.T)
        found = [
            self.statistic((turned @ weights[start : start + step].T.astype(np.float64)).T + more)
            for start in range(0, len(weights), step)
        ]
        return np.concatenate(found) if found else np.zeros(0)


def mean(scores: NDArray[np.float64], units: NDArray[np.intp], count: int, *, of: str) -> Sums:
    """The mean of scores, NaN ones left out, as a metric over the units they belong to.

    Parameters
    ----------
    scores, units
        Shape (scores,): each score, and the unit from 0 to `count` - 1 that it belongs to.
    count
        How many units there are.
    of
        What is missing where there is nothing: "no pair of responses".
    """
    known = ~np.isnan(scores)
    total = np.bincount(units[known], scores[known], count)
    number = np.bincount(units[known], minlength=count).astype(np.float64)
    return Sums(np.stack([total, number], axis=1), ratio, lambda totals: "" if totals[1] else f"there is {of}")


def ratio(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """First total divided by the second, NaN for nothing; shape (..., 2) to (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals[..., 1] > 0, totals[..., 0] / totals[..., 1], np.nan)
