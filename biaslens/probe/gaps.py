"""Gaps between groups in how sentences are classified: arXiv 2306.04735, and the families of Czarnowska et al. 2021.

Positive FPR is the share of gold negative and neutral sentences that are called positive; Negative FPR the share of
gold positive and neutral ones that are called negative. The gap of a group is its rate minus the unweighted mean over
the attribute's groups, prompt by prompt; or, against markedness, minus the rate of the same templates without an
identity. All of it is a sum over counts by prompt, template and term, taken from the predictions once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import wasserstein_distance

from biaslens.errors import InputError
from biaslens.probe.examples import NAMES, UNMARKED, Sentiment, size_note
from biaslens.probe.predictions import PROBABILITIES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
class GroupCounts:
    """The predictions of one model for one attribute: P prompts, G compared groups, T templates, K terms.

    The unmarked sentences, where they are there, are one group more. The one template has an empty name where the
    predictions do not say which. `group_of_term` is the place of each term in `groups`, shape (K,); `confusion` counts
    sentences by gold and predicted label (0, 1, 2), shape (P, T, K, 3, 3).
    """

    model: str
    attribute: str
    runs: tuple[str, ...]
    groups: tuple[str, ...]
    templates: tuple[str, ...]
    terms: tuple[str, ...]
    group_of_term: Ints
    confusion: Ints

    @property
    def has_unmarked(self) -> bool:
        """Whether there are unmarked sentences."""
        return bool((self.group_of_term == len(self.groups)).any())

    def membership(self) -> Floats:
        """1 where a term is of a group, shape (K, G), or (K, G + 1) with the unmarked sentences."""
        return np.eye(len(self.groups) + self.has_unmarked)[self.group_of_term]

    def by_group(self) -> Ints:
        """Confusion by prompt and group, shape (P, G, 3, 3), or (P, G + 1, 3, 3) with the unmarked sentences."""
        summed = self.confusion.sum(axis=1)
        result: Ints = np.einsum("pkij,kg->pgij", summed, self.membership().astype(np.int64))
        return result

    def against(self, reference: Reference) -> GroupCounts:
        """What a comparison with the reference rests on.

        Against the unmarked sentences these are the templates that have one, so that both sides stand on the same ones
        (InputError where there are none); against the mean there are no unmarked sentences.
        """
        unmarked = self.group_of_term == len(self.groups)
        if reference == "mean":
            marked = ~unmarked
            terms, confused = tuple(np.array(self.terms, dtype=object)[marked]), self.confusion[:, :, marked]
            return replace(self, terms=terms, group_of_term=self.group_of_term[marked], confusion=confused)
        if not self.has_unmarked:
            raise InputError(
                f"{self.model}: no unmarked sentences of {self.attribute} to compare with; classify those of "
                "`expand` too, or compare with the mean"
            )
        kept = self.confusion[:, :, unmarked].sum(axis=(0, 2, 3, 4)) > 0
        names = tuple(np.array(self.templates, dtype=object)[kept])
        return replace(self, templates=names, confusion=self.confusion[:, kept])

    def terms_of(self, group: int) -> int:
        """How many terms a group has."""
        return int((self.group_of_term == group).sum())


Predictions = pd.DataFrame | Sequence[GroupCounts]
"""Predictions, or the counts of them where several things are measured on the same ones."""


def confusion(y_true: ArrayLike, y_pred: ArrayLike, *places: ArrayLike, shape: Sequence[int] = ()) -> Ints:
    """Count gold (0, 1 or 2) against predicted labels, shape (*shape, 3, 3); each label has its place.

    `places` say where each is counted: an index array for each axis of `shape`.

    >>> confusion([0, 0, 2], [0, 2, 2])
    array([[1, 0, 1],
           [0, 0, 0],
           [0, 0, 1]])
    """
    full = (*shape, 3, 3)
    flat = np.ravel_multi_index([np.asarray(part) for part in (*places, y_true, y_pred)], full)
    return np.bincount(flat, minlength=int(np.prod(full))).reshape(full)


def false_positives(confusion: Ints, label: Sentiment) -> tuple[Ints, Ints]:
    """Sentences wrongly called `label`, and all with another gold label, shape (...), from counts of (..., 3, 3)."""
    rows = confusion[..., [int(gold) for gold in Sentiment if gold != label], :]
    return rows[..., int(label)].sum(axis=-1), rows.sum(axis=(-2, -1))


def counts(
    predictions: Predictions, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> Iterator[GroupCounts]:
    """Count the predictions of each model and attribute, in the order in which they stand.

    Predictions are from `read_predictions` or `predictions_table`; those of one model are told apart by `run_id`, and
    by dataset where a model was tuned on several. Counts that were taken before are given back as they are. `groups`
    that are compared: "paper" (`PAPER_GROUPS`, and all groups of other attributes), "all", or groups by attribute.
    InputError when an attribute or a group is not in the predictions, or the prompts of a model have not predicted the
    same sentences.
    """
    if not isinstance(predictions, pd.DataFrame):
        yield from predictions
        return
    present = list(predictions["category"].unique())
    wanted = present if attributes is None else list(dict.fromkeys(attributes))
    for attribute in wanted:
        if attribute not in present:
            raise InputError(f"no predictions of attribute {attribute!r}; there are: {', '.join(present)}")
    names = _model_names(predictions)
    chosen = predictions["category"].isin(wanted)
    parts = dict(list(predictions[chosen].groupby([names[chosen], "category"], sort=False, observed=True)))
    for model in dict.fromkeys(name for name, _ in parts):
        for attribute in wanted:
            rows = parts.get((model, attribute))
            if rows is not None:
                yield _counts(rows, str(model), attribute, _chosen_groups(rows, attribute, groups))


def _model_names(predictions: pd.DataFrame) -> pd.Series:
    """Name the model of each row, with its dataset where the model was tuned on several."""
    several = predictions.groupby("model")["dataset"].transform("nunique") > 1
    return predictions["model"].where(~several, predictions["model"] + " (" + predictions["dataset"] + ")")


def _chosen_groups(predictions: pd.DataFrame, attribute: str, groups: Groups) -> list[str]:
    present = sorted(set(predictions["group"].unique()) - {UNMARKED})
    if groups == "paper":
        return [name for name in PAPER_GROUPS.get(attribute, present) if name in present] or present
    if groups == "all":
        return present
    if isinstance(groups, str):
        raise InputError(f"unknown choice of groups {groups!r}; write paper, all, or name the groups by attribute")
    chosen = list(dict.fromkeys(groups.get(attribute, present)))
    missing = [name for name in chosen if name not in present]
    if missing or not chosen:
        none = ", ".join(map(repr, missing)) or "(none named)"
        raise InputError(f"no predictions of {attribute} group {none}; there are: {', '.join(present)}")
    return chosen


def _counts(predictions: pd.DataFrame, model: str, attribute: str, groups: Sequence[str]) -> GroupCounts:
    order = [*groups, UNMARKED]
    rows = predictions[predictions["group"].isin(order)]
    run, runs = pd.factorize(rows["run_id"], sort=True)
    template, templates = pd.factorize(rows["template"], sort=True)
    term, terms = pd.factorize(rows["term"], sort=True)
    group, present = pd.factorize(rows["group"])
    place = np.array([order.index(name) for name in present])[group]
    # A word may stand for two groups; it is then two terms.
    pairs, pair = np.unique(place * len(terms) + term, return_inverse=True)
    shape = (len(runs), len(templates), len(pairs))
    counted = confusion(rows["y_true"], rows["y_pred"], run, template, pair, shape=shape)
    gold = counted.sum(axis=-1)
    for number, name in enumerate(runs):
        if (gold[number] != gold[0]).any():
            raise InputError(
                f"{model}: run {name} has predictions of other {attribute} sentences than run {runs[0]} "
                f"({gold[number].sum():,} against {gold[0].sum():,}); classify the same ones with every prompt"
            )
    return GroupCounts(
        model, attribute, tuple(runs), tuple(groups), tuple(templates),
        tuple(terms[number % len(terms)] for number in pairs), pairs // len(terms), counted,
    )  # fmt: skip


Reference = Literal["mean", "unmarked"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A false-positive rate of a label.

    `harmful` is the sign of a gap that is to the harm of the group. More sentences falsely called negative harm it: +1.
    Fewer falsely called positive withhold from it a favourable error that others get: -1.
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


def rates(false: ArrayLike, of: ArrayLike) -> Floats:
    """Divide arrays of one shape; NaN where there is nothing to divide by."""
    some, all_ = np.broadcast_arrays(np.asarray(false, dtype=np.float64), np.asarray(of, dtype=np.float64))
    result: Floats = np.divide(some, all_, out=np.full(some.shape, np.nan), where=all_ > 0)
    return result


def gap_of(rate: ArrayLike, groups: int) -> Floats:
    """Subtract the reference from the rates of the groups: their unweighted mean, or the rate of one more group.

    The rates have the shape (..., G), or (..., G + 1) where the last one is the reference. A group without a rate (NaN)
    has no gap and no part in the mean. The mean of 0.2, 0.3 and 0.7 is 0.4:

    >>> gap_of([[0.2, 0.3, 0.7]], 3).round(3)
    array([[-0.2, -0.1,  0.3]])
    """
    values = np.asarray(rate, dtype=np.float64)
    if values.shape[-1] > groups:
        reference = values[..., groups:]
    else:
        known = np.isfinite(values)
        reference = rates(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1))[..., None]
    result: Floats = values[..., :groups] - reference
    return result


NO_SENTENCE = "no sentence to be wrong about"


class Chosen(TypedDict, total=False):
    """What is compared of predictions: attributes and groups as for `counts`, the reference, and the metrics."""

    attributes: Sequence[str] | None
    groups: Groups
    reference: Reference
    metrics: Sequence[Metric]


def compared(predictions: Predictions, **chosen: Unpack[Chosen]) -> Iterator[tuple[GroupCounts, Metric]]:
    """Counts of each model and attribute against the reference, once for each metric."""
    given, metrics = chosen.get("attributes"), chosen.get("metrics", METRICS)
    for found in counts(predictions, attributes=given, groups=chosen.get("groups", "paper")):
        against = found.against(chosen.get("reference", "mean"))
        yield from ((against, metric) for metric in metrics)


def gaps(predictions: Predictions, **chosen: Unpack[Chosen]) -> pd.DataFrame:
    """Measure the gap of every group under every prompt.

    Predictions, attributes and groups are as for `counts`. The reference is "mean", the unweighted mean over the
    groups, or "unmarked", the same templates without an identity; templates that have no such sentence are left out on
    both sides. A row for each model, attribute, metric, group and prompt has false and of (numerator and denominator),
    rate, what it is compared with, gap (NaN where `of` is 0), sentences and terms of the group, and a note.
    """
    tables = []
    for found, which in compared(predictions, **chosen):
        by_group, count = found.by_group(), len(found.groups)
        false, of = false_positives(by_group, which.label)
        rate = rates(false, of)
        gap = gap_of(rate, count)
        parts = {"false": false, "of": of, "rate": rate, "reference_rate": rate[:, :count] - gap, "gap": gap}
        parts["sentences"] = by_group.sum(axis=(-2, -1))
        places = pd.MultiIndex.from_product([found.groups, found.runs], names=["group", "run_id"])
        table = pd.DataFrame({name: part[:, :count].T.ravel() for name, part in parts.items()}, places).reset_index()
        table["terms"] = table["group"].map({group: found.terms_of(n) for n, group in enumerate(found.groups)})
        sizes = table[["sentences", "terms", "group", "of"]].itertuples(index=False)
        table["note"] = [size_note(*size) if of else NO_SENTENCE for *size, of in sizes]
        named = {"model": found.model, "attribute": found.attribute, "metric": which.name}
        tables.append(pd.DataFrame(named, index=table.index).join(table))
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True, slots=True)
class Score:
    """A score of each group under each prompt, and how far it is from those of others.

    `value` is that of the groups, `background` that of all others together, shape (P, G); `of` and `background_of` are
    the sentences they are taken from, shape (G,). `scalar` says whether the value is the score itself, so that a range
    of it has a meaning.
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


