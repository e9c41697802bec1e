"""Assess tables: parity of a classifier's predictions, and how alike the ranked lists of two groups are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import combinations, product
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
import pandas as pd

from biaslens.errors import InputError
from biaslens.stats.comparison import clustered_permutation_p
from biaslens.stats.resampling import RATIO
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._pairs import Floats, Opposed, Rows, Side
from biaslens.usecase._reading import Table, check_groups, columns_of, frames, name_of, read_clusters, records
from biaslens.usecase._result import Assessment, Measure, Resampling, Standout, Worst, corrected, record
from biaslens.usecase._spec import Intervention, UseCase, check_unawareness, classification_path, recommendation_path
from biaslens.usecase.metrics import Variant
from biaslens.usecase.metrics import _classification as rates
from biaslens.usecase.metrics._similarity import ListMeasure, jaccard_at_k, prag_at_k, serp_at_k, similarities

_PARITIES = {"representation": ["DP"], "misses": ["FNRD", "FORD"], "false alarms": ["FPRD", "FDRD"]}
_WHOLE = re.compile(r"\A([+-]?\d+)\.0+\Z")


class Predictions(NamedTuple):
    """A classifier's predictions, all values as text; `column` says what the groups are, such as "sex"."""

    column: str
    group: Sequence[str]
    prediction: Sequence[str]
    label: Sequence[str] | None
    cluster: Sequence[str] | None
    left_out: int


def _class_name(value: str) -> str:
    """A class as text; a whole number is one class, however it is written, as many tools write 1 as 1.0."""
    return _WHOLE.sub(r"\1", value)


def read_predictions(
    source: Table, *, group: str, label: str | None, prediction: str, cluster: str | None = None
) -> Predictions:
    """Read a classifier's predictions; rows without a group, label or prediction are left out and counted."""
    columns = list(dict.fromkeys(name for name in (group, prediction, label, cluster) if name is not None))
    whole = pd.concat(list(frames(source, required=columns)), ignore_index=True)[columns]
    stripped = whole.apply(lambda column: column.str.strip())
    complete = stripped[(stripped != "").all(axis=1)]
    if complete.empty:
        raise InputError(f"no row has values in all of {', '.join(columns)}")
    predicted = list(map(_class_name, complete[prediction]))
    labels = None if label is None else list(map(_class_name, complete[label]))
    clusters = None if cluster is None else list(complete[cluster])
    return Predictions(group, list(complete[group]), predicted, labels, clusters, len(whole) - len(complete))


def assess_predictions(
    source: Table,
    *,
    group: str,
    prediction: str,
    label: str | None = None,
    cluster: str | None = None,
    positives: Sequence[str] = ("1",),
    parity: bool = False,
    intervention: Intervention | None = None,
    families: Sequence[str] | None = None,
    resampling: Resampling | None = None,
) -> Assessment:
    """Assess a use case that classifies, by a table with a row a prediction; InputError when it cannot be used.

    The columns hold the protected group, what was predicted, the truth, and what rows belong to, such as a person.
    `positives` are the classes that count, each against all others; `parity` says whether equal predicted prevalence is
    what fairness means here, `intervention` what a positive prediction leads to. `families` are those of metrics to
    measure instead of those that apply.
    """
    resampling = resampling or Resampling()
    rows = read_predictions(source, group=group, label=label, prediction=prediction, cluster=cluster)
    groups = sorted(set(rows.group))
    check_groups(len(groups), f"column {group!r}")
    path = classification_path(groups=groups, column=group, parity=parity, intervention=intervention, wanted=families)
    wanted = {family: parities for family, parities in _PARITIES.items() if path.applies(family)}
    if label is None and wanted.keys() - {"representation"}:
        raise InputError(
            "these metrics compare predictions with the truth; give the column of labels, or ask for parity"
        )
    measures: list[Measure] = []
    classes = [_class_name(positive) for positive in dict.fromkeys(positives)]
    try:
        for (family, parities), positive in product(wanted.items(), classes):
            for one in map(rates.Parity, parities):
                measures += _parity(rows, family, one, positive, resampling, several=len(classes) > 1)
    except ValueError as error:
        raise InputError(str(error)) from None
    counts = {"rows": len(rows.group), "left out for a missing value": rows.left_out}
    counts |= {f"of {name}": rows.group.count(name) for name in groups}
    warnings = []
    if cluster is None:
        warnings.append("Rows count as independent. If several are of one person, name the column that says which.")
    elif any(measure.test and np.isnan(measure.p) and not measure.estimate.reason for measure in measures):
        warnings.append("There is no p-value where a cluster has rows of both groups.")
    return Assessment(
        task=str(UseCase.CLASSIFICATION),
        source=f"predictions of {name_of(source)}",
        counts={what: count for what, count in counts.items() if count},
        steps=path.steps,
        families=path.families,
        measures=corrected(measures),
        warnings=warnings,
        record=record(resampling=asdict(resampling), positive_classes=list(positives)),
    )


