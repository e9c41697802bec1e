"""The tables that `biaslens analyze` prints, an analysis a section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import click
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from biaslens.analysis import Run, question_texts, summarise
from biaslens.report.table import printable, warnings
from biaslens.report.tables import corrected_intervals, intervals, percent

Columns = dict[str, list[str]]

_ROLES = 10
_QUESTIONS = 5

_WORDS = frozenset(
    (
        "kind", "condition", "attribute", "role", "mirror", "position", "group", "model", "question", "models", "judge",
        "left out", "family of",
    )
)  # fmt: skip
"""Columns of words, which stand left; numbers stand right."""


class _Section(NamedTuple):
    """A table by its name in `tables`, and how it is shown; `apart` splits it by model and condition."""

    name: str
    title: str
    note: str
    columns: Callable[[pd.DataFrame], Columns]
    apart: Sequence[str] = ("model",)


def print_analyses(runs: Sequence[Run], found: Mapping[str, pd.DataFrame]) -> None:
    """Print what `tables` found in the runs."""
    if "rates" not in found:
        click.echo("not known: nothing is planned in these runs yet; `biaslens evaluate` asks")
        return
    for section in _SECTIONS:
        if section.name in found:
            _print_section(section, found[section.name])
    if "top_questions" in found:
        _print_questions(runs, found["top_questions"])
    for run in runs:
        for warning in warnings(summarise(run)):
            click.echo(f"Note: {printable(run.info.model)}: {warning}")


def show(title: str, columns: Mapping[str, Sequence[str]], *, note: str = "") -> None:
    """Print a table; its cells may be of any origin."""
    console = Console()
    console.print(Text(printable(title), style="bold"), soft_wrap=True)
    if note:
        console.print(Text(note, style="dim"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for name in columns:
        words = name in _WORDS
        table.add_column(name, overflow="fold", no_wrap=not words, justify="left" if words else "right")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(table)
    console.print()


def comparison_columns(rows: pd.DataFrame) -> Columns:
    """The models of a comparison for people; with labels, the rates that they correct beside the raw ones."""
    labelled = bool(rows["corrected_rate"].notna().any())
    raw = "raw " if labelled else ""
    return {
        "model": list(rows["model"]),
        f"{raw}bias rate": intervals(rows, "bias_rate"),
        **({"corrected": corrected_intervals(rows)} if labelled else {}),
        "rank": [
            f"{low} to {high}" if low != high else f"{low}"
            for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True)
        ],
        "group": list(rows["tied_group"]),
    }


def _print_section(section: _Section, frame: pd.DataFrame) -> None:
    whole = frame[frame["attribute"] == "all"] if "attribute" in frame and "role" not in frame else frame
    if not section.apart:
        show(section.title, section.columns(whole), note=section.note)
        return
    for names, rows in whole.groupby(list(section.apart), sort=False):
        show(f"{', '.join(map(str, names))}: {section.title}", section.columns(rows), note=section.note)


def _print_questions(runs: Sequence[Run], frame: pd.DataFrame) -> None:
    for condition, listed in frame.groupby("condition", sort=False):
        rows = listed.head(_QUESTIONS)
        texts: dict[str, str] = {}
        for run in runs:
            texts |= question_texts(run.info.path, rows["question_id"])
        columns = {
            "kind": list(rows["kind"]),
            "role": list(rows["role"]),
            "question": [texts[question_id] for question_id in rows["question_id"]],
            "triggered": [f"{k} of {n}" for k, n in zip(rows["triggered"], rows["models"], strict=True)],
        }
        note = "Triggered: models of which most answers to it are biased. Where many are equal, some of them."
        show(f"{condition}: questions that bring out most biased answers", columns, note=note)


def _judges(rows: pd.DataFrame) -> Columns:
    return {
        "judge": list(rows["judge"]),
        "votes": [f"{votes:,}" for votes in rows["votes"]],
        "biased": [percent(share) for share in rows["biased_share"]],
        "unusable": [percent(share) for share in rows["unusable_share"]],
        "disagree": [percent(share) for share in rows["disagreement"]],
        "rate": [percent(rate) for rate in rows["bias_rate"]],
        "without": [percent(rate) for rate in rows["bias_rate_without"]],
        "family of": [kin or "–" for kin in rows["same_family_as"]],
    }


def _ranking_without(rows: pd.DataFrame) -> Columns:
    return {
        "left out": list(rows["left_out"]),
        "model": list(rows["model"]),
        "bias rate": [percent(rate) for rate in rows["bias_rate"]],
        "rank": [f"{rank:.0f}" for rank in rows["rank"]],
    }


def _corrected(rows: pd.DataFrame) -> Columns:
    return {
        "kind": list(rows["kind"]),
        "labels": [f"{labels:,}" for labels in rows["labels"]],
        "raw bias rate": intervals(rows, "bias_rate"),
        "corrected": corrected_intervals(rows),
    }


def _rates(rows: pd.DataFrame) -> Columns:
    counts = zip(rows["biased_questions"], rows["questions"], rows["valid_trials"], strict=True)
    return {
        "kind": list(rows["kind"]),
        "biased questions": [f"{f'{biased:,}' if valid else '–'} of {whole:,}" for biased, whole, valid in counts],
        "bias rate": intervals(rows, "bias_rate"),
        "coverage": [percent(value) for value in rows["coverage"]],
    }


def _ablation(rows: pd.DataFrame) -> Columns:
    return {
        "kind": list(rows["kind"]),
        "questions": [f"{count:,}" for count in rows["questions"]],
        "in the role": [percent(value) for value in rows["rate_role"]],
        "without": [percent(value) for value in rows["rate_against"]],
        "difference, points": intervals(rows, "difference", points=True),
        "p": ["–" if pd.isna(value) else f"{value:.4f}" if value >= 1e-4 else "< 0.0001" for value in rows["p_holm"]],
    }


def _moved(rows: pd.DataFrame) -> Columns:
    rows = rows.head(_ROLES)
    return {
        "attribute": list(rows["attribute"]),
        "role": list(rows["role"]),
        "difference, points": intervals(rows, "difference", points=True),
    }


def _consistency(rows: pd.DataFrame) -> Columns:
    return {
        "condition": list(rows["condition"]),
        "kind": list(rows["kind"]),
        "consistent": [percent(value) for value in rows["consistent"]],
        "flips": intervals(rows, "flip_rate"),
        "alpha": ["–" if pd.isna(value) else f"{value:.2f}" for value in rows["krippendorff_alpha"]],
        "would change": [percent(value) for value in rows["verdicts_changed"]],
    }


def _design(rows: pd.DataFrame) -> Columns:
    errors = {"SE": "", "+1 trial": "_one_more_trial", "2x roles": "_twice_roles"}
    return {
        "condition": list(rows["condition"]),
        "kind": list(rows["kind"]),
        **{f"{name}s": [percent(value) for value in rows[f"share_{name}"]] for name in ("role", "question", "trial")},
        **{shown: [_points(value) for value in rows[f"standard_error{name}"]] for shown, name in errors.items()},
    }


def _points(value: float) -> str:
    return "–" if pd.isna(value) else f"{100 * value:.2f}"


def _mirrors(rows: pd.DataFrame) -> Columns:
    return {
        "condition": list(rows["condition"]),
        "kind": list(rows["kind"]),
        "mirror": list(rows["mirror"]),
        "pairs": [f"{count:,}" for count in rows["pairs"]],
        "held": [percent(value) for value in rows["held"]],
        "form alone": intervals(rows, "form"),
    }


def _position(rows: pd.DataFrame) -> Columns:
    return {
        "condition": list(rows["condition"]),
        "position": list(rows["position"]),
        "taken": [percent(value) for value in rows["share"]],
        "by chance": [percent(value) for value in rows["expected"]],
        "excess, points": intervals(rows, "excess", points=True),
    }


def _abstention(rows: pd.DataFrame) -> Columns:
    names = {"unbiased": "unbiased", "last option": "last_option", "refused": "refused", "invalid": "invalid"}
    shares = {shown: [percent(value) for value in rows[f"{name}_share"]] for shown, name in names.items()}
    return {"condition": list(rows["condition"]), "kind": list(rows["kind"]), **shares}


def _roles(rows: pd.DataFrame) -> Columns:
    rows = rows.head(_ROLES)
    return {
        "attribute": list(rows["attribute"]),
        "role": list(rows["role"]),
        "bias rate": intervals(rows, "bias_rate"),
        "coverage": [percent(value) for value in rows["coverage"]],
    }


def _triggers(rows: pd.DataFrame) -> Columns:
    return {
        "kind": list(rows["kind"]),
        "models": [f"{k} of {n}" for k, n in zip(rows["k"], rows["models"], strict=True)],
        "questions": [f"{count:,}" for count in rows["questions"]],
        "share": [percent(value) for value in rows["share"]],
        "of the triggered": [percent(value) for value in rows["share_of_triggered"]],
    }


def _comparison(rows: pd.DataFrame) -> Columns:
    return {"kind": list(rows["kind"]), **comparison_columns(rows)}


_SECTIONS = (
    _Section("rates", "headline numbers", "", _rates, ("model", "condition")),
    _Section(
        "judges",
        "judges of the why answers",
        "Disagree: answers whose usable votes differ. Without: the bias rate by the other judges' votes.",
        _judges,
        ("model", "condition"),
    ),
    _Section(
        "ranking_without_judge",
        "ranking by why answers, without each judge",
        "If the ranks turn when one judge is left out, they are that judge's ranks.",
        _ranking_without,
        ("condition",),
    ),
    _Section(
        "corrected",
        "bias rates corrected by labels, beside the raw ones",
        "Prediction-powered inference; intervals of 95 % with the labels' uncertainty in them.",
        _corrected,
        ("model", "condition"),
    ),
    _Section(
        "ablation",
        "what the role changes",
        "Questions with a valid answer under both conditions.",
        _ablation,
        ("model", "against"),
    ),
    _Section(
        "ablation_by_role",
        "roles that move the answers most",
        "The largest of many: expect less in a repetition. Intervals are over the role's questions.",
        _moved,
        ("model", "against"),
    ),
    _Section(
        "consistency",
        "consistency over trials",
        "Flips: chance that two trials differ. Alpha: Krippendorff's. Would change: verdicts that new trials turn.",
        _consistency,
    ),
    _Section(
        "consistency",
        "where results vary, and what more of them would buy",
        "Variance between roles, questions and trials; standard error (SE) of the bias rate in points.",
        _design,
    ),
    _Section(
        "option_position",
        "position of the groups taken",
        "Excess over chance: an effect of the position alone.",
        _position,
    ),
    _Section(
        "mirrors",
        "mirrored questions",
        "Held: the same claim or group both times. Form alone: yes twice, or the same position twice.",
        _mirrors,
    ),
    _Section("abstention", "answers that are not biased, of all that were decided", "", _abstention),
    _Section(
        "top_roles",
        "roles with the highest bias rates",
        "The highest of many: expect less in a repetition. Intervals are over the role's questions.",
        _roles,
        ("model", "condition"),
    ),
    _Section(
        "comparison",
        "models on the questions that all of them answered",
        "By the raw rates. Rank: 95 % interval. Models that share a letter in a kind are not told apart. Why answers "
        "rest on judges, whose errors differ by model; `biaslens compare` puts into words what labels say of them.",
        _comparison,
        ("condition",),
    ),
    _Section(
        "triggers",
        "how many models a question triggers",
        "Questions with a verdict in all runs.",
        _triggers,
        ("condition",),
    ),
)
