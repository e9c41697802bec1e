"""Intervals and tests of gaps, what randomness each of them covers, and their net count over models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma
from typing import Literal, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biaslens.probe.examples import size_note
from biaslens.probe.gaps import (
    NO_SENTENCE,
    Chosen,
    Floats,
    GroupCounts,
    Metric,
    Predictions,
    Reference,
    compared,
    false_positives,
    gap_of,
    rates,
)
from biaslens.stats import Estimates, holm
from biaslens.stats.estimate import student, undefined
from biaslens.stats.resampling import Crossed, crossed_bootstrap


@dataclass(frozen=True, slots=True)
class GapSums:
    """What gaps are computed from, as sums over prompts, templates and terms, which are crossed.

    `false` are the numerators, shape (P, T, K), `of` the denominators, which are the same for every prompt, shape (T,
    K). `membership` is 1 where a term is of a group, shape (K, G), or (K, G + 1) with a reference group as the last
    column.
    """

    false: Floats
    of: Floats
    membership: Floats
    groups: int

    @classmethod
    def of_counts(cls, found: GroupCounts, which: Metric) -> GapSums:
        """Those of one rate, without templates and terms that are in no denominator: drawing these changes nothing."""
        false, of = (part.astype(np.float64) for part in false_positives(found.confusion, which.label))
        templates, terms = of[0].sum(axis=1) > 0, of[0].sum(axis=0) > 0
        cells = np.ix_(templates, terms)
        return cls(false[:, *cells], of[0][cells], found.membership()[terms], len(found.groups))

    def by_prompt(self) -> Floats:
        """Gaps of each prompt, shape (P, G)."""
        return self._gaps(self.false.sum(axis=1) @ self.membership, self.of.sum(axis=0) @ self.membership)

    def value(self) -> Floats:
        """Mean of the gaps over the prompts, shape (G,)."""
        result: Floats = self.by_prompt().mean(axis=0)
        return result

    def _gaps(self, false: Floats, of: Floats) -> Floats:
        return gap_of(rates(false, of), self.groups)

    def crossed(self) -> Crossed:
        """The gaps as a function of weights of prompts, templates and, within each group, terms."""
        prompts, templates, terms = self.false.shape
        flat = self.false.reshape(prompts, -1)

        def weighted(of_prompts: Floats, of_templates: Floats, of_terms: Floats) -> Floats:
            mean = (of_prompts @ flat / prompts).reshape(-1, templates, terms)
            false = np.einsum("bt,btk->bk", of_templates, mean) * of_terms
            return self._gaps(false @ self.membership, (of_templates @ self.of) * of_terms @ self.membership)

        in_groups = [np.flatnonzero(column) for column in self.membership.T]
        return Crossed([[np.arange(prompts)], [np.arange(templates)], in_groups], weighted, templates * terms)

    def borrowed(self) -> list[tuple[Floats, int]]:
        """Variance of the gaps that is due to the only terms of groups with one, and its degrees of freedom.

        One term says nothing about how much terms differ, so the spread between the rates of terms within the other
        groups stands for it. Empty where every group has one term, or none has.
        """
        rate = rates(self.false.mean(axis=0).sum(axis=0), self.of.sum(axis=0))
        members = [np.flatnonzero(column) for column in self.membership.T[: self.groups]]
        alone = np.array([len(terms) == 1 for terms in members])
        several = [rate[terms] for terms in members if len(terms) > 1]
        if not alone.any() or not several:
            return []
        freedom = sum(len(terms) - 1 for terms in several)
        spread = sum(((terms - terms.mean()) ** 2).sum() for terms in several) / freedom
        slopes = np.eye(self.groups)
        if self.membership.shape[1] == self.groups:
            slopes = slopes - 1 / self.groups  # of each gap, in the rates: a rate has its part in the mean
        return [(spread * (slopes[:, alone] ** 2).sum(axis=1), freedom)]


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
_ONE_PROMPT = "one prompt: how much it matters which prompt was tuned is not known"
_ONE_TEMPLATE = "one template, or the file does not say which sentences share one: nothing to draw"
_ALIKE = "nothing varies between prompts, templates and terms"
_OFTEN_EMPTY = "a group often has no sentence left in a draw of templates and terms"


def covers(kind: Kind, reference: Reference = "mean") -> str:
    """Say what randomness an interval covers, for the gap to a reference."""
    return COVERS[kind] + (_ONE_WORDING if reference == "unmarked" else "")


def bootstrap(sums: GapSums, *, rounds: int = 2000, level: float = 0.95, seed: int = 0) -> Estimates:
    """Intervals of the mean gaps by `crossed_bootstrap`, with the variance of the only terms of groups `borrowed`."""
    prompts, templates, _ = sums.false.shape
    if prompts < 2 or templates < 2:
        return undefined(sums.value(), _ONE_PROMPT if prompts < 2 else _ONE_TEMPLATE, level=level)
    return crossed_bootstrap(
        sums.crossed(), more=sums.borrowed(), rounds=rounds, level=level, seed=seed, missing=_OFTEN_EMPTY, alike=_ALIKE
    )


def prompt_interval(gap: ArrayLike, *, kind: Kind = "t", level: float = 0.95) -> Estimates:
    """Intervals of the mean over prompts, from the gaps of each prompt, shape (P, G).

    "t" is mean +- t(P - 1) s / sqrt(P), "z" the published mean +- 1.96 s / sqrt(P). Mean 0.02 and s = 0.01 over three
    prompts; t(2) is 4.303, and 4.303 x 0.01 / sqrt(3) = 0.0248:

    >>> prompt_interval([[0.01], [0.02], [0.03]]).high.round(4)
    array([0.0448])
    """
    values = np.asarray(gap, dtype=np.float64)
    prompts, mean = len(values), values.mean(axis=0)
    if prompts < 2:
        return undefined(mean, _ONE_PROMPT, level=level)
    error = values.std(axis=0, ddof=1) / np.sqrt(prompts)
    return student(mean, error, prompts - 1 if kind == "t" else np.inf, level=level, alike=_ALIKE)


def intervals(
    predictions: Predictions,
    *,
    kind: Kind = "bootstrap",
    rounds: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    **chosen: Unpack[Chosen],
) -> pd.DataFrame:
    """Give the mean gap of every group over the prompts with its interval; what is compared is chosen as for `gaps`.

    The kinds are "bootstrap" over prompts x templates x terms, "t" over prompts, or the paper's "z" over prompts. A row
    for each model, attribute, metric and group has gap (the group's rate minus its reference, -1 to 1), interval and
    p-value (two-sided, of a gap of 0; `p_holm` corrected over the groups within attribute and metric), direction
    ("harmful" or "favourable" where the interval leaves out 0, see `Metric`), rate, false and of (numerator and
    denominator, summed over the prompts), what the number rests on, and a note where the interval is missing or the
    group is small.
    """
    tables = []
    for found, which in compared(predictions, **chosen):
        sums, count = GapSums.of_counts(found, which), len(found.groups)
        if kind == "bootstrap":
            known = bootstrap(sums, rounds=rounds, level=level, seed=seed)
        else:
            known = prompt_interval(sums.by_prompt(), kind=kind, level=level)
        by_group, gap = found.by_group(), sums.value()
        false, of = (part.sum(axis=0)[:count] for part in false_positives(by_group, which.label))
        sentences, terms = by_group[0].sum(axis=(1, 2))[:count], [found.terms_of(number) for number in range(count)]
        missing = np.where(np.isnan(gap), NO_SENTENCE, np.where(np.isnan(known.low), known.reason, ""))
        notes = zip(map(size_note, sentences, terms, found.groups), missing, strict=True)
        columns = {
            "model": found.model, "attribute": found.attribute, "metric": which.name, "group": found.groups,
            "gap": gap, "low": known.low, "high": known.high, "standard_error": known.standard_error,
            "p": known.p, "p_holm": holm(known.p),
            "direction": [direction(*cells, which) for cells in zip(gap, known.low, known.high, strict=True)],
            "rate": rates(false, of), "false": false, "of": of, "prompts": len(found.runs), "sentences": sentences,
            "templates": len(found.templates), "terms": terms, "interval": kind, "level": level,
            "reference": chosen.get("reference", "mean"), "note": ["; ".join(filter(None, note)) for note in notes],
        }  # fmt: skip
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def direction(value: float, low: float, high: float, which: Metric) -> str:
    """Say whether a gap off zero harms the group; empty where the interval holds 0, or there is none.

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

PERMUTATION_COLUMNS = (
    "model", "attribute", "metric", "group", "gap", "p_terms", "p_terms_holm", "terms", "smallest_p", "note",
)  # fmt: skip


def term_permutation(
    predictions: Predictions, *, rounds: int = 9999, seed: int = 0, **chosen: Unpack[Chosen]
) -> pd.DataFrame:
    """Test whether the gaps, chosen as for `gaps`, are larger than with terms given to the groups at random.

    The groups keep their numbers of terms. If words, and not groups, make the difference, every allotment of terms to
    groups was as likely; this holds for a group with one term, too, unlike any interval of it. Adjectives and nouns are
    exchanged alike. There is a row for each group (two-sided, `p_terms_holm` corrected over the groups within attribute
    and metric), and one "all" for the sum of the squared gaps. `smallest_p` is what the number of different allotments
    allows.
    """
    rows: list[tuple[object, ...]] = []
    for found, which in compared(predictions, **chosen):
        sums = GapSums.of_counts(found, which)
        p, p_all = exchange_terms(sums, rounds=rounds, seed=seed)
        sizes = [int(column.sum()) for column in sums.membership.T[: sums.groups]]
        own = [_smallest([size, sum(sizes) - size], rounds) for size in sizes]
        cells = zip(found.groups, sums.value(), p, holm(p), sizes, own, strict=True)
        every = (ALL, np.nan, p_all, p_all, sum(sizes), _smallest(sizes, rounds))
        rows += [
            (found.model, found.attribute, which.name, *cell, "too few terms for p < 0.05" * (cell[-1] >= 0.05))
            for cell in (*cells, every)
        ]
    return pd.DataFrame(rows, columns=list(PERMUTATION_COLUMNS))


def exchange_terms(sums: GapSums, *, rounds: int = 9999, seed: int = 0) -> tuple[Floats, float]:
    """p-values of each group's gap, shape (G,), and of all of them together; the terms of the reference stay."""
    false, of = sums.false.mean(axis=0).sum(axis=0), sums.of.sum(axis=0)
    labels = sums.membership.argmax(axis=1)
    marked = labels < sums.groups
    rng = np.random.default_rng(seed)
    drawn = np.tile(labels, (rounds, 1))
    drawn[:, marked] = rng.permuted(drawn[:, marked], axis=1)
    columns = sums.membership.shape[1]
    totals = [np.stack([(drawn == group) @ part for group in range(columns)], axis=1) for part in (false, of)]
    exchanged = gap_of(rates(*totals), sums.groups)
    value = sums.value()
    # Sums in another order may differ in the last bit; an equal gap counts as at least as large.
    larger = (np.abs(exchanged) >= np.abs(value) - 1e-12).sum(axis=0)
    together = (np.nansum(exchanged**2, axis=1) >= np.nansum(value**2) - 1e-12).sum()
    p = np.where(np.isfinite(value), (1 + larger) / (1 + rounds), np.nan)
    return p, float((1 + together) / (1 + rounds))


def _smallest(sizes: Sequence[int], rounds: int) -> float:
    """Smallest p-value that so many ways to give the terms to groups of these sizes allow."""
    ways = exp(lgamma(sum(sizes) + 1) - sum(lgamma(size + 1) for size in sizes))
    return max(1 / (rounds + 1), 1 / ways)


NET_COUNT_KEYS = ("attribute", "metric", "group", "interval", "reference")


def net_count(intervals: pd.DataFrame | Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Count, over models, +1 for an interval above 0 and -1 for one below, from tables of `intervals`.

    Models without an interval count as neither. A net count of independent false alarms is expected to be 0, but its
    spread grows with the share of them: read it beside the kind of interval.
    """
    table = intervals if isinstance(intervals, pd.DataFrame) else pd.concat(list(intervals), ignore_index=True)
    marked = table.assign(above=table["low"] > 0, below=table["high"] < 0, without_interval=table["low"].isna())
    grouped = marked.groupby(list(NET_COUNT_KEYS), sort=False)
    counted = grouped[["above", "below", "without_interval"]].sum().astype(int)
    counted.insert(0, "models", grouped["model"].nunique())
    counted.insert(3, "net", counted["above"] - counted["below"])
    return counted.reset_index()
