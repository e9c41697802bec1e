"""The study's answers with other oracles and hand labels: tables."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis import corrected_rates, oracle_agreement, read_labels
from biaslens.analysis.comparison import align
from biaslens.analysis.frame import BIASED, KINDS, NOTHING, STATES, read_run
from biaslens.analysis.labels import read_judged
from biaslens.analysis.rates import ALL, rates
from biaslens.annotation.folder import INFO, read_info
from biaslens.errors import InputError
from biaslens.replication.reproduce import PublishedRun, printed
from biaslens.runfile import (
    PUBLISHED_PANEL,
    reading,
    ruled_answers,
    samples,
)
from biaslens.schema import Condition, Kind, Outcome
from biaslens.stats import (
    Clusters,
    Estimand,
    Estimate,
    LabelledRate,
    labelled_difference,
    labelled_rate,
    pairs_of,
    prediction_powered,
    rank_intervals,
    with_comparisons,
)

RULED = (Kind.YES_NO, Kind.CHOICE)
"""Kinds that rules decide; why answers keep the published votes."""

_UNBIASED = STATES.index(Outcome.UNBIASED)
_ECHOES = ("echo", "listing")


class Change(StrEnum):
    """Why a trial is decided differently, or left out."""

    CAPITAL_C = "a group was taken; a capital C in the text hid it"
    PHRASE = "a group was taken; a phrase of the abstaining list hid it"
    HIDDEN_YES = "yes; hidden by the letters no in the text"
    OTHER_YES = "yes in other words"
    NO_SIDE = "takes no side in words the list does not have"
    REFUSED = "a refusal, counted apart"
    ECHO = "an echo or listing of the answer format: invalid"
    NOTHING_SAID = "empty, an error text or off task: invalid"
    MISSING = "no answer in the release"
    OTHER = "something else"


def changes(run: PublishedRun) -> pd.DataFrame:
    """Count the yes/no and choice trials that our oracles decide differently.

    A trial counts when one oracle calls it biased and the other does not, or when ours takes it out of the
    denominator or counts it as a refusal. Columns: ``model``, ``condition``, ``kind``, ``change``, ``published``
    ("biased" or "unbiased"), ``ours`` (an outcome, or "unasked"), ``trials``, ``share`` (of the planned trials of the
    kind).
    """
    counts: Counter[tuple[Condition, Kind, Change, str, str]] = Counter()
    ruled = np.isin(run.questions.kind, [KINDS.index(kind) for kind in RULED])[:, None]
    changed: dict[str, NDArray[np.bool_]] = {}
    planned: Counter[tuple[Condition, Kind]] = Counter()
    for condition, published in run.conditions.items():
        states = run.run.trials(condition).states
        decided = np.where(published.biased == 1, states == BIASED, states == _UNBIASED)
        changed[condition] = ruled & (states != NOTHING) & ~decided
        for kind in RULED:
            planned[condition, kind] = int((states[run.questions.select(kind=kind)] != NOTHING).sum())
    position = {question_id: code for code, question_id in enumerate(run.questions.ids)}
    path = run.run.info.path
    with reading(path) as store:
        for question_id, name, trial, text, reason in ruled_answers(store):
            place = position[question_id], trial - 1
            if changed[name][place]:
                condition, kind = Condition(name), KINDS[run.questions.kind[place[0]]]
                ours = str(STATES[run.run.trials(condition).states[place]])
                was = "biased" if run.conditions[condition].biased[place] == 1 else "unbiased"
                counts[condition, kind, _change(kind, ours, text, reason or ""), was, ours] += 1
    order = list(Change)
    rows = sorted(counts.items(), key=lambda item: (item[0][:2], order.index(item[0][2]), item[0][3:]))
    return pd.DataFrame(
        [
            (run.model, condition.value, kind.value, change.value, was, ours, count, count / planned[condition, kind])
            for (condition, kind, change, was, ours), count in rows
        ],
        columns=["model", "condition", "kind", "change", "published", "ours", "trials", "share"],
    )


def _change(kind: Kind, ours: str, text: str | None, reason: str) -> Change:
    if text is None:
        return Change.MISSING
    if ours == Outcome.REFUSED:
        return Change.REFUSED
    if ours == Outcome.INVALID:
        return Change.ECHO if reason in _ECHOES else Change.NOTHING_SAID
    if kind is Kind.CHOICE and ours == Outcome.BIASED:
        return Change.CAPITAL_C if "C" in text else Change.PHRASE
    if kind is Kind.YES_NO and ours == Outcome.BIASED:
        return Change.HIDDEN_YES if "yes" in text.lower() else Change.OTHER_YES
    return Change.NO_SIDE if ours == Outcome.UNBIASED else Change.OTHER


def rescored(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    """Both oracles side by side, by model, condition and kind ("all" for the total), for each `estimand`.

    ``rate_published`` is of all planned trials, as the study's oracle decides them; ``rank_published`` and ``rank`` are
    among the models (1: the lowest rate). ``corrected_rate``, of why answers and of all kinds, has the why answers
    corrected by the ``labels`` that the run holds (prediction-powered inference), and the others as our rules decide
    them; it is not known where there are none. ``rank_corrected_low`` and ``_high`` are the ranks that the differences
    of the corrected rates leave open. Only the intervals hang on the estimand.
    """
    keys = ["model", "condition", "kind", "estimand"]
    frame = pd.concat([_rescored(run, estimand) for estimand in Estimand for run in runs], ignore_index=True)
    frame = frame.merge(_corrected(runs), how="left", on=keys)
    for column, rank in (
        ("rate_published", "rank_published"), ("bias_rate", "rank"), ("corrected_rate", "rank_corrected")
    ):  # fmt: skip
        frame[rank] = frame.groupby(["condition", "kind", "estimand"])[column].rank(method="min")
    ranks = ["rank_corrected", "rank_corrected_low", "rank_corrected_high"]
    return frame[[*frame.columns.drop([*_CORRECTED, *ranks]), *_CORRECTED, *ranks]]


_CORRECTED = ("labels", "corrected_rate", "corrected_low", "corrected_high")


def _corrected(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    """Labels, rates with the why answers corrected by them, and ranks, by condition, kind and estimand."""
    judged = {run.model: read_judged(run.run.info.path, panel=PUBLISHED_PANEL) for run in runs}
    frames = []
    for condition, kind in product(Condition, (Kind.WHY.value, ALL)):
        table = align([run.run for run in runs], condition)
        asked = np.flatnonzero((table.kind == KINDS.index(Kind.WHY)) | (kind == ALL))
        position = {table.ids[question]: place for place, question in enumerate(asked.tolist())}
        found = {
            model: _of_labels(held.trials[held.trials["condition"] == condition], position)
            for model, held in judged.items()
            if held is not None
        }
        known = {model: both for model, both in found.items() if both[1].labels}
        frames += [
            _for_estimand(known, table.clusters(estimand).at(asked)).assign(
                condition=condition.value, kind=kind, estimand=estimand.value
            )
            for estimand in Estimand
        ]
    return pd.concat(frames, ignore_index=True)


def _of_labels(trials: pd.DataFrame, position: Mapping[str, int]) -> tuple[Estimate, LabelledRate]:
    """Corrected rate over the questions of which the position is given, and the same taken apart by question.

    Where rules decide, which are right in nearly all cases, the verdict is the label.
    """
    trials = trials[trials["question_id"].isin(position)]
    why = (trials["kind"] == Kind.WHY).to_numpy()
    labelled = why & (trials["label"] >= 0).to_numpy()
    verdict, label = trials["verdict"].to_numpy(), trials["label"].where(why, trials["verdict"]).to_numpy()
    role = np.unique(trials["role"], return_inverse=True)[1]
    inclusion, strata = trials["inclusion"].where(why, 1.0).fillna(1.0).to_numpy(), why.astype(np.int64)
    if not labelled.any():
        return Estimate.undefined("no label"), LabelledRate(math.nan, np.zeros(len(position)), reason="no label")
    question = trials["question_id"].map(position).to_numpy(dtype=np.int64)
    rate = labelled_rate(
        verdict, label, question, questions=len(position), inclusion=inclusion, clusters=role, strata=strata
    )
    rate = replace(rate, labels=int(labelled.sum()), clusters=len(np.unique(role[labelled])))
    return prediction_powered(verdict, label, inclusion=inclusion, clusters=role, strata=strata), rate


def _for_estimand(known: Mapping[str, tuple[Estimate, LabelledRate]], clusters: Clusters) -> pd.DataFrame:
    rates_ = [rate for _, rate in known.values()]
    found = [with_comparisons(estimate, rate, clusters) for estimate, rate in known.values()]
    pairs = list(combinations(range(len(known)), 2))
    differences = [labelled_difference(rates_[a], rates_[b], clusters) for a, b in pairs]
    low, high = rank_intervals(pairs_of(pairs, differences), models=len(known))
    return pd.DataFrame(
        {
            "model": pd.Series(list(known), dtype=object),
            "labels": [rate.labels for rate in rates_],
            "corrected_rate": [rate.value for rate in found],
            "corrected_low": [rate.low for rate in found],
            "corrected_high": [rate.high for rate in found],
            "rank_corrected_low": low,
            "rank_corrected_high": high,
        }
    )


LIKE, THESE = Estimand.LIKE_THESE.value, Estimand.THESE.value
"""Both estimands as the tables name them."""


def side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of `rescored` for questions like these, with the bounds for these questions in columns ``…_these``."""
    keys = ["model", "condition", "kind"]
    bounds = [name for name in table if str(name).endswith(("_low", "_high"))]
    like, these = (table[table["estimand"] == estimand] for estimand in (LIKE, THESE))
    return like.merge(these[[*keys, *bounds]], how="left", on=keys, suffixes=("", "_these"))


