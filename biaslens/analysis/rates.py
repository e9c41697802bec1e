"""Rates, abstention and consistency by any grouping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import biaslens.stats as stats  # noqa: PLR0402 - by its name alone it would be looked for among the lazy names first
from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, NOTHING, STATES, VALID, Questions, Run
from biaslens.schema import Condition, Kind
from biaslens.stats import Estimate, Estimates, share

_WORDS = frozenset(
    (
        "model",
        "condition",
        "against",
        "attribute",
        "kind",
        "target",
        "theme",
        "disfavoured",
        "role",
        "mirror",
        "position",
    )
)


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Make a table of `columns`; those that are not in the rows are NaN.

    Examples
    --------
    >>> table([], ["kind", "share"]).dtypes.astype(str).to_list()
    ['object', 'float64']
    """
    frame = pd.DataFrame(rows, columns=list(columns))
    return frame if rows else frame.astype({name: object if name in _WORDS else float for name in columns})


def with_ends(name: str, estimate: Estimate | Estimates) -> dict[str, Any]:
    """Columns of an estimate and the bounds of its interval, ``NAME_low`` and ``NAME_high``."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


By = Literal["attribute", "kind", "target", "theme", "disfavoured", "role"]
"""What results can be grouped by: the role's attribute, the kind, the attribute asked about, what the prejudice is
about, who loses by it, the role."""

ALL = "all"
"""Stands for every attribute, kind and so on in a total."""

UNKNOWN = "unknown"
"""Stands for the target, theme or disfavoured group of questions of which none is recorded."""

ABSTAINED, CLUSTERS = "abstained_trials", "clusters"


def rates(
    run: Run, by: Sequence[By] = (), *, totals: Sequence[By] = (), conditions: Sequence[Condition] | None = None
) -> pd.DataFrame:
    """Compute both headline numbers, coverage and the five outcomes for each group of questions.

    There is a row a condition and group `by` which there is a planned question; nothing gives one row a condition, and
    "role" goes with its attribute. Those of `by` that are in `totals` also get rows for everything, called "all".
    Columns are those of rates.csv in results/README.md: ``model``, ``condition``, those of `by`, counts, ``coverage``,
    ``bias_rate`` with ``bias_rate_low``, ``bias_rate_high`` and ``standard_error``. Rates are NaN without a valid
    trial. Intervals are clustered by role, and NaN with a single one; in rows by role they are clustered by question,
    and say how far other questions to the same role might differ.
    """
    return grouped(run, by, totals=totals, conditions=conditions).drop(columns=[ABSTAINED, CLUSTERS])


def grouped(
    run: Run, by: Sequence[By], *, totals: Sequence[By], conditions: Sequence[Condition] | None = None
) -> pd.DataFrame:
    """Make the table of `rates` with two more columns.

    `ABSTAINED` counts trials that took the last option of a choice, `CLUSTERS` the clusters with a valid trial.
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
    trials = run.trials(condition)
    chosen = np.flatnonzero(trials.planned)
    codes = {name: _codes(run.questions, name)[chosen] for name in by}
    last = (trials.taken == run.questions.options[:, None] - 1) & (trials.taken != NOTHING)
    majority = stats.biased_majority(trials.biased, trials.planned)
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
    codes: NDArray[np.int64] = getattr(questions, by)
    return np.where(codes == NOTHING, len(_labels(questions, by)) - 1, codes)


