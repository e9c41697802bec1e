"""Partial pooling: what is left of many small groups' rates once chance is taken off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from biaslens.stats.estimate import Floats

_FEWEST = 4
"""Groups beyond the families' means that a spread can be estimated from."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """Shrunken rates of G groups with intervals, and how far each was drawn to the mean of its family, from 0 to 1."""

    value: Floats
    low: Floats
    high: Floats
    shrinkage: Floats


def pooled_rates(
    rates: ArrayLike, errors: ArrayLike, sizes: ArrayLike, families: ArrayLike, *, level: float = 0.95
) -> Pooled:
    r"""Empirical-Bayes estimates of the rates of groups from their families' means and how far groups truly differ.

    The observed rate of group g is taken as normal around its true rate with variance :math:`V_g`, and that as normal
    around the mean of its family (the attribute, say) with variance :math:`\tau^2`, the same in all families: by the
    estimator of Paule and Mandel (*Journal of Research of the NBS* 87, 1982), :math:`\sum_g (x_g - \mu)^2 / (V_g +
    \tau^2)` equals the groups less the families. The estimate is :math:`\mu + (1 - B_g) (x_g - \mu)` with
    :math:`B_g = V_g / (V_g + \tau^2)` times (k - 2) / k for the k spare groups, and its interval has the width of
    Morris (*JASA* 78, 1983, section 5), which knows that :math:`\mu` and :math:`\tau^2` are estimated.

    Standard errors of a few questions are poor, and 0 where these agree: :math:`V_g` is the mean of the squared errors
    times sizes, over the size of the group. `rates`, their standard `errors`, `sizes` (independent units in each: roles
    of an attribute, comparisons of a role) and `families`, any integers, have the shape (G,). All is NaN with fewer
    than four groups to spare; for groups whose rate is NaN it is NaN.

    >>> found = pooled_rates([0.2, 0.3, 0.4, 0.9, 0.3, 0.4], [0.2] * 6, [5] * 6, [0] * 6)
    >>> bool(found.value[3] < 0.9), bool(found.low[3] < found.value[3] < found.high[3])
    (True, True)
    """
    x, error, size = (np.asarray(values, dtype=np.float64) for values in (rates, errors, sizes))
    known = np.isfinite(x) & np.isfinite(error) & (size > 0)
    nothing = np.full(x.shape, np.nan)
    _, family = np.unique(np.asarray(families)[known], return_inverse=True)
    spare = int(known.sum()) - (int(family.max()) + 1 if len(family) else 0)
    if spare < _FEWEST:
        return Pooled(nothing, nothing, nothing, nothing)
    x, size = x[known], size[known]
    variance = float(np.mean(np.square(error[known]) * size)) / size
    mean, spread = _spread(x, variance, family, spare)
    weight = np.divide(1.0, variance + spread, out=np.ones_like(x), where=variance + spread > 0)
    drawn = (spare - 2) / spare * variance * weight
    value = mean + (1 - drawn) * (x - mean)
    of_family = np.bincount(family, weight)[family]
    square = variance * (1 - drawn) + np.square(drawn) / of_family
    square += 2 / (spare - 2) * np.square(drawn * (x - mean))
    reach = ndtri((1 + level) / 2) * np.sqrt(square)
    found = [value, np.clip(value - reach, 0, 1), np.clip(value + reach, 0, 1), drawn]
    return Pooled(*(_filled(nothing, known, part) for part in found))


def _spread(x: Floats, variance: Floats, family: NDArray[np.int64], spare: int) -> tuple[Floats, float]:
    """Means of the families, by group, and the variance of true rates around them."""

    def means(spread: float) -> Floats:
        weight = 1 / np.maximum(variance + spread, 1e-12)
        result: Floats = (np.bincount(family, weight * x) / np.bincount(family, weight))[family]
        return result

    def excess(spread: float) -> float:
        return float((np.square(x - means(spread)) / np.maximum(variance + spread, 1e-12)).sum()) - spare

    found = float(brentq(excess, 0.0, 10.0)) if excess(0.0) > 0 else 0.0
    return means(found), found


def _filled(nothing: Floats, known: NDArray[np.bool_], values: Floats) -> Floats:
    result = nothing.copy()
    result[known] = values
    return result
