"""Rates, abstention and consistency by any grouping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

import biaslens.stats as stats  # noqa: PLR0402 - by its name alone it would be looked for among the lazy names first
from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, NOTHING, STATES, VALID, Questions, Run
from biaslens.schema import Condition, Kind
from biaslens.stats import Clusters, Estimate, Estimates, crossed_rate, share

if TYPE_CHECKING:
    import pandas as pd

# pandas is imported where a table is made: a run in brief needs none, and it is most of the memory.

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
        "estimand",
        "buy",
        "largest_comparison",
    )
)


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Make a table of `columns`; those that are not in the rows are NaN.

    Examples
    --------
    >>> table([], ["kind", "share"]).dtypes.astype(str).to_list()
    ['object', 'float64']
    """
    import pandas as pd

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

ABSTAINED, CLUSTERS, FREEDOM = "abstained_trials", "clusters", "freedom"

OF_A_ROLE = "this role"
"""What an interval in rows by role is for: other questions to the same role."""


def rates(
    run: Run, by: Sequence[By] = (), *, totals: Sequence[By] = (), conditions: Sequence[Condition] | None = None
) -> pd.DataFrame:
    """Compute both headline numbers, coverage and the five outcomes for each group of questions.

    There is a row a condition and group `by` which there is a planned question; nothing gives one row a condition, and
    "role" goes with its attribute. Those of `by` that are in `totals` also get rows for everything, called "all".
    Columns are those of rates.csv in results/README.md: ``model``, ``condition``, those of `by`, counts, ``coverage``,
    ``bias_rate`` with ``bias_rate_low``, ``bias_rate_high`` and ``standard_error``. Rates are NaN without a valid
    trial. Intervals are for the ``estimand``, that of the run, and NaN with a single role; in rows by role they say how
    far other questions to the same role might differ.
    """
    return grouped(run, by, totals=totals, conditions=conditions).drop(columns=[ABSTAINED, CLUSTERS, FREEDOM])


def pooled(frame: pd.DataFrame, by: By, *, families: Sequence[str] = ()) -> pd.DataFrame:
    """Add rates drawn towards the mean of each family as far as chance alone would scatter them.

    `frame` is a table of `rates`, its rows groups `by` which rates are pooled, within each condition and kind; totals
    are left as they are, without a pooled rate. Columns ``pooled_rate``, ``pooled_low`` and ``pooled_high`` stand
    beside the raw ones (`stats.pooled_rates`). `families` are the columns that make a family, such as the attribute of
    a role; one family if not given. The roles are the units, of a role its questions.
    """
    columns = [np.full(len(frame), np.nan) for _ in range(3)]
    group = [name for name in ("condition", "kind") if name in frame]
    is_group = (frame[by] != ALL).to_numpy()
    units = frame["questions"] if by == "role" else frame["roles"]
    family = frame[list(families)].astype(str).agg("/".join, axis=1) if families else frame["model"].astype(str)
    for _, rows in frame[is_group].groupby(group, sort=False):
        at = frame.index.get_indexer(rows.index)
        codes = np.unique(family.to_numpy()[at], return_inverse=True)[1]
        found = stats.pooled_rates(rows["bias_rate"], rows["standard_error"], units.to_numpy()[at], codes)
        for column, values in zip(columns, (found.value, found.low, found.high), strict=True):
            column[at] = values
    return frame.assign(pooled_rate=columns[0], pooled_low=columns[1], pooled_high=columns[2])


def grouped(
    run: Run, by: Sequence[By], *, totals: Sequence[By], conditions: Sequence[Condition] | None = None
) -> pd.DataFrame:
    """Make the table of `rates` with three more columns.

    `ABSTAINED` counts trials that took the last option of a choice, `CLUSTERS` the clusters with a valid trial, and
    `FREEDOM` are the degrees of freedom of the standard error.
    """
    import pandas as pd

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


