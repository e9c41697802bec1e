"""Assess recommendations: how alike the lists of two groups are, beside two lists of one group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.stats import Estimate
from biaslens.usecase.assessing.counterfactual import ASKED_ONCE, gap_of
from biaslens.usecase.assessing.measuring import Resampling, corrected
from biaslens.usecase.assessing.worst import Worst
from biaslens.usecase.metrics.recommendation import jaccard_at_k, prag_at_k, serp_at_k, similarities
from biaslens.usecase.metrics.variant import Variant
from biaslens.usecase.reading import check_groups
from biaslens.usecase.result import Example, Measure
from biaslens.usecase.sums import mean

NEUTRAL = "neutral"
"""Group of the lists made for nobody in particular."""

TEST = "that lists of the second group are no less like those of the first than these are like one another"

_FAMILY = "similarity of lists"
_SHOWN = 10

Lists = Sequence[tuple[str, ...]]
_Similar = Callable[[Lists, Lists], NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class Recommendations:
    """Ranked lists, by group, prompt and trial.

    Parameters
    ----------
    column
        What the groups are: "gender".
    lists
        By group, then by prompt id, the lists of its trials; items are distinct.
    prompts
        What was asked, by group and prompt id, where it is known.
    repeated
        Items that stood in a list twice and were taken out.
    """

    column: str
    lists: Mapping[str, Mapping[str, Sequence[tuple[str, ...]]]]
    prompts: Mapping[tuple[str, str], str]
    repeated: int = 0


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
) -> tuple[list[Measure], dict[str, list[Example]]]:
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
    check_groups(len(groups), "lists")
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
        test=TEST,
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
            example = Example(
                why=f"Jaccard {score:.2f}",
                score=float(score),
                prompts=tuple(prompt for prompt in prompts if prompt),
                texts=tuple(", ".join(items[:_SHOWN]) for items in (first[index], second[index])),
                groups=opposed.groups,
            )
            worst.add(example, -score)
