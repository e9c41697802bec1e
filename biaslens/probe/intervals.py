"""Intervals and tests of gaps, and what randomness each of them covers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import ndtr

from biaslens.probe.gaps import (
    METRICS,
    Counts,
    Groups,
    Metric,
    Predictions,
    Reference,
    against,
    counts,
    false_positives,
    gap_of,
    gaps_to_mean,
    rates,
)
from biaslens.probe.sentences import size_note
from biaslens.stats import holm

Floats = NDArray[np.float64]

_BLOCK = 2**22
"""Numbers that are held in memory at once."""

_DEFINED = 0.9
"""Below this share of rounds in which every group has a rate, there is no interval."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """What gaps are computed from, as sums over crossed factors.

    Parameters
    ----------
    false
        Numerators by prompt, template and term, shape (P, T, K).
    of
        Denominators, which are the same for every prompt, shape (T, K).
    membership
        1 where a term is of a group, shape (K, G), or (K, G + 1) with a reference group as the last column.
    groups
        G.
    """

    false: Floats
    of: Floats
    membership: Floats
    groups: int

    @classmethod
    def of_counts(cls, false: ArrayLike, of: ArrayLike, membership: ArrayLike, groups: int) -> Tensor:
        """Leave out templates and terms that have no part in any denominator: drawing them would change nothing."""
        numerators, denominators = np.asarray(false, dtype=np.float64), np.asarray(of, dtype=np.float64)
        templates, terms = denominators.sum(axis=1) > 0, denominators.sum(axis=0) > 0
        return cls(
            numerators[:, templates][:, :, terms], denominators[np.ix_(templates, terms)],
            np.asarray(membership, dtype=np.float64)[terms], groups,
        )  # fmt: skip

    def by_prompt(self) -> Floats:
        """Gaps of each prompt, shape (P, G)."""
        return self._gaps(self.false.sum(axis=1) @ self.membership, self.of.sum(axis=0) @ self.membership)

    def value(self) -> Floats:
        """Mean of the gaps over the prompts, shape (G,)."""
        result: Floats = self.by_prompt().mean(axis=0)
        return result

    def _gaps(self, false: Floats, of: Floats) -> Floats:
        return gap_of(rates(false, of), self.groups)

    def draws(self, rounds: int, seed: int) -> Floats:
        """Draw prompts, templates and terms, and compute the gaps of each round.

        Templates are drawn once a round for all groups, and terms within their group. One fewer than there are is drawn
        of each, with weights that make up for it (Rao and Wu, *JASA* 83, 1988): with few terms the plain bootstrap is
        too narrow by the factor (n - 1) / n. The only one of its kind is always drawn.

        Parameters
        ----------
        rounds, seed
            The same seed gives the same draws.

        Returns
        -------
        array
            Shape (rounds, G).
        """
        prompts, templates, terms = self.false.shape
        rng = np.random.default_rng(seed)
        flat = self.false.reshape(prompts, -1)
        result = np.empty((rounds, self.groups))
        step = max(1, _BLOCK // max(1, templates * terms))
        for start in range(0, rounds, step):
            size = min(step, rounds - start)
            of_prompts, of_templates = weights(prompts, size, rng), weights(templates, size, rng)
            of_terms = np.ones((size, terms))
            for column in self.membership.T:
                members = np.flatnonzero(column)
                of_terms[:, members] = weights(len(members), size, rng)
            mean = (of_prompts @ flat / prompts).reshape(size, templates, terms)
            false = np.einsum("bt,btk->bk", of_templates, mean) * of_terms
            of = (of_templates @ self.of) * of_terms
            result[start : start + size] = self._gaps(false @ self.membership, of @ self.membership)
        return result

    def components(self) -> Iterator[tuple[Floats, int]]:
        """Variance of the gaps that is due to each factor alone, by the jackknife, and its degrees of freedom.

        Prompts, templates, and the terms of each group; a factor with one level has no variance to show.
        """
        mean = self.false.mean(axis=0)
        if len(self.false) > 1:
            yield _jackknife(_left_one_out(self.by_prompt()))
        if len(mean) > 1:
            false, of = mean @ self.membership, self.of @ self.membership
            yield _jackknife(self._gaps(false.sum(axis=0) - false, of.sum(axis=0) - of))
        false, of = mean.sum(axis=0), self.of.sum(axis=0)
        for column in self.membership.T:
            members = np.flatnonzero(column)
            if len(members) > 1:
                kept = np.ones((len(members), len(false)))
                kept[np.arange(len(members)), members] = 0
                yield _jackknife(self._gaps((kept * false) @ self.membership, (kept * of) @ self.membership))

    def borrowed(self) -> tuple[Floats, int] | None:
        """Variance of the gaps that is due to the only terms of groups with one, and its degrees of freedom.

        One term says nothing about how much terms differ, so the spread between the rates of terms within the other
        groups stands for it. None where every group has one term, or none has.
        """
        rate = rates(self.false.mean(axis=0).sum(axis=0), self.of.sum(axis=0))
        members = [np.flatnonzero(column) for column in self.membership.T[: self.groups]]
        alone = np.array([len(terms) == 1 for terms in members])
        several = [rate[terms] for terms in members if len(terms) > 1]
        if not alone.any() or not several:
            return None
        freedom = sum(len(terms) - 1 for terms in several)
        spread = sum(((terms - terms.mean()) ** 2).sum() for terms in several) / freedom
        slopes = np.eye(self.groups)
        if self.membership.shape[1] == self.groups:
            slopes = slopes - 1 / self.groups  # of each gap, in the rates: a rate has its part in the mean
        return spread * (slopes[:, alone] ** 2).sum(axis=1), freedom


@dataclass(frozen=True, slots=True)
class Bounds:
    """Intervals of all groups; NaN where there is none, and then `reason` says why. Arrays of shape (G,)."""

    low: Floats
    high: Floats
    standard_error: Floats
    p: Floats
    reason: str = ""


def bootstrap(tensor: Tensor, *, rounds: int = 2000, level: float = 0.95, seed: int = 0) -> Bounds:
    """Interval of the mean gap that covers the draw of prompts, of templates and of terms.

    The standard error comes from the joint draws. The interval is value +- t x standard error, where the degrees of
    freedom follow from how much of the variance is due to each factor (Satterthwaite, *Biometrics Bulletin* 2, 1946):
    three terms of a group are three observations, however many sentences they make. The only term of a group cannot be
    drawn: the spread between the terms of the other groups stands for it.

    Parameters
    ----------
    tensor
        From one model, attribute and metric.
    rounds, level, seed
        Of the bootstrap.
    """
    prompts, templates, _ = tensor.false.shape
    if prompts < 2 or templates < 2:
        return nothing(tensor.groups, one_prompt() if prompts < 2 else _ONE_TEMPLATE)
    draws = tensor.draws(rounds, seed)
    defined = np.isfinite(draws[:, np.isfinite(tensor.value())]).all(axis=1)
    if defined.mean() < _DEFINED:
        return nothing(tensor.groups, "a group often has no sentence left in a draw of templates and terms")
    borrowed = tensor.borrowed()
    variance = draws[defined].var(axis=0, ddof=1)
    if borrowed is not None:
        variance = variance + borrowed[0]
    variances, freedoms = zip(*tensor.components(), *([] if borrowed is None else [borrowed]), strict=True)
    parts, free = np.nan_to_num(np.stack(variances)), np.array(freedoms)[:, None]
    freedom = rates(parts.sum(axis=0) ** 2, (parts**2 / free).sum(axis=0))
    return student(tensor.value(), np.sqrt(variance), freedom, level=level)


_ONE_TEMPLATE = "one template, or the file does not say which sentences share one: nothing to draw"


def student(value: Floats, error: Floats, freedom: float | Floats, *, level: float) -> Bounds:
    """Value +- t x standard error; no interval where nothing varies."""
    varies = error > 1e-12
    error = np.where(varies, error, np.nan)
    free = np.broadcast_to(np.asarray(freedom, dtype=np.float64), value.shape)
    reach = stats.t.ppf(0.5 + level / 2, free) * error
    p: Floats = np.asarray(2 * stats.t.sf(np.abs(value) / error, free), dtype=np.float64)
    reason = "" if varies.all() else "nothing varies between prompts, templates and terms"
    return Bounds(value - reach, value + reach, np.where(varies | np.isnan(value), error, 0.0), p, reason)


def nothing(groups: int, reason: str) -> Bounds:
    """No interval for any group."""
    empty = np.full(groups, np.nan)
    return Bounds(empty, empty, empty, empty, reason)


def one_prompt() -> str:
    """Why one prompt has no interval."""
    return "one prompt: how much it matters which prompt was tuned is not known"


def weights(levels: int, rounds: int, rng: np.random.Generator) -> Floats:
    """Weights of the levels of a factor: n - 1 of n are drawn, and weigh n / (n - 1); shape (rounds, levels).

    Examples
    --------
    Two are drawn of three, and each draw weighs 1.5.

    >>> weights(3, 2, np.random.default_rng(0))
    array([[1.5, 0. , 1.5],
           [0. , 0. , 3. ]])
    """
    if levels == 1:
        return np.ones((rounds, 1))
    drawn = rng.multinomial(levels - 1, np.full(levels, 1 / levels), size=rounds)
    return np.asarray(drawn * (levels / (levels - 1)), dtype=np.float64)


def _left_one_out(values: Floats) -> Floats:
    result: Floats = (values.sum(axis=0) - values) / (len(values) - 1)
    return result


def _jackknife(left_out: Floats) -> tuple[Floats, int]:
    count = len(left_out)
    return (count - 1) / count * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0), count - 1


Kind = Literal["bootstrap", "t", "z"]
KINDS: tuple[Kind, ...] = get_args(Kind)

COVERS: Mapping[Kind, str] = {
    "bootstrap": (
        "which prompts were tuned, which templates and which terms stand for a group; all are drawn again, templates "
        "together for all groups. Of a group with one term, the term cannot be told from the group: the spread between "
        "terms is borrowed from the other groups"
    ),
    "t": "which prompts were tuned; the templates and terms are taken as all there are",
    "z": (
        "which prompts were tuned, as if there were many of them: the published interval, too narrow with few "
        "(5 prompts: 88 % instead of 95 %); the templates and terms are taken as all there are"
    ),
}
"""What randomness an interval covers, shown beside it."""

_ONE_WORDING = (
    '; the sentences without an identity are one wording ("person", "people" or nothing), and that another would have '
    "served is not covered"
)

COLUMNS = (
    "model", "attribute", "metric", "group", "gap", "low", "high", "standard_error", "p", "p_holm", "direction", "rate",
    "false", "of", "prompts", "sentences", "templates", "terms", "interval", "level", "reference", "note",
)  # fmt: skip
"""Of the table that `intervals` gives."""


def intervals(
    predictions: Predictions,
    *,
    kind: Kind = "bootstrap",
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    reference: Reference = "mean",
    metrics: Sequence[Metric] = METRICS,
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Give the mean gap of every group over the prompts with its interval.

    Parameters
    ----------
    predictions
        From `read_predictions` or `predictions_table`, or `counts` of them.
    kind
        "bootstrap" over prompts x templates x terms, "t" over prompts, or the paper's "z" over prompts.
    attributes, groups, reference, metrics
        As of `gaps`.
    rounds, seed
        Of the bootstrap.
    level
        Of the interval.

    Returns
    -------
    DataFrame
        A row for each model, attribute, metric and group: gap (the group's rate minus its reference, -1 to 1), interval
        and p-value (two-sided, of a gap of 0; `p_holm` corrected over the groups within attribute and metric),
        direction ("harmful" or "favourable" where the interval leaves out 0, see `Metric`), rate, false and of
        (numerator and denominator, summed over the prompts), what the number rests on, and a note where the interval is
        missing or the group is small.
    """
    rows: list[tuple[object, ...]] = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        compared = against(found, reference)
        for which in metrics:
            tensor = tensor_of(compared, which)
            bounds = _bounds(tensor, kind, rounds=rounds, level=level, seed=seed)
            rows += _rows(compared, which, tensor, bounds)
    given = [name for name in COLUMNS if name not in ("interval", "level", "reference")]
    return pd.DataFrame(rows, columns=given).assign(interval=kind, level=level, reference=reference)[list(COLUMNS)]


