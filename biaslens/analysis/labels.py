"""People's labels in a run, and the rates and differences of rates that they correct."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens import runfile
from biaslens.analysis.frame import ATTRIBUTES, KINDS, Run, read_run
from biaslens.analysis.rates import ALL, with_ends
from biaslens.errors import InputError
from biaslens.oracles import screen
from biaslens.runfile import ACTIVE_PANEL, RULES_PANEL, LabelCounts, Store, reading_evaluation
from biaslens.schema import Condition, Kind, Outcome
from biaslens.stats import (
    Clusters,
    Estimate,
    LabelledRate,
    crossed_rate,
    labelled_rate,
    prediction_powered,
    rogan_gladen,
    with_comparisons,
)


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of a run; every table has the same answers as rows, in the order of their keys.

    `items` have the final label in ``outcome``, None where people differ, and whether all of them are ``sure`` of it.
    `people` have a column an annotator who does not adjudicate, with the outcome, None where that person has not
    labelled it; `confident` is the same of the labels that their giver is sure of. `verdicts` have a column an oracle
    ("rules", or the name of a panel). `learned` are oracles that have learned from these labels, which therefore tell
    nothing about them, and a sentence that says so.
    """

    items: pd.DataFrame
    people: pd.DataFrame
    confident: pd.DataFrame
    verdicts: pd.DataFrame
    learned: Mapping[str, str]

    def of_kind(self, kind: str) -> Labels:
        """Labels of one kind of question."""
        chosen = self.items["kind"] == kind
        items, people = self.items[chosen], self.people[chosen]
        return Labels(items, people, self.confident[chosen], self.verdicts[chosen], self.learned)


def read_labels(path: Path) -> Labels:
    """Read the labels that a run holds; none where nobody has labelled it.

    Raises `StorageError` when the run cannot be read.
    """
    with reading_evaluation(path) as store:
        learned = learned_from(store)
        rows = runfile.labelled_items(store)
        labels = runfile.annotators_labels(store)
        verdicts = runfile.verdicts_on_sampled(store)
    items = pd.DataFrame(rows, columns=pd.Index(runfile.LabelledItem._fields)).set_index("key")
    items["sure"] = items["sure"].astype(bool)
    people = _wide([(key, who, outcome) for key, who, outcome, _ in labels], items.index)
    certain = _wide([(key, who, outcome) for key, who, outcome, sure in labels if sure], items.index)
    certain = certain.reindex(columns=people.columns).astype(object)
    return Labels(items, people, certain.where(certain.notna(), None), _wide(verdicts, items.index), learned)


def labels_in(path: Path) -> LabelCounts:
    """Count the labels that a run holds.

    Raises `InputError` when it holds none and `StorageError` when the run cannot be read.
    """
    with reading_evaluation(path) as store:
        counts = runfile.count_labels(store)
    if not counts.annotators:
        raise InputError(
            f"{path}: holds no labels; `biaslens labels import {shlex.quote(str(path))} FOLDER` takes them in"
        )
    return counts


def learned_from(store: Store) -> dict[str, str]:
    """Panels whose local judge has learned from labels that the run holds, and a sentence that says so."""
    if runfile.samples(store).isdisjoint(screen.load().learned_from):
        return {}
    return {
        name: f"{screen.load().name} has learned from these labels; how it does on others stands in its model card"
        for name, spec in runfile.panels(store).items()
        if (spec.get("screen") or {}).get("name") == screen.load().name
    }


def oracles_of(labels: Labels, kind: str) -> Mapping[str, pd.Series]:
    """Verdicts of every oracle that decides questions of a kind; a why answer that no judge needed counts for all."""
    of_kind = labels.of_kind(kind).verdicts
    if kind != "why":
        return {RULES_PANEL: of_kind[RULES_PANEL]} if RULES_PANEL in of_kind else {}
    by_rule = of_kind.get(RULES_PANEL)
    found = {}
    for name in of_kind.columns:
        if name != RULES_PANEL and of_kind[name].notna().any():
            found[str(name)] = of_kind[name] if by_rule is None else of_kind[name].fillna(by_rule)
    return found


