"""Assess a classifier's predictions: parity of every two groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from biaslens.errors import InputError
from biaslens.usecase.assessing.measuring import Resampling, corrected
from biaslens.usecase.framework import Path
from biaslens.usecase.metrics.classification import pairwise_gaps, parity_sums
from biaslens.usecase.metrics.conditional import clustered_permutation_p
from biaslens.usecase.metrics.gap_interval import gap_estimate
from biaslens.usecase.metrics.rates import ASSISTIVE, PUNITIVE, REPRESENTATION, Parity, count_rows
from biaslens.usecase.resampling import RATIO
from biaslens.usecase.result import Measure

PARITIES = {"representation": REPRESENTATION, "misses": ASSISTIVE, "false alarms": PUNITIVE}
"""Metrics of each family of classification."""

_WHOLE = re.compile(r"([+-]?\d+)\.0+")

_NAMES = {
    Parity.DP: "Demographic parity (DP)",
    Parity.FNRD: "False negative rate (FNRD)",
    Parity.FORD: "False omission rate (FORD)",
    Parity.FPRD: "False positive rate (FPRD)",
    Parity.FDRD: "False discovery rate (FDRD)",
}


def class_name(value: str) -> str:
    """A class as text; a whole number is one class, however it is written, as many tools write 1 as 1.0.

    Examples
    --------
    >>> class_name("1.0"), class_name("0.5"), class_name("hired")
    ('1', '0.5', 'hired')
    """
    whole = _WHOLE.fullmatch(value)
    return whole[1] if whole else value


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A classifier's predictions, all values as text.

    Parameters
    ----------
    column
        What the groups are: "sex".
    group, prediction
        Of each row.
    label
        The truth, of each row; None where it is not known.
    cluster
        What rows belong to, such as a person; None where each stands alone.
    left_out
        Rows without a group, label or prediction.
    """

    column: str
    group: Sequence[str]
    prediction: Sequence[str]
    label: Sequence[str] | None = None
    cluster: Sequence[str] | None = None
    left_out: int = 0


def classification_measures(
    rows: Predictions, path: Path, *, positives: Sequence[str], resampling: Resampling
) -> list[Measure]:
    """Parity of every two groups: difference and ratio of each rate that applies, for each class that counts.

    Raises
    ------
    InputError
        When labels are needed and missing, or a class does not occur.
    """
    found: list[Measure] = []
    positives = [class_name(positive) for positive in dict.fromkeys(positives)]
    for family, parities in PARITIES.items():
        if not path.applies(family):
            continue
        for positive in positives:
            for parity in parities:
                try:
                    found += _parity(rows, family, parity, positive, resampling, several=len(positives) > 1)
                except ValueError as error:
                    raise InputError(str(error)) from None
    return corrected(found)


def _parity(
    rows: Predictions, family: str, parity: Parity, positive: str, resampling: Resampling, *, several: bool
) -> Iterator[Measure]:
    given = (parity, rows.group, rows.label, rows.prediction)
    name = _NAMES[parity] + (f", {positive}" if several else "")
    for gap in pairwise_gaps(*given, positive=positive):
        pair = (gap.first.group, gap.second.group)
        options = {"positive": positive, "groups": pair, "directed": True, "cluster": rows.cluster}
        rates = "; ".join(f"{one.group}: {one.numerator:,} of {one.denominator:,}" for one in (gap.first, gap.second))
        ratio = resampling.estimate(parity_sums(*given, **options, ratio=True), fold=RATIO)  # type: ignore[arg-type]
        difference = gap_estimate(*given, groups=pair, positive=positive, cluster=rows.cluster, level=resampling.level)
        common = {
            "family": family,
            "attribute": rows.column,
            "groups": tuple(map(str, pair)),
            # Only the rows that the two rates are taken of: the positives, say, and not all.
            "units": ratio.items,
            "unit": "rows" if rows.cluster is None else "clusters",
            "smallest": min(gap.first.denominator, gap.second.denominator),
        }
        yield Measure(
            metric=f"{name}, difference",
            estimate=difference,
            direction="lower is fairer",
            p=_p(rows, parity, positive, pair, resampling) if rows.cluster is not None else float(gap.p),
            test="that the rate does not depend on the group (groups exchanged, all counts kept)",
            note=rates,
            **common,  # type: ignore[arg-type]
        )
        yield Measure(
            metric=f"{name}, ratio",
            estimate=ratio,
            direction="1 is fair",
            **common,  # type: ignore[arg-type]
        )


def _p(rows: Predictions, parity: Parity, positive: str, pair: tuple[object, object], resampling: Resampling) -> float:
    """p-value where rows cluster; NaN where a cluster has rows of both groups, which then cannot be exchanged."""
    assert rows.cluster is not None
    counted = count_rows(parity, rows.group, rows.label, rows.prediction, positive=positive, groups=pair)
    places: dict[str, int] = {}
    kept = [index for index, group in enumerate(rows.group) if group in pair]
    units = np.array([places.setdefault(rows.cluster[index], len(places)) for index in kept], dtype=np.intp)
    group, above, below = (each[kept] for each in (counted.group, counted.numerator, counted.denominator))
    second = np.bincount(units, group, len(places)) / np.bincount(units, minlength=len(places))
    if not np.isin(second, (0.0, 1.0)).all():
        return float("nan")
    successes, trials = (np.bincount(units[one], minlength=len(places)) for one in (above, below))
    return float(
        clustered_permutation_p(successes, trials, second == 1, rounds=resampling.exchanges, seed=resampling.seed)
    )
