"""A benchmark that everybody may have seen against another form of it that nobody has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.comparison import ASKED_ALIKE, align, require_same
from biaslens.analysis.frame import KINDS, Run
from biaslens.analysis.rates import ALL, table, with_ends
from biaslens.errors import InputError
from biaslens.schema import Condition, Kind
from biaslens.stats import Clusters, Estimand, Estimate, holm, unpaired_difference

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