def _scores(found: GroupCounts, predictions: pd.DataFrame) -> Iterator[Score]:
    """Score the groups of an attribute: fpr, fnr and tpr of each label, accuracy, probabilities where there are any."""
    confusion = found.by_group()
    for label in Sentiment:
        name, gold = NAMES[label], confusion[..., label, :].sum(axis=-1)
        hit = confusion[..., label, label]
        yield _rate("fpr", name, *false_positives(confusion, label))
        yield _rate("fnr", name, gold - hit, gold)
        yield _rate("tpr", name, hit, gold)
    sentences = confusion.sum(axis=(-2, -1))
    yield _rate("accuracy", "", np.trace(confusion, axis1=-2, axis2=-1), sentences)
    rows = predictions[predictions["group"].isin(found.groups)]
    if not len(rows) or not bool(rows[list(PROBABILITIES)].notna().all(axis=None)):
        return
    run = pd.Index(found.runs).get_indexer(pd.Index(rows["run_id"]))
    group = pd.Index(found.groups).get_indexer(pd.Index(rows["group"]))
    place = np.ravel_multi_index((run, group), sentences.shape)
    values = rows[list(PROBABILITIES)].to_numpy(dtype=np.float64)

    def sums(of: Floats) -> Floats:
        return np.bincount(place, weights=of, minlength=sentences.size).reshape(sentences.shape)

    for label in Sentiment:
        mean = _rate("mean_probability", NAMES[label], sums(values[:, label]), sentences)
        yield mean
        of_label, (prompts, groups) = values[:, label], map(range, sentences.shape)
        yield _wasserstein(mean, [[of_label[(run == p) & (group == g)] for g in groups] for p in prompts])
    own = values[np.arange(len(rows)), rows["y_true"]]
    yield _rate("mean_probability_of_gold", "", sums(own), sentences)


