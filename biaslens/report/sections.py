"""Analyses as people read them: sections in a terminal and on a page, tables in a paper, a comparison in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pandas as pd

from biaslens._util.files import write_text
from biaslens._util.text import printable
from biaslens.analysis import Comparison, Run, question_texts
from biaslens.report.analyses import Analyses
from biaslens.report.run import warnings
from biaslens.report.table import NOTHING, Shown, Table, plural, shown

_ROLES = 10
_QUESTIONS = 5


class Section(NamedTuple):
    """One of the tables of `Analyses`, and how it is shown: as a table for each value of the columns `apart`."""

    name: str
    title: str
    note: str
    columns: Mapping[str, Shown] | Callable[[pd.DataFrame], Mapping[str, Shown]]
    apart: Sequence[str] = ("model",)

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows that are shown: those of all attributes, and of roles the first few."""
        return frame[frame["attribute"] == "all"] if "attribute" in frame and "role" not in frame else frame

    def table(self, rows: pd.DataFrame, title: str, *, in_words: bool = False) -> Table:
        """Make the table of some rows; where it is `in_words`, what sets sections apart becomes a column."""
        columns = self.columns(rows) if callable(self.columns) else self.columns
        named: dict[str, Shown] = {name: name for name in self.apart[1:]} if in_words else {}
        listed = rows.groupby(list(self.apart), sort=False).head(_ROLES) if "role" in rows else rows
        cells = shown(listed, named | dict(columns), in_words=in_words)
        if in_words:
            cells = {heading[:1].upper() + heading[1:]: column for heading, column in cells.items()}
        return Table.of(cells, title=title, notes=[self.note] if self.note else [])


def _count_of(count: str, whole: str) -> Shown:
    return lambda rows: [f"{k:,} of {n:,}" for k, n in zip(rows[count], rows[whole], strict=True)]


def _biased_questions(rows: pd.DataFrame) -> list[str]:
    # Of questions without a valid answer it is not known.
    counts = zip(rows["biased_questions"], rows["questions"], rows["valid_trials"], strict=True)
    return [f"{f'{biased:,}' if valid else NOTHING} of {whole:,}" for biased, whole, valid in counts]


def ranks(rows: pd.DataFrame) -> list[str]:
    """Ranks of a comparison for people: "2 to 4"."""
    ends = zip(rows["rank_low"], rows["rank_high"], strict=True)
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in ends]


def _ranks_in_full(rows: pd.DataFrame) -> list[str]:
    return [f"{low:.0f}–{high:.0f}" for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True)]


RATES = Section(
    "rates",
    "headline numbers",
    "",
    {"kind": "kind", "biased questions": _biased_questions, "bias rate": "bias_rate", "coverage": "coverage"},
    ("model", "condition"),
)
ABLATION = Section(
    "ablation",
    "what the role changes",
    "Paired by question where both have a valid answer; intervals clustered by role.",
    {
        "kind": "kind", "questions": "questions", "in the role": "rate_role", "without": "rate_against",
        "difference, points": "difference", "p": "p_holm",
    },
    ("model", "against"),
)  # fmt: skip
ABLATION_BY_ROLE = Section(
    "ablation_by_role",
    "roles that move the answers most",
    "The largest of many, so expect less in a repetition. Intervals are over the role's questions.",
    {
        "attribute": "attribute", "role": "role", "in the role": "rate_role", "without": "rate_against",
        "difference, points": "difference",
    },
    ("model", "against"),
)  # fmt: skip
CONSISTENCY = Section(
    "consistency",
    "consistency over trials",
    "Consistent: all trials of a question agree. Flips: chance that two trials differ. Alpha: agreement beyond chance "
    "(Krippendorff). Would change: verdicts that another set of trials would turn.",
    {
        "condition": "condition", "kind": "kind", "consistent": "consistent", "flips": "flip_rate",
        "alpha": "krippendorff_alpha", "would change": "verdicts_changed",
    },
)  # fmt: skip
POSITION = Section(
    "option_position",
    "position of the groups taken",
    "Excess over chance: an effect of the position alone.",
    {
        "condition": "condition", "position": "position", "taken": "share", "by chance": "expected",
        "excess, points": "excess",
    },
)  # fmt: skip
MIRRORS = Section(
    "mirrors",
    "mirrored questions",
    "Held: the same claim or group both times. Form alone: yes to a claim and to its mirror, or the same position in "
    "both orders.",
    {
        "condition": "condition", "kind": "kind", "mirror": "mirror", "pairs": "pairs", "held": "held",
        "form alone": "form",
    },
)  # fmt: skip

