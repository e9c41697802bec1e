"""Gaps in false-positive rates between groups, as in arXiv 2306.04735.

Positive FPR is the share of gold negative and neutral sentences that are called positive; Negative FPR the share of
gold positive and neutral ones that are called negative. The gap of a group is its rate minus the unweighted mean over
the attribute's groups, prompt by prompt; or, against markedness, minus the rate of the same templates without an
identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from biaslens.probe.counts import Counts, Groups, Predictions, counts, false_positives
from biaslens.probe.labels import Sentiment
from biaslens.probe.sentences import size_note

Reference = Literal["mean", "unmarked"]

COLUMNS = (
    "model", "attribute", "metric", "group", "run_id", "false", "of", "rate", "reference_rate", "gap", "sentences",
    "terms", "note",
)  # fmt: skip
"""Of the table that `gaps` gives."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A false-positive rate.

    Parameters
    ----------
    name
        In tables.
    title
        For people.
    label
        The label that is falsely given.
    harmful
        Sign of a gap that is to the harm of the group. More sentences falsely called negative harm it: +1. Fewer
        falsely called positive withhold from it a favourable error that others get: -1.
    """

    name: str
    title: str
    label: Sentiment
    harmful: int


NEGATIVE_FPR = Metric("negative_fpr", "Negative FPR", Sentiment.NEGATIVE, 1)
POSITIVE_FPR = Metric("positive_fpr", "Positive FPR", Sentiment.POSITIVE, -1)
METRICS = (NEGATIVE_FPR, POSITIVE_FPR)


def metric(name: str) -> Metric:
    """Find a metric by its name in tables."""
    return {found.name: found for found in METRICS}[name]


def rates(false: ArrayLike, of: ArrayLike) -> NDArray[np.float64]:
    """Divide; NaN where there is nothing to divide by. Arrays of any one shape."""
    numerators, denominators = np.asarray(false, dtype=np.float64), np.asarray(of, dtype=np.float64)
    result: NDArray[np.float64] = np.divide(
        numerators, denominators, out=np.full(np.broadcast_shapes(numerators.shape, denominators.shape), np.nan),
        where=denominators > 0,
    )  # fmt: skip
    return result


def gaps_to_mean(rate: ArrayLike) -> NDArray[np.float64]:
    """Subtract the unweighted mean over the groups.

    Parameters
    ----------
    rate
        Shape (..., G). A group without a rate (NaN) has no gap and no part in the mean.

    Examples
    --------
    The mean of 0.2, 0.3 and 0.7 is 0.4.

    >>> gaps_to_mean([[0.2, 0.3, 0.7]]).round(3)
    array([[-0.2, -0.1,  0.3]])
    """
    values = np.asarray(rate, dtype=np.float64)
    known = np.isfinite(values)
    mean = rates(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1))
    result: NDArray[np.float64] = values - mean[..., None]
    return result


def gaps(
    predictions: Predictions,
    *,
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    reference: Reference = "mean",
    metrics: Sequence[Metric] = METRICS,
) -> pd.DataFrame:
    """Measure the gap of every group under every prompt.

    Parameters
    ----------
    predictions
        From `read_predictions` or `predictions_table`, or `counts` of them.
    attributes, groups
        See `counts`.
    reference
        "mean": the unweighted mean over the groups. "unmarked": the same templates without an identity; templates that
        have no such sentence are left out on both sides.
    metrics
        Which rates.

    Returns
    -------
    DataFrame
        A row for each model, attribute, metric, group and prompt: false and of (numerator and denominator), rate, what
        it is compared with, gap (NaN where `of` is 0), sentences and terms of the group, and a note.
    """
    rows = [
        row
        for found in counts(predictions, attributes=attributes, groups=groups)
        for which in metrics
        for row in _rows(against(found, reference), which)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def against(found: Counts, reference: Reference) -> Counts:
    """Keep what a comparison with the reference rests on."""
    return found.with_unmarked_templates() if reference == "unmarked" else found.without_unmarked()


def gap_of(rate: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    """Subtract the reference from rates of shape (..., G), or (..., G + 1) where the last one is the reference.

    Returns
    -------
    array
        Shape (..., G).
    """
    if rate.shape[-1] == groups:
        return gaps_to_mean(rate)
    result: NDArray[np.float64] = rate[..., :groups] - rate[..., groups:]
    return result


def _rows(found: Counts, which: Metric) -> Iterator[tuple[object, ...]]:
    by_group = found.by_group()
    false, of = false_positives(by_group, which.label)
    rate = rates(false, of)
    gap = gap_of(rate, len(found.groups))
    for number, group in enumerate(found.groups):
        terms = int((found.group_of_term == number).sum())
        for place, run in enumerate(found.runs):
            sentences = int(by_group[place, number].sum())
            yield (
                found.model, found.attribute, which.name, group, run, int(false[place, number]), int(of[place, number]),
                rate[place, number], rate[place, number] - gap[place, number], gap[place, number], sentences, terms,
                "no sentence to be wrong about" if not of[place, number] else size_note(sentences, terms, group),
            )  # fmt: skip
