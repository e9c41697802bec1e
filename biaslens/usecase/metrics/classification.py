r"""Parity of a classifier between groups: DP, FNRD, FORD, FPRD and FDRD, as difference and as ratio.

Each compares one rate (`biaslens.usecase.metrics.rates`) between groups. The difference of two groups is
:math:`|r_1 - r_2|`, in [0, 1], 0 is fair. The ratio is the smaller rate over the larger, in [0, 1], 1 is fair, whatever
the order of the groups; it is undefined where both rates are 0. With more than two groups the functions give the
largest difference and the smallest ratio over pairs, of the groups that have a rate; `pairwise_gaps` gives them all.
For several classes, name the sensitive one as `positive`, or use `one_vs_rest`.

Source: arXiv 2407.10853.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.metrics.conditional import permutation_p
from biaslens.usecase.metrics.rates import Counted, GroupRate, Labels, Parity, count_rows, values_of
from biaslens.usecase.metrics.variant import Variant, check_variant
from biaslens.usecase.sums import Sums
from biaslens.usecase.value import Value


@dataclass(frozen=True, slots=True)
class PairGap:
    """One rate of two groups.

    Parameters
    ----------
    parity
        Which.
    positive
        The class that counts as positive.
    first, second
        The rates of both.
    difference
        Absolute difference, in [0, 1]; 0 is fair.
    ratio
        Smaller over larger, in [0, 1]; 1 is fair.
    """

    parity: Parity
    positive: Hashable
    first: GroupRate
    second: GroupRate
    difference: Value
    ratio: Value

    @property
    def p(self) -> Value:
        """Exact p-value of the difference for independent rows: `permutation_p`."""
        one, two = self.first, self.second
        return permutation_p(one.numerator, one.denominator, two.numerator, two.denominator)


def demographic_parity(
    group: Labels, prediction: Labels, *, positive: Hashable = 1, ratio: bool = False, variant: Variant = "paper"
) -> Value:
    """DP, of the share of rows that are predicted positive; options and errors as for `parity_gap`.

    Examples
    --------
    2 of 4 against 1 of 4.

    >>> demographic_parity(["a"] * 4 + ["b"] * 4, [1, 1, 0, 0, 1, 0, 0, 0])
    0.25
    >>> demographic_parity(["a"] * 4 + ["b"] * 4, [1, 1, 0, 0, 1, 0, 0, 0], ratio=True)
    0.5
    """
    return parity_gap(Parity.DP, group, None, prediction, positive=positive, ratio=ratio, variant=variant)


def false_negative_rate_parity(
    group: Labels,
    label: Labels,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    ratio: bool = False,
    variant: Variant = "paper",
) -> Value:
    """FNRD, of the share of positives that are predicted negative; options and errors as for `parity_gap`."""
    return parity_gap(Parity.FNRD, group, label, prediction, positive=positive, ratio=ratio, variant=variant)


def false_omission_rate_parity(
    group: Labels,
    label: Labels,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    ratio: bool = False,
    variant: Variant = "paper",
) -> Value:
    """FORD, of the share of negative predictions that are positives; options and errors as for `parity_gap`."""
    return parity_gap(Parity.FORD, group, label, prediction, positive=positive, ratio=ratio, variant=variant)


def false_positive_rate_parity(
    group: Labels,
    label: Labels,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    ratio: bool = False,
    variant: Variant = "paper",
) -> Value:
    """FPRD, of the share of negatives that are predicted positive; options and errors as for `parity_gap`."""
    return parity_gap(Parity.FPRD, group, label, prediction, positive=positive, ratio=ratio, variant=variant)


def false_discovery_rate_parity(
    group: Labels,
    label: Labels,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    ratio: bool = False,
    variant: Variant = "paper",
) -> Value:
    """FDRD, of the share of positive predictions that are negatives; options and errors as for `parity_gap`."""
    return parity_gap(Parity.FDRD, group, label, prediction, positive=positive, ratio=ratio, variant=variant)


def parity_gap(
    parity: Parity,
    group: Labels,
    label: Labels | None,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    groups: Iterable[Hashable] | None = None,
    ratio: bool = False,
    variant: Variant = "paper",
) -> Value:
    """The largest difference, or the smallest ratio, of a rate between groups.

    Parameters
    ----------
    parity
        Which rate.
    group, label, prediction
        Of each row: lists or arrays of any labels. The label is not needed for demographic parity.
    positive
        The class that counts as positive; all others are negative.
    groups
        The groups to compare; all if not given.
    ratio
        The smaller rate over the larger, and not their difference.
    variant
        `langfair`: that toolkit's ratio is the first of two groups, in order of their labels, over the second, so it
        may be above 1; it has none where a rate is 0 (for DP, where the second is). The difference is the same.

    Returns
    -------
    Value
        In [0, 1]. NaN, with the reason, where fewer than two groups have a rate, and for a ratio where all rates are 0.

    Raises
    ------
    ValueError
        For columns of different lengths, rows without a value, fewer than two groups, a group that does not occur, or
        a positive class that is none of several values that occur; for `langfair` also more than two groups.
    """
    check_variant(variant)
    rows = count_rows(parity, group, label, prediction, positive=positive, groups=groups)
    if ratio and variant == "langfair":
        return _langfair_ratio(rows)
    return sums_of(rows, np.arange(len(rows.group)), ratio=ratio).value()


def pairwise_gaps(
    parity: Parity, group: Labels, label: Labels | None, prediction: Labels, *, positive: Hashable = 1
) -> list[PairGap]:
    """Difference and ratio of a rate for every two groups, in order of their labels.

    Parameters and errors as for `parity_gap`. A pair with a group that has no rate is NaN, with the reason.

    Examples
    --------
    >>> gaps = pairwise_gaps(Parity.DP, ["a", "a", "b", "b", "c", "c"], None, [1, 1, 1, 0, 0, 0])
    >>> [(gap.first.group, gap.second.group, gap.difference, gap.ratio) for gap in gaps]
    [('a', 'b', 0.5, 0.5), ('a', 'c', 1.0, 0.0), ('b', 'c', 0.5, 0.0)]
    """
    rows = count_rows(parity, group, label, prediction, positive=positive)
    return [_pair(rows, positive, one, two) for one, two in combinations(rows.rates(), 2)]


def one_vs_rest(
    parity: Parity,
    group: Labels,
    label: Labels | None,
    prediction: Labels,
    *,
    sensitive: Iterable[Hashable],
) -> dict[Hashable, list[PairGap]]:
    """`pairwise_gaps` for each sensitive class against the rest, for classifiers of several classes."""
    g, p = values_of(group, "group"), values_of(prediction, "prediction")
    y = None if label is None else values_of(label, "label")
    return {name: pairwise_gaps(parity, g, y, p, positive=name) for name in sensitive}


def parity_sums(
    parity: Parity,
    group: Labels,
    label: Labels | None,
    prediction: Labels,
    *,
    positive: Hashable = 1,
    groups: Iterable[Hashable] | None = None,
    ratio: bool = False,
    directed: bool = False,
    cluster: Labels | None = None,
) -> Sums:
    """`parity_gap` over rows, or clusters of rows.

    Parameters
    ----------
    parity, group, label, prediction, positive, groups, ratio
        As for `parity_gap`.
    directed
        For two groups: the first one's rate less the second's; for the ratio the first rate over the sum of both. The
        bootstrap needs the direction, and takes it out with `GAP` or `RATIO` of `biaslens.usecase.resampling`.
    cluster
        What rows belong to, such as the person; it is the unit then. Each row is its own if not given.

    Raises
    ------
    ValueError
        As `parity_gap`; for clusters that are not as many as the rows, or a direction between more than two groups.
    """
    rows = count_rows(parity, group, label, prediction, positive=positive, groups=groups)
    units = np.arange(len(rows.group))
    if cluster is not None:
        names = values_of(cluster, "cluster")
        if len(names) != len(units):
            raise ValueError(f"cluster ({len(names)} rows) and group ({len(units)}) must be of one length")
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        units = np.array([numbers[name] for name in names], dtype=np.intp)
    if directed and len(rows.groups) != 2:
        raise ValueError(f"a direction is between two groups, and not {len(rows.groups)}; name two as groups")
    return sums_of(rows, units, ratio=ratio, directed=directed)


def sums_of(rows: Counted, units: NDArray[np.intp], *, ratio: bool = False, directed: bool = False) -> Sums:
    """Numerators and denominators of all groups by unit, shape (units, 2 * groups), and the gap as their statistic."""
    width = 2 * len(rows.groups)
    cells = units * width + 2 * rows.group
    size = (int(units.max(initial=-1)) + 1) * width
    counts = np.bincount(cells[rows.numerator], minlength=size) + np.bincount(
        cells[rows.denominator] + 1, minlength=size
    )

    def statistic(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        return _gap(totals, ratio=ratio, directed=directed)

    def reason(totals: NDArray[np.float64]) -> str:
        none = [name for name, rows_of in zip(rows.groups, totals[1::2], strict=True) if not rows_of]
        return rows.lacking(*none) if len(rows.groups) - len(none) < 2 else "the rate is 0 in every group"

    return Sums(counts.reshape(-1, width).astype(np.float64), statistic, reason)


def _gap(totals: NDArray[np.float64], *, ratio: bool, directed: bool) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(totals[..., 1::2] > 0, totals[..., ::2] / totals[..., 1::2], np.nan)
        if directed:
            one, two = rates[..., 0], rates[..., 1]
            return one / (one + two) if ratio else one - two
        low, high = np.fmin.reduce(rates, axis=-1), np.fmax.reduce(rates, axis=-1)
        gap = low / high if ratio else high - low
    return np.where((~np.isnan(rates)).sum(axis=-1) > 1, gap, np.nan)


def _pair(rows: Counted, positive: Hashable, one: GroupRate, two: GroupRate) -> PairGap:
    totals = np.array([one.numerator, one.denominator, two.numerator, two.denominator], dtype=np.float64)
    none = [rate.group for rate in (one, two) if not rate.denominator]
    reason = rows.lacking(*none) if none else "the rate is 0 in both groups"
    difference, ratio = (Value(float(_gap(totals, ratio=ratio, directed=False))) for ratio in (False, True))
    return PairGap(
        rows.parity,
        positive,
        one,
        two,
        Value.undefined(reason) if np.isnan(difference) else difference,
        Value.undefined(reason) if np.isnan(ratio) else ratio,
    )


def _langfair_ratio(rows: Counted) -> Value:
    if len(rows.groups) != 2:
        raise ValueError(f"variant: langfair compares two groups, and not {len(rows.groups)}")
    one, two = (rate.value for rate in rows.rates())
    if not two > 0 or (rows.parity is not Parity.DP and not one > 0):
        return Value.undefined("LangFair has no ratio where a rate is 0 or missing")
    return Value(one / two)
