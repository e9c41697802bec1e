"""Gaps in false-positive rates between groups, as in arXiv 2306.04735.

Positive FPR is the share of gold negative and neutral sentences that are called positive; Negative FPR the share of
gold positive and neutral ones that are called negative. The gap of a group is its rate minus the unweighted mean over
the attribute's groups, prompt by prompt; or, against markedness, minus the rate of the same templates without an
identity. All of it is a sum over counts by prompt, template and term, taken from the predictions once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from biaslens.errors import InputError
from biaslens.probe.examples import Sentiment
from biaslens.probe.sentences import UNMARKED, size_note

PAPER_GROUPS: Mapping[str, Sequence[str]] = {
    "age": ("adult", "old", "young"),
    "sexuality": ("asexual", "bisexual", "heterosexual", "homosexual", "other"),
    "disability": (
        "without", "cognitive", "physical", "hearing", "sight", "chronic_illness", "mobility", "mental_health",
    ),
}  # fmt: skip
"""The groups that arXiv 2306.04735 compares; other attributes are compared over all of their groups."""

Groups = Mapping[str, Sequence[str]] | str
"""Which groups are compared: "paper", "all", or the groups by attribute."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The predictions of one model for one attribute.

    Parameters
    ----------
    model, attribute
        What was measured.
    runs
        The prompts, P of them.
    groups
        Compared groups, G of them; the unmarked sentences, where they are there, are one more behind them.
    templates
        T of them; one empty name where the predictions do not say which.
    terms
        K of them.
    group_of_term
        Place in `groups` of each term, shape (K,); G for the unmarked sentences.
    confusion
        Sentences by gold and predicted label (0, 1, 2), shape (P, T, K, 3, 3).
    """

    model: str
    attribute: str
    runs: tuple[str, ...]
    groups: tuple[str, ...]
    templates: tuple[str, ...]
    terms: tuple[str, ...]
    group_of_term: NDArray[np.int64]
    confusion: NDArray[np.int64]

    @property
    def has_unmarked(self) -> bool:
        """Whether there are unmarked sentences."""
        return bool((self.group_of_term == len(self.groups)).any())

    def membership(self) -> NDArray[np.float64]:
        """1 where a term is of a group, shape (K, G), or (K, G + 1) with the unmarked sentences."""
        columns = len(self.groups) + self.has_unmarked
        return np.eye(columns)[self.group_of_term]

    def by_group(self) -> NDArray[np.int64]:
        """Confusion by prompt and group, shape (P, G, 3, 3), or (P, G + 1, 3, 3) with the unmarked sentences."""
        summed = self.confusion.sum(axis=1)
        result: NDArray[np.int64] = np.einsum("pkij,kg->pgij", summed, self.membership().astype(np.int64))
        return result

    def with_unmarked_templates(self) -> Counts:
        """Keep the templates that have an unmarked sentence, so that both sides stand on the same ones.

        Raises
        ------
        InputError
            When there are no unmarked sentences.
        """
        plain = self.group_of_term == len(self.groups)
        if not plain.any():
            raise InputError(
                f"{self.model}: no unmarked sentences of {self.attribute} to compare with; classify those of "
                "`expand(..., unmarked=True)` too, or compare with the mean"
            )
        kept = self.confusion[:, :, plain].sum(axis=(0, 2, 3, 4)) > 0
        names = tuple(np.array(self.templates, dtype=object)[kept])
        return Counts(
            self.model, self.attribute, self.runs, self.groups, names, self.terms, self.group_of_term,
            self.confusion[:, kept],
        )  # fmt: skip

    def without_unmarked(self) -> Counts:
        """Leave the unmarked sentences out."""
        marked = self.group_of_term < len(self.groups)
        terms = tuple(np.array(self.terms, dtype=object)[marked])
        return Counts(
            self.model, self.attribute, self.runs, self.groups, self.templates, terms, self.group_of_term[marked],
            self.confusion[:, :, marked],
        )  # fmt: skip


Predictions = pd.DataFrame | Sequence[Counts]
"""Predictions, or the counts of them where several things are measured on the same ones."""


def confusion(y_true: ArrayLike, y_pred: ArrayLike, *places: ArrayLike, shape: Sequence[int] = ()) -> NDArray[np.int64]:
    """Count gold against predicted labels; all three labels have their place, also one that nobody predicts.

    Parameters
    ----------
    y_true, y_pred
        0, 1 or 2; shape (N,).
    places, shape
        Where each is counted: an index array for each axis of `shape`.

    Returns
    -------
    array
        Shape (*shape, 3, 3): gold label, predicted label.

    Examples
    --------
    >>> confusion([0, 0, 2], [0, 2, 2])
    array([[1, 0, 1],
           [0, 0, 0],
           [0, 0, 1]])
    """
    full = (*shape, 3, 3)
    flat = np.ravel_multi_index([np.asarray(part) for part in (*places, y_true, y_pred)], full)
    return np.bincount(flat, minlength=int(np.prod(full))).reshape(full)


def false_positives(confusion: NDArray[np.int64], label: Sentiment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the sentences with another gold label that are called `label`, and all sentences with another one.

    Parameters
    ----------
    confusion
        Shape (..., 3, 3).

    Returns
    -------
    tuple
        Numerators and denominators of the false-positive rate, each of shape (...).
    """
    other = [int(gold) for gold in Sentiment if gold != label]
    rows = confusion[..., other, :]
    return rows[..., int(label)].sum(axis=-1), rows.sum(axis=(-2, -1))