def _parity(
    rows: Predictions, family: str, parity: rates.Parity, positive: str, resampling: Resampling, *, several: bool
) -> Iterator[Measure]:
    """Difference and ratio of a rate of every two groups."""
    given = (parity, rows.group, rows.label, rows.prediction)
    name = f"{parity.named} ({parity})" + (f", {positive}" if several else "")
    for gap in rates.pairwise_gaps(*given, positive=positive):
        pair = (gap.first.group, gap.second.group)
        counted = rates.count_rows(*given, positive=positive, groups=pair)
        sums = rates.parity_sums(counted, directed=True, cluster=rows.cluster, ratio=True)
        ratio = resampling.estimate(sums, fold=RATIO)
        difference = rates.gap_estimate(
            *given, groups=pair, positive=positive, cluster=rows.cluster, level=resampling.level
        )
        measure = partial(
            Measure,
            family=family,
            attribute=rows.column,
            groups=tuple(map(str, pair)),
            # Only the rows that the two rates are taken of: the positives, say, and not all.
            units=ratio.items,
            unit="rows" if rows.cluster is None else "clusters",
            smallest=min(gap.first.denominator, gap.second.denominator),
        )
        yield measure(
            metric=f"{name}, difference",
            estimate=difference,
            direction="lower is fairer",
            p=float(gap.p) if rows.cluster is None else _clustered_p(rows, counted, resampling),
            test="that the rate does not depend on the group (groups exchanged, all counts kept)",
            note="; ".join(f"{one.group}: {one.numerator:,} of {one.denominator:,}" for one in (gap.first, gap.second)),
        )
        yield measure(metric=f"{name}, ratio", estimate=ratio, direction="1 is fair")


def _clustered_p(rows: Predictions, counted: rates.Counted, resampling: Resampling) -> float:
    """p-value where rows cluster; NaN where a cluster has rows of both groups, which then cannot be exchanged."""
    assert rows.cluster is not None
    kept = [index for index, group in enumerate(rows.group) if group in counted.groups]
    codes, names = pd.factorize(pd.Series([rows.cluster[index] for index in kept], dtype=object))
    group, above, below = (each[kept] for each in (counted.group, counted.numerator, counted.denominator))
    second = np.bincount(codes, group, len(names)) / np.bincount(codes, minlength=len(names))
    if not np.isin(second, (0.0, 1.0)).all():
        return nan
    successes, trials = (np.bincount(codes[one], minlength=len(names)) for one in (above, below))
    options = {"rounds": resampling.exchanges, "seed": resampling.seed}
    return float(clustered_permutation_p(successes, trials, second == 1, **options))


NEUTRAL = "neutral"
"""Group of the lists made for nobody in particular."""

_LISTS_TEST = "that lists of the two groups are no less alike than two lists of the same group are"
_NO_LISTS = "no pair of lists that are long enough", "no list that is long enough"
_SHOWN = 10

