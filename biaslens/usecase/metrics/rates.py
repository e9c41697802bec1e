"""The rates that parity of a classifier is about, group by group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.value import Value

Labels = Iterable[Hashable] | NDArray[np.generic]
"""One label of any kind a row: a list, an array, or a column of a table."""


class Parity(StrEnum):
    r"""What should be equal between groups; Y is the true label, :math:`\hat Y` the prediction, G the group.

    Source: arXiv 2407.10853. Where an intervention helps people, those who miss it wrongly matter (FNRD, FORD); where
    it punishes, those who meet it wrongly (FPRD, FDRD); DP where equal predicted prevalence is what fairness means.
    """

    DP = "DP"
    r"""Demographic parity: predicted prevalence, :math:`P(\hat Y = 1 | G)`."""
    FNRD = "FNRD"
    r"""False negative rate, :math:`P(\hat Y = 0 | Y = 1, G)`."""
    FORD = "FORD"
    r"""False omission rate, :math:`P(Y = 1 | \hat Y = 0, G)`."""
    FPRD = "FPRD"
    r"""False positive rate, :math:`P(\hat Y = 1 | Y = 0, G)`."""
    FDRD = "FDRD"
    r"""False discovery rate, :math:`P(Y = 0 | \hat Y = 1, G)`."""


REPRESENTATION = (Parity.DP,)
ASSISTIVE = (Parity.FNRD, Parity.FORD)
PUNITIVE = (Parity.FPRD, Parity.FDRD)

AMONG = {
    Parity.DP: "rows",
    Parity.FNRD: "positives",
    Parity.FORD: "negative predictions",
    Parity.FPRD: "negatives",
    Parity.FDRD: "positive predictions",
}
"""What each rate is a share of."""


@dataclass(frozen=True, slots=True)
class GroupRate:
    """A rate of one group.

    Parameters
    ----------
    group
        Its label.
    value
        In [0, 1]; NaN with the reason where the denominator is 0.
    numerator, denominator
        Rows.
    """

    group: Hashable
    value: Value
    numerator: int
    denominator: int


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Rows read for one rate.

    Parameters
    ----------
    parity
        Which.
    groups
        Labels of the groups, in order.
    group
        Number of each row's group, shape (rows,).
    numerator, denominator
        Whether each row counts in the rate, and among what it is taken of, shape (rows,).
    """

    parity: Parity
    groups: tuple[Hashable, ...]
    group: NDArray[np.intp]
    numerator: NDArray[np.bool_]
    denominator: NDArray[np.bool_]

    def rates(self) -> list[GroupRate]:
        """The rate of each group."""
        count = len(self.groups)
        above = np.bincount(self.group[self.numerator], minlength=count).tolist()
        below = np.bincount(self.group[self.denominator], minlength=count).tolist()
        return [
            GroupRate(name, Value(a / b) if b else Value.undefined(self.lacking(name)), a, b)
            for name, a, b in zip(self.groups, above, below, strict=True)
        ]

    def lacking(self, *groups: Hashable) -> str:
        """Why these groups have no rate."""
        names = " and ".join(str(group) for group in groups)
        return f"group{'s' * (len(groups) > 1)} {names} {'have' if len(groups) > 1 else 'has'} no {AMONG[self.parity]}"


def group_rates(
    parity: Parity, group: Labels, label: Labels | None, prediction: Labels, *, positive: Hashable = 1
) -> list[GroupRate]:
    """The rate of each group, with its numerator and denominator.

    Parameters
    ----------
    parity
        Which rate.
    group, label, prediction
        Of each row; the label is not needed for demographic parity.
    positive
        The label and prediction that counts as positive; every other one is negative (one against the rest).

    Returns
    -------
    list of GroupRate
        In the order of the groups' labels. Rates of exactly 0 and 1 are rates like others; a rate of nothing is NaN.

    Raises
    ------
    ValueError
        As `count_rows`.

    Examples
    --------
    Of two positives in group a one is missed, of one in group b none.

    >>> rates = group_rates(Parity.FNRD, ["a", "a", "a", "b"], [1, 1, 0, 1], [1, 0, 0, 1])
    >>> [(rate.group, rate.value, rate.numerator, rate.denominator) for rate in rates]
    [('a', 0.5, 1, 2), ('b', 0.0, 0, 1)]
    """
    return count_rows(parity, group, label, prediction, positive=positive).rates()