def numbers(
    run: Run, condition: Condition, by: Sequence[By], *, totals: Sequence[By]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The numbers in a row of `grouped`, and its group by each of `by`, row by row and without pandas."""
    names = _columns(by)
    labels = [[ALL, *_labels(run.questions, name)] for name in names]
    for groups, columns in _parts(run, condition, names, frozenset(totals)):
        rows = zip(*(np.broadcast_to(column, len(groups)).tolist() for column in columns.values()), strict=True)
        for codes, row in zip(groups, rows, strict=True):
            group = tuple(of[code + 1] for of, code in zip(labels, codes, strict=True))
            yield group, dict(zip(columns, row, strict=True))


def _parts(
    run: Run, condition: Condition, by: tuple[By, ...], totals: frozenset[By]
) -> list[tuple[NDArray[np.int64], dict[str, Any]]]:
    """Codes (G, columns) and numbers of the groups, for each set of columns that are summed over."""
    trials = run.trials(condition)
    chosen = np.flatnonzero(trials.planned)
    codes = {name: _codes(run.questions, name)[chosen] for name in by}
    last = (trials.taken == run.questions.options[:, None] - 1) & (trials.taken != NOTHING)
    majority = stats.biased_majority(trials.biased, trials.planned)
    measures = np.column_stack([trials.counts, majority, last.sum(axis=1)])[chosen]
    return [_groups(run, chosen, codes, measures, whole) for whole in _subsets(by, totals)]


def _of_condition(run: Run, condition: Condition, by: tuple[By, ...], totals: frozenset[By]) -> pd.DataFrame:
    import pandas as pd

    parts = _parts(run, condition, by, totals)
    group = np.concatenate([keys for keys, _ in parts])
    frame = pd.concat([pd.DataFrame(columns) for _, columns in parts], ignore_index=True)
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
    run: Run,
    chosen: NDArray[np.int64],
    codes: Mapping[By, NDArray[np.int64]],
    measures: NDArray[np.int64],
    whole: frozenset[By],
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Codes (G, columns) and numbers of the groups, summed over the columns in `whole`."""
    columns = [np.full(len(chosen), -1) if name in whole else values for name, values in codes.items()]
    code = np.zeros(len(chosen), dtype=np.int64)
    for values in columns:
        code = code * (values.max(initial=-1) + 2) + values + 1
    _, start, group = np.unique(code, return_index=True, return_inverse=True)
    groups = len(start)
    keys = np.column_stack([values[start] for values in columns]) if columns else np.zeros((groups, 0), dtype=np.int64)
    one_role = "role" in codes and "role" not in whole
    # Within a role, questions on one comparison, so on one encounter, are one observation.
    clusters = Clusters(run.questions.comparison) if one_role else run.clusters
    sums = _sum(group, measures, groups)
    biased, valid = measures[:, BIASED], measures[:, : len(STATES)][:, VALID].sum(axis=1)
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=groups))
    members = [order[begin:end] for begin, end in zip((0, *ends), ends, strict=False)]
    of_each = [crossed_rate(biased[these], valid[these], clusters.at(chosen[these])) for these in members]
    valid_trials = np.array([rate.items for rate in of_each], dtype=np.int64)
    planned = sums[:, : len(STATES)].sum(axis=1)
    roles = [len(np.unique(run.questions.role[chosen[these]])) for these in members]
    columns_of = {
        "roles": np.array(roles, dtype=np.int64),
        "questions": np.bincount(group, minlength=groups),
        "biased_questions": sums[:, len(STATES)],
        "planned_trials": planned,
        "valid_trials": valid_trials,
        **{f"{state}_trials": sums[:, code] for code, state in enumerate(STATES)},
        "coverage": stats.coverage(valid_trials, planned),
        "bias_rate": [rate.value for rate in of_each],
        "bias_rate_low": [rate.low for rate in of_each],
        "bias_rate_high": [rate.high for rate in of_each],
        "standard_error": [rate.standard_error for rate in of_each],
        "estimand": OF_A_ROLE if one_role else run.estimand.value,
        ABSTAINED: sums[:, len(STATES) + 1],
        CLUSTERS: np.array([rate.clusters for rate in of_each], dtype=np.int64),
        FREEDOM: [rate.freedom for rate in of_each],
    }
    return keys, columns_of


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
    "flip_rate_low", "flip_rate_high", "fleiss_kappa", "krippendorff_alpha", "verdicts_changed",
    "verdicts_changed_low", "verdicts_changed_high", "estimand",
]  # fmt: skip


def consistency(run: Run) -> pd.DataFrame:
    """Compute how far the trials of a question agree, by condition and kind ("all" for the total).

    Columns are those of consistency.csv in results/README.md: shares of the questions with all trials valid, the chance
    that two trials differ, kappa and alpha, and the share of majority verdicts that another set of trials would change.
    NaN where the run cannot tell: all of it with a single trial.
    """
    rows = []
    for condition, trials in run.conditions.items():
        for kind in (None, *KINDS):
            chosen = run.questions.select(kind=kind) & (trials.planned > 0)
            if not chosen.any():
                continue
            planned = int(trials.planned[chosen].max())
            # A run may have more trials under another condition.
            results = trials.results[chosen, :planned]
            found, changed = stats.patterns(results), stats.verdicts_changed(results)
            flips = stats.flip_rate(results, run.clusters.at(chosen))
            answered = (results >= 0).any(axis=1)
            whole = found.questions if found.questions and planned > 1 else float("nan")
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "kind": kind.value if kind else ALL,
                    "roles": len(np.unique(run.questions.role[chosen][answered])),
                    "questions": found.questions,
                    "trials": planned,
                    **{name: getattr(found, name) / whole for name, _ in PARTS},
                    **with_ends("flip_rate", flips),
                    "fleiss_kappa": stats.fleiss_kappa(results),
                    "krippendorff_alpha": stats.krippendorff_alpha(results),
                    "verdicts_changed": changed.middle,
                    "verdicts_changed_low": changed.low,
                    "verdicts_changed_high": changed.high,
                    "estimand": run.estimand.value,
                }
            )
    return table(rows, _COLUMNS)
