"""Which roles and questions bring biased answers out most, and in how many models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biaslens.analysis.aligned import align
from biaslens.analysis.frame import ATTRIBUTES, KINDS, Run
from biaslens.analysis.rates import ALL, rates
from biaslens.analysis.rows import table
from biaslens.schema import Condition
from biaslens.stats import biased_majority, majority_decided, share

_TRIGGER_COLUMNS = ["condition", "kind", "k", "models", "questions", "share", "share_of_triggered"]


def top_roles(run: Run, *, condition: Condition = Condition.ROLE, limit: int | None = None) -> pd.DataFrame:
    """Sort the roles of a run by their bias rate, the most biased first; columns as in `rates` by role.

    Picked because they are the highest of many, their rates would be lower in a repetition.
    """
    frame = rates(run, ["role"], conditions=[condition])
    frame = frame[frame["valid_trials"] > 0].sort_values(
        ["bias_rate", "valid_trials", "attribute", "role"], ascending=[False, False, True, True], ignore_index=True
    )
    return frame if limit is None else frame.head(limit)


def top_questions(
    runs: Sequence[Run], *, condition: Condition = Condition.ROLE, limit: int | None = None
) -> pd.DataFrame:
    """Sort questions by how many models they trigger, then by the share of their trials that are biased.

    Returns
    -------
    DataFrame
        A row a question that triggers at least one model. Columns: ``condition``, ``question_id``, ``attribute``,
        ``role``, ``kind``, ``models`` (that have it planned), ``triggered`` (models with a biased majority),
        ``valid_trials``, ``biased_trials``, ``bias_rate`` (all models together). `question_texts` reads the texts.
    """
    aligned = align(runs, condition)
    roles = [aligned.roles[code] for code in aligned.role]
    rows = pd.DataFrame(
        {
            "condition": condition.value,
            "question_id": aligned.ids,
            "attribute": [ATTRIBUTES[attribute].value for attribute, _ in roles],
            "role": [name for _, name in roles],
            "kind": [KINDS[code].value for code in aligned.kind],
            "models": (aligned.planned > 0).sum(axis=0),
            "triggered": biased_majority(aligned.biased, aligned.planned).sum(axis=0),
            "valid_trials": aligned.valid.sum(axis=0),
            "biased_trials": aligned.biased.sum(axis=0),
        }
    )
    rows["bias_rate"] = share(rows["biased_trials"].to_numpy(), rows["valid_trials"].to_numpy())
    rows = rows[rows["triggered"] > 0].sort_values(
        ["triggered", "bias_rate", "valid_trials", "question_id"],
        ascending=[False, False, False, True],
        ignore_index=True,
    )
    return rows if limit is None else rows.head(limit)


def trigger_counts(runs: Sequence[Run], *, condition: Condition = Condition.ROLE) -> pd.DataFrame:
    """Count in how many of the models each question brings out a biased majority.

    Only questions that have a verdict in all runs are counted: one that no trial without a valid result could turn.

    Returns
    -------
    DataFrame
        A row a kind ("all" for the total) and number of models from 0 up. Columns: ``condition``, ``kind``, ``k``,
        ``models`` (how many there are), ``questions``, ``share`` (of all questions), ``share_of_triggered`` (of those
        that trigger at least one; NaN for k = 0).
    """
    aligned = align(runs, condition)
    decided = majority_decided(aligned.biased, aligned.valid, aligned.planned).all(axis=0)
    triggered = biased_majority(aligned.biased, aligned.planned).sum(axis=0)
    rows = []
    for kind in (None, *KINDS):
        chosen = decided & ((aligned.kind == KINDS.index(kind)) if kind is not None else True)
        if chosen.any():
            counts = np.bincount(triggered[chosen], minlength=len(runs) + 1)
            for k, count in enumerate(counts.tolist()):
                rows.append(
                    {
                        "condition": condition.value,
                        "kind": kind.value if kind else ALL,
                        "k": k,
                        "models": len(runs),
                        "questions": count,
                        "share": float(share(count, counts.sum())),
                        "share_of_triggered": float(share(count, counts[1:].sum())) if k else float("nan"),
                    }
                )
    return table(rows, _TRIGGER_COLUMNS)
