"""Bootstrap of whole clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_BLOCK = 2**22
"""Counts that are held in memory at once."""


def resampled_sums(sums: ArrayLike, *, rounds: int, seed: int) -> NDArray[np.float64]:
    """Totals over clusters that are drawn with replacement, as many as there are.

    A statistic of totals is so resampled without touching the items again (cluster bootstrap: Field and Welsh, *JRSS
    B* 69, 2007).

    Parameters
    ----------
    sums
        Sums of any features over the items of each cluster, shape (R, P).
    rounds
        Of the bootstrap.
    seed
        Of the draws: the same seed gives the same totals.

    Returns
    -------
    array
        Shape (rounds, P).

    Examples
    --------
    Each round draws five clusters of size 2.

    >>> resampled_sums([[2]] * 5, rounds=3, seed=0).ravel()
    array([10., 10., 10.])
    """
    table = np.asarray(sums, dtype=np.float64)
    clusters = len(table)
    # Clusters with the same sums are one kind, drawn in proportion: unclustered items are of very few kinds.
    kinds, counts = np.unique(table, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    totals = np.empty((rounds, table.shape[1]))
    step = max(1, _BLOCK // len(kinds))
    for start in range(0, rounds, step):
        block = totals[start : start + step]
        block[:] = rng.multinomial(clusters, counts / clusters, size=len(block)) @ kinds
    return totals