def _rate(name: str, label: str, part: NDArray[np.generic], of: Ints) -> Score:
    """Make a score that is a ratio of sums; that of the other groups together is the ratio of their sums."""
    parts, ofs = part.astype(np.float64), of.astype(np.float64)
    behind, behind_of = (each.sum(axis=1, keepdims=True) - each for each in (parts, ofs))
    value, base = rates(parts, ofs), rates(behind, behind_of)
    apart = np.abs(value[:, :, None] - value[:, None, :])
    return Score(name, label, value, base, ofs[0], behind_of[0], np.abs(value - base), apart)


def _wasserstein(mean: Score, samples: Sequence[Sequence[Floats]]) -> Score:
    prompts, groups = mean.value.shape
    behind, apart = np.full((prompts, groups), np.nan), np.zeros((prompts, groups, groups))
    for prompt, of_groups in enumerate(samples):
        for one, own in enumerate(of_groups):
            rest = [*of_groups[:one], *of_groups[one + 1 :]]
            if rest:
                behind[prompt, one] = wasserstein_distance(own, np.concatenate(rest))
        for one, two in combinations(range(groups), 2):
            distance = wasserstein_distance(of_groups[one], of_groups[two])
            apart[prompt, one, two] = apart[prompt, two, one] = distance
    return replace(mean, name="wasserstein", to_background=behind, to_each_other=apart, scalar=False)


