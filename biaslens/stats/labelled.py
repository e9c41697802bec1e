"""Verdicts on all items and labels on a sample of them: what corrected rates are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from biaslens.stats.shares import cluster_codes

ROUNDING = 1e-24
"""A variance under this is rounding."""


class UndefinedError(Exception):
    """A rate cannot be corrected with these labels; the message says why."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A rate, the derivative of it by the weight of each item, and variance that the derivatives cannot show."""

    value: float
    influence: NDArray[np.float64]
    unseen: float = 0.0


class Labelled:
    """Verdicts on all items and labels on some, checked."""

    def __init__(
        self,
        verdicts: ArrayLike,
        labels: ArrayLike,
        inclusion: ArrayLike | None,
        clusters: ArrayLike | None,
        strata: ArrayLike | None,
    ) -> None:
        self.verdict, self.label = np.asarray(verdicts, dtype=np.float64), np.asarray(labels)
        if self.verdict.ndim != 1 or self.verdict.shape != self.label.shape:
            raise ValueError(
                f"verdicts and labels are not one row each of one length: {self.verdict.shape}, {self.label.shape}"
            )
        if not ((self.verdict >= 0) & (self.verdict <= 1)).all():
            raise ValueError("verdicts must be from 0 to 1")
        if not np.isin(self.label, (-1, 0, 1)).all():
            raise ValueError("labels must be 1, 0, or -1 where there is none")
        items = len(self.label)
        self.known: NDArray[np.bool_] = np.asarray(self.label >= 0)
        self.labels = int(self.known.sum())
        chance = np.ones(items) if inclusion is None else np.asarray(inclusion, dtype=np.float64)
        if chance.shape != (items,) or not ((chance > 0) & (chance <= 1))[self.known].all():
            raise ValueError("the inclusion probability of a labelled item must be above 0 and at most 1")
        self.weight = np.divide(1.0, chance, out=np.zeros(items), where=self.known)
        self.cluster = cluster_codes(clusters, items)
        self.stratum = np.zeros(items, dtype=np.int64) if strata is None else cluster_codes(strata, items)
        self.strata = int(self.stratum.max()) + 1 if items else 0

    def by_cluster(self, influence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over the items of each cluster."""
        return np.asarray(np.bincount(self.cluster, influence), dtype=np.float64)

    def unseen(self, among: NDArray[np.bool_]) -> float:
        """Variance of a share of labelled items of which none was found otherwise.

        By item, not by cluster: how a judge errs is a matter of the answer more than of the role.
        """
        weights = self.weight[among]
        size = float(weights.sum() ** 2 / np.square(weights).sum())
        share = 1 / (size + 2)
        return share * (1 - share) / size

    def added_up(self, estimate: Callable[[NDArray[np.bool_]], Linear]) -> Linear:
        """A rate over the strata, each by its share of the items; that share varies with the clusters drawn."""
        if not self.labels:
            raise UndefinedError("no item has a label")
        items = len(self.stratum)
        value, unseen, influence = 0.0, 0.0, np.zeros(items)
        for stratum in range(self.strata):
            among = self.stratum == stratum
            found = estimate(among)
            part = among.sum() / items
            value += part * found.value
            unseen += part**2 * found.unseen
            influence += part * found.influence + among * found.value / items
        return Linear(value, influence - value / items, unseen)

    def unseen_in_strata(self) -> float:
        """Variance hidden in strata whose labels are all of one class or all agree with the verdicts."""
        hidden = 0.0
        for stratum in range(self.strata):
            members = self.stratum == stratum
            labels, verdicts = self.label[members & self.known], self.verdict[members & self.known]
            if labels.min() == labels.max() or (labels == verdicts).all():
                hidden += float(members.mean()) ** 2 * self.unseen(members & self.known)
        return hidden

    def freedom(self) -> int:
        """Clusters with a label, less one."""
        return len(np.unique(self.cluster[self.known])) - 1

    def standard_error(self, found: Linear) -> float:
        """Root of the clustered variance and of what it cannot show; NaN with labels of one cluster.

        Where all clusters agree exactly it is that of a share of as many items as there are clusters.
        """
        clusters = self.freedom() + 1
        if clusters < 2:
            return float("nan")
        square = clusters / (clusters - 1) * np.square(self.by_cluster(found.influence)).sum() + found.unseen
        if square <= ROUNDING:
            share = float(np.clip(found.value, 0, 1))
            square = max(share * (1 - share) / clusters, self.unseen(self.known))
        return float(np.sqrt(square))


def weighted_mean(values: NDArray[Any], weight: NDArray[Any], *, of: str = "any item") -> Linear:
    """Mean with its influence.

    Raises
    ------
    UndefinedError
        When nothing has weight.
    """
    total = float(weight.sum())
    if not total:
        raise UndefinedError(f"a stratum has no label of {of}")
    mean = float((weight * values).sum() / total)
    return Linear(mean, weight * (values - mean) / total)
