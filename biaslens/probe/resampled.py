"""Cluster bootstrap of gaps over prompts, templates and terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from biaslens.probe.gaps import gap_of, rates

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
