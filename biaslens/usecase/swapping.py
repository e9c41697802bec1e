"""Test a gap by exchanging, unit by unit, what would be exchangeable if there were none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.resampling import blocks_of
from biaslens.usecase.sums import Sums
from biaslens.usecase.value import Value

_ENUMERATED = 4096
"""Up to so many ways to exchange, all are looked at."""
_HELD = 2**21
"""Entries of the masks that are held in memory at once."""
_TIE = 1e-12
"""Metrics that differ by less are equal but for rounding."""


class Swappable(Protocol):
    """A metric over units, in each of which two things can be exchanged; larger is less fair."""

    @property
    def units(self) -> int:
        """How many units there are."""

    def value(self) -> Value:
        """The metric with nothing exchanged."""

    def under(self, masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The metric with the units of each mask exchanged: shape (rounds, units) to (rounds,)."""

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over fewer, larger units: `blocks` gives the new unit of each one, shape (units,)."""


@dataclass(frozen=True, eq=False)
class SwappedSums:
    """A metric of sums that can be exchanged.

    Parameters
    ----------
    as_is, swapped
        The same metric over the same units: what each adds as it is, and after the exchange.
    """

    as_is: Sums
    swapped: Sums

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.as_is.units

    def value(self) -> Value:
        """The metric with nothing exchanged."""
        return self.as_is.value()

    def under(self, masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The metric with the units of each mask exchanged."""
        changes = self.swapped.sums - self.as_is.sums
        return self.as_is.statistic(self.as_is.sums.sum(axis=0) + masks.astype(np.float64) @ changes)

    def merged(self, blocks: NDArray[np.intp]) -> Self:
        """The same metric over blocks of units."""
        return type(self)(self.as_is.merged(blocks), self.swapped.merged(blocks))

    def condensed(self) -> Self:
        """The same metric with each unit that no exchange changes put to one before it that is changed, or the first.

        The test is the same, and there are fewer ways to exchange.
        """
        changed = (self.as_is.sums != self.swapped.sums).any(axis=1)
        return self.merged(np.maximum(np.cumsum(changed) - 1, 0))


def swap_test(as_is: Sums, swapped: Sums, *, rounds: int = 9999, seed: int = 0) -> Value:
    """p-value of a metric that is larger as it is than with random units exchanged: `swap_p` for sums.

    Parameters
    ----------
    as_is, swapped
        The same metric over the same units, oriented so that larger is less fair: what each unit adds as it is, and
        after exchanging two things that are exchangeable if there is no effect. One example: a gap between the
        responses to a prompt with group A and with group B, less the gap between two responses to the prompt with
        group A; the response to B and the second one to A are exchanged.
    rounds, seed
        As for `swap_p`.

    Raises
    ------
    ValueError
        When the two are not of one shape.

    Examples
    --------
    Three prompts with gaps of 3, 1 and 2, which an exchange turns around. Of 8 ways only none exchanged gives a mean of
    2 or more.

    >>> from biaslens.usecase.sums import mean
    >>> def gaps(of):
    ...     return mean(np.array(of), np.arange(3), 3, of="no gap")
    >>> swap_test(gaps([3.0, 1.0, 2.0]), gaps([-3.0, -1.0, -2.0]))
    0.125
    """
    if as_is.sums.shape != swapped.sums.shape:
        raise ValueError(f"units as they are {as_is.sums.shape} and swapped {swapped.sums.shape} must be of one shape")
    return swap_p(SwappedSums(as_is, swapped).condensed(), rounds=rounds, seed=seed)


def swap_p(metric: Swappable, *, rounds: int = 9999, seed: int = 0) -> Value:
    r"""One-sided p-value of a metric against random exchanges in its units.

    If the two things are exchangeable within every unit, all :math:`2^n` ways to exchange are equally likely, and the
    share of them whose metric is at least the one seen is an exact p-value (Fisher's randomisation test of pairs:
    *The Design of Experiments*, 1935, section 21). Up to 4,096 ways are all looked at. Otherwise R random ones are,
    and :math:`p = (1 + b) / (1 + R)` with b of them at least as large, which keeps the level, too (Phipson and Smyth,
    *Statistical Applications in Genetics and Molecular Biology* 9, 2010). Ties within 1e-12 count as as large.

    More than 4,096 units are first put together at random in 4,096 blocks that are exchanged as a whole: that keeps the
    level, because whole blocks are exchangeable, too, and costs little power.

    Parameters
    ----------
    metric
        Oriented so that larger is less fair.
    rounds
        Random exchanges.
    seed
        Of these, and of the blocks.

    Returns
    -------
    Value
        In (0, 1]. NaN, with the reason, where the metric is not defined. Exchanges that leave it undefined are left
        out.
    """
    value = metric.value()
    if np.isnan(value):
        return Value.undefined(value.reason)
    rng = np.random.default_rng(seed)
    if (blocks := blocks_of(metric.units, rng)) is not None:
        metric = metric.merged(blocks)
    observed = float(metric.under(np.zeros((1, metric.units), dtype=np.bool_))[0])
    limit = observed - _TIE * max(1.0, abs(observed))
    exact = 2**metric.units <= _ENUMERATED
    size = 2**metric.units if exact else rounds
    step = max(1, _HELD // max(1, metric.units))
    larger = known = 0
    for start in range(0, size, step):
        stop = min(size, start + step)
        masks = _all_masks(start, stop, metric.units) if exact else _random_masks(rng, stop - start, metric.units)
        found = metric.under(masks)
        larger += int((found >= limit).sum())
        known += int((~np.isnan(found)).sum())
    # One more for the way things are, which a random draw need not hit.
    extra = 0 if exact else 1
    return Value((larger + extra) / (known + extra))


def _all_masks(start: int, stop: int, units: int) -> NDArray[np.bool_]:
    return (np.arange(start, stop)[:, None] >> np.arange(units) & 1).astype(np.bool_)


def _random_masks(rng: np.random.Generator, rounds: int, units: int) -> NDArray[np.bool_]:
    size = rounds * units
    bits = np.unpackbits(np.frombuffer(rng.bytes(-(-size // 8)), dtype=np.uint8), count=size)
    return bits.reshape(rounds, units).astype(np.bool_)