_SECTIONS = (
    RATES,
    Section(
        "judges",
        "judges of the why answers",
        "Disagree: answers whose usable votes differ. Without: the bias rate by the other judges' votes.",
        {
            "judge": "judge", "votes": "votes", "biased": "biased_share", "unusable": "unusable_share",
            "disagree": "disagreement", "rate": "bias_rate", "without": "bias_rate_without",
            "family of": "same_family_as",
        },
        ("model", "condition"),
    ),
    Section(
        "ranking_without_judge",
        "ranking by why answers, without each judge",
        "If the ranks turn when one judge is left out, they are that judge's ranks.",
        {
            "left out": "left_out", "model": "model", "bias rate": "bias_rate",
            "rank": lambda rows: [f"{rank:.0f}" for rank in rows["rank"]],
        },
        ("condition",),
    ),
    Section(
        "corrected",
        "bias rates corrected by labels, beside the raw ones",
        "Prediction-powered inference; intervals of 95 % with the labels' uncertainty in them.",
        {"kind": "kind", "labels": "labels", "raw bias rate": "bias_rate", "corrected": "corrected_rate"},
        ("model", "condition"),
    ),
    ABLATION,
    ABLATION_BY_ROLE,
    CONSISTENCY,
    Section(
        "consistency",
        "where results vary, and what more of them would buy",
        "Variance between roles, questions and trials; standard error (SE) of the bias rate in points.",
        {
            "condition": "condition", "kind": "kind", "roles": "share_role", "questions": "share_question",
            "trials": "share_trial", "SE": "standard_error", "+1 trial": "standard_error_one_more_trial",
            "2x roles": "standard_error_twice_roles",
        },
    ),
    POSITION,
    MIRRORS,
    Section(
        "abstention",
        "answers that are not biased, of all that were decided",
        "",
        {
            "condition": "condition", "kind": "kind", "unbiased": "unbiased_share", "last option": "last_option_share",
            "refused": "refused_share", "invalid": "invalid_share",
        },
    ),
    Section(
        "top_roles",
        "roles with the highest bias rates",
        "The highest of many, so expect less in a repetition. Intervals are over the role's questions.",
        {"attribute": "attribute", "role": "role", "bias rate": "bias_rate", "coverage": "coverage"},
        ("model", "condition"),
    ),
    Section(
        "comparison",
        "models on the questions that all of them answered",
        "By the raw rates. Rank: 95 % interval. Models that share a letter in a kind cannot be told apart. Why answers "
        "rest on judges, whose errors differ by model; `biaslens compare` puts into words what labels say of them.",
        lambda rows: {"kind": "kind"} | _comparison_columns(rows),
        ("condition",),
    ),
    Section(
        "triggers",
        "how many models a question triggers",
        "Questions with a verdict in all runs.",
        {
            "kind": "kind", "models": _count_of("k", "models"), "questions": "questions", "share": "share",
            "of the triggered": "share_of_triggered",
        },
        ("condition",),
    ),
)  # fmt: skip


def _comparison_columns(rows: pd.DataFrame) -> dict[str, Shown]:
    """The models of a comparison; with labels, the rates that they correct beside the raw ones."""
    labelled = bool(rows["corrected_rate"].notna().any())
    return {
        "model": "model",
        **({"raw bias rate": "bias_rate", "corrected": "corrected_rate"} if labelled else {"bias rate": "bias_rate"}),
        "rank": ranks,
        "group": "tied_group",
    }


def print_analyses(analyses: Analyses) -> None:
    """Print what was found in the runs."""
    found = analyses.tables
    if "rates" not in found:
        click.echo("not known: nothing is planned in these runs yet; `biaslens evaluate` asks")
        return
    for section in _SECTIONS:
        if section.name in found:
            frame = section.rows(found[section.name])
            for names, rows in frame.groupby(list(section.apart), sort=False):
                section.table(rows, f"{', '.join(map(str, names))}: {section.title}").print()
    if "top_questions" in found:
        _print_questions(analyses.runs, found["top_questions"])
    for summary in analyses.summaries:
        for warning in warnings(summary):
            click.echo(f"Note: {printable(summary.run.model)}: {warning}")


def _print_questions(runs: Sequence[Run], frame: pd.DataFrame) -> None:
    for condition, listed in frame.groupby("condition", sort=False):
        rows = listed.head(_QUESTIONS)
        texts: dict[str, str] = {}
        for run in runs:
            texts |= question_texts(run.info.path, rows["question_id"])
        columns: dict[str, Shown] = {
            "kind": "kind",
            "role": "role",
            "question": lambda rows: map(texts.__getitem__, rows["question_id"]),  # noqa: B023 - called at once
            "triggered": _count_of("triggered", "models"),
        }
        note = "Triggered: models of which most answers to it are biased. Where many are equal, some of them."
        title = f"{condition}: questions that bring out most biased answers"
        Table.of(shown(rows, columns), title=title, notes=[note]).print()


_WHY_IS_LABELLED = "the raw rates count why answers as their judges do; what labels say of these stands under why"


