"""Rates corrected by hand labels of a sample.

Every item has a verdict and some have a label. The labels stand for all items by their chance of being sampled, so that
a sample may take more of what the judge flags. Intervals carry both the labels' uncertainty and that of roles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from biaslens.stats.crossed import Clusters, Layout, joint_freedom
from biaslens.stats.estimate import Estimate, cluster_codes, clustered_variance, weighted_share, wilson


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How well verdicts meet the truth: shares of items.

    Those with the right verdict, and those truly biased; of the biased ones those called biased, of the unbiased ones
    those called unbiased, and of those called biased those that are.
    """

    agreement: Estimate
    prevalence: Estimate
    sensitivity: Estimate
    specificity: Estimate
    precision: Estimate


def verdict_accuracy(
    truth: ArrayLike,
    verdict: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Accuracy:
    """Compare verdicts with the truth, as labelled: 1 biased, 0 not, -1 unknown, shape (N,).

    Items with one of them unknown are left out. All five shares are those of `weighted_share`, and so are the options.

    >>> found = verdict_accuracy([1, 1, 1, 0, 0], [1, 1, 0, 0, 1])
    >>> found.agreement.value, round(found.sensitivity, 3), found.specificity.value
    (0.6, 0.667, 0.5)
    """
    t, v = np.asarray(truth), np.asarray(verdict)
    known = (t >= 0) & (v >= 0)

    def share(hit: NDArray[np.bool_], among: NDArray[np.bool_], reason: str) -> Estimate:
        values = np.where(among & known, hit, np.nan)
        return weighted_share(values, weights=weights, clusters=clusters, level=level, reason=reason)

    return Accuracy(
        agreement=share(t == v, known, "no item has a label and a verdict"),
        prevalence=share(t == 1, known, "no item has a label and a verdict"),
        sensitivity=share(v == 1, t == 1, "no labelled item is biased"),
        specificity=share(v == 0, t == 0, "no labelled item is unbiased"),
        precision=share(t == 1, v == 1, "no labelled item is called biased"),
    )


_ROUNDING = 1e-24
"""A variance under this is rounding."""


class _UndefinedError(Exception):
    """A rate cannot be corrected with these labels; the message says why."""


@dataclass(frozen=True, slots=True)
class _Linear:
    """A rate, the derivative of it by the weight of each item, and variance that the derivatives cannot show."""

    value: float
    influence: NDArray[np.float64]
    unseen: float = 0.0


class _Labelled:
    """Verdicts on all items and labels on some, checked; `rest` are inclusion probabilities, clusters and strata."""

    def __init__(self, verdicts: ArrayLike, labels: ArrayLike, *rest: ArrayLike | None) -> None:
        inclusion, clusters, strata = rest
        self.verdict, self.label = np.asarray(verdicts, dtype=np.float64), np.asarray(labels)
        if self.verdict.ndim != 1 or self.verdict.shape != self.label.shape:
            raise ValueError(
                f"verdicts and labels are not one row each of one length: {self.verdict.shape}, {self.label.shape}"
            )
        if not ((self.verdict >= 0) & (self.verdict <= 1)).all():
            raise ValueError("verdicts must be from 0 to 1")
        if not np.isin(self.label, (-1, 0, 1)).all():
            raise ValueError("labels must be 1, 0, or -1 where there is none")
        items = len(self.label)
        self.known: NDArray[np.bool_] = np.asarray(self.label >= 0)
        self.labels = int(self.known.sum())
        chance = np.ones(items) if inclusion is None else np.asarray(inclusion, dtype=np.float64)
        if chance.shape != (items,) or not ((chance > 0) & (chance <= 1))[self.known].all():
            raise ValueError("the inclusion probability of a labelled item must be above 0 and at most 1")
        self.weight = np.divide(1.0, chance, out=np.zeros(items), where=self.known)
        self.cluster = cluster_codes(clusters, items)
        self.stratum = np.zeros(items, dtype=np.int64) if strata is None else cluster_codes(strata, items)
        self.strata = int(self.stratum.max()) + 1 if items else 0

    def unseen(self, among: NDArray[np.bool_]) -> float:
        """Variance of a share of labels none of which was found otherwise; by item, as a judge errs by the answer."""
        weights = self.weight[among]
        size = float(weights.sum() ** 2 / np.square(weights).sum())
        share = 1 / (size + 2)
        return share * (1 - share) / size

    def added_up(self, estimate: Callable[[NDArray[np.bool_]], _Linear]) -> _Linear:
        """A rate over the strata, each by its share of the items; that share varies with the clusters drawn."""
        if not self.labels:
            raise _UndefinedError("no item has a label")
        items = len(self.stratum)
        value, unseen, influence = 0.0, 0.0, np.zeros(items)
        for stratum in range(self.strata):
            among = self.stratum == stratum
            found = estimate(among)
            part = among.sum() / items
            value += part * found.value
            unseen += part**2 * found.unseen
            influence += part * found.influence + among * found.value / items
        return _Linear(value, influence - value / items, unseen)

    def unseen_in_strata(self) -> float:
        """Variance hidden in strata whose labels are all of one class or all agree with the verdicts."""
        hidden = 0.0
        for stratum in range(self.strata):
            members = self.stratum == stratum
            labels, verdicts = self.label[members & self.known], self.verdict[members & self.known]
            if labels.min() == labels.max() or (labels == verdicts).all():
                hidden += float(members.mean()) ** 2 * self.unseen(members & self.known)
        return hidden

    def estimate(
        self, found: _Linear, interval: Callable[[float, float, float], tuple[Any, Any]], level: float
    ) -> Estimate:
        """A rate with its interval, from value, standard error and t; none with labels of one cluster."""
        value, clusters = float(np.clip(found.value, 0, 1)), len(np.unique(self.cluster[self.known]))
        if clusters < 2:
            reason = "all labels are of one cluster"
            return Estimate(value, items=self.labels, reason=reason, clusters=clusters, level=level)
        square = float(clustered_variance(np.bincount(self.cluster, found.influence), clusters)) + found.unseen
        if square <= _ROUNDING:
            square = max(value * (1 - value) / clusters, self.unseen(self.known))
        error = float(np.sqrt(square))
        low, high = map(float, interval(found.value, error, float(stdtrit(clusters - 1, (1 + level) / 2))))
        return Estimate(value, low, high, error, self.labels, clusters=clusters, level=level)


def _weighted_mean(values: NDArray[Any], weight: NDArray[Any], *, of: str = "any item") -> _Linear:
    """Mean with its influence; undefined where nothing has weight."""
    total = float(weight.sum())
    if not total:
        raise _UndefinedError(f"a stratum has no label of {of}")
    mean = float((weight * values).sum() / total)
    return _Linear(mean, weight * (values - mean) / total)


def rogan_gladen(
    verdicts: ArrayLike,
    labels: ArrayLike,
    *,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Rate of biased items from the rate of flagged ones and the judge's sensitivity and specificity.

    :math:`\theta = (q + sp - 1) / (se + sp - 1)` (Rogan and Gladen, *American Journal of Epidemiology* 107, 1978), q
    the share flagged of all items, se and sp of the labelled ones, each label weighted by one over its inclusion
    probability. With strata the correction is made in each, and the rates are added up by the strata's shares of the
    items. The standard error is linearised (delta method) with q, se and sp from the same clusters: :math:`(\dot q + (1
    - \theta) \dot{sp} - \theta \dot{se}) / (se + sp - 1)` summed by cluster, dots being the residuals of each share
    over its denominator. The interval is symmetric, t with (labelled clusters - 1) degrees of freedom, and clipped to
    [0, 1], as the rate is. **Where se or sp is 1** its residuals say nothing; its variance is then that of a share of 1
    / (n + 2) of an effective n labels (the pseudo-counts of Lang and Reiczigel, *Preventive Veterinary Medicine* 113,
    2014).

    Simulated coverage of the 95 % interval, with rates of 0.02 to 0.3, sensitivity 0.9 to 0.99, specificity 0.65 to
    0.995, 60 to 1500 labels that favour the flagged items two to one, 550 roles of 20 items and 50 of 60: 92 to 100 %,
    the high ones with 60 labels, where a rate of 0.02 comes out 0.02 to 0.03 too high, because it is clipped at 0.

    All arrays are of shape (N,): verdicts (1 flagged, 0 not), labels (1 biased, 0 not, -1 not labelled), the chance of
    each item to be labelled, only read where there is a label, and clusters and strata, any integers; each item its own
    cluster, and one stratum, if not given. `items` of the result are the labelled ones. NaN, with the reason, where a
    stratum has no label of one class, or the judge is no better than chance in it (se + sp <= 1); no interval with
    labels from fewer than two clusters. Of 10 items 5 are flagged; of 4 biased labels 3 are flagged, of 4 unbiased ones
    1: (0.5 + 0.75 - 1) / (0.75 + 0.75 - 1).

    >>> verdicts = [1, 1, 1, 0, 1, 0, 0, 0, 1, 0]
    >>> rogan_gladen(verdicts, [1, 1, 1, 1, 0, 0, 0, 0, -1, -1]).value
    0.5
    """
    data = _Labelled(verdicts, labels, inclusion, clusters, strata)
    if not np.isin(data.verdict, (0, 1)).all():
        raise ValueError("verdicts must be 0 or 1")

    def corrected(among: NDArray[np.bool_]) -> _Linear:
        biased, unbiased = among & (data.label == 1), among & (data.label == 0)
        flagged = _weighted_mean(data.verdict, among)
        hit = _weighted_mean(data.verdict, data.weight * biased, of="a biased item")
        passed = _weighted_mean(1 - data.verdict, data.weight * unbiased, of="an unbiased item")
        gain = hit.value + passed.value - 1
        if gain <= 0:
            raise _UndefinedError("the judge is no better than chance")
        rate = (flagged.value + passed.value - 1) / gain
        influence = (flagged.influence + (1 - rate) * passed.influence - rate * hit.influence) / gain
        unseen = (hit.value == 1) * (rate / gain) ** 2 * data.unseen(biased)
        unseen += (passed.value == 1) * ((1 - rate) / gain) ** 2 * data.unseen(unbiased)
        return _Linear(rate, influence, unseen)

    def symmetric(rate: float, error: float, t: float) -> tuple[Any, Any]:
        return np.clip(rate - t * error, 0, 1), np.clip(rate + t * error, 0, 1)

    try:
        return data.estimate(data.added_up(corrected), symmetric, level)
    except _UndefinedError as undefined:
        return Estimate.undefined(str(undefined), data.labels)


def prediction_powered(
    verdicts: ArrayLike,
    labels: ArrayLike,
    *,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    tuning: float | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Rate of biased items from labels, made more precise by the verdicts on all items.

    :math:`\theta = \bar y_L + \lambda (\bar f - \bar f_L)`: the labels' mean, plus how much less the judge flags in the
    labelled sample than in all items (prediction-powered inference: Angelopoulos and others, *Science* 382, 2023, with
    the tuning of PPI++: Angelopoulos, Duchi and Zrnic, arXiv 2311.01453). Means over labels are weighted by one over
    the inclusion probability (Hájek), so this is the difference estimator of survey sampling (Särndal, Swensson and
    Wretman, 1992, section 6.3). It is right for any judge, however wrong; a good one makes it precise. :math:`\lambda`,
    if not given, makes the clustered variance least, within [0, 1]. With strata the rates of each are added up by their
    shares of the items, with one :math:`\lambda`.

    The standard error is linearised and summed by cluster. The interval is Wilson's with t on (labelled clusters - 1)
    degrees of freedom and the effective size :math:`\theta (1 - \theta)` over the variance, as in `weighted_share`. For
    that size a :math:`\theta` nearer to 0 or 1 than t standard errors is taken to be that far away, so that at 0 and 1
    the interval is as long as the symmetric one. **Where no label of a stratum differs from its verdict**, or all are
    of one class, that of a share of 1 / (n + 2) of an effective n labels is taken for the variance. Simulated as for
    `rogan_gladen`, the 95 % interval covers 90 to 100 %, mostly 93 to 96 %. It is as wide as that of `rogan_gladen` for
    a good judge with many labels, and for a poor one less than half as wide: prefer it wherever the labels are a sample
    of the items themselves.

    `verdicts` may be probabilities, too; `tuning` is :math:`\lambda`: 0 for the labels alone, 1 for plain
    prediction-powered inference. All else is as for `rogan_gladen`, but that NaN comes back only where a stratum has no
    label at all. 2 of 4 labels are biased, 3 of these 4 are flagged, and 4 of all 8: 2/4 + 1 * (4/8 - 3/4).

    >>> prediction_powered([1, 1, 1, 0, 1, 0, 0, 0], [1, 1, 0, 0, -1, -1, -1, -1], tuning=1).value
    0.25
    """
    data = _Labelled(verdicts, labels, inclusion, clusters, strata)
    try:
        _, found = _powered(data, tuning)
    except _UndefinedError as undefined:
        return Estimate.undefined(str(undefined), data.labels)
    return data.estimate(found, _wilsons, level)


def _wilsons(rate: float, error: float, t: float) -> tuple[Any, Any]:
    """Wilson's interval; for its effective size the rate is taken to be at least t standard errors from 0 and 1."""
    value, reach = float(np.clip(rate, 0, 1)), min(t * error, 0.5)
    away = np.clip(value, reach, 1 - reach)
    return wilson(value, away * (1 - away) / error**2, t)


def _powered(data: _Labelled, tuning: float | None = None) -> tuple[float, _Linear]:
    """The tuning used, and the rate."""
    if tuning is not None and not 0 <= tuning <= 1:
        raise ValueError(f"tuning: {tuning} is not between 0 and 1")

    def gap_of(among: NDArray[np.bool_]) -> _Linear:
        all_, labelled = _weighted_mean(data.verdict, among), _weighted_mean(data.verdict, data.weight * among)
        return _Linear(all_.value - labelled.value, all_.influence - labelled.influence)

    base = data.added_up(lambda among: _weighted_mean(data.label, data.weight * among))
    gap = data.added_up(gap_of)
    if tuning is None:
        y, f = (np.bincount(data.cluster, part.influence) for part in (base, gap))
        # Nothing to tune by where the gap does not vary: all items labelled, or one cluster.
        tuning = float(np.clip(-(y @ f) / (f @ f), 0, 1)) if f @ f > _ROUNDING else 0.0
    unseen = data.unseen_in_strata()
    return tuning, _Linear(base.value + tuning * gap.value, base.influence + tuning * gap.influence, unseen)


@dataclass(frozen=True, slots=True)
class LabelledQuestions:
    """Verdicts and labels of one stratum by question, shape (Q,): items, flagged ones; weight of labels, biased ones.

    `variance` is that of a label of the corrected rate, `correlation` that of label and verdict.
    """

    items: NDArray[np.float64]
    flagged: NDArray[np.float64]
    weight: NDArray[np.float64]
    biased: NDArray[np.float64]
    variance: float
    correlation: float

    def varying(self, clusters: Clusters) -> tuple[NDArray[np.float64], float]:
        """Flagged items, scaled to vary between comparisons as biased ones do, and the freedom of that."""
        asked, said = self.items > 0, self.weight > 0
        layout = Layout(self.items[asked], clusters.at(asked))
        judged, _ = layout.component_of_comparisons(self.flagged[asked] / self.items[asked])
        share = float(self.flagged.sum() / self.items.sum())
        if not judged > 0 or not self.variance > 0:
            return np.zeros_like(self.flagged), np.inf
        expected = min(judged / (share * (1 - share)) / self.correlation, 1.0) * self.variance
        labels = Layout(self.weight[said], clusters.at(said))
        found, error = labels.component_of_comparisons(self.biased[said] / self.weight[said], expected=expected)
        precisions = np.array([1 / expected**2, 0.0 if np.isnan(error) else 1 / error**2])
        component = float(precisions @ [expected, np.nan_to_num(found)] / precisions.sum())
        component = float(np.clip(component, 0, self.variance))
        return self.flagged * np.sqrt(component / judged), max(2 * component**2 * float(precisions.sum()), 2.0)


@dataclass(frozen=True, slots=True)
class LabelledRate:
    """A rate corrected by labels, and how it hangs on each of Q questions: influences of shape (Q,) that add up to 0.

    NaN, with the reason, where it cannot be corrected. `unseen` is variance that the influences cannot show, `clusters`
    in how many roles there are labels, `strata` what is known of each question by stratum.
    """

    value: float
    influence: NDArray[np.float64]
    unseen: float = 0.0
    labels: int = 0
    clusters: int = 0
    reason: str = ""
    strata: tuple[LabelledQuestions, ...] = ()

    def varying(self, clusters: Clusters) -> list[tuple[NDArray[np.float64], float]]:
        """By stratum, what each question adds to the rate as far as that varies between comparisons; its freedom."""
        total = sum(stratum.items.sum() for stratum in self.strata)
        return [(part / total, freedom) for part, freedom in (stratum.varying(clusters) for stratum in self.strata)]


def _of_comparisons(
    parts: Sequence[tuple[NDArray[np.float64], float]], clusters: Clusters, *, differences: bool = False
) -> tuple[float, float]:
    r"""What the draw of comparisons adds to the variance of a sum of parts, and its degrees of freedom.

    The scale of a part is known with degrees of freedom of its own. The variance V is the sum of the covariances
    :math:`c_k` of the parts with the sum, and moves by :math:`c_k` times the relative error of a part's squared scale:
    so :math:`V^2 / \sum_k c_k^2 / \nu_k`, as Satterthwaite's formula has it for parts that are independent. Answers
    that rules decide make up most of it where they do, and a handful of labels cannot take that away.
    """
    whole = np.sum([part for part, _ in parts], axis=0)
    layout, size = Layout(np.ones(len(whole)), clusters), len(whole)
    added, freedom = layout.of_comparisons(whole * size, differences=differences)
    if not added > 0:
        return 0.0, float("nan")

    def component(values: NDArray[np.float64]) -> float:
        return layout.component_of_comparisons(values * size)[0]

    each = [(component(whole + part) - component(whole - part)) / 4 for part, _ in parts]
    moved = sum(covariance**2 / known for covariance, (_, known) in zip(each, parts, strict=True))
    return added, min(freedom, component(whole) ** 2 / moved) if moved > 0 else freedom


def labelled_rate(
    verdicts: ArrayLike,
    labels: ArrayLike,
    question: NDArray[Any],
    *,
    questions: int,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
) -> LabelledRate:
    r"""Take the rate of `prediction_powered` apart by the question of each item, from 0 to `questions` - 1.

    How labels vary between comparisons is not left to the labels: 50 or 300 of them hold next to no pairs on the same
    comparison, and a component estimated from those is anything between nothing and all of the variance. It is drawn to
    what the verdicts say, of which there are thousands. Were the judge's errors the same for all comparisons, the
    labels' intraclass correlation would be that of the verdicts over the squared correlation :math:`\phi` of label and
    verdict; were they to vary as far as the labels, it would be that of the verdicts itself. It is expected half-way,
    over :math:`\phi`, with a standard error of its own size, and weighed with the labels' own estimate by precision;
    degrees of freedom follow from both. So a good judge or many labels decide it, and neither can make it absurd.
    """
    data = _Labelled(verdicts, labels, inclusion, clusters, strata)
    try:
        tuning, found = _powered(data)
    except _UndefinedError as undefined:
        return LabelledRate(float("nan"), np.zeros(questions), labels=data.labels, reason=str(undefined))
    return LabelledRate(
        value=found.value,
        influence=np.bincount(question, found.influence, questions).astype(np.float64),
        unseen=found.unseen,
        labels=data.labels,
        clusters=len(np.unique(data.cluster[data.known])),
        strata=tuple(_by_question(data, each, question, questions, tuning) for each in range(data.strata)),
    )


_LEAST_CORRELATION = 0.2


def _by_question(
    data: _Labelled, stratum: int, question: NDArray[Any], questions: int, tuning: float
) -> LabelledQuestions:
    among = data.stratum == stratum
    weight, flagged = data.weight * among, data.verdict[among].mean()
    labelled, verdicts = (_weighted_mean(values, weight).value for values in (data.label, data.verdict))
    rate = float(np.clip(labelled + tuning * (flagged - verdicts), 0, 1))
    spread = labelled * (1 - labelled) * verdicts * (1 - verdicts)
    both = _weighted_mean(data.label * data.verdict, weight).value - labelled * verdicts
    correlation = float(np.clip(both / np.sqrt(spread), _LEAST_CORRELATION, 1)) if spread > 0 else 1.0
    items, judged, weights, biased = (
        np.bincount(question, values, questions).astype(np.float64)
        for values in (among, data.verdict * among, weight, weight * data.label)
    )
    return LabelledQuestions(items, judged, weights, biased, rate * (1 - rate), correlation)


def with_comparisons(found: Estimate, rate: LabelledRate, clusters: Clusters) -> Estimate:
    """Widen the interval of a corrected rate, which covers the draw of labels and roles, by that of comparisons.

    `rate` is `found` taken apart by question (`labelled_rate`, which says how labels vary between comparisons),
    `clusters` are those of the questions. Without comparisons, or where they add nothing, `found` comes back.
    """
    if clusters.comparison is None or np.isnan(found.standard_error) or rate.clusters < 2 or not rate.strata:
        return found
    added, freedom = _of_comparisons(rate.varying(clusters), clusters)
    if not added > 0:
        return found
    free = joint_freedom((found.standard_error**2, rate.clusters - 1.0), (added, freedom))
    error = float(np.sqrt(found.standard_error**2 + added))
    low, high = map(float, _wilsons(found.value, error, float(stdtrit(free, (1 + found.level) / 2))))
    return Estimate(
        found.value, low, high, error, found.items, clusters=found.clusters, level=found.level, freedom=free
    )


def labelled_difference(
    first: LabelledRate, second: LabelledRate, clusters: Clusters, *, level: float = 0.95
) -> Estimate:
    """Difference of two corrected rates over the same questions, each with its own labels, with its test against 0.

    So it holds whatever the judge's errors are, and however they differ between the two: of two models of equal true
    rates, judged with specificities of 0.93 and 0.90, the raw difference is significant in 94 % of simulations. The
    variance is that of `Layout` for the influences of both on each question, so questions, roles and comparisons that
    both share cancel as far as they agree; how labels vary between comparisons is taken from the verdicts, as by
    `labelled_rate`. Degrees of freedom are at most the roles with labels, less 1. `items` are the labels. NaN, with the
    reason, where one of the rates is; no interval with labels of one role.
    """
    if first.reason or second.reason:
        return Estimate.undefined(first.reason or second.reason, first.labels + second.labels)
    value, labels = first.value - second.value, first.labels + second.labels
    questions = len(first.influence)
    alone = Clusters(clusters.role, None, clusters.stratum)
    found = Layout(np.ones(questions), alone).spread((first.influence - second.influence) * questions, differences=True)
    free = min(found.freedom, first.clusters - 1.0, second.clusters - 1.0)
    variance = found.variance + first.unseen + second.unseen
    if not free >= 1 or not variance > _ROUNDING:
        return Estimate(value, items=labels, reason="too few roles with labels for an interval", level=level)
    if clusters.comparison is not None and first.strata and second.strata:
        taken_off = [(-part, freedom) for part, freedom in second.varying(clusters)]
        added, freedom = _of_comparisons([*first.varying(clusters), *taken_off], clusters, differences=True)
        if added > 0:
            free = joint_freedom((variance, free), (added, freedom), differences=True)
            variance += added
    error = float(np.sqrt(variance))
    reach, p = float(stdtrit(free, (1 + level) / 2)) * error, float(2 * stdtr(free, -abs(value) / error))
    low, high = max(value - reach, -1.0), min(value + reach, 1.0)
    return Estimate(value, low, high, error, labels, clusters=first.clusters, level=level, p=p, freedom=free)
