"""How many answers to label, and how they are spread over the strata."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import numpy as np
from scipy.special import ndtri

from biaslens.errors import InputError

FLOOR = 2
"""Fewest answers of a stratum, where it has so many and the sample allows: fewer tell no variance."""


def sample_size(population: int, *, margin: float = 0.05, confidence: float = 0.95) -> int:
    r"""Answers to label so that a share is known to a margin, whatever it is.

    Cochran (*Sampling Techniques*, 1977, section 4.4) with a share of one half:
    :math:`n_0 = z^2 / (4 e^2)`, and for a finite population :math:`n = n_0 / (1 + (n_0 - 1) / N)`, rounded up. The
    published study labelled 372 of 10,975 yes/no and of 10,917 choice questions, as this gives; its 384 why answers are
    :math:`n_0 = 384.1` rounded down, without the correction for a finite population.

    Parameters
    ----------
    population
        Answers there are.
    margin
        Half the width of the interval, in (0, 0.5).
    confidence
        Of the interval, in (0, 1).

    Raises
    ------
    InputError
        When margin or confidence make no sense.

    Examples
    --------
    >>> sample_size(10_975), sample_size(10_917), sample_size(10_972 * 3), sample_size(100)
    (372, 372, 380, 80)
    """
    if not 0 < margin < 0.5:
        raise InputError(f"margin: {margin} is not between 0 and 0.5; 0.05 is usual")
    if not 0 < confidence < 1:
        raise InputError(f"confidence: {confidence} is not between 0 and 1; 0.95 is usual")
    if population < 1:
        return 0
    infinite = float(ndtri((1 + confidence) / 2)) ** 2 / (4 * margin**2)
    return min(population, ceil(infinite / (1 + (infinite - 1) / population)))


def margin_of(size: int, population: int, *, confidence: float = 0.95) -> float:
    """Margin that a simple random sample reaches for a share of one half: the inverse of `sample_size`.

    Examples
    --------
    >>> round(margin_of(372, 10_975), 3)
    0.05
    """
    if size < 1 or population < 2:
        return float("nan") if size < 1 else 0.0
    finite = (population - size) / (population - 1)
    return float(ndtri((1 + confidence) / 2) * np.sqrt(finite / (4 * size)))


def allocate(strata: Mapping[str, int], size: int) -> dict[str, int]:
    """Spread a sample over strata: a few of each, then as the square roots of their sizes.

    Two aims pull apart. A share of the population is known best where strata get their share of the sample; how well
    an oracle does on rare things (the answers that it calls biased, an attribute) is known best where all strata get
    the same. Square roots stand between them (power allocation with exponent one half: Bankier, *The American
    Statistician* 42, 1988). Weights of one over the inclusion probability make up for it.

    Parameters
    ----------
    strata
        Number of answers by stratum, none of them 0.
    size
        Answers to draw; at most as many as there are.

    Returns
    -------
    dict
        Answers to draw by stratum: at least `FLOOR` or all there are, as far as `size` allows, at most all, and `size`
        in all. The same strata in another order get the same.

    Examples
    --------
    >>> allocate({"a": 100, "b": 900, "c": 1}, 45)
    {'a': 11, 'b': 33, 'c': 1}
    """
    names = sorted(strata)
    held = np.array([strata[name] for name in names], dtype=np.int64)
    size = min(size, int(held.sum()))
    least = np.minimum(held, FLOOR)
    if least.sum() >= size:
        # Not enough for two of each: the largest strata first, one each, then a second.
        order = [place for rank in range(FLOOR) for place in np.argsort(-held, kind="stable") if least[place] > rank]
        drawn = np.bincount(np.array(order[:size], dtype=np.int64), minlength=len(names))
    else:
        drawn = _fill(held, least, size)
    return {name: int(count) for name, count in zip(names, drawn, strict=True)}


def _fill(held: np.ndarray, least: np.ndarray, size: int) -> np.ndarray:
    share = np.sqrt(held)
    fixed = np.zeros(len(held), dtype=np.bool_)
    wanted = least.astype(np.float64)
    while True:
        left, free = size - wanted[fixed].sum(), ~fixed
        wanted[free] = left * share[free] / share[free].sum() if free.any() else wanted[free]
        over, under = free & (wanted > held), free & (wanted < least)
        if not (over | under).any():
            break
        # Strata that ask for more than they have are taken whole first; only then do small ones get their floor.
        bound = over if over.any() else under
        wanted[bound] = held[bound] if over.any() else least[bound]
        fixed |= bound
    drawn = np.floor(wanted).astype(np.int64)
    rest = np.where(drawn < held, wanted - drawn, -1.0)
    drawn[np.argsort(-rest, kind="stable")[: size - drawn.sum()]] += 1
    return drawn