_Lists = Sequence[tuple[str, ...]]


class Recommendations(NamedTuple):
    """Ranked lists of distinct items by group (of `column`) and prompt id, one a trial, and what was asked."""

    column: str
    lists: Mapping[str, Mapping[str, _Lists]]
    prompts: Mapping[tuple[str, str], str]
    repeated: int


def read_recommendations(source: Table, *, group: str = "group") -> Recommendations:
    """Read ranked lists: a row a list (column ``items``), or a row an item (columns ``item`` and ``rank``).

    Columns ``prompt_id`` (or ``prompt``) and `group` say which lists belong together, ``trial`` which are of one
    asking; without it they are counted in the order of the rows. ``items`` is a JSON list, or items with ``|`` between
    them. Of an item that stands twice in a list the first place counts. InputError when that cannot be read.
    """
    columns = columns_of(source)
    key = "prompt_id" if "prompt_id" in columns else "prompt"
    needed = ["items"] if "items" in columns else ["item", "rank"]
    rows = [row for part in frames(source, required=[key, group, *needed]) for row in records(part)]
    places = [(row[group], row[key], row.get("trial", "")) for row in rows]
    if "items" in columns:
        lists = [(place, _items(row["items"], n)) for n, (place, row) in enumerate(zip(places, rows, strict=True), 1)]
    else:
        lists = list(_by_rank(places, rows))
    found: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    repeated = 0
    # A stable sort: lists without a trial stay as they came.
    for (name, prompt, _), items in sorted(lists, key=lambda one: _number(one[0][2], otherwise=0.0)):
        distinct = tuple(dict.fromkeys(items))
        repeated += len(items) - len(distinct)
        found.setdefault(name.strip() or NEUTRAL, {}).setdefault(prompt, []).append(distinct)
    prompts = {(row[group].strip() or NEUTRAL, row[key]): row["prompt"] for row in rows if "prompt" in row}
    return Recommendations(group, found, prompts, repeated)


def _number(text: str, *, otherwise: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return otherwise
    return number if isfinite(number) else otherwise


def _items(text: str, row: int) -> list[str]:
    if not text.lstrip().startswith("["):
        return [item.strip() for item in text.split("|") if item.strip()]
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"row {row}: items is no JSON list ({error}); write items with | between them") from None
    if not all(isinstance(item, (str, int, float)) for item in items):
        raise InputError(f"row {row}: items is a JSON list of other things than texts and numbers")
    return [said for item in items if (said := str(item).strip())]


_Place = tuple[str, str, str]
"""Group, prompt and trial."""


def _by_rank(places: Sequence[_Place], rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[_Place, list[str]]]:
    lists: dict[_Place, dict[float, str]] = {}
    for number, (place, row) in enumerate(zip(places, rows, strict=True), start=1):
        if np.isnan(rank := _number(row["rank"], otherwise=nan)):
            raise InputError(f"row {number}: rank {row['rank']!r} is no number")
        if not (item := row["item"].strip()):
            raise InputError(f"row {number}: a rank without an item; fill in the cell, or remove the row")
        if rank in lists.setdefault(place, {}):
            name = f"prompt {place[1]!r}, group {place[0]!r}"
            raise InputError(f"{name}: a rank occurs twice; tell several lists apart with a column trial")
        lists[place][rank] = item
    for place, items in lists.items():
        yield place, [items[rank] for rank in sorted(items)]