def counts(
    predictions: Predictions, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> Iterator[Counts]:
    """Count the predictions of each model and attribute, in the order in which they stand.

    Parameters
    ----------
    predictions
        From `read_predictions` or `predictions_table`; those of one model are told apart by `run_id`, and by dataset
        where a model was tuned on several. Counts that were taken before are given back as they are.
    attributes
        Which ones; None for all.
    groups
        Which are compared: "paper" (`PAPER_GROUPS`, and all groups of other attributes), "all", or groups by attribute.

    Raises
    ------
    InputError
        When an attribute or a group is not in the predictions, or the prompts of a model have not predicted the same
        sentences.
    """
    if not isinstance(predictions, pd.DataFrame):
        yield from predictions
        return
    present = list(predictions["category"].unique())
    wanted = present if attributes is None else list(dict.fromkeys(attributes))
    for attribute in wanted:
        if attribute not in present:
            raise InputError(f"no predictions of attribute {attribute!r}; there are: {', '.join(present)}")
    names = model_names(predictions)
    chosen = predictions["category"].isin(wanted)
    parts = dict(list(predictions[chosen].groupby([names[chosen], "category"], sort=False, observed=True)))
    for model in dict.fromkeys(name for name, _ in parts):
        for attribute in wanted:
            rows = parts.get((model, attribute))
            if rows is not None:
                yield _counts(rows, str(model), attribute, chosen_groups(rows, attribute, groups))


def model_names(predictions: pd.DataFrame) -> pd.Series:
    """Name the model of each row, with its dataset where the model was tuned on several."""
    several = predictions.groupby("model")["dataset"].transform("nunique") > 1
    return predictions["model"].where(~several, predictions["model"] + " (" + predictions["dataset"] + ")")


def chosen_groups(predictions: pd.DataFrame, attribute: str, groups: Groups) -> list[str]:
    """Give the compared groups of an attribute in their order; see `counts`."""
    present = sorted(set(predictions["group"].unique()) - {UNMARKED})
    if groups == "paper":
        wanted = [name for name in PAPER_GROUPS.get(attribute, present) if name in present]
        return wanted or present
    if isinstance(groups, str):
        if groups != "all":
            raise InputError(f"unknown choice of groups {groups!r}; write paper, all, or name the groups by attribute")
        return present
    chosen = list(dict.fromkeys(groups.get(attribute, present)))
    missing = [name for name in chosen if name not in present]
    if missing or not chosen:
        raise InputError(
            f"no predictions of {attribute} group {', '.join(map(repr, missing)) or '(none named)'}; "
            f"there are: {', '.join(present)}"
        )
    return chosen


def _counts(predictions: pd.DataFrame, model: str, attribute: str, groups: Sequence[str]) -> Counts:
    rows = predictions[predictions["group"].isin([*groups, UNMARKED])]
    run, runs = pd.factorize(rows["run_id"], sort=True)
    template, templates = pd.factorize(rows["template"], sort=True)
    term, terms = pd.factorize(rows["term"], sort=True)
    order = [*groups, UNMARKED]
    group, present = pd.factorize(rows["group"])
    place = np.array([order.index(name) for name in present])[group]
    # A word may stand for two groups; it is then two terms.
    pairs, pair = np.unique(place * len(terms) + term, return_inverse=True)
    shape = (len(runs), len(templates), len(pairs))
    counted = confusion(rows["y_true"], rows["y_pred"], run, template, pair, shape=shape)
    _same_sentences(counted, model, attribute, list(runs))
    return Counts(
        model, attribute, tuple(runs), tuple(groups), tuple(templates),
        tuple(terms[number % len(terms)] for number in pairs), pairs // len(terms), counted,
    )  # fmt: skip


def _same_sentences(counted: NDArray[np.int64], model: str, attribute: str, runs: Sequence[str]) -> None:
    gold = counted.sum(axis=-1)
    for number, run in enumerate(runs):
        if (gold[number] != gold[0]).any():
            raise InputError(
                f"{model}: run {run} has predictions of other {attribute} sentences than run {runs[0]} "
                f"({gold[number].sum():,} against {gold[0].sum():,}); classify the same ones with every prompt"
            )


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