def covers(kind: Kind, reference: Reference = "mean") -> str:
    """Say what randomness an interval covers, for the gap to a reference."""
    return COVERS[kind] + (_ONE_WORDING if reference == "unmarked" else "")


def tensor_of(found: Counts, which: Metric) -> Tensor:
    """Take the false positives of one label from the counts."""
    false, of = false_positives(found.confusion, which.label)
    return Tensor.of_counts(false, of[0], found.membership(), len(found.groups))


def prompt_interval(gap: ArrayLike, *, kind: Kind = "t", level: float = 0.95) -> Bounds:
    """Interval of the mean over prompts, from the gaps of each prompt.

    Parameters
    ----------
    gap
        Shape (P, G).
    kind
        "t": mean +- t(P - 1) s / sqrt(P). "z": mean +- 1.96 s / sqrt(P), the published one.

    Examples
    --------
    Mean 0.02 and s = 0.01 over three prompts; t(2) is 4.303, and 4.303 x 0.01 / sqrt(3) = 0.0248.

    >>> prompt_interval([[0.01], [0.02], [0.03]]).high.round(4)
    array([0.0448])
    """
    values = np.asarray(gap, dtype=np.float64)
    prompts = len(values)
    if prompts < 2:
        return nothing(values.shape[1], one_prompt())
    error = values.std(axis=0, ddof=1) / np.sqrt(prompts)
    return student(values.mean(axis=0), error, prompts - 1 if kind == "t" else np.inf, level=level)


