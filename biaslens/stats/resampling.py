"""Draws of whole clusters with replacement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_clusters(clusters: int, *, rounds: int, seed: int) -> NDArray[np.float64]:
    """How often each of the clusters is drawn in each round of a bootstrap.

    A statistic of sums over clusters is resampled by one matrix product of these counts with the sums (cluster
    bootstrap: Field and Welsh, *JRSS B* 69, 2007).

    Parameters
    ----------
    clusters
        How many there are; as many are drawn.
    rounds
        Of the bootstrap.
    seed
        Of the draws: the same seed gives the same counts.

    Returns
    -------
    array
        Shape (rounds, clusters), whole numbers that add up to `clusters` in each round.

    Examples
    --------
    >>> draw_clusters(5, rounds=2, seed=0).sum(axis=1)
    array([5., 5.])
    """
    rng = np.random.default_rng(seed)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=rounds).astype(np.float64)
