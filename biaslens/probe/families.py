"""Families of group comparison (background, pairwise, multi-group) and their net count over models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from biaslens.probe.examples import NAMES, Sentiment
from biaslens.probe.gaps import Counts, Groups, counts, false_positives, model_names, rates
from biaslens.probe.predictions import PROBABILITIES

Background = Literal["others", "all"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """A score of each group under each prompt, and how far it is from those of others.

    Parameters
    ----------
    name, label
        What is scored, and for which label (empty where for all).
    value, background
        Of the groups and of what each is compared with; shape (P, G).
    of, background_of
        Sentences they are taken from; shape (G,).
    to_background
        Distance d, shape (P, G).
    to_each_other
        Distance d, shape (P, G, G).
    scalar
        Whether the value is the score itself, so that a range of it has a meaning.
    """

    name: str
    label: str
    value: Floats
    background: Floats
    of: Floats
    background_of: Floats
    to_background: Floats
    to_each_other: Floats
    scalar: bool = True


def scores(found: Counts, predictions: pd.DataFrame, *, background: Background = "others") -> Iterator[Score]:
    """Score the groups of an attribute: fpr, fnr and tpr of each label, accuracy, probabilities where there are any.

    Parameters
    ----------
    found
        The counts of one model and attribute, without unmarked sentences.
    predictions
        The rows they were counted from.
    background
        See `background_comparison`.
    """
    confusion = found.by_group()
    for label in Sentiment:
        name, gold = NAMES[label], confusion[..., label, :].sum(axis=-1)
        hit = confusion[..., label, label]
        yield _rate("fpr", name, *false_positives(confusion, label), background)
        yield _rate("fnr", name, gold - hit, gold, background)
        yield _rate("tpr", name, hit, gold, background)
    sentences = confusion.sum(axis=(-2, -1))
    yield _rate("accuracy", "", np.trace(confusion, axis1=-2, axis2=-1), sentences, background)
    rows = predictions[predictions["group"].isin(found.groups)]
    if len(rows) and bool(rows[list(PROBABILITIES)].notna().all(axis=None)):
        yield from _of_probabilities(found, rows, sentences, background)


def _of_probabilities(
    found: Counts, rows: pd.DataFrame, sentences: NDArray[np.int64], background: Background
) -> Iterator[Score]:
    run = pd.Index(found.runs).get_indexer(pd.Index(rows["run_id"]))
    group = pd.Index(found.groups).get_indexer(pd.Index(rows["group"]))
    shape = sentences.shape
    place = np.ravel_multi_index((run, group), shape)
    values = rows[list(PROBABILITIES)].to_numpy(dtype=np.float64)
    for label in Sentiment:
        sums = np.bincount(place, weights=values[:, label], minlength=sentences.size).reshape(shape)
        mean = _rate("mean_probability", NAMES[label], sums, sentences, background)
        yield mean
        samples = [[values[(run == p) & (group == g), label] for g in range(shape[1])] for p in range(shape[0])]
        yield _wasserstein(mean, samples, background)
    own = np.bincount(place, weights=values[np.arange(len(rows)), rows["y_true"]], minlength=sentences.size)
    yield _rate("mean_probability_of_gold", "", own.reshape(shape), sentences, background)


def _rate(name: str, label: str, part: NDArray[np.generic], of: NDArray[np.int64], background: Background) -> Score:
    """Make a score that is a ratio of sums; that of a background is the ratio of its sums."""
    parts, ofs = part.astype(np.float64), of.astype(np.float64)
    value = rates(parts, ofs)
    behind, behind_of = (_behind(each, background) for each in (parts, ofs))
    base = rates(behind, behind_of)
    return Score(
        name, label, value, base, ofs[0], behind_of[0], np.abs(value - base),
        np.abs(value[:, :, None] - value[:, None, :]),
    )  # fmt: skip


def _behind(sums: Floats, background: Background) -> Floats:
    total = sums.sum(axis=1, keepdims=True)
    return np.broadcast_to(total, sums.shape).copy() if background == "all" else total - sums


def _wasserstein(mean: Score, samples: Sequence[Sequence[Floats]], background: Background) -> Score:
    prompts, groups = mean.value.shape
    behind, apart = np.full((prompts, groups), np.nan), np.zeros((prompts, groups, groups))
    for prompt, of_groups in enumerate(samples):
        for one in range(groups):
            rest = [part for two, part in enumerate(of_groups) if background == "all" or two != one]
            if rest:
                behind[prompt, one] = wasserstein_distance(of_groups[one], np.concatenate(rest))
        for one, two in combinations(range(groups), 2):
            distance = wasserstein_distance(of_groups[one], of_groups[two])
            apart[prompt, one, two] = apart[prompt, two, one] = distance
    return replace(mean, name="wasserstein", to_background=behind, to_each_other=apart, scalar=False)


COLUMNS = (
    "model", "attribute", "family", "score", "label", "compared", "against", "value", "signed", "of", "against_of",
    "prompts",
)  # fmt: skip
"""Of the tables. `value` is d, `signed` the difference with its sign (NaN where there is none), `of` and `against_of`
are the sentences on both sides under one prompt (0 where a row is about all groups)."""

MEAN = "mean"
"""In `compared`: the mean over the groups or pairs, which is the metric of the paper."""


Family = Literal["background", "pairwise", "multigroup"]


def compare_groups(
    predictions: pd.DataFrame,
    *,
    families: Sequence[Family] = ("background", "pairwise", "multigroup"),
    background: Background = "others",
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
) -> pd.DataFrame:
    """Compare groups by some families at once.

    Parameters
    ----------
    predictions
        From `read_predictions` or `predictions_table`.
    families
        Which ones.
    background
        "others": the sentences of all other groups together. "all": those of all groups, its own among them.
    attributes, groups
        As of `gaps`.

    Returns
    -------
    DataFrame
        `COLUMNS`. Background: a row for each group, and one ("mean") with the mean over the groups, which is the metric
        of the paper. Pairwise: the same of pairs. Multi-group: "range" and "deviation". A group without a sentence to
        count has NaN, and no part in the means.
    """
    against = "other groups" if background == "others" else "all groups"
    names = model_names(predictions)
    rows: list[tuple[object, ...]] = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        of_model = predictions[(names == found.model) & (predictions["category"] == found.attribute)]
        for score in scores(found.without_unmarked(), of_model, background=background):
            for family in families:
                start = (found.model, found.attribute, family, score.name, score.label)
                rows += [(*start, *cell, len(found.runs)) for cell in _FAMILIES[family](score, found.groups, against)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def background_comparison(
    predictions: pd.DataFrame,
    *,
    background: Background = "others",
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
) -> pd.DataFrame:
    """Compare each group with a background; see `compare_groups`."""
    return compare_groups(
        predictions, families=("background",), background=background, attributes=attributes, groups=groups
    )


def pairwise_comparison(
    predictions: pd.DataFrame, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> pd.DataFrame:
    """Compare every two groups; see `compare_groups`."""
    return compare_groups(predictions, families=("pairwise",), attributes=attributes, groups=groups)


def multigroup_comparison(
    predictions: pd.DataFrame, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> pd.DataFrame:
    """Say how far all groups lie apart; see `compare_groups`."""
    return compare_groups(predictions, families=("multigroup",), attributes=attributes, groups=groups)


_Cell = tuple[str, str, float, float, float, float]


def _background(score: Score, names: Sequence[str], against: str) -> Iterator[_Cell]:
    distance, signed = score.to_background.mean(axis=0), (score.value - score.background).mean(axis=0)
    for number, name in enumerate(names):
        yield name, against, distance[number], signed[number], score.of[number], score.background_of[number]
    yield MEAN, against, _mean(distance), np.nan, 0, 0


def _pairwise(score: Score, names: Sequence[str], against: str) -> Iterator[_Cell]:
    del against
    distance = score.to_each_other.mean(axis=0)
    pairs = list(combinations(range(len(names)), 2))
    for one, two in pairs:
        signed = (score.value[:, one] - score.value[:, two]).mean()
        yield names[one], names[two], distance[one, two], signed, score.of[one], score.of[two]
    yield MEAN, "pairs", _mean(np.array([distance[pair] for pair in pairs])), np.nan, 0, 0


def _multigroup(score: Score, names: Sequence[str], against: str) -> Iterator[_Cell]:
    del names, against
    if score.scalar:
        known = score.value[:, np.isfinite(score.value).all(axis=0)]
        some = known.shape[1] > 0
        yield "range", "all groups", float(np.ptp(known, axis=1).mean()) if some else np.nan, np.nan, 0, 0
        yield "deviation", "all groups", float(known.std(axis=1).mean()) if some else np.nan, np.nan, 0, 0


_FAMILIES: Mapping[Family, Callable[[Score, Sequence[str], str], Iterator[_Cell]]] = {
    "background": _background,
    "pairwise": _pairwise,
    "multigroup": _multigroup,
}


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


NET_COUNT_COLUMNS = (
    "attribute",
    "metric",
    "group",
    "interval",
    "reference",
    "models",
    "above",
    "below",
    "net",
    "without_interval",
)
"""Of the table that `net_count` gives."""


def net_count(intervals: pd.DataFrame | Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Count, over models, +1 for an interval above 0 and -1 for one below.

    A net count of independent false alarms is expected to be 0, but its spread grows with the share of them: read it
    beside the kind of interval.

    Parameters
    ----------
    intervals
        From `intervals`, of several models and perhaps kinds; one table or several.

    Returns
    -------
    DataFrame
        A row for each attribute, metric, group and kind of interval: the number of models, how many lie above and below
        0, their difference, and how many have no interval (they count as neither).
    """
    table = intervals if isinstance(intervals, pd.DataFrame) else pd.concat(list(intervals), ignore_index=True)
    keys = ["attribute", "metric", "group", "interval", "reference"]
    marked = table.assign(
        above=(table["low"] > 0).astype(int),
        below=(table["high"] < 0).astype(int),
        without_interval=table["low"].isna().astype(int),
    )
    counted = marked.groupby(keys, sort=False, as_index=False).agg(
        models=("model", "nunique"),
        above=("above", "sum"),
        below=("below", "sum"),
        without_interval=("without_interval", "sum"),
    )
    return counted.assign(net=counted["above"] - counted["below"])[list(NET_COUNT_COLUMNS)]