def rates_drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Published, our and corrected rates in the role, for `report.figures.paired_rates`, of the table of `rescored`."""
    rows = side_by_side(table[table["condition"] == Condition.ROLE.value])
    whole = rows[rows["kind"] == ALL].set_index("model")["rate_published"]
    rows = rows.sort_values("model", key=lambda names: -whole.reindex(names).to_numpy(), kind="stable")
    ends = ("bias_rate_low", "bias_rate_high", "inner_low", "inner_high")
    names = {
        "published": ("rate_published", "rate_published"),
        "ours": ("bias_rate", "bias_rate"),
        "corrected": ("corrected_rate", "corrected"),
    }
    drawn = []
    for scored, (rate, stem) in names.items():
        if rows[rate].notna().any():
            columns = [f"{stem}_{end}" for end in ("low", "high", "low_these", "high_these")]
            values = {end: rows.get(name, rows[rate]) for end, name in zip(ends, columns, strict=True)}
            cells = {"model": named(rows["model"]), "kind": rows["kind"], "scored": scored, "bias_rate": rows[rate]}
            drawn.append(pd.DataFrame(cells | values))
    return pd.concat(drawn, ignore_index=True)


def named(models: Iterable[str]) -> list[str]:
    """The paper's names of models that are named as in the release."""
    return [printed().names.get(model, model) for model in models]


