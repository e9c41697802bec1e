"""The same questions with and without the role, and with options in another order."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, MIRRORS, NOTHING, VALID, Run, Trials
from biaslens.analysis.labels import FEWEST_LABELS, CorrectedRates
from biaslens.analysis.rates import ALL, table, with_ends
from biaslens.schema import Attribute, Condition, Kind, Mirror
from biaslens.stats import (
    Clusters,
    Estimate,
    biased_majority,
    crossed_difference,
    crossed_mean,
    crossed_share,
    holm,
    labelled_difference,
    majority_decided,
    mcnemar,
)

_TESTS = ("p", "p_mcnemar")

_COLUMNS = [
    "model", "against", "attribute", "kind", "roles", "questions", "rate_role", "rate_against", "difference",
    "difference_low", "difference_high", "p", "p_holm", "verdicts", "biased_only_role", "biased_only_against",
    "odds_ratio", "odds_ratio_low", "odds_ratio_high", "p_mcnemar", "p_mcnemar_holm", "estimand",
    "corrected_difference", "corrected_difference_low", "corrected_difference_high", "corrected_p",
]  # fmt: skip
_ROLE_COLUMNS = [
    "model", "against", "attribute", "role", "questions", "rate_role", "rate_against", "difference", "difference_low",
    "difference_high", "p", "p_holm",
]  # fmt: skip


def ablation(run: Run, *, against: Condition = Condition.NO_ROLE) -> pd.DataFrame:
    """Compare each question under its role with itself under another condition, by attribute and kind.

    Only questions with a valid trial under both conditions are compared, so that both rates are of the same
    questions. Each counts once, by the share of its valid trials that are biased; the difference is a mean over
    questions, its interval and p-value for the run's estimand. Beside it stands the comparison of the majority
    verdicts: McNemar's test, clustered alike, and the conditional odds ratio. A verdict counts where no valid result of
    the missing trials could turn it; else a condition with more missing trials would look less biased.

    Where answers under both conditions are labelled, ``corrected_difference`` is that of the corrected rates.

    A row an attribute and kind and their totals ("all"), where any question can be compared, with the columns of
    ablation.csv in results/README.md. Adjusted together (Holm) are the p-values of the cells attribute x kind; those of
    the attributes; those of the kinds. The grand total is a single test.
    """
    paired = _Paired(run, against)
    keys = [(attribute, kind) for attribute in (None, *ATTRIBUTES) for kind in (None, *KINDS)]
    rows = [row for key in keys if (row := paired.cell(*key))]
    frame = table(rows, _COLUMNS)
    families = frame.groupby([frame["attribute"] == ALL, frame["kind"] == ALL])
    for test in _TESTS:
        frame[f"{test}_holm"] = families[test].transform(holm)
    return frame


def ablation_by_role(run: Run, *, against: Condition = Condition.NO_ROLE) -> pd.DataFrame:
    """Compare each role with itself left out: those that move the answers most come first.

    Here the questions are the sample: the interval says how far other questions to the same role might differ. Columns
    are those of ablation_by_role.csv in results/README.md; ``p_holm`` is adjusted over the roles.
    """
    paired = _Paired(run, against)
    rows = []
    for code, name in enumerate(run.questions.role_names):
        chosen = paired.known & (run.questions.role == code)
        if chosen.any():
            attribute = ATTRIBUTES[run.questions.role_attribute[code]].value
            # Questions on one comparison, so on one encounter, are one observation of the role.
            clusters = Clusters(run.questions.comparison[chosen])
            rows.append(paired.row(chosen, clusters) | {"attribute": attribute, "role": name})
    frame = table(rows, _ROLE_COLUMNS)
    frame["p_holm"] = holm(frame["p"])
    moved = frame["difference"].to_numpy()
    return frame.iloc[np.argsort(-np.abs(moved), kind="stable")].reset_index(drop=True)


class _Paired:
    """Rates and verdicts of every question under both conditions."""

    def __init__(self, run: Run, against: Condition) -> None:
        self._labels = CorrectedRates()
        first, second = run.trials(Condition.ROLE), run.trials(against)
        self._run, self._against = run, against
        self.known: NDArray[np.bool_] = (first.valid > 0) & (second.valid > 0)
        with np.errstate(invalid="ignore"):
            self._rate, self._other = first.biased / first.valid, second.biased / second.valid
        self._verdict, self._other_verdict = (biased_majority(arm.biased, arm.planned) for arm in (first, second))
        self._decided = _decided(first) & _decided(second)

    def row(self, chosen: NDArray[np.bool_], clusters: Clusters) -> dict[str, object]:
        """The rates of some questions and their difference."""
        mean = crossed_difference(self._rate[chosen], self._other[chosen], clusters)
        return {
            "model": self._run.info.model,
            "against": self._against.value,
            "roles": mean.clusters,
            "questions": mean.items,
            "rate_role": float(self._rate[chosen].mean()),
            "rate_against": float(self._other[chosen].mean()),
            **with_ends("difference", mean),
            "p": mean.p,
        }

    def cell(self, attribute: Attribute | None, kind: Kind | None) -> dict[str, object] | None:
        """The same of an attribute and kind, and their verdicts; None where no question can be compared."""
        chosen = self.known & self._run.questions.select(attribute, kind)
        if not chosen.any():
            return None
        clusters, both = self._run.clusters, chosen & self._decided
        verdicts = mcnemar(self._verdict[both], self._other_verdict[both], clusters.at(both))
        return self.row(chosen, clusters.at(chosen)) | {
            "estimand": self._run.estimand.value,
            "attribute": attribute.value if attribute else ALL,
            "kind": kind.value if kind else ALL,
            "verdicts": int(both.sum()),
            "biased_only_role": verdicts.only_first,
            "biased_only_against": verdicts.only_second,
            **{name: getattr(verdicts, name) for name in ("odds_ratio", "odds_ratio_low", "odds_ratio_high")},
            "p_mcnemar": verdicts.p,
            **self._corrected(chosen),
        }

    def _corrected(self, chosen: NDArray[np.bool_]) -> dict[str, object]:
        """The difference of the rates that labels under each condition correct."""
        run, questions = self._run, np.flatnonzero(chosen)
        position = {run.questions.ids[question]: place for place, question in enumerate(questions)}
        one, other = (self._labels.of(run, each, position) for each in (Condition.ROLE, self._against))
        few = min(one.labels, other.labels) < FEWEST_LABELS and chosen.sum() < self.known.sum()
        found = Estimate(float("nan")) if few else labelled_difference(one, other, run.clusters.at(questions))
        return {**with_ends("corrected_difference", found), "corrected_p": found.p}


def _decided(trials: Trials) -> NDArray[np.bool_]:
    return majority_decided(trials.biased, trials.valid, trials.planned)


_POSITION_COLUMNS = [
    "model", "condition", "position", "trials", "roles", "share", "expected", "excess", "excess_low", "excess_high",
    "p", "estimand",
]  # fmt: skip
_MIRROR_COLUMNS = [
    "model", "condition", "kind", "mirror", "pairs", "roles", "neither", "one", "held", "form", "form_low", "form_high",
    "form_among_two", "estimand",
]  # fmt: skip


def option_position(run: Run) -> pd.DataFrame:
    """Compare where the options stood that were taken with where they would stand by chance.

    Of a choice among k groups, shown in random order, each position would be taken once in k times if only what it
    says mattered. The excess of the first and of the last group over 1/k, over trials in which a group was taken, is
    the effect of the position. It needs a run with ``--shuffle-options``: in a fixed order, position and group are one.
    There is a row a condition and position ("first", "last"), with the columns of option_position.csv in
    results/README.md; none without a shuffled run. Both share one test, of the last being taken as often as the first.
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
    clusters = run.clusters.at(question)
    first, last = shown == 0, shown == among - 1
    p = crossed_mean(last.astype(np.float64) - first, clusters).p
    for name, there in (("first", first), ("last", last)):
        mean = crossed_mean(there - 1 / among, clusters)
        if mean.items:
            rows.append(
                {
                    "model": run.info.model,
                    "condition": condition.value,
                    "position": name,
                    "trials": mean.items,
                    "roles": mean.clusters,
                    "share": float(there.mean()),
                    "expected": float((1 / among).mean()),
                    **with_ends("excess", mean),
                    "p": p,
                    "estimand": run.estimand.value,
                }
            )
    return rows


def mirrored(run: Run) -> pd.DataFrame:
    """Compare the answers to questions and their mirrors: what is held, and what only follows the form.

    A yes/no question and its mirror claim the opposite, so who means the claim says Yes to one of them. Yes to both is
    yes-saying. A choice and its swapped mirror have the groups in the opposite order: the same group both times is a
    held view, the same position twice (so another group) follows the form. Trials are matched by number; pairs count
    where both trials are valid. Why questions have no answer to match and are left out. There is a row a condition,
    kind and mirror, with the columns of mirrors.csv in results/README.md: ``held`` (the same claim or group), ``form``
    (yes twice, or the same position twice), ``one`` (a group taken in one trial only).
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
    clusters = run.clusters.at(np.repeat(chosen, states.shape[1]))
    mean = crossed_share(np.where(both, form, np.nan).ravel(), clusters)
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
        **with_ends("form", mean),
        "form_among_two": float((form & both).sum() / among) if among else float("nan"),
        "estimand": run.estimand.value,
    }


def _part(mask: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float((mask & of).sum() / of.sum()) if of.any() else float("nan")
