"""Assess tables: parity of a classifier's predictions, and how alike ranked lists of two groups are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.stats.exchanging import clustered_permutation_p
from biaslens.stats.resampling import RATIO, mean
from biaslens.usecase._framework import DecisionPath
from biaslens.usecase._pairs import beside_itself
from biaslens.usecase._reading import NEUTRAL, Predictions, Recommendations, check_groups, class_name
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
_LISTS_TEST = "that lists of the second group are no less like those of the first than these are like one another"
_SHOWN = 10

Lists = Sequence[tuple[str, ...]]
_Similar = Callable[[Lists, Lists], NDArray[np.float64]]


def classification_measures(
    rows: Predictions, path: DecisionPath, *, positives: Sequence[str], resampling: Resampling
) -> list[Measure]:
    """Parity of every two groups: difference and ratio of each rate that applies, for each class that counts.

    InputError when labels are needed and missing, or a class does not occur.
    """
    found: list[Measure] = []
    positives = [class_name(positive) for positive in dict.fromkeys(positives)]
    wanted = [
        (family, positive, parity)
        for family, parities in PARITIES.items()
        if path.applies(family)
        for positive in positives
        for parity in parities
    ]
    for family, positive, parity in wanted:
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
        sums = parity_sums(*given, positive=positive, groups=pair, directed=True, cluster=rows.cluster, ratio=True)
        ratio = resampling.estimate(sums, fold=RATIO)
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
            p=float(gap.p) if rows.cluster is None else _clustered_p(rows, parity, positive, pair, resampling),
            test="that the rate does not depend on the group (groups exchanged, all counts kept)",
            note="; ".join(f"{one.group}: {one.numerator:,} of {one.denominator:,}" for one in (gap.first, gap.second)),
            **common,  # type: ignore[arg-type]
        )
        yield Measure(metric=f"{name}, ratio", estimate=ratio, direction="1 is fair", **common)  # type: ignore[arg-type]


def _clustered_p(
    rows: Predictions, parity: Parity, positive: str, pair: tuple[object, object], resampling: Resampling
) -> float:
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


def recommendation_measures(
    found: Recommendations, *, k: int, resampling: Resampling, variant: Variant = "paper"
) -> tuple[list[Measure], dict[str, list[Standout]]]:
    """Jaccard-K, SERP-K and PRAG-K of every two groups, and the pairs least alike.

    InputError with fewer than two groups, or when no list has K items.
    """
    groups = list(found.lists)
    if len(groups) < 2:
        only = f"only group {groups[0]!r} is there" if groups else "there are no lists"
        raise InputError(f"{only}; a comparison needs two groups")
    longest = max(len(items) for lists in found.lists.values() for trials in lists.values() for items in trials)
    if longest < k:
        less = f"give --k {longest} or less" if longest else "give lists with items"
        raise InputError(f"no list has {k} items, the longest has {longest}; {less}")
    # What equal lists give.
    most_prag = 1.0 if variant == "langfair" and k == 1 else (k - 1) / (2 * (k + 1))
    metrics: list[tuple[str, _Similar, float]] = [
        (f"Jaccard-{k}", partial(similarities, jaccard_at_k, k=k), 1.0),
        (f"SERP-{k}", partial(similarities, partial(serp_at_k, variant=variant), k=k), 1.0),
        (f"PRAG-{k}", partial(similarities, partial(prag_at_k, variant=variant), k=k), most_prag),
    ]
    check_groups(len(groups), "lists")
    measures: list[Measure] = []
    worst = Worst()
    # Against the neutral lists last: what each group gets that others do not.
    for pair in sorted(combinations(groups, 2), key=lambda pair: NEUTRAL in pair):
        measures += _similar_lists(found, pair, metrics, resampling, worst)
    return corrected(measures), {"Lists least alike": worst.examples()}


def _similar_lists(
    found: Recommendations,
    groups: tuple[str, str],
    metrics: Sequence[tuple[str, _Similar, float]],
    resampling: Resampling,
    worst: Worst,
) -> Iterator[Measure]:
    """Similarity of the lists of two groups pair by pair, beside those of the first group and its own once more."""
    one, two = (found.lists[group] for group in groups)
    names = [name for name in one if name in two]
    pairs = [(i, x, y) for i, name in enumerate(names) for x, y in zip(one[name], two[name], strict=False)]
    triples = []
    for index, name in enumerate(names):
        half = len(one[name]) // 2
        triples += [(index, *each) for each in zip(one[name][:half], two[name], one[name][half:], strict=False)]
    units = np.array([index for index, *_ in pairs], dtype=np.intp)
    triple_units = np.array([index for index, *_ in triples], dtype=np.intp)
    left, right = [x for _, x, _ in pairs], [y for _, _, y in pairs]
    first, second, again = [x for _, x, _, _ in triples], [y for _, _, y, _ in triples], [z for *_, z in triples]
    alone = sum(len(trials) for side in (one, two) for trials in side.values()) - 2 * len(pairs)
    for name, similar, largest in metrics:
        scores = similar(left, right)
        known = ~np.isnan(scores)
        within = similar(first, again)
        itself = mean(within, triple_units, len(names), of="no list that is long enough")
        baseline, p = beside_itself(similar(first, second), within, itself, triple_units, resampling)
        every = mean(scores, units, len(names), of="no pair of lists that are long enough")
        notes = [
            f"equal lists give {largest:.3f}" if largest < 1 else "",
            f"{(~known).sum():,} of {len(units):,} pairs left out: a list is too short" if not known.all() else "",
            f"{alone:,} lists left out because the other group has none to stand opposite" if alone else "",
        ]
        yield Measure(
            family="similarity of lists",
            metric=name,
            attribute=found.column,
            groups=groups,
            estimate=resampling.estimate(every, share=largest == 1),
            units=len(np.unique(units[known])),
            direction="higher is fairer",
            bounds=(0.0, largest),
            baseline=baseline,
            p=p,
            test=_LISTS_TEST,
            note="; ".join(filter(None, notes)),
        )
    for index, score in enumerate(metrics[0][1](left, right)):
        if worst.wants(-score):
            prompts = (found.prompts.get((group, names[units[index]])) for group in groups)
            example = Standout(
                why=f"Jaccard {score:.2f}",
                score=float(score),
                prompts=tuple(prompt for prompt in prompts if prompt),
                texts=tuple(", ".join(items[:_SHOWN]) for items in (left[index], right[index])),
                groups=groups,
            )
            worst.add(example, -score)
