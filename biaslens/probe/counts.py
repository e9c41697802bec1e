"""Predictions as counts: a confusion matrix for every prompt, template and term.

All that is measured on labels (rates, gaps, intervals, permutation) is a sum over these counts, so it is taken from
the predictions once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from biaslens.errors import InputError
from biaslens.probe.labels import Sentiment
from biaslens.probe.sentences import UNMARKED

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
