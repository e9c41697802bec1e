"""A number with its uncertainty, or the reason why there is none."""

from __future__ import annotations

from math import isnan, nan
from typing import Self


class Estimate(float):
    """An estimated number: a float that knows its interval, and why it is NaN. It compares as its value does.

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
        Why the value or its interval is NaN; empty where nothing is, and for a metric that was not resampled.

    Examples
    --------
    >>> Estimate(0.25) * 2
    0.5
    >>> Estimate(0.25, 0.125, 0.5, 0.1, 40)
    Estimate(0.25, low=0.125, high=0.5, standard_error=0.1, items=40)
    >>> Estimate.undefined("no group word occurs").reason
    'no group word occurs'
    """

    __slots__ = ("high", "items", "low", "reason", "standard_error")

    low: float
    high: float
    standard_error: float
    items: int
    reason: str

    def __new__(  # noqa: PLR0917
        cls,
        value: float,
        low: float = nan,
        high: float = nan,
        standard_error: float = nan,
        items: int = 0,
        reason: str = "",
    ) -> Self:
        """Make one."""
        made = super().__new__(cls, value)
        made.low, made.high, made.standard_error, made.items, made.reason = low, high, standard_error, items, reason
        return made

    @classmethod
    def undefined(cls, reason: str, items: int = 0) -> Self:
        """One that does not exist."""
        return cls(nan, items=items, reason=reason)

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def __repr__(self) -> str:
        number = super().__repr__()
        if isnan(self.low) and isnan(self.standard_error):
            return number
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("low", "high", "standard_error", "items"))
        return f"Estimate({number}, {shown})"

    # A float would be written as its repr.
    def __str__(self) -> str:
        return super().__repr__()
