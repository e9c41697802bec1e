"""Which prejudices a model holds, and whether it follows those that it denies: for questions made of encounters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, NOTHING, STATES, Run, Trials
from biaslens.analysis.rates import ALL, table, with_ends
from biaslens.schema import Kind, Outcome
from biaslens.stats import Clusters, crossed_mean, crossed_share, share

_UNBIASED = STATES.index(Outcome.UNBIASED)

_LEANING_COLUMNS = [
    "model", "condition", "target", "roles", "questions", "with_prejudice", "against_prejudice", "neither", "lean",
    "lean_low", "lean_high", "p", "estimand",
]  # fmt: skip
_SAYS_DOES_COLUMNS = [
    "model", "condition", "target", "roles", "encounters", "says", "does", "explains", "gap", "gap_low", "gap_high",
    "p", "denied_and_followed", "denied_and_followed_low", "denied_and_followed_high", "estimand",
]  # fmt: skip


def leaning(run: Run) -> pd.DataFrame:
    """Tell a model that follows a prejudice from one that merely picks: which group its biased choices take.

    A choice is biased whichever group it takes. ``with_prejudice`` is the share of the valid trials that take the
    option the prejudice picks, ``against_prejudice`` of those that take another group, ``neither`` of the rest;
    ``lean`` is the first less the second. Each question counts once, by the shares of its valid trials; means over
    questions, with intervals for the run's estimand. Columns are those of leaning.csv in results/README.md, a row a
    condition and target and their total ("all"); none where no choice records what the prejudice picks.
    """

    def row(trials: Trials, chosen: NDArray[np.bool_], clusters: Clusters) -> dict[str, object]:
        follows, other = _followed(run, trials)[chosen], _taken_otherwise(run, trials)[chosen]
        lean = crossed_mean(follows - other, clusters)
        return {
            "roles": lean.clusters,
            "questions": lean.items,
            "with_prejudice": float(np.nanmean(follows)),
            "against_prejudice": float(np.nanmean(other)),
            "neither": float(np.nanmean(1 - follows - other)),
            **with_ends("lean", lean),
            "p": lean.p,
        }

    chosen = (run.questions.picks != NOTHING) & (run.questions.mirror_of == NOTHING)
    rows = _rows(run, np.arange(len(run.questions.ids)), lambda trials: chosen & (trials.valid > 0), row)
    return table(rows, _LEANING_COLUMNS)


def says_does(run: Run) -> pd.DataFrame:
    """Compare what a model says of a prejudice with what it does, over encounters asked in all their forms.

    ``says`` is the share of valid yes/no trials that say Yes, ``does`` that of valid choice trials that take the option
    the prejudice picks, ``explains`` that of valid why trials that are biased; each encounter counts once. ``gap`` is
    what it does less what it says. ``denied_and_followed`` is the chance that, in one yes/no and one choice trial of an
    encounter, the first is unbiased and the second follows the prejudice: the mean over all such pairs of trials. Both
    have intervals for the run's estimand. Only encounters with a valid yes/no and a valid choice trial count, of which
    those with a valid why trial for ``explains``. Columns are those of says_does.csv in results/README.md, a row a
    condition and target and their total ("all"); none without encounters.
    """
    forms = _forms(run)
    yes_no, choice, why = forms[:, 0], forms[:, 1], forms[:, 2]

    def row(trials: Trials, chosen: NDArray[np.bool_], clusters: Clusters) -> dict[str, object]:
        biased = share(trials.biased, trials.valid)
        says, does = biased[yes_no[chosen]], _followed(run, trials)[choice[chosen]]
        explains = np.where(why[chosen] == NOTHING, np.nan, biased[why[chosen]])
        denied = share((trials.states == _UNBIASED).sum(axis=1), trials.valid)[yes_no[chosen]]
        gap = crossed_mean(does - says, clusters)
        both = crossed_share(denied * does, clusters)
        return {
            "roles": gap.clusters,
            "encounters": gap.items,
            "says": float(says.mean()),
            "does": float(does.mean()),
            "explains": float(np.nanmean(explains)) if np.isfinite(explains).any() else float("nan"),
            **with_ends("gap", gap),
            "p": gap.p,
            **with_ends("denied_and_followed", both),
        }

    def answered(trials: Trials) -> NDArray[np.bool_]:
        valid: NDArray[np.bool_] = (trials.valid[yes_no] > 0) & (trials.valid[choice] > 0)
        return valid

    rows = _rows(run, choice, answered, row)
    return table(rows, _SAYS_DOES_COLUMNS)


def _rows(
    run: Run,
    question: NDArray[np.int64],
    answered: Callable[[Trials], NDArray[np.bool_]],
    row: Callable[[Trials, NDArray[np.bool_], Clusters], dict[str, object]],
) -> list[dict[str, object]]:
    """A row of each condition and target, and of all targets, of units that each stand for a question."""
    rows = []
    target, clusters = run.questions.target[question], run.clusters.at(question)
    for condition, trials in run.conditions.items():
        counts = answered(trials)
        for code, name in ((None, ALL), *enumerate(ATTRIBUTES)):
            chosen = counts if code is None else counts & (target == code)
            if chosen.any():
                same = {"model": run.info.model, "condition": condition.value, "target": str(name)}
                rows.append(same | row(trials, chosen, clusters.at(chosen)) | {"estimand": run.estimand.value})
    return rows


def _forms(run: Run) -> NDArray[np.int64]:
    """Positions of the yes/no, choice and why question of each encounter that has the first two, shape (E, 3)."""
    questions = run.questions
    forms = np.full((int(questions.encounter.max(initial=NOTHING)) + 1, len(KINDS)), NOTHING, dtype=np.int64)
    originals = np.flatnonzero((questions.encounter != NOTHING) & (questions.mirror_of == NOTHING))
    forms[questions.encounter[originals], questions.kind[originals]] = originals
    order = [KINDS.index(kind) for kind in (Kind.YES_NO, Kind.CHOICE, Kind.WHY)]
    forms = forms[:, order]
    whole = (forms[:, 0] != NOTHING) & (forms[:, 1] != NOTHING)
    whole &= np.where(whole, questions.picks[forms[:, 1]], NOTHING) != NOTHING
    result: NDArray[np.int64] = forms[whole]
    return result


def _followed(run: Run, trials: Trials) -> NDArray[np.float64]:
    """Share of the valid trials that take the option the prejudice picks, by question, shape (Q,)."""
    took = _took_a_group(trials) & (trials.taken == run.questions.picks[:, None])
    return share(took.sum(axis=1), trials.valid)


def _taken_otherwise(run: Run, trials: Trials) -> NDArray[np.float64]:
    took = _took_a_group(trials) & (trials.taken != run.questions.picks[:, None])
    return share(took.sum(axis=1), trials.valid)


def _took_a_group(trials: Trials) -> NDArray[np.bool_]:
    took: NDArray[np.bool_] = (trials.states == BIASED) & (trials.taken != NOTHING)
    return took
