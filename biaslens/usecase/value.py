"""The value of a metric: a number, or NaN and the reason why there is none."""

from __future__ import annotations

from math import nan
from typing import Self


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
