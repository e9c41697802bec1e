"""What a model does with the encounters: in another form of the benchmark, and when asked against when choosing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.comparison import ASKED_ALIKE, align, require_same
from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, NOTHING, STATES, Run, Trials
from biaslens.analysis.rates import ALL, table, with_ends
from biaslens.errors import InputError
from biaslens.schema import Condition, Kind, Outcome
from biaslens.stats import Clusters, Estimand, Estimate, crossed_mean, crossed_share, holm, share, unpaired_difference

_COLUMNS = [
    "model", "condition", "kind", "roles", "questions_public", "questions_private", "rate_public", "rate_private",
    "difference", "difference_low", "difference_high", "p", "p_holm", "beyond_others", "beyond_others_low",
    "beyond_others_high", "p_beyond", "p_beyond_holm", "private_run", "estimand",
]  # fmt: skip


def pair_forms(public: Sequence[Run], private: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Put each run of the private form beside the run of its model on the public one.

    Raises
    ------
    InputError
        When a model has no public run, or several; when both runs asked the same benchmark.
    """
    pairs = []
    for run in private:
        own = [each for each in public if each.info.model == run.info.model]
        if len(own) != 1:
            found = "no run" if not own else f"{len(own)} runs"
            raise InputError(
                f"{run.info.path}: {found} of {run.info.model} on the public form given; give one before --private"
            )
        if own[0].info.benchmark_hash == run.info.benchmark_hash:
            raise InputError(
                f"{run.info.path} and {own[0].info.path} asked the same benchmark; "
                "`biaslens generate --fresh-seed` makes another form"
            )
        pairs.append((own[0], run))
    return pairs


def forms(pairs: Sequence[tuple[Run, Run]], *, force: bool = False) -> pd.DataFrame:
    """Compare the rates of models on a public form of a benchmark and on a private one, by condition and kind.

    Only questions to roles that both forms ask count, each once, by the share of its valid trials that are biased. The
    ``difference`` is the private form's rate less the public one's: above 0 for a model that is less biased where it
    may have learned what not to say. Questions are not paired, roles are (`unpaired_difference`), for the estimand of
    the first run.

    The forms may also differ in how sharp their questions are, for all models alike. So with several models
    ``beyond_others`` is a model's difference less the mean of the others', over the questions with a valid trial in all
    runs of a form: that part no difference of the forms explains. Columns are those of forms.csv in results/README.md;
    p-values are adjusted (Holm) over the models.

    Raises
    ------
    InputError
        When the two runs of a model share no role.
    RunMismatchError
        When the runs asked or judged differently in what is not the benchmark, and `force` is not given.
    """
    if not force:
        require_same([run.info for pair in pairs for run in pair], ASKED_ALIKE)
    rows = [
        row
        for condition in Condition
        if all(condition in run.conditions for pair in pairs for run in pair)
        for kind in (None, *KINDS)
        for row in _rows(pairs, condition, kind)
    ]
    frame = table(rows, _COLUMNS)
    for name in ("p", "p_beyond"):
        of_models = frame.groupby(["condition", "kind"], sort=False)[name]
        frame[f"{name}_holm"] = of_models.transform(holm)
    return frame


@dataclass(frozen=True, slots=True)
class _Form:
    """The questions of a kind on one form: the rate of each model, shape (M, Q), NaN where no trial is valid."""

    rates: NDArray[np.float64]
    roles: Sequence[tuple[int, str]]
    comparisons: Sequence[str]


def _form(runs: Sequence[Run], condition: Condition, kind: Kind | None) -> _Form:
    aligned = align(runs, condition)
    chosen = aligned.kind == KINDS.index(kind) if kind is not None else np.ones(len(aligned.ids), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        rates = np.where(aligned.valid > 0, aligned.biased / aligned.valid, np.nan)[:, chosen]
    roles = [aligned.roles[role] for role in aligned.role[chosen].tolist()]
    return _Form(rates, roles, [aligned.comparisons[code] for code in aligned.comparison[chosen].tolist()])


def _rows(pairs: Sequence[tuple[Run, Run]], condition: Condition, kind: Kind | None) -> list[dict[str, object]]:
    both = [_form([pair[place] for pair in pairs], condition, kind) for place in (0, 1)]
    if not all(form.roles for form in both):
        return []
    rates = np.concatenate([form.rates for form in both], axis=1)
    private = np.repeat([False, True], [len(form.roles) for form in both])
    clusters = _clusters(both, pairs[0][0].estimand)
    shared: NDArray[np.bool_] = np.isin(clusters.role, np.intersect1d(clusters.role[private], clusters.role[~private]))
    if not shared.any():
        raise InputError(
            f"{pairs[0][0].info.path} and {pairs[0][1].info.path} share no role: the private form has to ask the roles "
            "of the public one (biaslens generate --fresh-seed)"
        )
    rates, private, clusters = rates[:, shared], private[shared], clusters.at(shared)
    whole = _of_both(~np.isnan(rates).any(axis=0), private, clusters.role)
    rows = []
    for place, (run, other) in enumerate(pairs):
        known = _of_both(~np.isnan(rates[place]), private, clusters.role)
        if not known.any():
            continue
        own, there, of = rates[place, known], private[known], clusters.at(known)
        found, beyond = unpaired_difference(own, there, of), Estimate(float("nan"))
        if len(pairs) > 1 and whole.any():
            others = np.delete(rates, place, axis=0).mean(axis=0)
            beyond = unpaired_difference((rates[place] - others)[whole], private[whole], clusters.at(whole))
        rows.append(
            {
                "model": run.info.model,
                "condition": condition.value,
                "kind": kind.value if kind else ALL,
                "roles": found.clusters,
                "questions_public": int((~there).sum()),
                "questions_private": int(there.sum()),
                "rate_public": float(own[~there].mean()),
                "rate_private": float(own[there].mean()),
                **with_ends("difference", found),
                "p": found.p,
                **with_ends("beyond_others", beyond),
                "p_beyond": beyond.p,
                "private_run": other.info.path.name,
                "estimand": run.estimand.value,
            }
        )
    return rows


def _of_both(known: NDArray[np.bool_], private: NDArray[np.bool_], role: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Those known of roles that have some in both forms."""
    roles = np.intersect1d(role[known & private], role[known & ~private])
    result: NDArray[np.bool_] = known & np.isin(role, roles)
    return result


def _clusters(both: Sequence[_Form], estimand: Estimand) -> Clusters:
    """What the questions of both forms share: roles by attribute and name, comparisons by the groups compared."""
    names = [name for form in both for name in form.roles]
    code = {name: place for place, name in enumerate(dict.fromkeys(names))}
    compared = [name for form in both for name in form.comparisons]
    comparison = np.unique(np.array(compared), return_inverse=True)[1] if estimand is Estimand.LIKE_THESE else None
    return Clusters(
        np.array([code[name] for name in names]), comparison, np.array([attribute for attribute, _ in names])
    )


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
    rows = _of_encounters(run, np.arange(len(run.questions.ids)), lambda trials: chosen & (trials.valid > 0), row)
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

    rows = _of_encounters(run, choice, answered, row)
    return table(rows, _SAYS_DOES_COLUMNS)


def _of_encounters(
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