def _bounds(tensor: Tensor, kind: Kind, *, rounds: int, level: float, seed: int) -> Bounds:
    if kind == "bootstrap":
        return bootstrap(tensor, rounds=rounds, level=level, seed=seed)
    return prompt_interval(tensor.by_prompt(), kind=kind, level=level)


def _rows(found: Counts, which: Metric, tensor: Tensor, bounds: Bounds) -> Iterator[tuple[object, ...]]:
    value = tensor.value()
    adjusted = holm(bounds.p)
    false, of = (part.sum(axis=0) for part in false_positives(found.by_group(), which.label))
    sentences = found.by_group()[0].sum(axis=(1, 2))
    for number, group in enumerate(found.groups):
        terms = int((found.group_of_term == number).sum())
        low, high = bounds.low[number], bounds.high[number]
        notes = [
            size_note(int(sentences[number]), terms, group),
            _why_none(value[number], low, bounds),
        ]
        yield (
            found.model, found.attribute, which.name, group, value[number], low, high, bounds.standard_error[number],
            bounds.p[number], adjusted[number], direction(value[number], low, high, which),
            float(false[number]) / float(of[number]) if of[number] else np.nan, int(false[number]), int(of[number]),
            len(found.runs), int(sentences[number]), len(found.templates), terms,
            "; ".join(note for note in notes if note),
        )  # fmt: skip


