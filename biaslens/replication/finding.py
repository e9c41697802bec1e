"""The written finding: what the re-scored study says, every number taken from the tables beside it."""

from __future__ import annotations

import pandas as pd

from biaslens.analysis.comparison import Comparison
from biaslens.replication.printed import KIND_ORDER, printed
from biaslens.replication.reproduce import Reproduction
from biaslens.replication.rescoring import RULED, Change
from biaslens.schema import Attribute, Condition

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
        *_rescored(table),
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


def _rescored(table: pd.DataFrame) -> list[str]:
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
