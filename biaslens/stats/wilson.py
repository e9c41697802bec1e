"""Wilson's interval of a share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def wilson(rate: ArrayLike, size: ArrayLike, quantile: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Bounds of the shares that a test at the quantile does not tell from the one seen.

    With share p of size n and quantile t it is
    :math:`(p + t^2 / 2n \pm t \sqrt{p (1 - p) / n + t^2 / 4n^2}) / (1 + t^2 / n)` (Wilson, *JASA* 22, 1927), held to
    [0, p] and [p, 1] against rounding. The size may be an effective one, and the quantile that of t.

    Parameters
    ----------
    rate, size, quantile
        Any shapes that broadcast; NaN gives NaN.

    Examples
    --------
    None of 10 with t = 2: (0 + 0.2 -+ 2 * sqrt(0 + 0.01)) / 1.4.

    >>> low, high = wilson(0, 10, 2)
    >>> float(low), round(float(high), 4)
    (0.0, 0.2857)
    """
    p, n, t = (np.asarray(value, dtype=np.float64) for value in (rate, size, quantile))
    center = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return np.clip(center - half, 0, p), np.clip(center + half, p, 1)
