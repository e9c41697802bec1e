"""Assess a classifier's predictions: parity of every two groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.stats import Estimate
from biaslens.stats.exchanging import clustered_permutation_p
from biaslens.stats.resampling import RATIO
from biaslens.stats.sums import mean
from biaslens.usecase._framework import DecisionPath
from biaslens.usecase._opposed import ASKED_ONCE, gap_of
from biaslens.usecase._reading import NEUTRAL, Predictions, Recommendations, class_name
from biaslens.usecase._result import Measure, Resampling, Standout, Worst, corrected
from biaslens.usecase.metrics import Variant
from biaslens.usecase.metrics._classification import (
    ASSISTIVE,
    PUNITIVE,
    REPRESENTATION,
    Parity,
    count_rows,
    gap_estimate,
    pairwise_gaps,
    parity_sums,
)
from biaslens.usecase.metrics._recommendation import jaccard_at_k, prag_at_k, serp_at_k, similarities

PARITIES = {"representation": REPRESENTATION, "misses": ASSISTIVE, "false alarms": PUNITIVE}
"""Metrics of each family of classification."""


_NAMES = {
    Parity.DP: "Demographic parity (DP)",
    Parity.FNRD: "False negative rate (FNRD)",
    Parity.FORD: "False omission rate (FORD)",
    Parity.FPRD: "False positive rate (FPRD)",
    Parity.FDRD: "False discovery rate (FDRD)",
}


def classification_measures(
    rows: Predictions, path: DecisionPath, *, positives: Sequence[str], resampling: Resampling
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


_LISTS_TEST = "that lists of the second group are no less like those of the first than these are like one another"

_FAMILY = "similarity of lists"
_SHOWN = 10

Lists = Sequence[tuple[str, ...]]
_Similar = Callable[[Lists, Lists], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class _Metric:
    """A measure of two lists, and what equal ones give."""

    name: str
    similar: _Similar
    largest: float


@dataclass(frozen=True, eq=False)
class _Opposed:
    """Lists of two groups pair by pair, and of a third kind: the first group's once more."""

    column: str
    groups: tuple[str, str]
    pairs: tuple[Lists, Lists]
    units: NDArray[np.intp]
    triples: tuple[Lists, Lists, Lists]
    triple_units: NDArray[np.intp]
    names: Sequence[str]
    alone: int


def recommendation_measures(
    found: Recommendations, *, k: int, resampling: Resampling, variant: Variant = "paper"
) -> tuple[list[Measure], dict[str, list[Standout]]]:
    """Jaccard-K, SERP-K and PRAG-K of every two groups, and the pairs least alike.

    Raises
    ------
    InputError
        With fewer than two groups, or when no list has K items.
    """
    groups = list(found.lists)
    if len(groups) < 2:
        only = f"only group {groups[0]!r} is there" if groups else "there are no lists"
        raise InputError(f"{only}; a comparison needs two groups")
    lengths = [len(items) for lists in found.lists.values() for trials in lists.values() for items in trials]
    if max(lengths) < k:
        less = f"give --k {max(lengths)} or less" if max(lengths) else "give lists with items"
        raise InputError(f"no list has {k} items, the longest has {max(lengths)}; {less}")
    metrics = (
        _Metric(f"Jaccard-{k}", partial(similarities, jaccard_at_k, k=k), 1.0),
        _Metric(f"SERP-{k}", partial(similarities, partial(serp_at_k, variant=variant), k=k), 1.0),
        _Metric(f"PRAG-{k}", partial(similarities, partial(prag_at_k, variant=variant), k=k), _most_prag(k, variant)),
    )
    measures: list[Measure] = []
    worst = Worst()
    # Against the neutral lists last: what each group gets that others do not.
    for a, b in sorted(combinations(groups, 2), key=lambda pair: NEUTRAL in pair):
        opposed = _opposed(found, a, b)
        measures += [_measure(opposed, metric, resampling) for metric in metrics]
        _keep_worst(worst, found, opposed, metrics[0].similar)
    return corrected(measures), {"Lists least alike": worst.examples()}


def _most_prag(k: int, variant: Variant) -> float:
    """What PRAG-K is for equal lists."""
    return 1.0 if variant == "langfair" and k == 1 else (k - 1) / (2 * (k + 1))


def _opposed(found: Recommendations, a: str, b: str) -> _Opposed:
    one, two = found.lists[a], found.lists[b]
    names = [name for name in one if name in two]
    lists = sum(len(trials) for side in (one, two) for trials in side.values())
    pairs = [(i, x, y) for i, name in enumerate(names) for x, y in zip(one[name], two[name], strict=False)]
    triples = []
    for index, name in enumerate(names):
        half = len(one[name]) // 2
        triples += [(index, *each) for each in zip(one[name][:half], two[name], one[name][half:], strict=False)]
    return _Opposed(
        column=found.column,
        groups=(a, b),
        pairs=([x for _, x, _ in pairs], [y for _, _, y in pairs]),
        units=np.array([i for i, _, _ in pairs], dtype=np.intp),
        triples=([x for _, x, _, _ in triples], [y for _, _, y, _ in triples], [z for _, _, _, z in triples]),
        triple_units=np.array([i for i, *_ in triples], dtype=np.intp),
        names=names,
        alone=lists - 2 * len(pairs),
    )


def _measure(opposed: _Opposed, metric: _Metric, resampling: Resampling) -> Measure:
    scores = metric.similar(*opposed.pairs)
    count, known = len(opposed.names), ~np.isnan(scores)
    short = int((~known).sum())
    first, second, again = opposed.triples
    baseline, p = Estimate.undefined(ASKED_ONCE), nan
    if first:
        within = metric.similar(first, again)
        baseline = resampling.estimate(mean(within, opposed.triple_units, count, of="no list that is long enough"))
        p = resampling.p(gap_of(metric.similar(first, second), within, opposed.triple_units, count))
    return Measure(
        family=_FAMILY,
        metric=metric.name,
        attribute=opposed.column,
        groups=opposed.groups,
        estimate=resampling.estimate(mean(scores, opposed.units, count, of="no pair of lists that are long enough"),
                                     share=metric.largest == 1),
        units=len(np.unique(opposed.units[known])),
        direction="higher is fairer",
        bounds=(0.0, metric.largest),
        baseline=baseline,
        p=p,
        test=_LISTS_TEST,
        note="; ".join(_notes(metric, opposed, short)),
    )  # fmt: skip


def _notes(metric: _Metric, opposed: _Opposed, short: int) -> Iterator[str]:
    if metric.largest < 1:
        yield f"equal lists give {metric.largest:.3f}"
    if short:
        yield f"{short:,} of {len(opposed.units):,} pairs left out: a list is too short"
    if opposed.alone:
        yield f"{opposed.alone:,} lists left out because the other group has none to stand opposite"


def _keep_worst(worst: Worst, found: Recommendations, opposed: _Opposed, similar: _Similar) -> None:
    first, second = opposed.pairs
    for index, score in enumerate(similar(first, second)):
        if worst.wants(-score):
            name = opposed.names[opposed.units[index]]
            prompts = (found.prompts.get((group, name)) for group in opposed.groups)
            example = Standout(
                why=f"Jaccard {score:.2f}",
                score=float(score),
                prompts=tuple(prompt for prompt in prompts if prompt),
                texts=tuple(", ".join(items[:_SHOWN]) for items in (first[index], second[index])),
                groups=opposed.groups,
            )
            worst.add(example, -score)