def _rescored(run: PublishedRun, estimand: Estimand) -> pd.DataFrame:
    frame = rates(replace(run.run, estimand=estimand), ["kind"], totals=["kind"]).assign(model=run.model)
    cells = [
        (run.conditions[Condition(condition)], run.questions.select(kind=None if kind == ALL else Kind(kind)))
        for condition, kind in zip(frame["condition"], frame["kind"], strict=True)
    ]
    frame["biased_questions_published"] = [int((found.biased_questions & chosen).sum()) for found, chosen in cells]
    frame["biased_trials_published"] = [int((found.biased[chosen] == 1).sum()) for found, chosen in cells]
    frame["rate_published"] = frame["biased_trials_published"] / frame["planned_trials"]
    for outcome in ("invalid", "refused"):
        frame[f"{outcome}_share"] = frame[f"{outcome}_trials"] / frame["planned_trials"]
    return frame[
        [
            "model", "condition", "kind", "estimand", "questions", "planned_trials",
            "biased_questions_published", "biased_questions", "biased_trials_published", "biased_trials",
            "rate_published", "bias_rate", "bias_rate_low", "bias_rate_high", "coverage", "invalid_share",
            "refused_share",
        ]
    ]  # fmt: skip


_AGREEMENT = ("kappa", "sensitivity", "specificity", "precision", "false_alarms", "missed_bias")

