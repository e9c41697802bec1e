"""A number with its uncertainty, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Self


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated number.

    Parameters
    ----------
    value
        NaN where it is not defined.
    low, high
        Bounds of the confidence interval; NaN where it is not known.
    standard_error
        NaN where it is not known; 0 where nothing varies, and then the interval does not rest on it.
    items
        How many items it is taken from.
    reason
        Why the value or its interval is NaN; empty where nothing is.
    """

    value: float
    low: float
    high: float
    standard_error: float
    items: int
    reason: str = ""

    @classmethod
    def undefined(cls, reason: str, items: int = 0) -> Estimate:
        """One that does not exist."""
        return cls(nan, nan, nan, nan, items, reason)


class Value(float):
    """A float that can say why it is NaN.

    Parameters
    ----------
    value
        The number.
    reason
        Why it is NaN; empty where it is a number.

    Examples
    --------
    >>> Value(0.25) * 2
    0.5
    >>> Value.undefined("no group word occurs").reason
    'no group word occurs'
    """

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, value: float, reason: str = "") -> Self:
        """Make one."""
        made = super().__new__(cls, value)
        made.reason = reason
        return made

    @classmethod
    def undefined(cls, reason: str) -> Self:
        """One that does not exist."""
        return cls(nan, reason)
