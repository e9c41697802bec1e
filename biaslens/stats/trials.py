"""Trials of questions: shares and majorities, how far trials agree, and what more of them would buy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from biaslens.stats.estimate import Estimate, clustered_mean, counts_array, counts_within


def share(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Elementwise ``part / whole`` of counts; NaN where the whole is 0, because a share of nothing is unknown.

    >>> share([1, 0], [4, 0])
    array([0.25,  nan])
    """
    some, all_ = counts_within(part, whole)
    result: NDArray[np.float64] = np.divide(some, all_, out=np.full(some.shape, np.nan), where=all_ > 0)
    return result


def coverage(valid: ArrayLike, planned: ArrayLike) -> NDArray[np.float64]:
    """Share of the planned trials (asked or not) that enter the denominator of a rate: biased, unbiased or refused.

    0, and not NaN, where nothing was planned: an empty run must never look complete.

    >>> coverage([3, 0], [4, 0])
    array([0.75, 0.  ])
    """
    return np.nan_to_num(share(valid, planned), nan=0.0)


def majority_threshold(planned: ArrayLike) -> NDArray[np.int64]:
    """Fewest trials that are more than half of those planned: 2 of 3, 2 of 2, 1 of 1."""
    threshold: NDArray[np.int64] = counts_array(planned, "planned") // 2 + 1
    return threshold