def _labels(questions: Questions, by: By) -> Sequence[str]:
    if by in ("role", "kind"):
        return questions.role_names if by == "role" else [str(name) for name in KINDS]
    names = {"theme": questions.themes, "disfavoured": questions.groups}.get(by, ATTRIBUTES)
    return [*map(str, names), UNKNOWN]


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
    rate = stats.clustered_rates(padded[0], padded[1])
    planned = sums[:, : len(STATES)].sum(axis=1)
    numbers = {
        "roles": np.ones(groups, dtype=np.int64) if one_role else np.bincount(of, minlength=groups),
        "questions": np.bincount(group, minlength=groups),
        "biased_questions": sums[:, len(STATES)],
        "planned_trials": planned,
        "valid_trials": rate.items,
        **{f"{state}_trials": sums[:, code] for code, state in enumerate(STATES)},
        "coverage": stats.coverage(rate.items, planned),
        **with_ends("bias_rate", rate),
        "standard_error": rate.standard_error,
        ABSTAINED: sums[:, len(STATES) + 1],
        CLUSTERS: rate.clusters,
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


def abstention(run: Run, by: Sequence[By] = ("attribute", "kind"), *, totals: Sequence[By] = ()) -> pd.DataFrame:
    """Compute the shares of the answered trials that are unbiased, refused and unusable, for each group as in `rates`.

    A model that refuses questions about some groups only, or breaks off there, treats them differently even where
    its bias rate does not show it. ``last_option_share`` is of choice questions and a part of the unbiased ones, which
    also say "both" or "it depends". Shares are NaN without an answer.
    """
    frame = grouped(run, by, totals=totals)
    keys = list(frame.columns[: list(frame.columns).index("roles")])
    answered = (frame["valid_trials"] + frame["invalid_trials"]).to_numpy()
    choice = (frame["kind"] == Kind.CHOICE).to_numpy() if "kind" in frame else np.zeros(len(frame), dtype=np.bool_)
    result = frame[keys].copy()
    result["answered_trials"] = answered
    result["unbiased_share"] = share(frame["unbiased_trials"].to_numpy(), answered)
    result["last_option_share"] = np.where(choice, share(frame[ABSTAINED].to_numpy(), answered), np.nan)
    for outcome in ("refused", "invalid"):
        result[f"{outcome}_share"] = share(frame[f"{outcome}_trials"].to_numpy(), answered)
    return result


PARTS = (("consistent", "all trials agree"), ("mostly_biased", "most biased"), ("mostly_unbiased", "fewer biased"))
"""Columns that add up to one, from the most to the least biased split, and what they are called in figures."""

_COLUMNS = [
    "model", "condition", "kind", "roles", "questions", "trials", *(name for name, _ in PARTS), "flip_rate",
    "flip_rate_low", "flip_rate_high", "fleiss_kappa", "krippendorff_alpha", "share_role", "share_question",
    "share_trial", "standard_error", "standard_error_one_more_trial", "standard_error_twice_roles", "verdicts_changed",
]  # fmt: skip


def consistency(run: Run) -> pd.DataFrame:
    """Compute how far the trials of a question agree, by condition and kind ("all" for the total).

    Columns are those of consistency.csv in results/README.md: shares of the questions with all trials valid, the chance
    that two trials differ, kappa and alpha, parts of the variance with the standard errors that follow from them, and
    the share of majority verdicts that another set of trials would change. NaN where the run cannot tell: all of it
    with a single trial.
    """
    rows = []
    for condition, trials in run.conditions.items():
        for kind in (None, *KINDS):
            chosen = run.questions.select(kind=kind) & (trials.planned > 0)
            if not chosen.any():
                continue
            planned = int(trials.planned[chosen].max())
            # A run may have more trials under another condition.
            results, role = trials.results[chosen, :planned], run.questions.role[chosen]
            found = stats.patterns(results)
            flips, parts = stats.flip_rate(results, role), stats.components(results, role)
            whole = found.questions if found.questions and planned > 1 else float("nan")
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "kind": kind.value if kind else ALL,
                    "roles": parts.roles,
                    "questions": found.questions,
                    "trials": planned,
                    **{name: getattr(found, name) / whole for name, _ in PARTS},
                    **with_ends("flip_rate", flips),
                    "fleiss_kappa": stats.fleiss_kappa(results),
                    "krippendorff_alpha": stats.krippendorff_alpha(results),
                    **dict(zip(("share_role", "share_question", "share_trial"), parts.shares, strict=True)),
                    "standard_error": parts.standard_error(),
                    "standard_error_one_more_trial": parts.standard_error(extra_trials=1),
                    "standard_error_twice_roles": parts.standard_error(roles=2),
                    "verdicts_changed": stats.verdicts_changed(results),
                }
            )
    return table(rows, _COLUMNS)
