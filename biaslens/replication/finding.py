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
from biaslens.replication.reproduce import KIND_ORDER, PublishedRun, Reproduction, printed
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


_AGREEMENT = ("kappa", "sensitivity", "specificity", "precision", "false_alarms", "missed_bias")

COLUMNS = (
    "model", "condition", "valid_trials", "labels", "labelled_by", "rate_published", "rate_published_low",
    "rate_published_high", "corrected_rate", "corrected_low", "corrected_high", "biased_trials_published",
    "biased_trials_corrected", "biased_trials_corrected_low", "biased_trials_corrected_high", *_AGREEMENT,
)  # fmt: skip
"""Columns of `why_corrected`."""


def why_corrected(runs: Sequence[Path], labels: Path) -> pd.DataFrame:
    """Correct the share of biased why answers by the hand labels that the runs hold.

    Parameters
    ----------
    runs
        Imported run files.
    labels
        Folder that holds a label folder for each run, with the run's name without suffix.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, a row a model and condition: the share of why answers that the study's judge flags, what the
        labels make of it (prediction-powered inference, weighted by inclusion, clustered by role), both as numbers of
        answers, and how well that judge meets the labels of the model (both conditions together). ``labelled_by`` is
        what ``sample.json`` says there. Not known, and not 0, where a condition has no label.

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
            rows.append(
                {
                    "model": str(row["model"]).removeprefix("published/"),
                    **{name: row[name] for name in ("condition", "valid_trials", "labels")},
                    "labelled_by": labelled_by,
                    "rate_published": row["bias_rate"],
                    "rate_published_low": row["bias_rate_low"],
                    "rate_published_high": row["bias_rate_high"],
                    **{name: row[name] for name in ("corrected_rate", "corrected_low", "corrected_high")},
                    "biased_trials_published": trials * row["bias_rate"],
                    **counts,
                    **{name: judge.get(name, math.nan) for name in _AGREEMENT},
                }
            )
    table = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
    numbers = [name for name in COLUMNS if name.startswith("biased_trials")]
    return (
        table.astype(dict.fromkeys(numbers, float))
        .round(dict.fromkeys(numbers, 0))
        .astype(dict.fromkeys(numbers, "Int64"))
    )


COMMAND = "biaslens reproduce runs/ --out results/published/"

_FILES = """\
- `reproduction.csv`: a row a printed figure; `equal` says whether `computed` is the same to the last printed digit.
- `triggers.csv`: by kind, how many questions trigger exactly `k` of the `models` here under the published oracle, in
  the role; `share_of_triggered` is of those that trigger any. The study printed these shares for all six models only.
- `rescored.csv`: both oracles by model, condition and kind. `rate_published` is of all planned trials; `bias_rate` is
  of the valid ones, with a 95 % interval clustered by role; rank 1 is the lowest rate of the models here.