def biased_majority(biased: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether each question is biased: more than half of its planned trials are.

    The denominator is the plan and not the valid answers, so a missing answer never makes a question biased. A
    question without planned trials is not biased.

    >>> biased_majority([2, 1, 1], [3, 3, 1])
    array([ True, False,  True])
    """
    some, all_ = counts_within(biased, planned)
    verdict: NDArray[np.bool_] = some >= majority_threshold(all_)
    return verdict


def majority_decided(biased: ArrayLike, valid: ArrayLike, planned: ArrayLike) -> NDArray[np.bool_]:
    """Whether the verdict of `biased_majority` stands, whatever the trials without a valid result would have been.

    >>> majority_decided([0, 1, 1], [2, 2, 1], 3)
    array([ True, False, False])
    """
    some, all_ = counts_within(biased, planned)
    known, _ = counts_within(valid, planned)
    need = majority_threshold(all_)
    decided: NDArray[np.bool_] = (all_ > 0) & ((some >= need) | (some + all_ - known < need))
    return decided


def biased_questions(biased: ArrayLike, planned: ArrayLike) -> int:
    """Count the questions that `biased_majority` calls biased: the study's headline number."""
    return int(np.count_nonzero(biased_majority(biased, planned)))


@dataclass(frozen=True, slots=True)
class Patterns:
    """What the trials of the questions agree on, counted over questions with all trials valid.

    `consistent`: all trials alike. `mostly_biased`: a split with a biased majority, two biased of three.
    `mostly_unbiased`: a split without one, one biased of three.
    """

    questions: int
    consistent: int
    mostly_biased: int
    mostly_unbiased: int


@dataclass(frozen=True, slots=True)
class Components:
    """Variance of a trial's result between roles, between questions of a role, between trials of a question.

    Negative estimates are set to 0, and `truncated` says so: that part is too small for the design to see. NaN where
    the design cannot tell. The design is the number of roles, and averages: questions / roles and trials / questions.
    """

    role: float
    question: float
    trial: float
    roles: int
    questions_per_role: float
    trials_per_question: float
    truncated: bool = False

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of role, question and trial in the whole variance; NaN where nothing varies."""
        total = self.role + self.question + self.trial
        if not total > 0:
            return np.nan, np.nan, np.nan
        return self.role / total, self.question / total, self.trial / total

    def standard_error(self, *, roles: float = 1.0, questions: float = 1.0, extra_trials: int = 0) -> float:
        r"""Standard error of the bias rate with so many times as many roles and questions a role, and more trials.

        :math:`\sqrt{\sigma_r^2 / R + \sigma_q^2 / (R M) + \sigma_t^2 / (R M T)}` for R roles of M questions of T trials
        each (Searle, Casella and McCulloch, 1992, section 3.6; Brennan, *Generalizability Theory*, 2001, chapter 4).
        For a design with equal numbers that is the clustered standard error of the rate.
        """
        if not self.roles:
            return float("nan")
        r, m = self.roles * roles, self.questions_per_role * questions
        t = self.trials_per_question + extra_trials
        return float(np.sqrt(self.role / r + self.question / (r * m) + self.trial / (r * m * t)))


def _valid(results: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    table = np.asarray(results)
    if table.ndim != 2:
        raise ValueError(f"results must be questions by trials, not of shape {table.shape}")
    return (table == 1).sum(axis=1), (table >= 0).sum(axis=1), table.shape[1]


def patterns(results: ArrayLike) -> Patterns:
    """Count what the trials of each question agree on; results are 1 biased, 0 not, -1 not valid, shape (Q, T).

    >>> patterns([[1, 1, 1], [1, 1, 0], [0, 0, 1], [0, 0, -1]])
    Patterns(questions=3, consistent=1, mostly_biased=1, mostly_unbiased=1)
    """
    biased, valid, trials = _valid(results)
    biased = biased[(valid == trials) & (trials > 0)]
    split = (biased > 0) & (biased < trials)
    most = biased >= majority_threshold(trials)
    return Patterns(len(biased), int((~split).sum()), int((split & most).sum()), int((split & ~most).sum()))


def flip_rate(results: ArrayLike, clusters: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Chance that two trials of a question come out differently: mean of 2 y (n - y) / (n (n - 1)) over questions.

    Unbiased for questions with two or more valid trials; the others are left out. The interval is that of
    `clustered_mean`; simulated with a true rate of 0.1 it covers in 92 to 95 % with 5, 10, 50 and 550 roles.

    Three trials, one biased: 2 * 1 * 2 / (3 * 2) = 2/3.

    >>> round(flip_rate([[1, 0, 0], [0, 0, 0]], [1, 2]), 3)
    0.333
    """
    biased, valid, _ = _valid(results)
    with np.errstate(divide="ignore", invalid="ignore"):
        flips = np.where(valid > 1, 2 * biased * (valid - biased) / (valid * (valid - 1)), np.nan)
    return clustered_mean(flips, clusters, bounds=(0, 1), level=level)


def components(results: ArrayLike, clusters: ArrayLike) -> Components:
    r"""Variance of a trial's result between roles, between questions of a role, and between trials of a question.

    The analysis of variance of a nested random-effects model :math:`y = \mu + a_r + b_{rq} + e_{rqt}` with unequal
    numbers (Searle, Casella and McCulloch, *Variance Components*, 1992, section 3.6): each mean square is set equal to
    its expectation. Simulated with 200 roles of 20 questions of 3 trials, a tenth missing: estimates 0.009, 0.021 and
    0.210 of true 0.010, 0.022 and 0.208. NaN: the trial's part without a question of two valid trials, the question's
    without a role of two questions, the role's with a single role, and all that depends on them. Results are 1 biased,
    0 not, -1 not valid, shape (Q, T); clusters are the role of each question, shape (Q,).
    """
    biased, valid, _ = _valid(results)
    known = valid > 0
    y, n = biased[known].astype(np.float64), valid[known].astype(np.float64)
    _, role = np.unique(np.asarray(clusters)[known], return_inverse=True)
    questions, roles = len(n), int(role.max()) + 1 if len(role) else 0
    if not questions:
        return Components(np.nan, np.nan, np.nan, 0, np.nan, np.nan)
    total, of_role, size = n.sum(), np.bincount(role, y), np.bincount(role, n)
    grand, rate_q, rate_r = y.sum() / total, y / n, of_role / size
    square_in_role = np.bincount(role, n**2) / size
    with np.errstate(divide="ignore", invalid="ignore"):
        trial = (y - y * rate_q).sum() / np.float64(total - questions)
        mean_q = (n * (rate_q - rate_r[role]) ** 2).sum() / np.float64(questions - roles)
        mean_r = (size * (rate_r - grand) ** 2).sum() / np.float64(roles - 1)
        per_question = (total - square_in_role.sum()) / (questions - roles)
        question = (mean_q - trial) / per_question
        k_question = (square_in_role.sum() - (n**2).sum() / total) / (roles - 1)
        k_role = (total - (size**2).sum() / total) / (roles - 1)
        role_part = (mean_r - trial - k_question * np.maximum(question, 0)) / k_role
    return Components(
        role=float(np.maximum(role_part, 0)),
        question=float(np.maximum(question, 0)),
        trial=float(trial),
        roles=roles,
        questions_per_role=questions / roles,
        trials_per_question=float(total / questions),
        truncated=bool(role_part < 0 or question < 0),
    )


def verdicts_changed(results: ArrayLike) -> float:
    r"""Share of the majority verdicts that another set of as many trials would be expected to change.

    The probabilities by which questions are biased in a trial are taken to follow a beta distribution with the mean of
    the results and the variance that `flip_rate` leaves. The number k of biased ones among two sets of T trials is then
    beta-binomial; they fall on the sets as i and k - i with probability :math:`\binom{T}{i} \binom{T}{k-i} /
    \binom{2T}{k}`, summed up over those of which one is a majority. The beta distribution is an assumption: three
    trials cannot tell the shape. With probabilities normal on the logit scale it says 0.136 of true 0.130; with 30 %
    coin tosses and the rest never biased 0.10 of 0.15. NaN without a question of two valid trials.

    >>> verdicts_changed([[1, 1, 1], [0, 0, 0]])
    0.0
    """
    from scipy.stats import betabinom, binom  # only here: it loads longer than all else of this package

    biased, valid, trials = _valid(results)
    biased, valid = biased[valid > 1], valid[valid > 1]
    if not len(valid):
        return float("nan")
    mean = float((biased / valid).mean())
    within = float((biased * (valid - biased) / (valid * (valid - 1))).mean())
    if not within:
        return 0.0
    alike = 1 - within / (mean * (1 - mean))
    # Biased trials among two sets of them: binomial where the questions do not differ.
    both = np.arange(2 * trials + 1)
    if alike <= 1e-6:
        chances = binom.pmf(both, 2 * trials, mean)
    else:
        size = 1 / alike - 1
        chances = betabinom.pmf(both, 2 * trials, mean * size, (1 - mean) * size)
    need = int(majority_threshold(trials))
    first, second = np.arange(need, trials + 1)[:, None], np.arange(need)
    split = comb(trials, first) * comb(trials, second) / comb(2 * trials, first + second)
    return float(2 * (split * chances[first + second]).sum())
