"""Correction of p-values for the number of tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    r"""Adjust p-values by Holm's step-down method, which keeps the chance of any false finding under the level.

    The i-th smallest of m becomes :math:`\max_{j \le i} \min(1, (m - j + 1) p_{(j)})` (Holm, *Scandinavian Journal of
    Statistics* 6, 1979). NaN (a test that could not be made) stays NaN and is not counted among the m.

    Parameters
    ----------
    p
        Shape (m,).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.06, 0.06,  nan])
    """
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted
