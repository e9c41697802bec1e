"""An interval of a difference of two rates that is sound for small groups and for rates of 0 and 1."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from biaslens.stats import Estimate, weighted_share
from biaslens.usecase.metrics.rates import Labels, Parity, count_rows, values_of
from biaslens.usecase.resampling import GAP


def gap_estimate(
    parity: Parity,
    group: Labels,
    label: Labels | None,
    prediction: Labels,
    *,
    groups: tuple[Hashable, Hashable],
    positive: Hashable = 1,
    cluster: Labels | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Absolute difference of a rate of two groups, with an interval from those of both rates.

    A rate of 0 in a small group does not vary when rows are drawn again, so a bootstrap takes it for certain. Here each
    rate has its Wilson interval :math:`(l_i, u_i)` with t, from `biaslens.stats.weighted_share`, and the difference
    :math:`d = r_1 - r_2` goes from :math:`d - \sqrt{(r_1 - l_1)^2 + (u_2 - r_2)^2}` to
    :math:`d + \sqrt{(u_1 - r_1)^2 + (r_2 - l_2)^2}` (Newcombe, *Statistics in Medicine* 17, 1998, method 10). The
    interval of the absolute difference holds 0 where that does.

    Simulated coverage of the 95 % interval: 96 % for rates of 0.4 and 0.2 in groups of 50, 0.1 and 0.05 in groups of
    200, and 0.5 twice in groups of 20 and 200; 99 % and more for rates up to 0.2 in groups of 10, and for 0 and 0.3 in
    groups of 8 and 100.

    Parameters
    ----------
    parity, group, label, prediction, positive
        As for `parity_gap`.
    groups
        The two groups.
    cluster
        What rows belong to, such as the person, who is of one group; each row its own if not given.
    level
        Confidence level.

    Returns
    -------
    Estimate
        In [0, 1]. NaN, with the reason, where a group has no rate; the interval is NaN where a group's rate is of one
        row or cluster only. The standard error is that of the signed difference.

    Raises
    ------
    ValueError
        As `parity_gap`, and for clusters that are not as many as the rows.

    Examples
    --------
    >>> found = gap_estimate(Parity.DP, ["a"] * 20 + ["b"] * 20, None, [1] * 15 + [0] * 25, groups=("a", "b"))
    >>> found.value, round(found.low, 2), round(found.high, 2)
    (0.75, 0.45, 0.9)
    """
    rows = count_rows(parity, group, label, prediction, positive=positive, groups=groups)
    codes = None
    if cluster is not None:
        names = values_of(cluster, "cluster")
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        codes = np.array([numbers[name] for name in names], dtype=np.int64)
    one, two = (
        weighted_share(
            np.where(rows.denominator & (rows.group == number), rows.numerator, np.nan),
            clusters=codes,
            level=level,
            reason=rows.lacking(name),
        )
        for number, name in enumerate(rows.groups)
    )
    items = one.items + two.items
    difference = one.value - two.value
    if np.isnan(difference):
        return Estimate.undefined(" and ".join(rate.reason for rate in (one, two) if np.isnan(rate.value)), items)
    reasons = [
        f"{rate.items} row{'s' * (rate.items > 1)} of group {name}: {rate.reason}"
        for name, rate in zip(rows.groups, (one, two), strict=True)
        if rate.reason
    ]
    low = difference - np.hypot(one.value - one.low, two.high - two.value)
    high = difference + np.hypot(one.high - one.value, two.value - two.low)
    low, high = GAP.interval(float(low), float(high))
    error = float(np.hypot(one.standard_error, two.standard_error))
    return Estimate(abs(difference), low, high, error, items, "; ".join(reasons))
