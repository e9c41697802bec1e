"""Whether answers go by the form of a question: yes-saying, and the position of an option."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import BIASED, KINDS, MIRRORS, NOTHING, VALID, Run, Trials
from biaslens.analysis.rows import table
from biaslens.schema import Condition, Kind, Mirror
from biaslens.stats import Mean, clustered_mean

_POSITION_COLUMNS = [
    "model", "condition", "position", "trials", "roles", "share", "expected", "excess", "excess_low", "excess_high",
    "p",
]  # fmt: skip
_MIRROR_COLUMNS = [
    "model", "condition", "kind", "mirror", "pairs", "roles", "neither", "one", "held", "form", "form_low", "form_high",
    "form_among_two",
]  # fmt: skip


def option_position(run: Run) -> pd.DataFrame:
    """Compare where the options stood that were taken with where they would stand by chance.

    Of a choice among k groups, shown in random order, each position would be taken once in k times if only what it
    says mattered. The excess of the first and of the last group over 1/k, over trials in which a group was taken, is
    the effect of the position. It needs a run with ``--shuffle-options``: in a fixed order, position and group are one.

    Returns
    -------
    DataFrame
        A row a condition and position ("first", "last"); empty without a shuffled run. Columns: ``model``,
        ``condition``, ``position``, ``trials`` (with a group taken), ``roles``, ``share``, ``expected``, ``excess``,
        ``excess_low``, ``excess_high``, ``p`` (clustered by role).
    """
    rows = []
    if run.info.meta.get("shuffle_options"):
        for condition, trials in run.conditions.items():
            rows += _positions(run, condition, trials)
    return table(rows, _POSITION_COLUMNS)


def _positions(run: Run, condition: Condition, trials: Trials) -> list[dict[str, object]]:
    groups = (run.questions.options - 1)[:, None]
    taken = (trials.shown != NOTHING) & (trials.shown < groups) & (trials.states == BIASED) & (groups > 1)
    question, column = np.nonzero(taken)
    shown, among = trials.shown[question, column], groups[question, 0]
    rows: list[dict[str, object]] = []
    for name, there in (("first", shown == 0), ("last", shown == among - 1)):
        mean = clustered_mean(there - 1 / among, run.questions.role[question])
        if mean.values:
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "position": name,
                    "trials": mean.values,
                    "roles": mean.clusters,
                    "share": float(there.mean()),
                    "expected": float((1 / among).mean()),
                    "excess": mean.mean,
                    "excess_low": mean.low,
                    "excess_high": mean.high,
                    "p": mean.p,
                }
            )
    return rows


def mirrored(run: Run) -> pd.DataFrame:
    """Compare the answers to questions and their mirrors: what is held, and what only follows the form.

    A yes/no question and its mirror claim the opposite, so who means the claim says Yes to one of them. Yes to both is
    yes-saying. A choice and its swapped mirror have the groups in the opposite order: the same group both times is a
    held view, the same position twice (so another group) follows the form. Trials are matched by number; pairs count
    where both trials are valid.

    Returns
    -------
    DataFrame
        A row a condition, kind and mirror; empty without mirrors. Columns: ``model``, ``condition``, ``kind``,
        ``mirror`` ("swapped", "reversed"), ``pairs`` (of trials), ``roles``, ``neither`` (share of pairs with no biased
        answer), ``held`` (the same claim or group), ``form`` (yes twice, or the same position twice) with ``form_low``
        and ``form_high``, ``one`` (a group taken in one trial only), and ``form_among_two`` (of the pairs with two
        biased answers; for yes/no of those with any). Why questions have no answer to match and are left out.
    """
    rows = []
    for condition in run.conditions:
        for kind in (Kind.YES_NO, Kind.CHOICE):
            for mirror in Mirror:
                chosen = np.flatnonzero(
                    (run.questions.mirror_of != NOTHING)
                    & (run.questions.mirror == MIRRORS.index(mirror))
                    & (run.questions.kind == KINDS.index(kind))
                )
                if len(chosen):
                    rows.append(_mirror_row(run, condition, kind, mirror, chosen))
    return table([row for row in rows if row["pairs"]], _MIRROR_COLUMNS)


def _mirror_row(
    run: Run, condition: Condition, kind: Kind, mirror: Mirror, chosen: NDArray[np.int64]
) -> dict[str, object]:
    trials, original = run.conditions[condition], run.questions.mirror_of[chosen]
    states, others = trials.states[chosen], trials.states[original]
    both = (states != NOTHING) & (others != NOTHING) & VALID[states] & VALID[others]
    one, two = states == BIASED, others == BIASED
    if kind is Kind.CHOICE:
        groups = (run.questions.options[chosen] - 1)[:, None]
        known = (trials.taken[chosen] >= 0) & (trials.taken[original] >= 0)
        twice = one & two & known
        # The groups of a swapped mirror stand in the opposite order.
        held = twice & (trials.taken[chosen] == groups - 1 - trials.taken[original])
        form = twice & (trials.shown[chosen] == trials.shown[original]) & ~held
        among = (twice & both).sum()
    else:
        held, form = one ^ two, one & two
        among = ((one | two) & both).sum()
    role = np.repeat(run.questions.role[chosen], states.shape[1])
    mean: Mean = clustered_mean(np.where(both, form, np.nan).ravel(), role, bounds=(0, 1))
    pairs = int(both.sum())
    return {
        "model": run.info.model,
        "condition": condition.value,
        "kind": kind.value,
        "mirror": mirror.value,
        "pairs": pairs,
        "roles": mean.clusters,
        "neither": _part(~one & ~two, both),
        "one": _part(one ^ two, both) if kind is Kind.CHOICE else float("nan"),
        "held": _part(held, both),
        "form": mean.mean,
        "form_low": mean.low,
        "form_high": mean.high,
        "form_among_two": float((form & both).sum() / among) if among else float("nan"),
    }


def _part(mask: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float((mask & of).sum() / of.sum()) if of.any() else float("nan")