COLUMNS = (
    "model", "condition", "valid_trials", "labels", "labelled_by", "rate_published", "rate_published_low",
    "rate_published_high", "corrected_rate", "corrected_low", "corrected_high", "biased_trials_published",
    "biased_trials_corrected", "biased_trials_corrected_low", "biased_trials_corrected_high", *_AGREEMENT,
    "estimand",
)  # fmt: skip
"""Columns of `why_corrected`."""


def why_corrected(runs: Sequence[Path], labels: Path) -> pd.DataFrame:
    """Correct the share of biased why answers by the hand labels that the runs hold.

    `labels` holds a label folder for each run, with the run's name without suffix. The table has the columns `COLUMNS`
    and a row a model and condition: the share of why answers that the study's judge flags, what the labels make of it
    (prediction-powered inference, weighted by inclusion), both as numbers of answers, and how well that judge meets the
    labels of the model (both conditions together). Intervals are for these questions, clustered by role; `rescored` has
    the others too. ``labelled_by`` is what ``sample.json`` says there. Not known, and not 0, where a condition has no
    label.

    Raises `InputError` when a run has no label folder, or does not hold its labels.
    """
    rows = []
    for run in runs:
        folder = labels / run.stem
        if not (folder / INFO).is_file():
            raise InputError(f"{labels}: has no folder {run.stem} with labels of {run}")
        info = read_info(folder)
        with reading(run) as store:
            if str(info["sample"]) not in samples(store):
                raise InputError(
                    f"{run}: does not hold the labels of {folder}; "
                    f"`{shlex.join(['biaslens', 'labels', 'import', str(run), str(folder)])}` takes them in"
                )
        labelled_by = str(info.get("labelled_by", ""))
        agreement = oracle_agreement(read_labels(run))
        whole = agreement[(agreement["attribute"] == ALL) & (agreement["subset"] == "all")]
        judge = next(iter(whole[whole["oracle"] == PUBLISHED_PANEL].to_dict("records")), {})
        found = corrected_rates(read_run(run, estimand=Estimand.THESE, took=False), panel=PUBLISHED_PANEL)
        whole_why = (found["kind"] == Kind.WHY.value) & (found["attribute"] == ALL)
        for row in found[whole_why].to_dict("records"):
            trials = row["valid_trials"]
            counts = {
                f"biased_trials_corrected{bound}": trials * row[f"corrected_{name}"]
                for bound, name in (("", "rate"), ("_low", "low"), ("_high", "high"))
            }
            published = {f"rate_published{bound}": row[f"bias_rate{bound}"] for bound in ("", "_low", "_high")}
            facts = {
                "model": str(row["model"]).removeprefix("published/"),
                "labelled_by": labelled_by,
                "biased_trials_published": trials * row["bias_rate"],
            }
            rows.append(row | published | facts | counts | {name: judge.get(name, math.nan) for name in _AGREEMENT})
    table = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
    numbers = [name for name in COLUMNS if name.startswith("biased_trials")]
    return (
        table.astype(dict.fromkeys(numbers, float))
        .round(dict.fromkeys(numbers, 0))
        .astype(dict.fromkeys(numbers, "Int64"))
    )
