"""Models on the questions that all of them answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens import stats
from biaslens._util.text import plural
from biaslens.analysis.frame import ATTRIBUTES, KINDS, Run, RunInfo
from biaslens.analysis.labels import NOT_CORRECTED, CorrectedRates, Corrections, corrections, specificity_gap
from biaslens.analysis.rates import ALL, pooled, rates, table, with_ends
from biaslens.analysis.summary import ConditionSummary, Summary, summarise
from biaslens.errors import InputError, RunMismatchError
from biaslens.schema import Condition, Kind
from biaslens.stats import Clusters, Estimand, Estimate, Pair, share
from biaslens.stats.intervals import always_valid


@dataclass(frozen=True, slots=True)
class Aligned:
    """The questions of M runs under one condition, Q of them in any run, by id and never by position.

    `role`, `kind` and `comparison` are positions in `roles` (attribute and name), `KINDS` and `comparisons` (the groups
    compared), shape (Q,). Trials are counted by run and question, 0 where a run does not have the question, shape
    (M, Q).
    """

    ids: Sequence[str]
    role: NDArray[np.int64]
    kind: NDArray[np.int64]
    comparison: NDArray[np.int64]
    roles: Sequence[tuple[int, str]]
    comparisons: Sequence[str]
    planned: NDArray[np.int64]
    valid: NDArray[np.int64]
    biased: NDArray[np.int64]

    def clusters(self, estimand: Estimand) -> Clusters:
        """What the questions share, as far as intervals for the estimand cover it."""
        attribute = np.array([attribute for attribute, _ in self.roles], dtype=np.int64)[self.role]
        return Clusters(self.role, self.comparison if estimand is Estimand.LIKE_THESE else None, attribute)


def align(runs: Sequence[Run], condition: Condition) -> Aligned:
    """Put runs side by side.

    Raises
    ------
    InputError
        Without a run.
    """
    if not runs:
        raise InputError("no runs to compare")
    ids: Sequence[str] = runs[0].questions.ids
    if any(run.questions.ids != ids for run in runs):
        ids = sorted(set().union(*(run.questions.ids for run in runs)))
    position = {question_id: place for place, question_id in enumerate(ids)}
    every = np.arange(len(ids))
    role_code: dict[tuple[int, str], int] = {}
    comparison_code: dict[str, int] = {}
    role, kind, comparison = (np.zeros(len(ids), dtype=np.int64) for _ in range(3))
    planned, valid, biased = (np.zeros((len(runs), len(ids)), dtype=np.int64) for _ in range(3))
    for row, run in enumerate(runs):
        questions, trials = run.questions, run.trials(condition)
        names = zip(questions.role_attribute.tolist(), questions.role_names, strict=True)
        codes = np.array([role_code.setdefault(name, len(role_code)) for name in names], dtype=np.int64)
        compared = [comparison_code.setdefault(name, len(comparison_code)) for name in questions.comparisons]
        same = questions.ids == ids
        place = every if same else np.array([position[one] for one in questions.ids], dtype=np.int64)
        role[place], kind[place] = codes[questions.role], questions.kind
        comparison[place] = np.array(compared, dtype=np.int64)[questions.comparison]
        planned[row, place], valid[row, place], biased[row, place] = trials.planned, trials.valid, trials.biased
    return Aligned(ids, role, kind, comparison, list(role_code), list(comparison_code), planned, valid, biased)


def distinct_names(runs: Sequence[Run]) -> list[Run]:
    """Give runs of one model names that tell them apart: tables name a model and not its file.

    A name that several runs share is followed by the name of the run file, or by its whole path where those are alike
    too; a run that records no model goes by its file.
    """
    labels = [run.info.model or run.info.path.name for run in runs]
    for more in (lambda run: run.info.path.name, lambda run: str(run.info.path)):
        labels = [
            label if labels.count(label) == 1 else f"{run.info.model} ({more(run)})".strip()
            for run, label in zip(runs, labels, strict=True)
        ]
    return [replace(run, info=replace(run.info, model=label)) for run, label in zip(runs, labels, strict=True)]


Sameness = tuple[tuple[str, Callable[[RunInfo], object]], ...]

ASKED_ALIKE: Sameness = (
    ("the system message differs", lambda run: run.meta.get("system")),
    ("the wording of the questions (hash of the templates) differs", lambda run: run.template_hash[:12]),
    ("option shuffling differs", lambda run: run.meta.get("shuffle_options")),
    ("the number of trials differs", lambda run: run.trials),
    ("the judges differ", lambda run: sorted(run.judges)),
    ("the number of votes differs", lambda run: run.votes),
    ("the local judge before them differs", lambda run: run.panels.get(run.panel, {}).get("screen")),
    (
        "what the judges were asked (hash of the prompt) differs",
        lambda run: str(run.panels.get(run.panel, {}).get("prompt_hash") or "")[:12],
    ),
)
"""What must be the same where benchmarks may differ."""

SAME: Sameness = (
    ("the benchmark version differs", lambda run: run.benchmark_version),
    ("the benchmark's content (hash) differs", lambda run: run.benchmark_hash[:12]),
    *ASKED_ALIKE,
)
"""What must be the same in all runs of a table."""


def require_same(infos: Sequence[RunInfo], what: Sameness) -> None:
    """Refuse runs that differ in something.

    Raises
    ------
    RunMismatchError
        Names the first difference and two runs that show it.
    """
    for name, value in what:
        other = next((info for info in infos if value(info) != value(infos[0])), None)
        if other is not None:
            raise _mismatch(name, infos[0], _show(value(infos[0])), other, _show(value(other)))


def require_comparable(summaries: Sequence[Summary]) -> None:
    """Refuse runs that asked different questions, asked them differently, or were judged differently.

    A condition without any planned question is comparable with everything.

    Raises
    ------
    RunMismatchError
        Names the first difference and two runs that show it.
    """
    require_same([summary.run for summary in summaries], SAME)
    for condition in Condition:
        parts = [(summary.run, part) for summary in summaries for part in summary.conditions]
        asked = [(run, part) for run, part in parts if part.condition is condition and part.question_set]
        others = [(run, part) for run, part in asked if part.question_set != asked[0][1].question_set]
        if others:
            (first, part), (second, others_part) = asked[0], others[0]
            words = _questions(part)
            what = f"under condition {condition} the questions differ"
            raise _mismatch(what, first, words, second, _questions(others_part, than=words))


def _questions(condition: ConditionSummary, *, than: str = "") -> str:
    """The questions of a condition in words; `than` are the words for those of another run."""
    roles = condition.cell().roles
    counts = {kind: condition.cell(kind=kind).questions for kind in Kind}
    each = {count / roles for count in counts.values()}
    if len(each) == 1 and (count := each.pop()).is_integer():
        words = f"{plural(int(count), 'question')} a kind for {plural(roles, 'role')}"
    else:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
        words = f"{listed} questions for {plural(roles, 'role')}"
    return "as many, but others" if words == than else words


def _mismatch(what: str, first: RunInfo, has: str, other: RunInfo, others: str) -> RunMismatchError:
    return RunMismatchError(
        f"these runs cannot share a table, {what}: {first.path} has {has}, {other.path} has {others}; make one table "
        "for each, or combine them with --force"
    )


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value in (None, "") else str(value)


LEVEL = 0.95

LABELS_SAY = ("same", "opposite", "open", "unknown", "")
"""What labels say of the difference of two raw rates: the corrected rates differ significantly in the same direction;
they differ in the opposite direction; in the same one, but not significantly; nothing, and judges' verdicts on why
answers are part of it; nothing, and only rules decided."""

_DECIMALS = 12
"""Rates that agree so far are equal: the order of a sum must not decide a rank."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several models on the questions that all of them answered, with the columns of results/README.md.

    `models` has a row a model, the least biased first, as in comparison.csv: mean rates over the shared questions,
    ranks with an interval from the adjusted p-values, ``tied_group`` (models that share a letter cannot be told apart),
    and the rate of the whole run corrected by labels, NaN where there are none. `pairs` has a row two models, as in
    comparison_pairs.csv: ``difference`` is a less b, ``minimal_difference`` the smallest that the design would find
    four times out of five, ``corrected_difference`` that of the rates corrected by each model's own labels over the
    same questions, ``labels_say`` one of `LABELS_SAY`, and ``specificity_gap`` how much less specific a judge would
    have to be of one model than of the other to make the whole difference.
    """

    models: pd.DataFrame
    pairs: pd.DataFrame


def compare(
    runs: Sequence[Run],
    *,
    condition: Condition = Condition.ROLE,
    kind: Kind | None = None,
    force: bool = False,
    corrected: Sequence[Corrections] | None = None,
    corrections_of: CorrectedRates | None = None,
) -> Comparison:
    """Compare models question by question, for the estimand of the first run.

    Only questions with a valid trial in every run count, each once, by the share of its valid trials that are biased.
    So a model is not ranked by which questions it failed to answer, and with low coverage few questions are left:
    look at their number.

    Beside the raw rates stand those corrected by each model's own labels, which judges' errors do not reach: their
    differences, p-values and ranks. A `kind` of None compares all kinds together. With `force` runs are compared that
    asked or judged differently, on the questions they share. `corrected` are the `corrections` of each run, worked out
    if not given, as is `corrections_of`, which remembers their labels.

    Raises
    ------
    InputError
        For fewer than two runs.
    RunMismatchError
        When the runs asked or judged differently, and `force` is not given.
    """
    if len(runs) < 2:
        raise InputError("a comparison needs at least two runs")
    if not force:
        require_comparable([summarise(run, corrected={}) for run in runs])
    if corrected is None:
        corrected = [corrections(run) if run.info.labelled else {} for run in runs]
    table = align(runs, condition)
    asked = table.planned.any(axis=0) & ((table.kind == KINDS.index(kind)) if kind is not None else True)
    shared: NDArray[np.bool_] = np.logical_and(asked, (table.valid > 0).all(axis=0))
    rates = table.biased[:, shared] / table.valid[:, shared]
    roles = len(np.unique(table.role[shared]))
    counts = {"questions": int(shared.sum()), "planned_questions": int(asked.sum()), "roles": roles}
    values, pairs = stats.compare_pairs(rates, table.clusters(runs[0].estimand).at(shared), level=LEVEL)
    models = _models(runs, values, pairs, counts)
    if counts["questions"]:
        ranks = stats.rank_intervals(pairs, models=len(runs), level=LEVEL)
        models["rank_low"], models["rank_high"] = (pd.array(bound, dtype="Int64") for bound in ranks)
    of_runs = [known.get(condition, {}).get(kind, NOT_CORRECTED) for known in corrected]
    models = models.assign(
        labels=[found.items for found in of_runs],
        corrected_rate=[found.value for found in of_runs],
        corrected_low=[found.low for found in of_runs],
        corrected_high=[found.high for found in of_runs],
    )
    by_labels = _by_labels(runs, table, shared, condition, corrections_of or CorrectedRates())
    if counts["questions"] and any(not np.isnan(pair.difference.p) for pair in by_labels):
        ranks = stats.rank_intervals(by_labels, models=len(runs), level=LEVEL)
        models["corrected_rank_low"], models["corrected_rank_high"] = (
            pd.array(bound, dtype="Int64") for bound in ranks
        )
    kinds = table.kind[shared]
    rows = [_pair(runs, values, pair, counts, both, kinds=kinds) for pair, both in zip(pairs, by_labels, strict=True)]
    models, pairs_found = (frame.assign(estimand=runs[0].estimand.value) for frame in (models, pd.DataFrame(rows)))
    return Comparison(models.sort_values(["bias_rate", "model", "run"], ignore_index=True), pairs_found)


def _models(
    runs: Sequence[Run], values: Sequence[Estimate], pairs: Sequence[Pair], counts: Mapping[str, int]
) -> pd.DataFrame:
    rates, nothing = [value.value for value in values], [None] * len(runs)
    known = counts["questions"] > 0
    best = stats.tied_with(int(np.argmin(rates)), pairs, models=len(runs), level=LEVEL) if known else nothing
    rows = [
        {"model": run.info.model, "run": run.info.path.name, **counts, **with_ends("bias_rate", value)}
        for run, value in zip(runs, values, strict=True)
    ]
    return pd.DataFrame(rows).assign(
        rank=pd.Series(rates).round(_DECIMALS).rank(method="min").astype("Int64"),
        rank_low=pd.array(nothing, dtype="Int64"),
        rank_high=pd.array(nothing, dtype="Int64"),
        tied_group=stats.tied_groups(rates, pairs, level=LEVEL) if known else "",
        tied_with_best=pd.array(best, dtype="boolean"),
        corrected_rank_low=pd.array([None] * len(runs), dtype="Int64"),
        corrected_rank_high=pd.array([None] * len(runs), dtype="Int64"),
    )


def _by_labels(
    runs: Sequence[Run], table: Aligned, shared: NDArray[np.bool_], condition: Condition, corrected: CorrectedRates
) -> list[Pair]:
    """Every two models by the rates that their own labels correct, over the shared questions."""
    chosen = np.flatnonzero(shared)
    position = {table.ids[question]: place for place, question in enumerate(chosen.tolist())}
    clusters = table.clusters(runs[0].estimand).at(chosen)
    rates = [corrected.of(run, condition, position) for run in runs]
    pairs = list(combinations(range(len(runs)), 2))
    return stats.pairs_of(pairs, [stats.labelled_difference(rates[a], rates[b], clusters) for a, b in pairs])


def _pair(
    runs: Sequence[Run],
    values: Sequence[Estimate],
    pair: Pair,
    counts: Mapping[str, int],
    by_labels: Pair,
    *,
    kinds: NDArray[np.int64],
) -> dict[str, object]:
    a, b = pair.first, pair.second
    corrected, unknown = by_labels.difference, bool(np.isnan(by_labels.difference))
    return {
        "model_a": runs[a].info.model,
        "model_b": runs[b].info.model,
        "run_a": runs[a].info.path.name,
        "run_b": runs[b].info.path.name,
        **counts,
        "rate_a": values[a].value,
        "rate_b": values[b].value,
        **with_ends("difference", pair.difference),
        "p": pair.difference.p,
        "p_holm": pair.p_holm,
        "tied": not pair.p_holm < 1 - LEVEL,
        "minimal_difference": pair.minimal_difference,
        "labels_say": _labels_say(pair.difference, by_labels, judged=bool((kinds == KINDS.index(Kind.WHY)).any())),
        **with_ends("corrected_difference", corrected),
        "corrected_p": corrected.p,
        "corrected_p_holm": by_labels.p_holm,
        **dict(zip(("always_low", "always_high"), _while_growing(runs, pair), strict=True)),
        "specificity_gap": specificity_gap(pair.difference, kinds) if unknown else float("nan"),
    }


def _while_growing(runs: Sequence[Run], pair: Pair) -> tuple[float, float]:
    """The interval that holds at every look, where one of the runs has been looked at while it grew."""
    if runs[pair.first].growing or runs[pair.second].growing:
        return always_valid(pair.difference, share=False)
    return float("nan"), float("nan")


def _labels_say(difference: float, by_labels: Pair, *, judged: bool) -> str:
    corrected = by_labels.difference
    if np.isnan(corrected):
        return "unknown" if judged else ""
    if corrected * difference < 0:
        return "opposite"
    # Without a test (labels of one role) it stays open.
    return "same" if by_labels.p_holm < 1 - LEVEL else "open"


_TRIGGER_COLUMNS = ["condition", "kind", "k", "models", "questions", "share", "share_of_triggered"]


def top_roles(run: Run, *, condition: Condition = Condition.ROLE, limit: int | None = None) -> pd.DataFrame:
    """Sort the roles of a run by their bias rate, the most biased first; columns as in `rates` by role.

    Picked because they are the highest of many, their rates would be lower in a repetition: ``pooled_rate`` says how
    low, by what roles of their attribute differ beyond chance.
    """
    frame = pooled(rates(run, ["role"], conditions=[condition]), "role", families=["attribute"])
    frame = frame[frame["valid_trials"] > 0].sort_values(
        ["bias_rate", "valid_trials", "attribute", "role"], ascending=[False, False, True, True], ignore_index=True
    )
    return frame if limit is None else frame.head(limit)


def top_questions(
    runs: Sequence[Run], *, condition: Condition = Condition.ROLE, limit: int | None = None
) -> pd.DataFrame:
    """Sort questions by how many models they trigger, then by the share of their trials that are biased.

    A row a question that triggers at least one model, with the columns of top_questions.csv in results/README.md;
    `question_texts` reads the texts.
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
            "triggered": stats.biased_majority(aligned.biased, aligned.planned).sum(axis=0),
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

    Only questions that have a verdict in all runs are counted: one that no trial without a valid result could turn. A
    row a kind ("all" for the total) and number of models ``k`` from 0 up; ``share_of_triggered`` is of the questions
    that trigger at least one, NaN for k = 0.
    """
    aligned = align(runs, condition)
    decided = stats.majority_decided(aligned.biased, aligned.valid, aligned.planned).all(axis=0)
    triggered = stats.biased_majority(aligned.biased, aligned.planned).sum(axis=0)
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
