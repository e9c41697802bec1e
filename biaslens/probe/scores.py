"""Scores of groups under each prompt, and distances between them: what the families of comparison are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from biaslens.probe.counts import Counts, false_positives
from biaslens.probe.gaps import rates
from biaslens.probe.labels import NAMES, Sentiment
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
