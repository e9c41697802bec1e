"""What the study's answers come to with other oracles and hand labels, told in words."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.analysis import corrected_rates, oracle_agreement, read_labels
from biaslens.analysis.comparison import Comparison
from biaslens.analysis.frame import BIASED, KINDS, NOTHING, STATES
from biaslens.analysis.rates import ALL, rates
from biaslens.annotation.folder import INFO, read_info
from biaslens.errors import InputError
from biaslens.replication.reproduce import PublishedRun, Reproduction, printed
from biaslens.report.page import markdown
from biaslens.report.table import Table, intervals, percent
from biaslens.runfile import PUBLISHED_PANEL, reading, ruled_answers, samples
from biaslens.schema import Attribute, Condition, Kind, Outcome

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
    """Both oracles side by side, by model, condition and kind ("all" for the total).

    ``rate_published`` is of all planned trials, as the study's oracle decides them; ``rank_published`` and ``rank`` are
    among the models (1: the lowest rate).
    """
    frame = pd.concat([_rescored(run) for run in runs], ignore_index=True)
    for column, rank in (("rate_published", "rank_published"), ("bias_rate", "rank")):
        frame[rank] = frame.groupby(["condition", "kind"])[column].rank(method="min")
    return frame


def _rescored(run: PublishedRun) -> pd.DataFrame:
    frame = rates(run.run, ["kind"], totals=["kind"]).assign(model=run.model)
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
            "model", "condition", "kind", "questions", "planned_trials",
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
)  # fmt: skip
"""Columns of `why_corrected`."""


def why_corrected(runs: Sequence[Path], labels: Path) -> pd.DataFrame:
    """Correct the share of biased why answers by the hand labels that the runs hold.

    `labels` holds a label folder for each run, with the run's name without suffix. The table has the columns `COLUMNS`
    and a row a model and condition: the share of why answers that the study's judge flags, what the labels make of it
    (prediction-powered inference, weighted by inclusion, clustered by role), both as numbers of answers, and how well
    that judge meets the labels of the model (both conditions together). ``labelled_by`` is what ``sample.json`` says
    there. Not known, and not 0, where a condition has no label.

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
        found = corrected_rates(run, panel=PUBLISHED_PANEL)
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


COMMAND = "biaslens reproduce runs/ --out results/published/"


def finding(
    reproduction: Reproduction,
    table: pd.DataFrame,
    changed: pd.DataFrame,
    comparison: Comparison | None,
    why: pd.DataFrame | None = None,
) -> str:
    """Write the finding in Markdown, of the tables of `rescored`, of `changes` for all models, and of `why_corrected`.

    The comparison is of the models under our oracles, None where there is only one.
    """
    body = [
        [printed().biased_questions[model, Condition.ROLE, Attribute.BODY, kind] for kind in Kind]
        for model in ("qwen", "deepseek")
    ]
    return markdown(
        "biaslens.replication",
        "finding.md.j2",
        command=COMMAND if why is None else f"{COMMAND} --labels labels/",
        models=[printed().names.get(model, model) for model in dict.fromkeys(table["model"])],
        reproduction=reproduction,
        rescored=_rescored_table(table),
        changed=_changed_table(changed),
        why=_why(why),
        ranking=_ranking(table, comparison),
        same_body=body[0] if body[0] == body[1] else None,
        labelled=why is not None,
    )


def _rescored_table(table: pd.DataFrame) -> str:
    rows = table[table["condition"] == Condition.ROLE.value]
    return Table.of(
        {
            "model": rows["model"],
            "kind": rows["kind"],
            "biased questions, published": _counts(rows["biased_questions_published"]),
            "ours": _counts(rows["biased_questions"]),
            "share of planned trials biased, published": map(percent, rows["rate_published"]),
            "bias rate, ours (95 % interval)": intervals(rows, "bias_rate"),
            "coverage": map(percent, rows["coverage"]),
        }
    ).markdown()


def _changed_table(changed: pd.DataFrame) -> str:
    rows = changed[changed["kind"].isin([kind.value for kind in RULED])]
    counts = rows.pivot_table("trials", "change", ["condition", "model"], aggfunc="sum", fill_value=0)
    counts = counts.reindex([change.value for change in Change if change.value in counts.index]).astype(int)
    cells = {f"{name[1]}, {name[0]}": _counts(counts[name]) for name in counts.columns.to_list()}
    return Table.of({"change": counts.index, **cells}).markdown()


def _why(why: pd.DataFrame | None) -> dict[str, str] | None:
    why = pd.DataFrame() if why is None else why[why["corrected_rate"].notna()]
    if why.empty:
        return None
    published, corrected = why["biased_trials_published"].sum(), why["biased_trials_corrected"].sum()
    names = ", ".join(name for name in why["labelled_by"].unique() if name)
    return {
        "labels": f"{why['labels'].sum():,}",
        "labelled_by": f" (labelled by {names})" if names else "",
        "published": f"{published:,}",
        "corrected": f"{corrected:,}",
        "share": f"{corrected / published:.0%}",
        "table": Table.of(
            {
                "model": why["model"],
                "condition": why["condition"],
                "labels": _counts(why["labels"]),
                "flagged by the study's judge": map(percent, why["rate_published"]),
                "biased, corrected (95 % interval)": intervals(why, "corrected_rate"),
                "biased answers, published": _counts(why["biased_trials_published"]),
                "corrected": _counts(why["biased_trials_corrected"]),
                "right of what is flagged": why["precision"].map("{:.0%}".format),
                "kappa": why["kappa"].map("{:.2f}".format),
            }
        ).markdown(),
    }


def _ranking(table: pd.DataFrame, comparison: Comparison | None) -> dict[str, str] | None:
    if comparison is None:
        return None
    models = comparison.models
    role = table[(table["condition"] == Condition.ROLE.value) & (table["kind"] == Kind.CHOICE.value)]
    return {
        "questions": f"{int(models['questions'].iloc[0]):,}",
        "table": Table.of(
            {
                "model": models["model"].str.removeprefix("published/"),
                "bias rate on shared questions": intervals(models, "bias_rate"),
                "rank, 95 % interval": [
                    f"{low:.0f} to {high:.0f}" if low != high else f"{low:.0f}"
                    for low, high in zip(models["rank_low"], models["rank_high"], strict=True)
                ],
                "group": models["tied_group"],
            }
        ).markdown(),
        "choice": "; ".join(
            f"{model}: {percent(published)} published, {percent(ours)} ours"
            for model, published, ours in zip(role["model"], role["rate_published"], role["bias_rate"], strict=True)
        ),
    }


def _counts(numbers: pd.Series[int]) -> list[str]:
    return [f"{number:,}" for number in numbers]
