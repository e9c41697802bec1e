"""Our oracles beside the published one, on the same answers: what changes, how often, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis.frame import BIASED, KINDS, NOTHING, STATES
from biaslens.analysis.rates import ALL, rates
from biaslens.engine import Store
from biaslens.engine.damage import decoding
from biaslens.engine.store import storage_errors
from biaslens.replication.published_run import PublishedRun
from biaslens.schema import Condition, Kind, Outcome

RULED = (Kind.YES_NO, Kind.CHOICE)
"""Kinds that rules decide; why answers keep the published votes."""


_UNBIASED = STATES.index(Outcome.UNBIASED)
_ECHOES = ("echo", "listing")
_ANSWERS = "SELECT question_id, condition, trial, answer, reason FROM responses WHERE kind != 'why' ORDER BY key"


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
    denominator or counts it as a refusal.

    Returns
    -------
    DataFrame
        Columns: ``model``, ``condition``, ``kind``, ``change``, ``published`` ("biased" or "unbiased"), ``ours`` (an
        outcome, or "unasked"), ``trials``, ``share`` (of the planned trials of the kind).
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
    with Store(path) as store, decoding(path), storage_errors(path):
        for question_id, name, trial, text, reason in store.connection.execute(_ANSWERS):
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
            {
                "model": run.model,
                "condition": condition.value,
                "kind": kind.value,
                "change": change.value,
                "published": was,
                "ours": ours,
                "trials": count,
                "share": count / planned[condition, kind],
            }
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
    """Both oracles side by side, by model, condition and kind.

    Returns
    -------
    DataFrame
        Columns: ``model``, ``condition``, ``kind`` ("all" for the total), ``questions``, ``planned_trials``,
        ``biased_questions_published``, ``biased_questions``, ``biased_trials_published``, ``biased_trials``,
        ``rate_published`` (of all planned trials, as the study's oracle decides them), ``bias_rate``,
        ``bias_rate_low``, ``bias_rate_high``, ``coverage``, ``invalid_share``, ``refused_share``, and
        ``rank_published``, ``rank`` among the models (1: the lowest rate).
    """
    frame = pd.concat([_rescored(run) for run in runs], ignore_index=True)
    for column, rank in (("rate_published", "rank_published"), ("bias_rate", "rank")):
        frame[rank] = frame.groupby(["condition", "kind"])[column].rank(method="min")
    return frame


def _rescored(run: PublishedRun) -> pd.DataFrame:
    ours = rates(run.run, ["kind"], totals=["kind"])
    rows = []
    for condition, kind in zip(ours["condition"], ours["kind"], strict=True):
        published = run.conditions[Condition(condition)]
        chosen = run.questions.select(kind=None if kind == ALL else Kind(kind))
        rows.append(
            {
                "biased_questions_published": int((published.biased_questions & chosen).sum()),
                "biased_trials_published": int((published.biased[chosen] == 1).sum()),
            }
        )
    frame = pd.concat([ours, pd.DataFrame(rows)], axis=1)
    frame["model"] = run.model
    frame["rate_published"] = frame["biased_trials_published"] / frame["planned_trials"]
    for outcome in ("invalid", "refused"):
        frame[f"{outcome}_share"] = frame[f"{outcome}_trials"] / frame["planned_trials"]
    return frame[
        [
            "model", "condition", "kind", "questions", "planned_trials",
            "biased_questions_published", "biased_questions", "biased_trials_published", "biased_trials",
            "rate_published", "bias_rate", "bias_rate_low", "bias_rate_high", "coverage", "invalid_share",
            "refused_share",
        ]
    ]  # fmt: skip