def count_rows(
    parity: Parity,
    group: Labels,
    label: Labels | None,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    groups: Iterable[Hashable] | None = None,
) -> Counted:
    """Read rows for one rate.

    Parameters
    ----------
    parity, group, label, prediction, positive
        As for `group_rates`.
    groups
        The groups to compare, in this order; all if not given. Rows of others count in none.

    Raises
    ------
    ValueError
        For columns of different lengths, rows without a value, fewer than two groups, a group that does not occur, a
        missing label, or a positive class that is none of several values that occur.
    """
    g, p = values_of(group, "group"), values_of(prediction, "prediction")
    if label is None and parity is not Parity.DP:
        raise ValueError(f"{parity} compares predictions with labels; give the labels")
    y = values_of(label, "label") if label is not None and parity is not Parity.DP else p
    if not len(g) == len(p) == len(y):
        raise ValueError(f"group ({len(g)} rows), label ({len(y)}) and prediction ({len(p)}) must be of one length")
    found = set(y) | set(p)
    if positive not in found and len(found) > 1:
        some = ", ".join(sorted(map(repr, found))[:5])
        raise ValueError(f"positive: {positive!r} is no label or prediction; those are {some}")
    names = _groups(g, groups)
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.fromiter((numbers.get(name, -1) for name in g), dtype=np.intp, count=len(g))
    yes = np.fromiter((value == positive for value in y), dtype=np.bool_, count=len(y))
    said = np.fromiter((value == positive for value in p), dtype=np.bool_, count=len(p))
    numerator, denominator = _counts(parity, yes, said)
    kept = codes >= 0
    return Counted(parity, names, np.where(kept, codes, 0), numerator & kept, denominator & kept)


def _counts(
    parity: Parity, yes: NDArray[np.bool_], said: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Numerator and denominator of a rate by row."""
    match parity:
        case Parity.DP:
            return said, np.ones_like(said)
        case Parity.FNRD:
            return yes & ~said, yes
        case Parity.FORD:
            return yes & ~said, ~said
        case Parity.FPRD:
            return said & ~yes, ~yes
        case Parity.FDRD:
            return said & ~yes, said


def values_of(column: Labels, name: str) -> list[Hashable]:
    """A column as a list of plain values.

    Raises
    ------
    ValueError
        When one is missing (None, or NaN).
    """
    values: list[Hashable] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    # NaN is the one value that differs from itself.
    missing = next((row for row, value in enumerate(values) if value is None or value != value), None)  # noqa: PLR0124
    if missing is not None:
        raise ValueError(f"row {missing} (from 0) has no {name}; leave such rows out")
    return values


def _groups(column: list[Hashable], asked: Iterable[Hashable] | None) -> tuple[Hashable, ...]:
    """Labels of the groups: as asked for, or sorted."""
    found = set(column)
    if asked is not None:
        names = tuple(dict.fromkeys(asked))
        unknown = next((name for name in names if name not in found), None)
        if unknown is not None:
            raise ValueError(f"group {unknown!r} has no row; groups are {', '.join(sorted(map(str, found)))}")
    else:
        try:
            names = tuple(sorted(found))  # type: ignore[type-var]  # labels of one kind have an order
        except TypeError:
            names = tuple(sorted(found, key=lambda name: (type(name).__name__, str(name))))
    if len(names) < 2:
        only = f"only group {names[0]!r} is there" if names else "there are no rows"
        raise ValueError(f"{only}; a comparison needs two groups")
    return names
