"""Three families of group comparison: background, pairwise and multi-group.

After Czarnowska, Vyas and Shah, "Quantifying Social Biases in NLP: A Generalization and Empirical Comparison of
Extrinsic Fairness Metrics" (TACL 9, 2021), who show that most published metrics are one of three forms, with a score of
a group and a distance d between scores:

- background: d(score of the background, score of the group), the mean over the groups;
- pairwise: d(score of one group, score of another), the mean over the pairs of groups;
- multi-group: d(scores of all groups), such as their range or standard deviation.

Here d is the absolute difference of rates and of mean probabilities, the Wasserstein-1 distance of the distributions of
a probability, and, over all groups, the range and the standard deviation (population). Everything is computed prompt by
prompt and averaged over the prompts; the signed difference (group minus background, first minus second) stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from biaslens.probe.counts import Groups, counts, model_names
from biaslens.probe.scores import Background, Floats, Score, scores

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
