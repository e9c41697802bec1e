"""How much further group B lies from group A in sentiment than A lies from itself: what a test of the gap needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.usecase.metrics.sentiment import THRESHOLD, scsp_sums, wcsp_sums
from biaslens.usecase.sparse import SparseSums

_Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def scsp_contrast(sides: Sequence[NDArray[np.float64]], units: NDArray[np.intp], count: int) -> SparseSums:
    """SCSP of A and B less SCSP of A and A once more; B and the second A can be exchanged in each unit.

    Parameters
    ----------
    sides
        Scores of A, of B, and of A once more, each of shape (scores,); triples with a NaN are left out.
    units, count
        The unit of each triple from 0 to `count` - 1, shape (scores,).
    """
    known = ~np.isnan(np.stack(sides)).any(axis=0)
    sides, units = [side[known] for side in sides], units[known]
    pooled = np.concatenate(sides)
    points, places = np.unique(pooled, return_inverse=True)
    none = np.zeros(len(pooled), dtype=np.intp)
    # Only for its statistic, which knows the distances between these points.
    distance = scsp_sums(pooled, pooled, none, none, 1).statistic
    columns = places + np.repeat(np.arange(3) * len(points), len(units))
    return _contrast(columns, np.tile(units, 3), count, len(points), distance)


def wcsp_contrast(
    sides: Sequence[NDArray[np.float64]], units: NDArray[np.intp], count: int, *, threshold: float = THRESHOLD
) -> SparseSums:
    """WCSP of A and B less WCSP of A and A once more, as `scsp_contrast`."""
    known = ~np.isnan(np.stack(sides)).any(axis=0)
    units = units[known]
    above = np.concatenate([side[known] > threshold for side in sides]).astype(np.intp)
    empty, none = np.zeros(0), np.zeros(0, dtype=np.intp)
    gap = wcsp_sums(empty, empty, none, none, 1, threshold=threshold).statistic
    columns = above + np.repeat(np.arange(3) * 2, len(units))
    return _contrast(columns, np.tile(units, 3), count, 2, gap)


def _contrast(
    columns: NDArray[np.intp], rows: NDArray[np.intp], count: int, width: int, statistic: _Statistic
) -> SparseSums:
    sums = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, 3 * width))
    block = np.arange(width)
    exchange = np.concatenate([block, 2 * width + block, width + block]).astype(np.intp)

    def difference(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        across = statistic(totals[..., : 2 * width])
        return across - statistic(np.concatenate([totals[..., :width], totals[..., 2 * width :]], axis=-1))

    return SparseSums(sums, difference, lambda _: "no triple of responses has sentiment scores", exchange)