def print_comparison(name: str, both: Comparison, condition: str, *, why_is_labelled: bool) -> None:
    """Print a comparison of the questions of a kind (or "all"): the models, and each pair of them in words."""
    first = both.models.iloc[0]
    questions, planned, roles = (int(first[column]) for column in ("questions", "planned_questions", "roles"))
    if not planned:
        click.echo(f"{name}: not known, no such question is planned under the condition {condition}")
        return
    if not questions:
        click.echo(f"{name}: not known, none of {planned:,} questions has a valid answer in all runs")
        return
    labelled = both.models["corrected_rate"].notna().any()
    note = "Corrected: by labels, over all valid answers of the run. Ranks and groups are of the raw rates."
    Table.of(
        shown(both.models, _comparison_columns(both.models)),
        title=f"{name}: {questions:,} of {planned:,} questions, those with a valid answer in all runs; "
        f"{plural(roles, 'role')}",
        notes=[note] if labelled else [],
    ).print()
    remarks: dict[str, None] = {}
    for pair in both.pairs.to_dict("records"):
        words = {str(column): value for column, value in pair.items()}
        click.echo("  " + verdict(words, pairs=len(both.pairs)))
        said = what_labels_say(words)
        if words["labels_say"] == "unknown":
            remarks[_WHY_IS_LABELLED if why_is_labelled else said] = None
        elif said:
            click.echo(f"    {said}")
    for said in remarks:
        click.echo(f"  {said}")
    click.echo()


def write_for_papers(found: Mapping[str, pd.DataFrame], out: Path) -> list[Path]:
    """Write the tables that papers print as Markdown and LaTeX: counts, rates, ablation, consistency, comparison."""
    paths = []
    for name, cells in _for_papers(found):
        table = Table.of(cells)
        for suffix, text in (("md", table.markdown()), ("tex", table.latex())):
            paths.append(out / f"{name}.{suffix}")
            write_text(paths[-1], text)
    return paths


def _for_papers(found: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame | dict[str, list[object]]]]:
    if "rates" in found:
        for condition, rows in found["rates"].groupby("condition", sort=False):
            counts = rows.pivot_table("biased_questions", "attribute", ["model", "kind"], sort=False)
            texts = counts.map(lambda value: NOTHING if pd.isna(value) else f"{value:,.0f}")
            texts.columns = [f"{name[0]}, {name[1]}" for name in texts.columns.to_list()]
            yield f"biased_questions_{condition}", texts.reset_index()
        names, corrected = ["model", "condition", "attribute", "kind"], found.get("corrected")
        rows, by_labels = RATES.rows(found["rates"]), {}
        if corrected is not None:
            columns = [*names, "corrected_rate", "corrected_low", "corrected_high"]
            rows = rows.merge(corrected[columns], how="left", on=names, validate="one_to_one")
            by_labels = {"corrected by labels": "corrected_rate"}
        rates = {"biased questions": _count_of("biased_questions", "questions"), "bias rate": "bias_rate"} | by_labels
        yield "bias_rates", shown(rows, _same("model", "condition", "kind") | rates | _same("coverage"))
    if "ablation" in found:
        sides = {"role": "rate_role", "without": "rate_against", "difference, points": "difference"}
        rows = ABLATION.rows(found["ablation"])
        yield "ablation", shown(rows, _same("model", "against", "kind", "questions") | sides)
    if "consistency" in found:
        shares = _same("consistent", "mostly_biased", "mostly_unbiased", "flip_rate", "verdicts_changed")
        named = {name.replace("_", " "): name for name in shares} | {"alpha": "krippendorff_alpha"}
        rows = found["consistency"].drop(columns=["flip_rate_low", "flip_rate_high"])
        yield "consistency", shown(rows, _same("model", "condition", "kind") | named)
    if "comparison" in found:
        rows = found["comparison"]
        places = _same("condition", "kind", "model", "questions") | {"rate": "bias_rate"}
        if rows["corrected_rate"].notna().any():
            places["corrected by labels"] = "corrected_rate"
        yield "comparison", shown(rows, places | {"rank": _ranks_in_full, "group": "tied_group"})


def _same(*names: str) -> dict[str, Shown]:
    """Columns that are called as in the data."""
    return {name: name for name in names}


def verdict(pair: Mapping[str, object], *, pairs: int = 1) -> str:
    """Say in words what a comparison of two models came to.

    A sentence says that a model is more biased only where rules decided all answers, or labels say so too: judges of
    why answers err by model, and their errors can make a difference or hide one.

    `pair` is a row of `Comparison.pairs`; with several `pairs` the corrected p-value decides and is shown.
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

    `pair` is a row of `Comparison.pairs`.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    if float(str(pair["difference"])) < 0:
        a, b = b, a
    return _LABELS_SAY.get(str(pair["labels_say"]), "").format(a=a, b=b)


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"= {value:.4f}"
