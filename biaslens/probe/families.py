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

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

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


def background_comparison(
    predictions: pd.DataFrame,
    *,
    background: Background = "others",
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
) -> pd.DataFrame:
    """Compare each group with a background.

    Parameters
    ----------
    predictions
        From `read_predictions` or `predictions_table`.
    background
        "others": the sentences of all other groups together. "all": those of all groups, its own among them.
    attributes, groups
        As of `gaps`.

    Returns
    -------
    DataFrame
        `COLUMNS`; a row for each group, and one ("mean") with the mean over the groups, which is the metric of the
        paper. A group without a sentence to count has NaN, and no part in the mean.
    """
    against = "other groups" if background == "others" else "all groups"

    def family(score: Score, names: Sequence[str]) -> Iterator[_Cell]:
        distance, signed = score.to_background.mean(axis=0), (score.value - score.background).mean(axis=0)
        for number, name in enumerate(names):
            sizes = score.of[number], score.background_of[number]
            yield name, against, distance[number], signed[number], *sizes
        yield MEAN, against, _mean(distance), np.nan, 0, 0

    return _table(predictions, "background", family, attributes=attributes, groups=groups, background=background)


def pairwise_comparison(
    predictions: pd.DataFrame, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> pd.DataFrame:
    """Compare every two groups; a row for each pair and one for their mean, otherwise as `background_comparison`."""

    def family(score: Score, names: Sequence[str]) -> Iterator[_Cell]:
        distance = score.to_each_other.mean(axis=0)
        pairs = list(combinations(range(len(names)), 2))
        for one, two in pairs:
            signed = (score.value[:, one] - score.value[:, two]).mean()
            yield names[one], names[two], distance[one, two], signed, score.of[one], score.of[two]
        yield MEAN, "pairs", _mean(np.array([distance[pair] for pair in pairs])), np.nan, 0, 0

    return _table(predictions, "pairwise", family, attributes=attributes, groups=groups)


def multigroup_comparison(
    predictions: pd.DataFrame, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> pd.DataFrame:
    """Say how far all groups lie apart: the range and the standard deviation of their scores."""

    def family(score: Score, names: Sequence[str]) -> Iterator[_Cell]:
        del names
        if score.scalar:
            known = score.value[:, np.isfinite(score.value).all(axis=0)]
            some = known.shape[1] > 0
            yield "range", "all groups", float(np.ptp(known, axis=1).mean()) if some else np.nan, np.nan, 0, 0
            yield "deviation", "all groups", float(known.std(axis=1).mean()) if some else np.nan, np.nan, 0, 0

    return _table(predictions, "multigroup", family, attributes=attributes, groups=groups)


_Cell = tuple[str, str, float, float, float, float]


def _table(
    predictions: pd.DataFrame,
    name: str,
    family: Callable[[Score, Sequence[str]], Iterator[_Cell]],
    *,
    attributes: Sequence[str] | None,
    groups: Groups,
    background: Background = "others",
) -> pd.DataFrame:
    names = model_names(predictions)
    rows = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        of_model = predictions[(names == found.model) & (predictions["category"] == found.attribute)]
        for score in scores(found.without_unmarked(), of_model, background=background):
            start = (found.model, found.attribute, name, score.name, score.label)
            rows += [(*start, *cell, len(found.runs)) for cell in family(score, found.groups)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
