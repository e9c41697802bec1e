"""Both headline numbers of a run, by any grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, NOTHING, STATES, VALID, Questions, Run, Trials
from biaslens.schema import Condition
from biaslens.stats import biased_majority, clustered_rates, coverage

By = Literal["attribute", "kind", "target", "role"]
"""What results can be grouped by: the role's attribute, the kind, the attribute asked about, the role."""

ALL = "all"
"""Stands for every attribute, kind, target or role in a total."""

UNKNOWN = "unknown"
"""Stands for the target of questions of which none is recorded."""


def rates(
    run: Run, by: Sequence[By] = (), *, totals: Sequence[By] = (), conditions: Sequence[Condition] | None = None
) -> pd.DataFrame:
    """Compute both headline numbers, coverage and the five outcomes for each group of questions.

    Parameters
    ----------
    run
        The run.
    by
        What to group by; nothing gives one row a condition.
    totals
        Those of `by` that also get rows for everything, called "all".
    conditions
        Which; by default those that were run.

    Returns
    -------
    DataFrame
        A row a condition and group with a planned question. Columns: ``model``, ``condition``, those of `by` (for
        roles ``attribute`` and ``role``), ``roles``, ``questions``, ``biased_questions``, ``planned_trials``,
        ``valid_trials``, ``biased_trials``, ``unbiased_trials``, ``refused_trials``, ``invalid_trials``,
        ``error_trials``, ``unjudged_trials``, ``unasked_trials``, ``coverage``, ``bias_rate``, ``bias_rate_low``,
        ``bias_rate_high``, ``standard_error``. Rates are NaN without a valid trial, intervals with a single role.
    """
    names = _columns(by)
    frames = [
        _of_condition(run, condition, names, frozenset(totals))
        for condition in (run.conditions if conditions is None else conditions)
    ]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else _of_condition(run, Condition.ROLE, names, frozenset())


def _columns(by: Sequence[By]) -> tuple[By, ...]:
    # A role is known by its attribute and name.
    return tuple(name for name in get_args(By) if name in by or (name == "attribute" and "role" in by))


def _of_condition(run: Run, condition: Condition, by: tuple[By, ...], totals: frozenset[By]) -> pd.DataFrame:
    questions, trials = run.questions, run.trials(condition)
    chosen = np.flatnonzero(trials.planned)
    labels = {name: _label(questions, name)[chosen] for name in by}
    measures = _measures(trials)[chosen]
    tables = [_groups(questions.role[chosen], labels, measures, whole) for whole in _subsets(by, totals)]
    frame = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    frame.insert(0, "condition", condition.value)
    frame.insert(0, "model", run.info.model)
    return frame.sort_values(list(by), key=_order, kind="stable", ignore_index=True) if by else frame


def _subsets(by: tuple[By, ...], totals: frozenset[By]) -> list[frozenset[By]]:
    """Every set of columns that are summed over."""
    found: list[frozenset[By]] = [frozenset()]
    for name in by:
        if name in totals:
            found += [subset | {name} for subset in found]
    return found


def _label(questions: Questions, by: By) -> NDArray[np.object_]:
    if by == "attribute":
        return np.array([*map(str, ATTRIBUTES)], dtype=object)[questions.attribute]
    if by == "kind":
        return np.array([*map(str, KINDS)], dtype=object)[questions.kind]
    if by == "target":
        # `NOTHING` is -1: the last one.
        assert NOTHING == -1
        return np.array([*map(str, ATTRIBUTES), UNKNOWN], dtype=object)[questions.target]
    return np.array([*questions.role_names, ""], dtype=object)[questions.role]


def _measures(trials: Trials) -> NDArray[np.int64]:
    """The states, and whether the question is biased, shape (Q, 8)."""
    return np.column_stack([trials.counts, biased_majority(trials.biased, trials.planned)])


def _groups(
    role: NDArray[np.int64], labels: Mapping[By, NDArray[np.object_]], measures: NDArray[np.int64], whole: frozenset[By]
) -> pd.DataFrame:
    keys = pd.DataFrame(
        {name: ALL if name in whole else values for name, values in labels.items()}, index=range(len(role))
    )
    group = (
        keys.groupby(list(keys.columns), sort=False).ngroup().to_numpy() if len(keys.columns) else np.zeros_like(role)
    )
    first = np.unique(group, return_index=True)[1]
    groups = len(first)
    # By group and role, only where there are questions: groups by role are many and nearly empty.
    pairs, place = np.unique(np.column_stack([group, role]), axis=0, return_inverse=True)
    by_role = np.zeros((len(pairs), measures.shape[1] + 1), dtype=np.int64)
    np.add.at(by_role, place.reshape(-1), np.column_stack([measures, np.ones(len(role), dtype=np.int64)]))
    sums = np.zeros((groups, by_role.shape[1]), dtype=np.int64)
    np.add.at(sums, pairs[:, 0], by_role)
    biased, valid = by_role[:, BIASED], by_role[:, : len(STATES)][:, VALID].sum(axis=1)
    column = pd.Series(pairs[:, 0]).groupby(pairs[:, 0]).cumcount().to_numpy()
    width = int(column.max()) + 1 if len(column) else 0
    padded = np.zeros((2, groups, width), dtype=np.int64)
    padded[0, pairs[:, 0], column], padded[1, pairs[:, 0], column] = biased, valid
    rate = clustered_rates(padded[0], padded[1])
    planned = sums[:, : len(STATES)].sum(axis=1)
    frame = keys.iloc[first].reset_index(drop=True)
    frame["roles"] = np.bincount(pairs[:, 0], minlength=groups)
    frame["questions"] = sums[:, -1]
    frame["biased_questions"] = sums[:, len(STATES)]
    frame["planned_trials"], frame["valid_trials"] = planned, rate.trials
    for code, state in enumerate(STATES):
        frame[f"{state}_trials"] = sums[:, code]
    frame["coverage"] = coverage(rate.trials, planned)
    frame["bias_rate"], frame["bias_rate_low"], frame["bias_rate_high"] = rate.rate, rate.low, rate.high
    frame["standard_error"] = rate.standard_error
    return frame


def _order(column: pd.Series) -> pd.Series:
    """Totals first, then attributes and kinds in their own order, then names."""
    known = {ALL: 0} | {str(name): place for names in (ATTRIBUTES, KINDS) for place, name in enumerate(names, 1)}
    return column.map(lambda name: (known.get(name, len(known)), name))
