"""A metric as a function of sums over prompts: what makes its value also makes its bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.stats.estimate import Value


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


_HELD = 2**22
"""Totals that are held in memory at once."""


@dataclass(frozen=True, eq=False)
class SparseSums:
    """`Sums` with a sparse matrix, which can also exchange two groups in some of its units.

    Parameters
    ----------
    sums
        What each unit adds, shape (units, features).
    statistic
        The metric from totals of shape (..., features), shape (...); NaN where it is not defined.
    reason
        Why it is not defined for these totals, shape (features,); "" where it is.
    exchange
        Which feature each one becomes when the two groups are exchanged, shape (features,); None where nothing can be.
    """

    sums: sparse.csr_array
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    reason: Callable[[NDArray[np.float64]], str]
    exchange: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.sums.shape[0])

    def totals(self) -> NDArray[np.float64]:
        """Sums over all units, shape (features,)."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def value(self) -> Value:
        """The metric itself."""
        totals = self.totals()
        value = float(self.statistic(totals))
        return Value.undefined(self.reason(totals)) if np.isnan(value) else Value(value)

    def at(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The metric for weights of shape (rounds, units)."""
        return self._of(weights, self.sums, np.zeros(self.sums.shape[1]))

    def under(self, masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The metric with the two groups exchanged in the units of each mask: shape (rounds, units) to (rounds,)."""
        changes = sparse.csr_array(self.exchanged().sums - self.sums)
        return self._of(masks, changes, self.totals())

    def exchanged(self) -> Self:
        """The same metric with the two groups exchanged in all units."""
        if self.exchange is None:
            raise ValueError("this metric has no two groups to exchange")
        return replace(self, sums=sparse.csr_array(self.sums[:, self.exchange]))

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over blocks of units."""
        shape = (int(blocks.max(initial=-1)) + 1, self.units)
        members = sparse.csr_array((np.ones(self.units), (blocks, np.arange(self.units))), shape=shape)
        return replace(self, sums=sparse.csr_array(members @ self.sums))

    def _of(
        self, weights: NDArray[np.float64] | NDArray[np.bool_], sums: sparse.csr_array, more: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        step = max(1, _HELD // max(1, sums.shape[1]))
        turned = sparse.csr_array(sums.T)
        found = [
            self.statistic((turned @ weights[start : start + step].T.astype(np.float64)).T + more)
            for start in range(0, len(weights), step)
        ]
        return np.concatenate(found) if found else np.zeros(0)


class _HasSums(Protocol):
    @property
    def sums(self) -> sparse.csr_array:
        """What each unit adds."""


Part = TypeVar("Part", bound=_HasSums)


def stacked(parts: Sequence[Part]) -> Part:
    """One metric of several parts of the data with units of their own, as when texts are read in chunks."""
    together = sparse.csr_array(sparse.vstack([part.sums for part in parts]))
    return cast(Part, replace(cast(Any, parts[0]), sums=together))


def added(parts: Iterable[Part]) -> Part:
    """One metric of several parts of the data with the same units, as when responses to a prompt lie far apart."""
    first, *others = parts
    together = sum((part.sums for part in others), start=first.sums)
    return cast(Part, replace(cast(Any, first), sums=sparse.csr_array(together)))