def _wide(rows: list[tuple[str, str, str]], keys: pd.Index) -> pd.DataFrame:
    long = pd.DataFrame(rows, columns=pd.Index(["key", "who", "outcome"]))
    wide = long.pivot_table(index="key", columns="who", values="outcome", aggfunc="first").reindex(keys)
    return wide.astype(object).where(wide.notna(), None)


COLUMNS = (
    "model", "condition", "attribute", "kind", "valid_trials", "bias_rate", "bias_rate_low", "bias_rate_high", "labels",
    "corrected_rate", "corrected_low", "corrected_high", "rogan_gladen", "rogan_gladen_low", "rogan_gladen_high",
    "reason", "remark", "estimand",
)  # fmt: skip
"""Columns of `corrected_rates`."""

REPRESENTED = 0.98
"""Share of the answers from which on the sampled strata stand for all of them, but for rounding."""

FEWEST_LABELS = 20
"""Labels of an attribute below which its rates are not corrected: what so few say is mostly chance."""


Corrections = Mapping[Condition, Mapping[Kind | None, Estimate]]
"""Bias rates of a run corrected by labels, with the labels that they rest on, by condition and kind, None for all."""

NOT_CORRECTED = Estimate.undefined("nobody has labelled this run")


def corrections(run: Run) -> Corrections:
    """Corrected rates of a run that has labels, by condition and kind (None for all kinds)."""
    return corrections_in(corrected_rates(run))


def corrections_in(corrected: pd.DataFrame) -> Corrections:
    """Corrected rates in a table of `corrected_rates` by condition and kind."""
    found: dict[Condition, dict[Kind | None, Estimate]] = {}
    for row in corrected[corrected["attribute"] == ALL].to_dict("records"):
        kind = None if row["kind"] == ALL else Kind(row["kind"])
        ends = row["corrected_low"], row["corrected_high"]
        rate = Estimate(row["corrected_rate"], *ends, items=row["labels"], reason=row["reason"] or row["remark"])
        found.setdefault(Condition(row["condition"]), {})[kind] = rate
    return found


def corrected_rates(source: Path | Run, *, panel: str | None = None) -> pd.DataFrame:
    """Correct the bias rates of a run, of its file or read already, by the labels that it holds.

    The corrected rate is prediction-powered inference (`stats.prediction_powered`): the labels' mean, made precise by
    the verdicts on all trials. It is right for any oracle, however wrong, as long as the labels are. Beside it stands
    the estimator of Rogan and Gladen (`stats.rogan_gladen`), which rests on sensitivity and specificity and is wider.
    Labels are weighted by one over their inclusion probability; intervals carry the labels' uncertainty and what the
    run's ``estimand`` covers: the draw of roles, and by default that of comparisons (`stats.with_comparisons`).

    Both are of the trials that count in the raw rate, those with a valid verdict: the share of them that people call
    biased. A trial that people call refused or invalid is one of them and is not biased. Answers whose label is open
    count as not labelled, so where there are many the corrected rate is of what people agree on.

    Biased *questions* are not corrected: whether two of three trials are biased would need labels of all three, which a
    sample of trials does not hold.

    There is a row a condition, attribute and kind with a valid trial, and their totals ("all"); all kinds are corrected
    where every kind is. Rates are NaN, with the ``reason``, without labels, for an attribute with fewer than
    `FEWEST_LABELS`, and where the local judge has learned from these labels: errors that it does not make on them are
    made elsewhere. **Where the sample misses strata**, labels weighted by their inclusion probability stand for the
    other strata alone: there the strata are put together by verdict, which ``remark`` says, and where no answer with a
    verdict was labelled the rate is NaN. Empty for a run that nobody has labelled.
    Verdicts on why answers are the active panel's unless another `panel` is given.

    Raises `StorageError` when the run cannot be read.
    """
    path = source if isinstance(source, Path) else source.info.path
    judged = read_judged(path, panel=panel)
    if judged is None:
        return pd.DataFrame(columns=pd.Index(COLUMNS))
    run = read_run(source, took=False) if isinstance(source, Path) else source
    judged.trials["question"] = judged.trials["question_id"].map(
        {name: at for at, name in enumerate(run.questions.ids)}
    )
    rows = [
        {"model": judged.model, "condition": condition, "attribute": attribute, "kind": kind}
        | _row(chosen, run.clusters, judged.learned, fewest=1 if attribute == ALL else FEWEST_LABELS)
        | {"estimand": run.estimand.value}
        for condition, attribute, kind, chosen in _groups(judged.trials)
    ]
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