def _why_none(value: float, low: float, bounds: Bounds) -> str:
    if np.isnan(value):
        return "no sentence to be wrong about"
    return bounds.reason if np.isnan(low) else ""


def direction(value: float, low: float, high: float, which: Metric) -> str:
    """Say whether a gap off zero harms the group; empty where the interval holds 0, or there is none.

    Examples
    --------
    >>> from biaslens.probe.gaps import NEGATIVE_FPR, POSITIVE_FPR
    >>> direction(0.1, 0.05, 0.15, NEGATIVE_FPR), direction(0.1, 0.05, 0.15, POSITIVE_FPR)
    ('harmful', 'favourable')
    """
    if not (low > 0 or high < 0):
        return ""
    return "harmful" if np.sign(value) == which.harmful else "favourable"


ALL = "all"
"""Of the row that tests all groups of an attribute together."""

PERMUTATION_COVERS = (
    "which terms stand for which group: p is the share of exchanges of terms between the groups that give a gap at "
    "least as large; prompts and templates are taken as all there are"
)
"""What randomness the test covers, shown beside it."""

_FEW = "too few terms for p < 0.05"

PERMUTATION_COLUMNS = (
    "model",
    "attribute",
    "metric",
    "group",
    "gap",
    "p_terms",
    "p_terms_holm",
    "terms",
    "smallest_p",
    "note",
)