def assess_lists(
    source: Table,
    *,
    k: int = 10,
    group: str = "group",
    attributes: Sequence[str] | None = None,
    invariance: bool = True,
    families: Sequence[str] | None = None,
    variant: Variant = "paper",
    cluster: str | None = None,
    resampling: Resampling | None = None,
) -> Assessment:
    """Assess a use case that recommends, by its ranked lists: see `read_recommendations`; InputError if it cannot be.

    The first `k` items count in each list. An empty cell in the column of the `group` that a list was made for, or
    "neutral", stands for nobody in particular. `attributes` are those to look for in the prompts, where they are in the
    table; None for all. `invariance` says whether lists should be the same whatever the group; all else is as for
    `assess_texts`.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    resampling = resampling or Resampling()
    found = read_recommendations(source, group=group)
    lexicon = load_words(attributes)
    unawareness = check_unawareness(found.prompts.values(), lexicon) if found.prompts else None
    path = recommendation_path(
        mentions=None if unawareness is None else str(unawareness),
        satisfied=None if unawareness is None else unawareness.satisfied,
        invariance=invariance,
        wanted=families,
    )
    measures: list[Measure] = []
    examples: dict[str, list[Standout]] = {}
    if path.applies("similarity of lists"):
        worst = Worst()
        clusters = None if cluster is None else read_clusters(source, cluster)
        measures = corrected(
            list(_list_measures(found, k, worst, resampling=resampling, variant=variant, clusters=clusters))
        )
        examples = {"Lists least alike": worst.examples()}
    lists = sum(len(trials) for by_prompt in found.lists.values() for trials in by_prompt.values())
    counts = {"lists": lists, "groups": len(found.lists), "repeated items taken out": found.repeated}
    return Assessment(
        task=str(UseCase.RECOMMENDATION),
        source=f"lists of {name_of(source)}",
        counts={what: count for what, count in counts.items() if count},
        steps=path.steps,
        families=path.families,
        mentions=[] if unawareness is None else unawareness.mentions([name for _, name in found.prompts]),
        measures=measures,
        examples=examples,
        record=record(resampling=asdict(resampling), k=k, variant=variant, cluster=cluster),
    )


def _list_measures(
    found: Recommendations,
    k: int,
    worst: Worst,
    *,
    resampling: Resampling,
    variant: Variant,
    clusters: Mapping[str, str] | None,
) -> Iterator[Measure]:
    """Jaccard-K, SERP-K and PRAG-K of every two groups."""
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
    metrics = (
        (f"Jaccard-{k}", jaccard_at_k, 1.0),
        (f"SERP-{k}", partial(serp_at_k, variant=variant), 1.0),
        (f"PRAG-{k}", partial(prag_at_k, variant=variant), most_prag),
    )
    check_groups(len(groups), "lists")
    # Against the neutral lists last: what each group gets that others do not.
    for pair in sorted(combinations(groups, 2), key=lambda pair: NEUTRAL in pair):
        sides = [
            Side(
                {(name, n): items for name, trials in found.lists[group].items() for n, items in enumerate(trials)},
                {name: prompt for (of, name), prompt in found.prompts.items() if of == group and prompt},
            )
            for group in pair
        ]
        opposed = Opposed(
            sides[0], sides[1], groups=pair, resampling=resampling, of=_NO_LISTS, clusters=clusters,
            family="similarity of lists", attribute=found.column, test=_LISTS_TEST,
        )  # fmt: skip
        if alone := opposed.unpaired:
            opposed.notes = [f"{alone:,} lists left out because the other group has none to stand opposite"]
        for name, measure, largest in metrics:
            similar = partial(_similar, opposed.items, measure, k)
            scores = similar(*opposed.rows[:2])
            short = int(np.isnan(scores).sum())
            yield opposed.similarity(
                name,
                similar,
                scores,
                f"equal lists give {largest:.3f}" if largest < 1 else "",
                f"{short:,} of {len(scores):,} pairs left out: a list is too short" if short else "",
                bounds=(0.0, largest),
                shares=(largest == 1, False),
            )
        scores = _similar(opposed.items, jaccard_at_k, k, *opposed.rows[:2])
        opposed.offer(worst, scores, -scores, "Jaccard {:.2f}", lambda items: ", ".join(items[:_SHOWN]))


def _similar(lists: _Lists, measure: ListMeasure, k: int, a: Rows, b: Rows) -> Floats:
    return similarities(measure, [lists[row] for row in a], [lists[row] for row in b], k)
