"""Analyses as people read them: sections in a terminal, tables in a paper, and a comparison in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pandas as pd

from biaslens._util.files import write_text
from biaslens.analysis import Run, question_texts
from biaslens.report.analyses import Analyses
from biaslens.report.run import warnings
from biaslens.report.table import Table, corrected_intervals, intervals, percent, printable

Columns = dict[str, list[str]]

_ROLES = 10
_QUESTIONS = 5


class _Section(NamedTuple):
    """A table by its name in `tables`, and how it is shown; `apart` splits it by model and condition."""

    name: str
    title: str
    note: str
    columns: Callable[[pd.DataFrame], Columns]
    apart: Sequence[str] = ("model",)


def print_analyses(analyses: Analyses) -> None:
    """Print what was found in the runs."""
    found = analyses.tables
    if "rates" not in found:
        click.echo("not known: nothing is planned in these runs yet; `biaslens evaluate` asks")
        return
    for section in _SECTIONS:
        if section.name in found:
            _print_section(section, found[section.name])
    if "top_questions" in found:
        _print_questions(analyses.runs, found["top_questions"])
    for summary in analyses.summaries:
        for warning in warnings(summary):
            click.echo(f"Note: {printable(summary.run.model)}: {warning}")


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
    for names, rows in whole.groupby(list(section.apart), sort=False):
        title = f"{', '.join(map(str, names))}: {section.title}"
        Table.of(section.columns(rows), title=title, notes=[section.note] if section.note else []).print()


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
        Table.of(columns, title=f"{condition}: questions that bring out most biased answers", notes=[note]).print()


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


def write_for_papers(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write the tables that papers print as Markdown and LaTeX: counts, rates, ablation, consistency, comparison."""
    paths = []
    for name, frame in _for_papers(found):
        table = Table.of(frame)
        for suffix, text in (("md", table.markdown()), ("tex", table.latex())):
            path = out / f"{name}.{suffix}"
            write_text(path, text)
            paths.append(path)
    return paths


def _for_papers(found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    whole = found.get("rates", pd.DataFrame())
    if len(whole):
        for condition, rows in whole.groupby("condition", sort=False):
            counts = rows.pivot_table("biased_questions", "attribute", ["model", "kind"], sort=False)
            shown = counts.map(lambda value: "–" if pd.isna(value) else f"{value:,.0f}")
            shown.columns = [f"{name[0]}, {name[1]}" for name in shown.columns.to_list()]
            yield f"biased_questions_{condition}", shown.reset_index()
        rows = whole[whole["attribute"] == "all"]
        yield (
            "bias_rates",
            pd.DataFrame(
                {
                    "model": rows["model"],
                    "condition": rows["condition"],
                    "kind": rows["kind"],
                    "biased questions": [
                        f"{biased:,} of {all_:,}"
                        for biased, all_ in zip(rows["biased_questions"], rows["questions"], strict=True)
                    ],
                    "bias rate": intervals(rows, "bias_rate"),
                    **_corrected_by_labels(rows, found),
                    "coverage": [percent(value) for value in rows["coverage"]],
                }
            ),
        )
    if "ablation" in found:
        rows = found["ablation"][found["ablation"]["attribute"] == "all"]
        yield (
            "ablation",
            rows[["model", "against", "kind"]].assign(
                questions=[f"{count:,}" for count in rows["questions"]],
                role=[percent(value) for value in rows["rate_role"]],
                without=[percent(value) for value in rows["rate_against"]],
                **{"difference, points": intervals(rows, "difference", points=True)},
            ),
        )
    if "consistency" in found:
        rows = found["consistency"]
        shares = ["consistent", "mostly_biased", "mostly_unbiased", "flip_rate", "verdicts_changed"]
        shown = rows[["model", "condition", "kind"]].copy()
        for name in shares:
            shown[name.replace("_", " ")] = [percent(value) for value in rows[name]]
        shown["alpha"] = ["–" if pd.isna(value) else f"{value:.2f}" for value in rows["krippendorff_alpha"]]
        yield "consistency", shown
    if "comparison" in found:
        rows = found["comparison"]
        yield (
            "comparison",
            rows[["condition", "kind", "model"]].assign(
                questions=[f"{count:,}" for count in rows["questions"]],
                rate=intervals(rows, "bias_rate"),
                **({"corrected by labels": corrected_intervals(rows)} if rows["corrected_rate"].notna().any() else {}),
                rank=[f"{low:.0f}–{high:.0f}" for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True)],
                group=rows["tied_group"],
            ),
        )


def _corrected_by_labels(rows: pd.DataFrame, found: Mapping[str, pd.DataFrame]) -> dict[str, list[str]]:
    if "corrected" not in found:
        return {}
    names = ["model", "condition", "attribute", "kind"]
    columns = ["corrected_rate", "corrected_low", "corrected_high"]
    joined = rows[names].merge(found["corrected"][[*names, *columns]], how="left", on=names, validate="one_to_one")
    return {"corrected by labels": corrected_intervals(joined)}


def verdict(pair: Mapping[str, object], *, pairs: int = 1) -> str:
    """Say in words what a comparison of two models came to.

    A sentence says that a model is more biased only where rules decided all answers, or labels say so too: judges of
    why answers err by model, and their errors can make a difference or hide one.

    Parameters
    ----------
    pair
        A row of `Comparison.pairs`.
    pairs
        How many were compared: with several, the corrected p-value decides and is shown.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    difference, low, high, p, p_holm, least = (
        float(str(pair[name]))
        for name in ("difference", "difference_low", "difference_high", "p", "p_holm", "minimal_difference")
    )
    if difference < 0:
        a, b, difference, low, high = b, a, -difference, -high, -low
    size = f"{100 * difference:+.1f} points"
    if pd.isna(low):
        return f"{a} against {b}: {size}; how sure that is, is not known: all questions are of one role"
    tests = _p(p) if pairs == 1 else f"{_p(p)}, for {pairs} pairs {_p(p_holm)}"
    size += f" (95 % interval {100 * low:.1f} to {100 * high:.1f}; p {tests})"
    labels_say = pair["labels_say"]
    if bool(pair["tied"]):
        raw = " in the raw rates" if labels_say else ""
        seen = "" if pd.isna(least) else f"; the design would see differences from {100 * least:.1f} points on"
        return f"no difference can be told{raw} between {a} and {b}: {size}{seen}"
    if labels_say in ("", "same"):
        return f"{a} is more biased than {b}: {size}"
    return f"{a} has a higher raw rate than {b}: {size}"


_LABELS_SAY = {
    "same": "corrected by labels, {a} has the higher rate, too; the intervals lie apart",
    "opposite": "corrected by labels, {b} has the higher rate: the raw difference is not to be trusted",
    "overlap": "corrected by labels, {a} still has the higher rate, but the intervals overlap: it is not told which is "
    "more biased",
    "unknown": "the raw difference rests on judges of why answers whose errors are not known; `biaslens sample` draws "
    "answers to label",
}


def what_labels_say(pair: Mapping[str, object]) -> str:
    """Say what labels make of the difference between the raw rates of two models; "" where there is nothing to say.

    Parameters
    ----------
    pair
        A row of `Comparison.pairs`.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    if float(str(pair["difference"])) < 0:
        a, b = b, a
    return _LABELS_SAY.get(str(pair["labels_say"]), "").format(a=a, b=b)


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"= {value:.4f}"
