"""How varied the meaning is: similarity and Vendi score of sentence embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Spread:
    """Variety of the meaning of a sample.

    Parameters
    ----------
    similarity
        Mean cosine similarity of two different questions: lower is more varied.
    vendi
        Effective number of different questions in the sample, 1 to its size: higher is more varied.
    """

    similarity: float
    vendi: float


def spread(vectors: NDArray[np.float64]) -> Spread:
    """Measure how far unit vectors lie apart.

    Parameters
    ----------
    vectors
        Shape (items, dimensions), each of length 1.

    Returns
    -------
    Spread
        NaN similarity for fewer than two items.

    Examples
    --------
    >>> spread(np.eye(4)).vendi  # four items that share nothing
    4.0
    """
    count = len(vectors)
    total = float(np.square(vectors.sum(axis=0)).sum())
    similarity = (total - count) / (count * (count - 1)) if count > 1 else float("nan")
    return Spread(similarity, vendi_score(vectors))


def vendi_score(vectors: NDArray[np.float64]) -> float:
    """Exponential of the entropy of the eigenvalues of K / n, K the similarities (Friedman & Dieng 2023, eq. 1).

    The smaller of the two Gram matrices has the same eigenvalues but for zeros.
    """
    count, dimensions = vectors.shape
    if not count:
        return float("nan")
    gram = vectors @ vectors.T if count <= dimensions else vectors.T @ vectors
    weights = np.linalg.eigvalsh(gram / count)
    weights = weights[weights > 1e-12]
    return float(np.exp(-(weights * np.log(weights)).sum()))
