"""Where the results of a run vary, and how many roles, questions and trials it takes to find a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from biaslens.analysis.comparison import align
from biaslens.analysis.frame import ATTRIBUTES, KINDS, Run
from biaslens.analysis.rates import ALL, table
from biaslens.benchmark.groups import compared
from biaslens.errors import InputError
from biaslens.schema import Condition, Question
from biaslens.stats import DOUBLED, Clusters, Layout, components
from biaslens.stats.crossed import BOTH, COMPARISON, ITEM, ROLE, Codes

ROLES = (1, 2, 3, 5, 8, 12, 18, 27, 40, 50)
"""Roles of each attribute that are tried."""

QUESTIONS, TRIALS = (5, 10, 20), (1, 2, 3, 5)
"""Questions of each kind for each role, and trials, that are tried."""


@dataclass(frozen=True, slots=True)
class DifferenceVariance:
    """Variance of the difference of two models' answers to one question, and where it is from.

    Between roles, comparisons, both, questions, and (of single trials of both models) trials.
    """

    role: float
    comparison: float
    both: float
    question: float
    trial: float
    source: str


PUBLISHED = DifferenceVariance(
    0.0023, 0.0149, 0.0020, 0.130, 0.066,
    "differences of three models of the published study, all kinds of questions; name a --pilot for your own",
)  # fmt: skip
"""Means over GPT-4o-mini, Llama-3-8B and Qwen1.5-110B, their answers to the published questions as scored here."""


@dataclass(frozen=True, slots=True)
class Design:
    """A slice that finds a difference, `detectable` the smallest it finds four times out of five, and its calls."""

    roles_per_attribute: int
    questions_per_kind: int
    trials: int
    roles: int
    questions: int
    calls: int
    detectable: float


def pilot_parts(runs: Sequence[Run]) -> DifferenceVariance:
    """Estimate the variance of a difference from a pilot: one run, or two on the same questions.

    One run says how answers of one model vary. Two models are then taken to share half of the effects of roles,
    comparisons and questions, as they did in the published answers.

    Raises `InputError` for other numbers of runs, and where nothing can be estimated.
    """
    if len(runs) not in (1, 2):
        raise InputError(f"a pilot is one run, or two to be compared, not {len(runs)}")
    table = align(runs, Condition.ROLE)
    known = (table.valid > 0).all(axis=0)
    each = []
    for run in runs:
        valid = run.trials(Condition.ROLE).valid > 0
        each.append(components(run.trials(Condition.ROLE).results[valid], run.clusters.at(valid)))
    trial = sum(parts.trial for parts in each) * (2 if len(runs) == 1 else 1)
    if not known.any() or np.isnan(trial):
        raise InputError("the pilot has no question with two valid trials; ask a slice with --trials 2 or more")
    if len(runs) == 1:
        (one,) = each
        role, comparison, both, question = map(_known, (one.role, one.comparison, one.both, one.question))
        return DifferenceVariance(role, comparison, both, question, trial, f"one pilot run, {runs[0].info.model}")
    rates = table.biased[:, known] / table.valid[:, known]
    layout = Layout(np.ones(int(known.sum())), table.clusters(runs[0].estimand).at(known))
    found = layout.components(rates[0] - rates[1])
    noise = sum(parts.trial / parts.trials_per_question for parts in each)
    question = _known(found.get(ITEM, 0.0) - noise)
    role, comparison, both = (_known(found.get(which, 0.0)) for which in (ROLE, COMPARISON, BOTH))
    models = " and ".join(run.info.model for run in runs)
    return DifferenceVariance(role, comparison, both, question, trial, f"two pilot runs, {models}")


def _known(value: float) -> float:
    return 0.0 if np.isnan(value) else max(value, 0.0)


def designs(questions: Sequence[Question], parts: DifferenceVariance, difference: float) -> tuple[list[Design], float]:
    r"""For each number of trials the slice with the fewest calls that finds a difference; and the least any finds.

    `questions` are those to choose from, in the order of the benchmark. A difference is found where a test at 5 %
    rejects with a chance of 80 %: :math:`(t_{0.975} + t_{0.8}) \cdot SE`, degrees of freedom roles less attributes. The
    standard error is the root of the sum of `parts`, each times the sum of the squared shares of its groups in the
    slice.
    """
    role = np.unique([(q.role.attribute, q.role.name) for q in questions], axis=0, return_inverse=True)[1].ravel()
    names = [compared(q.groups, q.target, phrases=bool(q.encounter)) or q.id for q in questions]
    comparison = np.unique(names, return_inverse=True)[1]
    attribute = np.array([ATTRIBUTES.index(q.role.attribute) for q in questions])
    role_place = _within(attribute, role)
    question_place = _nth(np.array([f"{code} {q.kind}" for code, q in zip(role, questions, strict=True)]))
    best: dict[int, Design] = {}
    least = inf
    for roles in ROLES:
        for count in QUESTIONS:
            chosen = (role_place < roles) & (question_place < count)
            layout = Layout(np.ones(int(chosen.sum())), Clusters(role, comparison, attribute).at(chosen))
            for trials in TRIALS:
                detectable = _detectable(layout, parts, trials)
                least = min(least, detectable)
                calls = layout.items * trials
                if detectable <= difference and (trials not in best or calls < best[trials].calls):
                    found = (layout.roles, layout.items, calls, detectable)
                    best[trials] = Design(roles, count, trials, *found)
    return [best[trials] for trials in sorted(best)], least


def _detectable(layout: Layout, parts: DifferenceVariance, trials: int) -> float:
    free = layout.roles - layout.strata
    if free < 1:
        return inf
    of_both = layout.share(BOTH) or layout.share(ITEM)
    variance = (
        parts.role * layout.share(ROLE)
        + parts.comparison * (layout.share(COMPARISON) or of_both)
        + parts.both * of_both
        + (parts.question + parts.trial / trials) * layout.share(ITEM)
    )
    return float(stdtrit(free, [0.975, 0.8]).sum() * np.sqrt(variance))


def _within(outer: Codes, inner: Codes) -> Codes:
    """Position of each inner code among those of its outer code, by where it first stands."""
    place: dict[tuple[int, int], int] = {}
    count: dict[int, int] = {}
    result = np.empty(len(outer), dtype=np.int64)
    for at, (first, second) in enumerate(zip(outer.tolist(), inner.tolist(), strict=True)):
        if (first, second) not in place:
            place[first, second] = count[first] = count.get(first, -1) + 1
        result[at] = place[first, second]
    return result


def _nth(names: NDArray[np.str_]) -> Codes:
    """How many of the same name stand before each."""
    count: dict[str, int] = {}
    result = np.empty(len(names), dtype=np.int64)
    for at, name in enumerate(names.tolist()):
        result[at] = count[name] = count.get(name, -1) + 1
    return result


LOPSIDED = 0.2
"""From this share of the questions on one comparison is most of what an interval for others like these must cover."""

_PARTS = ("attribute", "role", "comparison", "both", "question", "trial")

_COLUMNS = [
    "model", "condition", "kind", "roles", "comparisons", "effective_comparisons", "questions",
    *(f"share_{part}" for part in _PARTS), "standard_error", *(f"standard_error_twice_{name}" for name in DOUBLED),
    "buy", "largest_comparison", "largest_share", "estimand",
]  # fmt: skip


def variance(run: Run) -> pd.DataFrame:
    """Split the variance of a trial's result into its parts, by condition and kind ("all" for the total).

    Columns are those of variance.csv in results/README.md: shares between attributes, roles, comparisons of groups,
    both (what a role adds to a comparison), questions and trials; the standard error of the bias rate that follows, and
    what it would be with twice as many roles, comparisons, questions a role, or trials; ``buy`` names the best of
    these. Shares are NaN where the run cannot tell.
    """
    rows = []
    names = run.questions.comparisons
    for condition, trials in run.conditions.items():
        for kind in (None, *KINDS):
            chosen = np.flatnonzero(run.questions.select(kind=kind) & (trials.valid > 0))
            if not len(chosen):
                continue
            parts = components(trials.results[chosen], run.clusters.at(chosen))
            largest = np.bincount(run.questions.comparison[chosen])
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "kind": kind.value if kind else ALL,
                    "roles": parts.roles,
                    "comparisons": parts.comparisons,
                    "effective_comparisons": parts.effective_comparisons,
                    "questions": parts.questions,
                    **{f"share_{part}": share for part, share in zip(_PARTS, parts.shares, strict=True)},
                    "standard_error": parts.standard_error(),
                    **{f"standard_error_twice_{name}": parts.standard_error(**{name: 2.0}) for name in DOUBLED},
                    "buy": parts.best_doubled(),
                    "largest_comparison": names[int(largest.argmax())] if names else "",
                    "largest_share": float(largest.max() / len(chosen)),
                    "estimand": run.estimand.value,
                }
            )
    return table(rows, _COLUMNS)