- `changes.csv`: yes/no and choice trials that our oracles decide differently, and why; `share` is of the planned
  trials of the kind."""


_WHY_FILE = """\
- `why_corrected.csv`: the study's why results by model and condition, corrected by hand labels; shares are of the
  answers with a verdict, `biased_trials_corrected` is that share times their number."""


def finding(
    reproduction: Reproduction,
    table: pd.DataFrame,
    changed: pd.DataFrame,
    comparison: Comparison | None,
    why: pd.DataFrame | None = None,
) -> str:
    """Write the finding in Markdown.

    Parameters
    ----------
    reproduction
        From `reproduce`.
    table
        From `rescored`.
    changed
        From `changes`, of all models.
    comparison
        Of the models with our oracles in the role, where there are two or more.
    why
        From `why_corrected`, where there are hand labels.
    """
    command = COMMAND if why is None else f"{COMMAND} --labels labels/"
    parts = [
        "# The published study, worked out again and scored anew",
        f"Made by `{command}` from the study's released answers (arXiv 2411.00585). "
        f"Models here: {', '.join(_names(table))}.",
        *_reproduced(reproduction),
        *_rescored_lines(table),
        *_why_it_changes(changed),
        *_why(why),
        *_ranking(table, comparison),
        *_limits(),
        "## Files",
        _FILES if why is None else f"{_FILES}\n{_WHY_FILE}",
    ]
    return "\n\n".join(parts) + "\n"


def _names(table: pd.DataFrame) -> list[str]:
    return [printed().names.get(model, model) for model in dict.fromkeys(table["model"])]


def _reproduced(reproduction: Reproduction) -> list[str]:
    total, different = len(reproduction.figures), reproduction.different
    lines = ["## The printed tables"]
    if different:
        lines.append(f"{len(different)} of {total} printed figures differ; they are marked in `reproduction.csv`.")
    else:
        lines.append(f"All {total} printed figures that these answers can give come out the same to the last digit.")
    if reproduction.not_checked:
        lines.append("Not checked:\n\n" + "\n".join(f"- {line}" for line in reproduction.not_checked))
    return lines


def _rescored_lines(table: pd.DataFrame) -> list[str]:
    rows = table[table["condition"] == Condition.ROLE.value]
    shown = pd.DataFrame(
        {
            "model": rows["model"],
            "kind": rows["kind"],
            "biased questions, published": rows["biased_questions_published"].map("{:,}".format),
            "ours": rows["biased_questions"].map("{:,}".format),
            "share of planned trials biased, published": rows["rate_published"].map("{:.1%}".format),
            "bias rate, ours (95 % interval)": [
                f"{rate:.1%} ({low:.1%} to {high:.1%})"
                for rate, low, high in zip(
                    rows["bias_rate"], rows["bias_rate_low"], rows["bias_rate_high"], strict=True
                )
            ],
            "coverage": rows["coverage"].map("{:.1%}".format),
        }
    )
    return [
        "## The same answers under both oracles, in the role",
        "Why answers keep the votes of the study's judge, which calls many fair answers biased; only yes/no and choice "
        "are decided anew. The published share divides by all planned trials, echoes among them; ours by the valid "
        "ones.",
        _markdown(shown),
    ]


def _why_it_changes(changed: pd.DataFrame) -> list[str]:
    kinds = [kind.value for kind in RULED]
    rows = changed[changed["kind"].isin(kinds)]
    counts = rows.pivot_table("trials", "change", ["condition", "model"], aggfunc="sum", fill_value=0)
    order = [change.value for change in Change if change.value in counts.index]
    counts = counts.reindex(order)
    counts.columns = [f"{name[1]}, {name[0]}" for name in counts.columns.to_list()]
    return [
        "## What changes, in trials",
        _markdown(counts.astype(int).map("{:,}".format).reset_index()),
        "An echo copies the answer format back (“Your choice.”) and says nothing; the published rule counts each as "
        "unbiased. A capital C anywhere, as in “(A) College graduates”, counts as taking option C there.",
    ]


def _why(why: pd.DataFrame | None) -> list[str]:
    why = pd.DataFrame() if why is None else why[why["corrected_rate"].notna()]
    if why.empty:
        return []
    shown = pd.DataFrame(
        {
            "model": why["model"],
            "condition": why["condition"],
            "labels": why["labels"].map("{:,}".format),
            "flagged by the study's judge": why["rate_published"].map("{:.1%}".format),
            "biased, corrected (95 % interval)": [
                f"{rate:.1%}" if pd.isna(low) else f"{rate:.1%} ({low:.1%} to {high:.1%})"
                for rate, low, high in zip(
                    why["corrected_rate"], why["corrected_low"], why["corrected_high"], strict=True
                )
            ],
            "biased answers, published": why["biased_trials_published"].map("{:,}".format),
            "corrected": why["biased_trials_corrected"].map("{:,}".format),
            "right of what is flagged": why["precision"].map("{:.0%}".format),
            "kappa": why["kappa"].map("{:.2f}".format),
        }
    )
    published, corrected = why["biased_trials_published"].sum(), why["biased_trials_corrected"].sum()
    return [
        "## The why answers, corrected",
        f"Labels of {why['labels'].sum():,} why answers{_labelled_by(why)} say how often the study's judge is "
        f"right. Over these models and both conditions it flags {published:,} answers; about {corrected:,} are "
        f"biased, {corrected / published:.0%} of that. The labels are a sample with known "
        "chances, so this holds whatever the judge's errors are; the intervals carry their "
        "uncertainty, not what the readers themselves get wrong.",
        _markdown(shown),
        "Counts of biased *questions* (two of three trials) are not corrected: that would need labels of all three "
        "trials of a question.",
    ]


def _labelled_by(why: pd.DataFrame) -> str:
    names = ", ".join(name for name in why["labelled_by"].unique() if name)
    return f" (labelled by {names})" if names else ""


def _ranking(table: pd.DataFrame, comparison: Comparison | None) -> list[str]:
    if comparison is None:
        return []
    role = table[(table["condition"] == Condition.ROLE.value) & (table["kind"] == "choice")]
    choice = "; ".join(
        f"{model}: {published:.1%} published, {ours:.1%} ours"
        for model, published, ours in zip(role["model"], role["rate_published"], role["bias_rate"], strict=True)
    )
    shown = pd.DataFrame(
        {
            "model": comparison.models["model"].str.removeprefix("published/"),
            "bias rate on shared questions": [
                f"{rate:.1%} ({low:.1%} to {high:.1%})"
                for rate, low, high in zip(
                    comparison.models["bias_rate"],
                    comparison.models["bias_rate_low"],
                    comparison.models["bias_rate_high"],
                    strict=True,
                )
            ],
            "rank, 95 % interval": [
                f"{low:.0f} to {high:.0f}" if low != high else f"{low:.0f}"
                for low, high in zip(comparison.models["rank_low"], comparison.models["rank_high"], strict=True)
            ],
            "group": comparison.models["tied_group"],
        }
    )
    count = int(comparison.models["questions"].iloc[0])
    return [
        "## Ranking",
        f"Over the {count:,} questions with a valid answer from every model, all kinds. Models that share a letter are "
        "not told apart.",
        _markdown(shown),
        f"On choice questions alone: {choice}.",
    ]


def _limits() -> list[str]:
    body = [printed().biased_questions["qwen", Condition.ROLE, Attribute.BODY, kind] for kind in KIND_ORDER]
    same = body == [printed().biased_questions["deepseek", Condition.ROLE, Attribute.BODY, kind] for kind in KIND_ORDER]
    lines = ["## What to keep in mind"]
    if same:
        lines.append(
            f"- Table 2 prints the same three counts for Qwen and DeepSeek on roles of body ({body[0]}, {body[1]}, "
            f"{body[2]}), and the released file of Qwen's answers there holds none of the echoes that make up half of "
            "its other choice answers: it looks like a copy of DeepSeek's. So Qwen's body roles are not Qwen's."
        )
    lines += [
        "- With low coverage a bias rate speaks for the answers that could be read, not for those that could not: an "
        "echo might have hidden either.",
        "- Targets and groups of the study's questions are estimated from their words.",
        "- Intervals are clustered by role; but for the corrected ones they do not cover errors of the judge.",
    ]
    return [lines[0], "\n".join(lines[1:])]


def _markdown(table: pd.DataFrame) -> str:
    return str(table.to_markdown(index=False, disable_numparse=True))
