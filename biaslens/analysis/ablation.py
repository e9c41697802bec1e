"""What the role does: the same questions with it and without it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import ATTRIBUTES, KINDS, Run, Trials
from biaslens.analysis.rates import ALL
from biaslens.analysis.rows import table
from biaslens.schema import Attribute, Condition, Kind
from biaslens.stats import biased_majority, clustered_mean, holm, majority_decided, mcnemar

_TESTS = ("p", "p_mcnemar")

_COLUMNS = [
    "model", "against", "attribute", "kind", "roles", "questions", "rate_role", "rate_against", "difference",
    "difference_low", "difference_high", "p", "p_holm", "verdicts", "biased_only_role", "biased_only_against",
    "odds_ratio", "odds_ratio_low", "odds_ratio_high", "p_mcnemar", "p_mcnemar_holm",
]  # fmt: skip
_ROLE_COLUMNS = [
    "model", "against", "attribute", "role", "questions", "rate_role", "rate_against", "difference", "difference_low",
    "difference_high", "p", "p_holm",
]  # fmt: skip


def ablation(run: Run, *, against: Condition = Condition.NO_ROLE) -> pd.DataFrame:
    """Compare each question under its role with itself under another condition, by attribute and kind.

    Only questions with a valid trial under both conditions are compared, so that both rates are of the same
    questions. Each counts once, by the share of its valid trials that are biased; the difference is a mean over
    questions, its interval and p-value clustered by role. Beside it stands the comparison of the majority verdicts:
    McNemar's test, clustered by role, and the conditional odds ratio. A verdict counts where no valid result of the
    missing trials could turn it; else a condition with more missing trials would look less biased.

    Parameters
    ----------
    run
        A run of both conditions.
    against
        What the role is compared with: `Condition.NO_ROLE` or `Condition.NEUTRAL_ROLE`.

    Returns
    -------
    DataFrame
        A row an attribute and kind and their totals ("all"), where any question can be compared; empty otherwise.
        Columns: ``model``, ``against``, ``attribute``, ``kind``, ``roles``, ``questions``, ``rate_role``,
        ``rate_against``, ``difference`` (the role's less the other), ``difference_low``, ``difference_high``, ``p``,
        ``p_holm``, ``verdicts`` (questions with a verdict under both), ``biased_only_role``, ``biased_only_against``,
        ``odds_ratio``, ``odds_ratio_low``, ``odds_ratio_high``, ``p_mcnemar``, ``p_mcnemar_holm``. Adjusted together
        (Holm) are the p-values of the cells attribute x kind; those of the attributes; those of the kinds. The grand
        total is a single test.
    """
    paired = _Paired(run, against)
    keys = [(attribute, kind) for attribute in (None, *ATTRIBUTES) for kind in (None, *KINDS)]
    rows = [row for key in keys if (row := paired.row(*key))]
    frame = table(rows, _COLUMNS)
    families = frame.groupby([frame["attribute"] == ALL, frame["kind"] == ALL])
    for test in _TESTS:
        frame[f"{test}_holm"] = families[test].transform(holm)
    return frame


def ablation_by_role(run: Run, *, against: Condition = Condition.NO_ROLE) -> pd.DataFrame:
    """Compare each role with itself left out: which roles move the answers most.

    Returns
    -------
    DataFrame
        A row a role with a question that can be compared, those that move most first. Columns: ``model``,
        ``against``, ``attribute``, ``role``, ``questions``, ``rate_role``, ``rate_against``, ``difference``,
        ``difference_low``, ``difference_high``, ``p``, ``p_holm`` (over the roles). Here the questions are the sample:
        the interval says how far other questions to the same role might differ.
    """
    paired = _Paired(run, against)
    rows = []
    for code, name in enumerate(run.questions.role_names):
        chosen = paired.known & (run.questions.role == code)
        if chosen.any():
            mean = clustered_mean(paired.difference[chosen], np.flatnonzero(chosen))
            rows.append(
                {
                    "model": run.info.model,
                    "against": against.value,
                    "attribute": ATTRIBUTES[run.questions.role_attribute[code]].value,
                    "role": name,
                    "questions": int(chosen.sum()),
                    "rate_role": float(paired.rate[chosen].mean()),
                    "rate_against": float(paired.other[chosen].mean()),
                    "difference": mean.mean,
                    "difference_low": mean.low,
                    "difference_high": mean.high,
                    "p": mean.p,
                }
            )
    frame = table(rows, _ROLE_COLUMNS)
    frame["p_holm"] = holm(frame["p"])
    moved = frame["difference"].to_numpy()
    return frame.iloc[np.argsort(-np.abs(moved), kind="stable")].reset_index(drop=True)


class _Paired:
    """Rates and verdicts of every question under both conditions."""

    def __init__(self, run: Run, against: Condition) -> None:
        first, second = run.trials(Condition.ROLE), run.trials(against)
        self._run, self._against = run, against
        self.known: NDArray[np.bool_] = (first.valid > 0) & (second.valid > 0)
        with np.errstate(invalid="ignore"):
            self.rate: NDArray[np.float64] = first.biased / first.valid
            self.other: NDArray[np.float64] = second.biased / second.valid
        self.difference: NDArray[np.float64] = self.rate - self.other
        self._verdict, self._other_verdict = (biased_majority(arm.biased, arm.planned) for arm in (first, second))
        self._decided = _decided(first) & _decided(second)

    def keys(self, attribute: Attribute | None, kind: Kind | None) -> dict[str, str]:
        return {
            "model": self._run.info.model,
            "against": self._against.value,
            "attribute": attribute.value if attribute else ALL,
            "kind": kind.value if kind else ALL,
        }

    def row(self, attribute: Attribute | None, kind: Kind | None) -> dict[str, object] | None:
        chosen = self.known & self._run.questions.select(attribute, kind)
        if not chosen.any():
            return None
        role = self._run.questions.role[chosen]
        mean = clustered_mean(self.difference[chosen], role)
        both = chosen & self._decided
        verdicts = mcnemar(self._verdict[both], self._other_verdict[both], self._run.questions.role[both])
        return {
            **self.keys(attribute, kind),
            "roles": mean.clusters,
            "questions": mean.values,
            "rate_role": float(self.rate[chosen].mean()),
            "rate_against": float(self.other[chosen].mean()),
            "difference": mean.mean,
            "difference_low": mean.low,
            "difference_high": mean.high,
            "p": mean.p,
            "verdicts": int(both.sum()),
            "biased_only_role": verdicts.only_first,
            "biased_only_against": verdicts.only_second,
            "odds_ratio": verdicts.odds_ratio,
            "odds_ratio_low": verdicts.odds_ratio_low,
            "odds_ratio_high": verdicts.odds_ratio_high,
            "p_mcnemar": verdicts.p,
        }


def _decided(trials: Trials) -> NDArray[np.bool_]:
    return majority_decided(trials.biased, trials.valid, trials.planned)