def term_permutation(
    predictions: Predictions,
    *,
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    reference: Reference = "mean",
    metrics: Sequence[Metric] = METRICS,
    rounds: int = 9999,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether the gaps are larger than with terms given to the groups at random.

    The groups keep their numbers of terms. If words, and not groups, make the difference, every allotment of terms to
    groups was as likely; this holds for a group with one term, too, unlike any interval of it. Adjectives and nouns are
    exchanged alike.

    Parameters
    ----------
    predictions, attributes, groups, reference, metrics
        As of `gaps`.
    rounds, seed
        Random exchanges.

    Returns
    -------
    DataFrame
        A row for each group (two-sided, `p_terms_holm` corrected over the groups within attribute and metric), and one
        "all" for the sum of the squared gaps. `smallest_p` is what the number of different allotments allows.
    """
    rows: list[tuple[object, ...]] = []
    for found in counts(predictions, attributes=attributes, groups=groups):
        compared = against(found, reference)
        for which in metrics:
            tensor = tensor_of(compared, which)
            p, p_all = exchange_terms(tensor, rounds=rounds, seed=seed)
            sizes = [int(column.sum()) for column in tensor.membership.T[: tensor.groups]]
            own = [_smallest([size, sum(sizes) - size], rounds) for size in sizes]
            cells = zip(compared.groups, tensor.value(), p, holm(p), sizes, own, strict=True)
            every = (ALL, np.nan, p_all, p_all, sum(sizes), _smallest(sizes, rounds))
            rows += [
                (found.model, found.attribute, which.name, *cell, _FEW if cell[-1] >= 0.05 else "")
                for cell in (*cells, every)
            ]
    return pd.DataFrame(rows, columns=list(PERMUTATION_COLUMNS))


def exchange_terms(tensor: Tensor, *, rounds: int = 9999, seed: int = 0) -> tuple[Floats, float]:
    """p-values of each group's gap, shape (G,), and of all of them together; the terms of the reference stay."""
    false, of = tensor.false.mean(axis=0).sum(axis=0), tensor.of.sum(axis=0)
    labels = tensor.membership.argmax(axis=1)
    marked = labels < tensor.groups
    rng = np.random.default_rng(seed)
    drawn = np.tile(labels, (rounds, 1))
    drawn[:, marked] = rng.permuted(drawn[:, marked], axis=1)
    columns = tensor.membership.shape[1]
    totals = [np.stack([(drawn == group) @ part for group in range(columns)], axis=1) for part in (false, of)]
    exchanged = gap_of(rates(*totals), tensor.groups)
    value = tensor.value()
    # Sums in another order may differ in the last bit; an equal gap counts as at least as large.
    larger = (np.abs(exchanged) >= np.abs(value) - 1e-12).sum(axis=0)
    together = (np.nansum(exchanged**2, axis=1) >= np.nansum(value**2) - 1e-12).sum()
    p = np.where(np.isfinite(value), (1 + larger) / (1 + rounds), np.nan)
    return p, float((1 + together) / (1 + rounds))


def _smallest(sizes: Sequence[int], rounds: int) -> float:
    """Smallest p-value that so many ways to give the terms to groups of these sizes allow."""
    ways = exp(lgamma(sum(sizes) + 1) - sum(lgamma(size + 1) for size in sizes))
    return max(1 / (rounds + 1), 1 / ways)


@dataclass(frozen=True, slots=True)
class World:
    """Where predictions come from: a probit model of "falsely called negative" with crossed random effects.

    Parameters
    ----------
    terms
        Number of terms of each group.
    prompts, templates
        How many are drawn.
    base
        Of the probit.
    of_template, of_term, of_prompt, template_by_term, prompt_by_template, prompt_by_term, of_sentence
        Standard deviations of the effects on the probit scale.
    shift
        What each group adds: 0 where the groups do not differ.
    """

    terms: Sequence[int] = (5, 3, 6)
    prompts: int = 5
    templates: int = 60
    base: float = -0.8
    of_template: float = 1.0
    of_term: float = 0.5
    of_prompt: float = 0.3
    template_by_term: float = 0.3
    prompt_by_template: float = 0.5
    prompt_by_term: float = 0.2
    shift: Sequence[float] = (0.0, 0.0, 0.0)

    def draw(self, rng: np.random.Generator) -> Tensor:
        """Draw prompts, templates and terms, and what the prompts say; each template is one sentence a term."""
        group = np.repeat(np.arange(len(self.terms)), self.terms)
        size = {"p": self.prompts, "t": self.templates, "k": len(group)}
        probit = self.base + np.asarray(self.shift)[group] + np.zeros(tuple(size.values()))
        for name, spread in self._effects().items():
            shape = tuple(size[axis] if axis in name else 1 for axis in "ptk")
            probit = probit + rng.normal(0.0, spread, shape)
        false = (probit + rng.normal(size=probit.shape) > 0).astype(float)
        return Tensor(false, np.ones(false.shape[1:]), np.eye(len(self.terms))[group], len(self.terms))

    def gap(self) -> NDArray[np.float64]:
        """Gaps over all prompts, templates and terms that could have been drawn; shape (G,)."""
        spread = np.sqrt(1.0 + sum(spread**2 for spread in self._effects().values()))
        return gaps_to_mean(ndtr((self.base + np.asarray(self.shift)) / spread))

    def _effects(self) -> Mapping[str, float]:
        return {
            "t": self.of_template, "k": self.of_term, "p": self.of_prompt, "tk": self.template_by_term,
            "pt": self.prompt_by_template, "pk": self.prompt_by_term,
        }  # fmt: skip
