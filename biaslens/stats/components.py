"""Where results vary, what more of each would buy, and what is left of small groups' rates once chance is taken off."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from biaslens.stats.crossed import BOTH, COMPARISON, ITEM, ROLE, Clusters, Layout
from biaslens.stats.estimate import Floats

DOUBLED = ("roles", "comparisons", "questions", "trials")
"""What a design can have twice as many of."""


@dataclass(frozen=True, slots=True)
class Components:
    """Variance of a trial's result between attributes, roles, comparisons and so on, and the design it was found in.

    `both` is what a role adds to a comparison, shared by the questions on it (of an encounter, say), `trial` what is
    left between the trials of one question; with a single trial `question` holds both. NaN where the design cannot
    tell; 0 where it comes out negative, so too small to be seen.
    """

    attribute: float
    role: float
    comparison: float
    both: float
    question: float
    trial: float
    roles: int
    comparisons: int
    questions: int
    trials_per_question: float
    #: sums of squared shares of roles, comparisons, both, questions
    concentration: tuple[float, float, float, float]

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of attribute, role, comparison, both, question and trial in the variance; unknown ones are NaN."""
        parts = np.array([self.attribute, self.role, self.comparison, self.both, self.question, self.trial])
        total = np.nansum(parts)
        return tuple((parts / total).tolist()) if total > 0 else (nan,) * len(parts)

    @property
    def effective_comparisons(self) -> float:
        """One over the sum of the squared shares of the comparisons; NaN where they are not told apart."""
        return 1 / self.concentration[1] if self.concentration[1] else nan

    def standard_error(
        self, *, roles: float = 1.0, comparisons: float = 1.0, questions: float = 1.0, trials: float = 1.0
    ) -> float:
        r"""Standard error of the bias rate with so many times as many of each.

        :math:`\sum_k \sigma_k^2 \sum_g s_{kg}^2`, with the shares s of the groups of each component (Searle, Casella
        and McCulloch, *Variance Components*, 1992; Brennan, *Generalizability Theory*, 2001, chapter 4). Twice the
        questions are twice as many a role, on the comparisons there are; twice the comparisons are spread over the
        questions there are.
        """
        of_role, of_comparison, of_both, of_question = self.concentration
        parts = (
            self.role * of_role / roles,
            self.comparison * of_comparison / comparisons,
            self.both * of_both / (roles * questions),
            self.question * of_question / (roles * questions),
            self.trial * of_question / (roles * questions * trials * self.trials_per_question),
        )
        known = [part for part in parts if not np.isnan(part)]
        return float(np.sqrt(sum(known))) if known and self.roles > 1 else nan

    def best_doubled(self) -> str:
        """Which of `DOUBLED` makes the standard error least; "" where it is not known."""
        errors = {name: self.standard_error(**{name: 2.0}) for name in DOUBLED}
        if np.isnan(list(errors.values())).any():
            return ""
        return min(DOUBLED, key=lambda name: round(errors[name], 9))


def components(results: ArrayLike, clusters: Clusters) -> Components:
    r"""Estimate the components from results of trials: 1 biased, 0 not, -1 not valid, shape (Q, T).

    Roles, comparisons, both and questions come from `Layout.components`, the trials from the variance within questions,
    and the attributes (the strata) from the spread of their rates less what the other parts make of it.
    """
    table = np.asarray(results)
    if table.ndim != 2:
        raise ValueError(f"results must be questions by trials, not of shape {table.shape}")
    biased, valid = (table == 1).sum(axis=1), (table >= 0).sum(axis=1)
    layout = Layout(valid, clusters)
    if not layout.items:
        return Components(nan, nan, nan, nan, nan, nan, 0, 0, 0, nan, (0.0, 0.0, 0.0, 0.0))
    y = biased[layout.known] / layout.weight
    found = layout.components(y)
    spare = layout.total - layout.items
    trial = float((layout.weight * y * (1 - y)).sum() / spare) if spare > 0 else nan
    of_item = found.get(ITEM, nan)
    question = of_item if np.isnan(trial) else max(of_item - trial * layout.items / layout.total, 0.0)
    parts = {which: max(found.get(which, nan), 0.0) if which in found else nan for which in (ROLE, COMPARISON, BOTH)}
    return Components(
        attribute=_between_strata(layout, y, {**parts, ITEM: max(of_item, 0.0)}),
        role=parts[ROLE],
        comparison=parts[COMPARISON],
        both=parts[BOTH],
        question=question,
        trial=trial,
        roles=layout.roles,
        comparisons=layout.comparisons,
        questions=layout.items,
        trials_per_question=layout.total / layout.items,
        concentration=tuple(layout.share(which) for which in (ROLE, COMPARISON, BOTH, ITEM)),  # type: ignore[arg-type]
    )


