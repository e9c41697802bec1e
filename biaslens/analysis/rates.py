"""Both headline numbers of a run, by any grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, NOTHING, STATES, VALID, Questions, Run
from biaslens.schema import Condition
from biaslens.stats import biased_majority, clustered_rates, coverage

By = Literal["attribute", "kind", "target", "role"]
"""What results can be grouped by: the role's attribute, the kind, the attribute asked about, the role."""

ALL = "all"
"""Stands for every attribute, kind, target or role in a total."""

UNKNOWN = "unknown"
"""Stands for the target of questions of which none is recorded."""

ABSTAINED = "abstained_trials"


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
        ``bias_rate_high``, ``standard_error``. Rates are NaN without a valid trial. Intervals are clustered by role,
        and NaN with a single one; in rows by role they are clustered by question, and say how far other questions to
        the same role might differ.
    """
    frame = grouped(run, by, totals=totals, conditions=conditions)
    return frame[[name for name in frame.columns if name != ABSTAINED]]


def grouped(
    run: Run, by: Sequence[By], *, totals: Sequence[By], conditions: Sequence[Condition] | None = None
) -> pd.DataFrame:
    """Make the table of `rates`, and a column `ABSTAINED`: trials that took the last option of a choice."""
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
    trials = run.trials(condition)
    chosen = np.flatnonzero(trials.planned)
    codes = {name: _codes(run.questions, name)[chosen] for name in by}
    last = (trials.taken == run.questions.options[:, None] - 1) & (trials.taken != NOTHING)
    majority = biased_majority(trials.biased, trials.planned)
    measures = np.column_stack([trials.counts, majority, last.sum(axis=1)])[chosen]
    role = run.questions.role[chosen]
    parts = [_groups(role, codes, measures, whole) for whole in _subsets(by, totals)]
    group = np.concatenate([keys for keys, _ in parts])
    frame = pd.concat([numbers for _, numbers in parts], ignore_index=True)
    for place, name in enumerate(by):
        frame.insert(place, name, np.array([ALL, *_labels(run.questions, name)], dtype=object)[group[:, place] + 1])
    frame.insert(0, "condition", condition.value)
    frame.insert(0, "model", run.info.model)
    if by:
        frame = frame.iloc[np.lexsort(tuple(group.T[::-1]))]
    return frame.reset_index(drop=True)


def _subsets(by: tuple[By, ...], totals: frozenset[By]) -> list[frozenset[By]]:
    """Every set of columns that are summed over; never the attribute of a role alone."""
    found: list[frozenset[By]] = [frozenset()]
    for name in by:
        if name in totals:
            found += [subset | {name} for subset in found]
    return [subset for subset in found if not ("role" in by and "attribute" in subset and "role" not in subset)]


def _codes(questions: Questions, by: By) -> NDArray[np.int64]:
    """Position of each question's group in `_labels`; of totals it is -1, so that they come first."""
    if by == "target":
        return np.where(questions.target == NOTHING, len(ATTRIBUTES), questions.target)
    return questions.attribute if by == "attribute" else questions.kind if by == "kind" else questions.role


def _labels(questions: Questions, by: By) -> Sequence[str]:
    if by == "role":
        return questions.role_names
    return [str(name) for name in KINDS] if by == "kind" else [*map(str, ATTRIBUTES), UNKNOWN]


def _groups(
    role: NDArray[np.int64], codes: Mapping[By, NDArray[np.int64]], measures: NDArray[np.int64], whole: frozenset[By]
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Codes (G, columns) and numbers of the groups, summed over the columns in `whole`."""
    columns = [np.full_like(role, -1) if name in whole else values for name, values in codes.items()]
    code = np.zeros_like(role)
    for values in columns:
        code = code * (values.max(initial=-1) + 2) + values + 1
    _, start, group = np.unique(code, return_index=True, return_inverse=True)
    groups = len(start)
    keys = np.column_stack([values[start] for values in columns]) if columns else np.zeros((groups, 0), dtype=np.int64)
    one_role = "role" in codes and "role" not in whole
    sums = _sum(group, measures, groups)
    # By group and cluster, only where there are questions: groups by role are many and nearly empty.
    first, cluster = _clusters(group, np.arange(len(role)) if one_role else role)
    by_cluster = _sum(cluster, measures, len(first))
    of = group[first]
    column = np.arange(len(of)) - np.searchsorted(of, of)
    padded = np.zeros((2, groups, int(column.max(initial=-1)) + 1), dtype=np.int64)
    padded[0, of, column] = by_cluster[:, BIASED]
    padded[1, of, column] = by_cluster[:, : len(STATES)][:, VALID].sum(axis=1)
    rate = clustered_rates(padded[0], padded[1])
    planned = sums[:, : len(STATES)].sum(axis=1)
    numbers = {
        "roles": np.ones(groups, dtype=np.int64) if one_role else np.bincount(of, minlength=groups),
        "questions": np.bincount(group, minlength=groups),
        "biased_questions": sums[:, len(STATES)],
        "planned_trials": planned,
        "valid_trials": rate.trials,
        **{f"{state}_trials": sums[:, code] for code, state in enumerate(STATES)},
        "coverage": coverage(rate.trials, planned),
        "bias_rate": rate.rate,
        "bias_rate_low": rate.low,
        "bias_rate_high": rate.high,
        "standard_error": rate.standard_error,
        ABSTAINED: sums[:, len(STATES) + 1],
    }
    return keys, pd.DataFrame(numbers)


def _clusters(group: NDArray[np.int64], cluster: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each pair of group and cluster first stands, in their order, and the pair of each question."""
    code = group * (cluster.max(initial=0) + 1) + cluster
    _, first, pair = np.unique(code, return_index=True, return_inverse=True)
    return first, pair


def _sum(group: NDArray[np.int64], measures: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    # Counts are far below 2**53, where floats are exact.
    columns = [np.bincount(group, column, minlength=groups) for column in measures.T]
    return np.column_stack(columns).astype(np.int64)