COMPARISON_COLUMNS = (
    "model", "attribute", "family", "score", "label", "compared", "against", "value", "signed", "of", "against_of",
    "prompts",
)  # fmt: skip
"""`value` is d, `signed` the difference with its sign (NaN where there is none), `of` and `against_of` are the
sentences on both sides under one prompt (0 where a row is about all groups)."""

MEAN = "mean"
"""In `compared`: the mean over the groups or pairs, which is the metric of the paper."""


def compare_groups(
    predictions: pd.DataFrame, *, attributes: Sequence[str] | None = None, groups: Groups = "paper"
) -> pd.DataFrame:
    """Compare groups by the three families of Czarnowska et al.; predictions, attributes and groups as for `counts`.

    The table has `COMPARISON_COLUMNS`. Background: a row for each group against the sentences of all other groups
    together, and one ("mean") with the mean over the groups, which is the metric of the paper. Pairwise: the same of
    pairs. Multi-group: "range" and "deviation". A group without a sentence to count has NaN, and no part in the means.
    """
    names = _model_names(predictions)
    rows: list[tuple[object, ...]] = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        of_model = predictions[(names == found.model) & (predictions["category"] == found.attribute)]
        for score in _scores(found.against("mean"), of_model):
            start = (found.model, found.attribute)
            rows += [
                (*start, family, score.name, score.label, *cell, len(found.runs))
                for family, *cell in _families(score, found.groups)
            ]
    return pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS))


_Cell = tuple[str, str, str, float, float, float, float]


def _families(score: Score, names: Sequence[str]) -> Iterator[_Cell]:
    distance, signed = score.to_background.mean(axis=0), (score.value - score.background).mean(axis=0)
    for number, name in enumerate(names):
        sizes = score.of[number], score.background_of[number]
        yield "background", name, "other groups", distance[number], signed[number], *sizes
    yield "background", MEAN, "other groups", _mean(distance), np.nan, 0, 0
    distance = score.to_each_other.mean(axis=0)
    pairs = list(combinations(range(len(names)), 2))
    for one, two in pairs:
        difference = (score.value[:, one] - score.value[:, two]).mean()
        yield "pairwise", names[one], names[two], distance[one, two], difference, score.of[one], score.of[two]
    yield "pairwise", MEAN, "pairs", _mean(np.array([distance[pair] for pair in pairs])), np.nan, 0, 0
    if score.scalar:
        known = score.value[:, np.isfinite(score.value).all(axis=0)]
        spreads = {"range": np.ptp(known, axis=1), "deviation": known.std(axis=1)} if known.size else {}
        for name in ("range", "deviation"):
            yield "multigroup", name, "all groups", float(np.mean(spreads.get(name, np.nan))), np.nan, 0, 0


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