def _between_strata(layout: Layout, y: Floats, parts: dict[int, float]) -> float:
    if layout.strata < 2:
        return nan
    share = layout.of_stratum / layout.total
    rates = np.bincount(layout.stratum, layout.weight * y, layout.strata) / layout.of_stratum
    mean = float((share * rates).sum())
    noise = np.zeros(layout.strata)
    for which, level in layout.levels.items():
        if not np.isnan(parts[which]):
            noise += parts[which] * layout.concentrated(level)
    return max(float((share * (rates - mean) ** 2).sum() - (share * (1 - share) * noise).sum()), 0.0)


_FEWEST = 4
"""Groups beyond the families' means that a spread can be estimated from."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """Shrunken rates of G groups with intervals, and how far each was drawn to the mean of its family, from 0 to 1."""

    value: Floats
    low: Floats
    high: Floats
    shrinkage: Floats


def pooled_rates(
    rates: ArrayLike, errors: ArrayLike, sizes: ArrayLike, families: ArrayLike, *, level: float = 0.95
) -> Pooled:
    r"""Empirical-Bayes estimates of the rates of groups from their families' means and how far groups truly differ.

    The observed rate of group g is taken as normal around its true rate with variance :math:`V_g`, and that as normal
    around the mean of its family (the attribute, say) with variance :math:`\tau^2`, the same in all families: by the
    estimator of Paule and Mandel (*Journal of Research of the NBS* 87, 1982), :math:`\sum_g (x_g - \mu)^2 / (V_g +
    \tau^2)` equals the groups less the families. The estimate is :math:`\mu + (1 - B_g) (x_g - \mu)` with
    :math:`B_g = V_g / (V_g + \tau^2)` times (k - 2) / k for the k spare groups, and its interval has the width of
    Morris (*JASA* 78, 1983, section 5), which knows that :math:`\mu` and :math:`\tau^2` are estimated.

    Standard errors of a few questions are poor, and 0 where these agree: :math:`V_g` is the mean of the squared errors
    times sizes, over the size of the group. `rates`, their standard `errors`, `sizes` (independent units in each: roles
    of an attribute, comparisons of a role) and `families`, any integers, have the shape (G,). All is NaN with fewer
    than four groups to spare; for groups whose rate is NaN it is NaN.

    >>> found = pooled_rates([0.2, 0.3, 0.4, 0.9, 0.3, 0.4], [0.2] * 6, [5] * 6, [0] * 6)
    >>> bool(found.value[3] < 0.9), bool(found.low[3] < found.value[3] < found.high[3])
    (True, True)
    """
    x, error, size = (np.asarray(values, dtype=np.float64) for values in (rates, errors, sizes))
    known = np.isfinite(x) & np.isfinite(error) & (size > 0)
    nothing = np.full(x.shape, np.nan)
    _, family = np.unique(np.asarray(families)[known], return_inverse=True)
    spare = int(known.sum()) - (int(family.max()) + 1 if len(family) else 0)
    if spare < _FEWEST:
        return Pooled(nothing, nothing, nothing, nothing)
    x, size = x[known], size[known]
    variance = float(np.mean(np.square(error[known]) * size)) / size
    mean, spread = _spread(x, variance, family, spare)
    weight = np.divide(1.0, variance + spread, out=np.ones_like(x), where=variance + spread > 0)
    drawn = (spare - 2) / spare * variance * weight
    value = mean + (1 - drawn) * (x - mean)
    of_family = np.bincount(family, weight)[family]
    square = variance * (1 - drawn) + np.square(drawn) / of_family
    square += 2 / (spare - 2) * np.square(drawn * (x - mean))
    reach = ndtri((1 + level) / 2) * np.sqrt(square)
    found = [value, np.clip(value - reach, 0, 1), np.clip(value + reach, 0, 1), drawn]
    return Pooled(*(_filled(nothing, known, part) for part in found))


def _spread(x: Floats, variance: Floats, family: NDArray[np.int64], spare: int) -> tuple[Floats, float]:
    """Means of the families, by group, and the variance of true rates around them."""

    def means(spread: float) -> Floats:
        weight = 1 / np.maximum(variance + spread, 1e-12)
        result: Floats = (np.bincount(family, weight * x) / np.bincount(family, weight))[family]
        return result

    def excess(spread: float) -> float:
        return float((np.square(x - means(spread)) / np.maximum(variance + spread, 1e-12)).sum()) - spare

    if excess(0.0) <= 0:
        return means(0.0), 0.0
    from scipy.optimize import brentq  # only here: it takes half a second to load

    found = float(brentq(excess, 0.0, 10.0))
    return means(found), found


def _filled(nothing: Floats, known: NDArray[np.bool_], values: Floats) -> Floats:
    result = nothing.copy()
    result[known] = values
    return result