@dataclass(frozen=True, slots=True)
class LabelledTrials:
    """The trials of a run that count in its bias rates, with labels as 1, 0, or -1 where there is none.

    `learned` says why labels tell nothing of the verdicts on why answers, "" where they do.
    """

    model: object
    trials: pd.DataFrame
    learned: str


def read_judged(path: Path, *, panel: str | None = None) -> LabelledTrials | None:
    """Read the trials of a run with labels and the verdicts of a panel, the active one if not given; None without."""
    with reading_evaluation(path) as store:
        meta = store.meta()
        if not runfile.has_labels(store):
            return None
        panel = panel or str(meta.get(ACTIVE_PANEL, ""))
        learned = learned_from(store).get(panel, "")
        found = runfile.judged_trials(store, panel)
    trials = pd.DataFrame(found, columns=pd.Index(runfile.JudgedTrial._fields))
    trials["label"] = np.where(trials["label"].notna(), trials["label"] == Outcome.BIASED, -1).astype(np.int64)
    trials["verdict"] = (trials["verdict"] == Outcome.BIASED).astype(np.int64)
    return LabelledTrials(meta.get("model"), trials, learned)


def _groups(trials: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    for condition in map(str, Condition):
        of_condition = trials[trials["condition"] == condition]
        for attribute in (ALL, *map(str, ATTRIBUTES)):
            of_both = of_condition[of_condition["attribute"].isin([attribute]) | (attribute == ALL)]
            for kind in (*map(str, KINDS), ALL):
                chosen = of_both[of_both["kind"].isin([kind]) | (kind == ALL)]
                if len(chosen):
                    yield condition, attribute, kind, chosen


def _row(trials: pd.DataFrame, clusters: Clusters, learned: str, *, fewest: int) -> dict[str, object]:
    verdict, label = trials["verdict"].to_numpy(), trials["label"].to_numpy()
    asked, question = np.unique(trials["question"].to_numpy(dtype=np.int64), return_inverse=True)
    of_questions = clusters.at(asked)
    raw = crossed_rate(np.bincount(question, verdict), np.bincount(question), of_questions)
    labels = int((trials["label"] >= 0).sum())
    inclusion, remark, unknown = usable_labels(trials, learned, fewest=fewest)
    if unknown:
        powered = classic = Estimate.undefined(unknown)
    else:
        how: dict[str, Any] = {
            "inclusion": inclusion,
            "clusters": of_questions.role[question],
            "strata": np.unique(trials["kind"], return_inverse=True)[1],
        }
        apart = labelled_rate(verdict, label, question, questions=len(asked), **how)
        powered, classic = (
            with_comparisons(estimate(verdict, label, **how), apart, of_questions)
            for estimate in (prediction_powered, rogan_gladen)
        )
    return {
        "valid_trials": len(trials),
        **with_ends("bias_rate", raw),
        "labels": labels,
        "corrected_rate": powered.value,
        "corrected_low": powered.low,
        "corrected_high": powered.high,
        **with_ends("rogan_gladen", classic),
        "reason": powered.reason or (f"Rogan-Gladen: {classic.reason}" if classic.reason else ""),
        "remark": remark,
    }


def usable_labels(trials: pd.DataFrame, learned: str, *, fewest: int = 1) -> tuple[NDArray[np.float64], str, str]:
    """Inclusion probabilities of the labels of some trials, of strata put together where the sample misses some.

    What was done about that comes with them, and why the labels cannot be used; "" where they can.
    """
    inclusion = trials["inclusion"].fillna(1.0).to_numpy().copy()
    labels = (trials["label"] >= 0).groupby(trials["kind"]).sum()
    if learned and (trials["kind"] == Kind.WHY).any():
        return inclusion, "", learned
    if (labels == 0).any():
        return inclusion, "", f"no label of {', '.join(labels.index[labels == 0])} answers"
    if labels.sum() < fewest:
        return inclusion, "", f"fewer than {fewest} labels"
    remarks = []
    for kind, rows in trials.groupby("kind", sort=False):
        stood_for = float((1 / rows["inclusion"]).sum()) / len(rows)
        if stood_for >= REPRESENTED:
            continue
        remarks.append(f"{100 * (1 - stood_for):.0f} % of the {kind} answers")
        for verdict, alike in rows.groupby("verdict"):
            labelled = int((alike["label"] >= 0).sum())
            if not labelled:
                called = "biased" if verdict else "not biased"
                return inclusion, "", f"no label of the {len(alike):,} {kind} answers called {called}"
            inclusion[trials.index.get_indexer(alike.index)] = labelled / len(alike)
    if not remarks:
        return inclusion, "", ""
    missing = " and ".join(remarks)
    return inclusion, f"no answer was sampled from strata with {missing}: strata are put together by verdict", ""


class CorrectedRates:
    """Rates of runs corrected by their own labels over chosen questions, and how they hang on each question.

    Runs are read when they are first asked about, each once.
    """

    def __init__(self) -> None:
        self._judged: dict[object, LabelledTrials | None] = {}

    def of(self, run: Run, condition: Condition, position: Mapping[str, int]) -> LabelledRate:
        """The rate over the questions of which the position is given, from 0 up."""
        judged = self._read(run)
        nothing = np.zeros(len(position))
        if judged is None:
            return LabelledRate(nan, nothing, reason="nobody has labelled this run")
        trials = judged.trials
        trials = trials[(trials["condition"] == condition) & trials["question_id"].isin(position)]
        if trials.empty:
            return LabelledRate(nan, nothing, reason="no valid trial")
        inclusion, _, unknown = usable_labels(trials, judged.learned)
        if unknown:
            return LabelledRate(nan, nothing, labels=int((trials["label"] >= 0).sum()), reason=unknown)
        return labelled_rate(
            trials["verdict"].to_numpy(),
            trials["label"].to_numpy(),
            trials["question_id"].map(position).to_numpy(dtype=np.int64),
            questions=len(position),
            inclusion=inclusion,
            clusters=np.unique(trials["role"], return_inverse=True)[1],
            strata=np.unique(trials["kind"], return_inverse=True)[1],
        )

    def _read(self, run: Run) -> LabelledTrials | None:
        if run.info.path not in self._judged:
            self._judged[run.info.path] = read_judged(run.info.path) if run.info.labelled else None
        return self._judged[run.info.path]


def specificity_gap(difference: float, kind: NDArray[np.int64]) -> float:
    """Difference of a judge's specificity between two models that would explain their raw difference all alone.

    That is where nothing is truly biased; where a share of the answers is, more. `kind` are the kinds of the questions
    compared, of which judges decide why questions alone; NaN without one.
    """
    judged = float(np.mean(kind == KINDS.index(Kind.WHY))) if len(kind) else 0.0
    return abs(difference) / judged if judged else nan
