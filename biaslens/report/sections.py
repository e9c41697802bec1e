"""Analyses and agreement as people read them: in a terminal and on a page, in a paper, a comparison in words."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from biaslens._util.files import write_text
from biaslens._util.text import plural, printable
from biaslens.analysis import Comparison, Run, question_texts
from biaslens.analysis.power import LOPSIDED
from biaslens.analysis.rates import ALL, OF_A_ROLE
from biaslens.report.analyses import Analyses
from biaslens.report.findings import of_model, of_models
from biaslens.report.run import FOR_WHAT, warnings
from biaslens.report.table import CONDITIONS, KINDS, NOTHING, Table, between, decimal, percent, shown
from biaslens.runfile import LabelCounts
from biaslens.schema import Condition

_ROLES = 10
_QUESTIONS = 5


class Section(NamedTuple):
    """One of the tables of `Analyses`, and how it is shown: as a table for each value of the columns `apart`."""

    table: str
    title: str
    columns: Mapping[str, str]
    apart: Sequence[str]
    note: str = ""
    on_page: bool = False

    def draw(self, rows: pd.DataFrame, title: str, *, in_words: bool = False, door: Door | None = None) -> Table:
        """Make the table of some rows; where it is `in_words`, what sets sections apart becomes a column.

        On a page a `door` gives the address of the answers that a row counts, "" for none.
        """
        long = "role" in rows or "disfavoured" in rows
        rows = rows.groupby(list(self.apart), sort=False).head(_ROLES) if long else _whole(rows)
        columns = _with_labels(self.columns, rows)
        if door is not None:
            named = {name: name for name in self.apart[1:]} | columns
            columns = {heading[:1].upper() + heading[1:]: source for heading, source in named.items()}
        notes = [self.note] if self.note else []
        if "estimand" in rows and len(rows):
            notes.append(intervals_for(str(rows["estimand"].iloc[0])))
        cells = shown(rows, columns, in_words=True)
        if door is not None:
            _link(cells, columns, rows, door)
        return Table.of(cells, title=title, notes=notes)


Door = Callable[[Mapping[str, Any]], str]

_ANSWERS_OF: Mapping[str, Mapping[str, str]] = {
    "role": {},
    "theme": {},
    "disfavoured": {},
    "bias_rate": {},
    "rate_role": {"condition": Condition.ROLE},
    "rate_against": {"condition": "against"},
    "biased_questions/questions": {"question": "biased"},
    "denied_and_followed": {"says_does": "denies and follows"},
}
"""Columns that lead to answers, and what these have beside what the row says; "against" is the condition there."""


def _link(cells: dict[str, list[object]], columns: Mapping[str, str], rows: pd.DataFrame, door: Door) -> None:
    records = rows.to_dict("records")
    for heading, source in columns.items():
        more = _ANSWERS_OF.get(source)
        if more is None:
            continue
        for place, row in enumerate(records):
            own = {name: row["against"] if value == "against" else value for name, value in more.items()}
            address = door({**{str(name): value for name, value in row.items()}, **own})
            if address and cells[heading][place] != NOTHING:
                cells[heading][place] = Markup('<a href="{}">{}</a>').format(address, cells[heading][place])


def intervals_for(estimand: str) -> str:
    """Say what the intervals of a table are for."""
    words = {**FOR_WHAT, OF_A_ROLE: "for other questions to the same role"}
    return f"Intervals and tests {words[estimand]}."


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("sections.toml").read_text(encoding="utf-8"))


@cache
def sections() -> tuple[Section, ...]:
    """Every section in the order of the terminal."""
    return tuple(Section(**section) for section in _texts()["sections"])


def _whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of all attributes, where rows are by attribute."""
    return rows[rows["attribute"] == "all"] if "attribute" in rows else rows


def _with_labels(columns: Mapping[str, str], rows: pd.DataFrame) -> dict[str, str]:
    """Columns without the rates corrected by labels where there are none; the raw ones then need no such name."""
    if "corrected_rate" in rows and rows["corrected_rate"].notna().any():
        return dict(columns)
    return {heading.removeprefix("raw "): source for heading, source in columns.items() if source != "corrected_rate"}


def print_findings(told: Sequence[str], console: Console | None = None) -> None:
    """Print sentences and an empty line; none where there are none."""
    console = console or Console()
    if told:
        console.print(Text(" ".join(told)), soft_wrap=not console.is_terminal)
        console.print()


def print_summary(analyses: Analyses) -> None:
    """Print what was found in the runs: in sentences, the headline numbers, and what must be known of them."""
    if not _found(analyses):
        return
    rates = analyses.of("rates", attribute=ALL, kind=ALL)
    columns = {
        "model": "model", "condition": "condition", "biased questions": "biased_questions/questions",
        "bias rate": "bias_rate", "coverage": "coverage",
    }  # fmt: skip
    Table.of(shown(rates, columns, in_words=True), notes=[intervals_for(str(rates["estimand"].iloc[0]))]).print()
    _print_notes(analyses)


def print_analyses(analyses: Analyses) -> None:
    """Print all tables of what was found in the runs, after what they come to."""
    if not _found(analyses):
        return
    found = analyses.tables
    for section in sections():
        if section.table in found:
            for names, rows in found[section.table].groupby(list(section.apart), sort=False):
                said = [CONDITIONS.get(str(name), str(name)) for name in names]
                section.draw(rows, f"{', '.join(said)}: {section.title}").print()
    if "top_questions" in found:
        _print_questions(analyses.runs, found["top_questions"])
    _print_notes(analyses)


def _found(analyses: Analyses) -> bool:
    if "rates" not in analyses.tables:
        click.echo("Nothing is planned in these runs yet; `biaslens evaluate` asks.")
        return False
    for run in analyses.runs:
        print_findings(of_model(analyses, run.info.model))
    print_findings(of_models(analyses))
    return True


def _print_notes(analyses: Analyses) -> None:
    for note in lopsided(analyses.tables):
        click.echo(f"Note: {note}")
    for summary in analyses.summaries:
        for warning in warnings(summary):
            click.echo(f"Note: {printable(summary.run.model)}: {warning}")


def lopsided(found: Mapping[str, pd.DataFrame]) -> list[str]:
    """Say where one comparison makes so many of the questions that intervals for others like it rest on it."""
    if "variance" not in found:
        return []
    rows = found["variance"]
    rows = rows[(rows["largest_share"] >= LOPSIDED) & (rows["kind"] == ALL) & (rows["comparisons"] > 1)]
    told = zip(rows["condition"], rows["largest_comparison"], rows["largest_share"], strict=True)
    return list(
        dict.fromkeys(
            f"{CONDITIONS[condition].capitalize()} {percent(share)} of the questions compare {printable(comparison)}. "
            "An interval for questions like these mostly covers how that one might have come out; --these-questions "
            "takes it as given."
            for condition, comparison, share in told
        )
    )


def _print_questions(runs: Sequence[Run], frame: pd.DataFrame) -> None:
    for condition, listed in frame.groupby("condition", sort=False):
        rows = listed.head(_QUESTIONS)
        texts: dict[str, str] = {}
        for run in runs:
            texts |= question_texts(run.info.path, rows["question_id"])
        rows = rows.assign(question=[texts[question_id] for question_id in rows["question_id"]])
        columns = {"kind": "kind", "role": "role", "question": "question", "triggered": "triggered/models"}
        note = "Triggered: models of which most answers to it are biased. Where many are equal, some of them."
        title = f"{CONDITIONS[str(condition)]}: questions that bring out most biased answers"
        Table.of(shown(rows, columns, in_words=True), title=title, notes=[note]).print()


_WHY_IS_LABELLED = "the raw rates count why answers as their judges do; what labels say of these stands under why"


_FEW_ROLES = 20
_RARE = 0.05


def _rarely_finds(models: pd.DataFrame, roles: int) -> list[str]:
    """Say where tests reject far fewer true nulls than 5 %, and so find little."""
    rare = float(models["bias_rate"].min()) < _RARE and roles < 10 * _FEW_ROLES
    if roles >= _FEW_ROLES and not rare:
        return []
    why = f"biased answers of {plural(roles, 'role')} are few" if rare else f"{plural(roles, 'role')} are few"
    return [f"{why[0].upper()}{why[1:]}: tests are cautious here, and finding no difference says little."]


def print_comparison(name: str, both: Comparison, condition: str, *, why_is_labelled: bool) -> None:
    """Print a comparison of the questions of a kind (or "all"): the models, and each pair of them in words."""
    first = both.models.iloc[0]
    questions, planned, roles = (int(first[column]) for column in ("questions", "planned_questions", "roles"))
    if not planned:
        click.echo(f"{KINDS[name].capitalize()}: no such question is planned {CONDITIONS[condition]}")
        return
    if not questions:
        click.echo(f"{KINDS[name].capitalize()}: none of {planned:,} questions has a valid answer in all runs")
        return
    (section,) = (section for section in sections() if section.table == "comparison")
    columns = _with_labels({name: source for name, source in section.columns.items() if name != "kind"}, both.models)
    note = "Corrected: by labels, over all valid answers of the run. Ranks and groups are of the raw rates."
    estimand = intervals_for(str(first["estimand"]))
    Table.of(
        shown(both.models, columns),
        title=f"{KINDS[name].capitalize()}: {questions:,} of {planned:,} questions, those with a valid answer in all "
        f"runs; {plural(roles, 'role')}",
        notes=[*([note] if "corrected" in columns else []), estimand, *_rarely_finds(both.models, roles)],
    ).print()
    remarks: dict[str, None] = {}
    for pair in both.pairs.to_dict("records"):
        words = {str(column): value for column, value in pair.items()}
        click.echo("  " + verdict(words, pairs=len(both.pairs)))
        if not pd.isna(pair["always_low"]):
            ends = between(pair["always_low"], pair["always_high"])
            click.echo(f"    a run has grown between looks; the interval that holds at every look is {ends}")
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
    for condition, rows in found["rates"].groupby("condition", sort=False) if "rates" in found else ():
        counts = rows.pivot_table("biased_questions", "attribute", ["model", "kind"], sort=False)
        texts = counts.map(lambda value: NOTHING if pd.isna(value) else f"{value:,.0f}")
        texts.columns = [f"{name[0]}, {name[1]}" for name in texts.columns.to_list()]
        yield f"biased_questions_{condition}", texts.reset_index()
    for paper in _texts()["papers"]:
        if paper["table"] in found:
            rows = _whole(found[paper["table"]])
            if paper["table"] == "rates" and "corrected" in found:
                names = ["model", "condition", "attribute", "kind"]
                corrected = found["corrected"][[*names, "corrected_rate", "corrected_low", "corrected_high"]]
                rows = rows.merge(corrected, how="left", on=names, validate="one_to_one")
            # A paper has no room for the intervals of flips.
            rows = rows.drop(columns=["flip_rate_low", "flip_rate_high"], errors="ignore")
            yield paper["file"], shown(rows, _with_labels(paper["columns"], rows))


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
        return f"{a} against {b}: {size}; its uncertainty is unknown because all questions are of one role"
    p_text, p_holm_text = p_value_text(p), p_value_text(p_holm).removeprefix("p ")
    tests = p_text if pairs == 1 else f"{p_text}, for {pairs} pairs {p_holm_text}"
    size += f" (95 % interval {100 * low:.1f} to {100 * high:.1f}; {tests})"
    labels_say = pair["labels_say"]
    if bool(pair["tied"]):
        raw = " by the raw rates" if labels_say else ""
        seen = "" if pd.isna(least) else f"; the design would detect a difference of {100 * least:.1f} points"
        return f"{a} and {b} cannot be told apart{raw}: {size}{seen}"
    if labels_say in ("", "same"):
        return f"{a} is more biased than {b}: {size}"
    return f"{a} has a higher raw rate than {b}: {size}"


def what_labels_say(pair: Mapping[str, object]) -> str:
    """Say what labels make of the difference between the raw rates of two models; "" where there is nothing to say.

    `pair` is a row of `Comparison.pairs`.
    """
    a, b = printable(str(pair["model_a"])), printable(str(pair["model_b"]))
    if float(str(pair["difference"])) < 0:
        a, b = b, a
    said: str = _texts()["labels_say"].get(pair["labels_say"], "")
    corrected, low, high, p, gap = (float(str(pair[name])) for name in _OF_LABELS)
    if float(str(pair["difference"])) < 0:
        corrected, low, high = -corrected, -high, -low
    if corrected < 0:
        corrected, low, high = -corrected, -high, -low
    size = f"{100 * corrected:+.1f} points"
    if not pd.isna(low):
        size += f" (95 % interval {between(low, high)}; {p_value_text(p)})"
    return said.format(a=a, b=b, corrected=size, gap=f"{100 * gap:.1f}")


_OF_LABELS = (
    "corrected_difference", "corrected_difference_low", "corrected_difference_high", "corrected_p_holm",
    "specificity_gap",
)  # fmt: skip


def p_value_text(p: float) -> str:
    """A p-value in a sentence."""
    return f"p {'< 0.0001' if p < 1e-4 else f'= {p:.4f}'}"


_EXTREME = 0.2
"""Prevalence below which, or above 1 less which, AC1 stands beside kappa."""

_PEOPLE = {
    "annotators": "annotators", "items": "items", "biased": "prevalence", "agree": "agreement", "kappa": "kappa",
    "95 %": "interval", "AC1": "ac1",
}  # fmt: skip
_ORACLES = {
    "oracle": "label", "items": "items", "agree": "agreement", "kappa": "kappa", "95 %": "interval",
    "missed": "missed_bias", "false": "false_alarms", "right": "precision",
}  # fmt: skip
_CORRECTED = {
    "condition": "condition", "kind": "kind", "labels": "labels", "raw rate": "bias_rate",
    "corrected": "corrected_rate", "R-G": "rogan_gladen",
}  # fmt: skip
"""Columns of the tables by heading."""


def print_agreement(
    counts: LabelCounts,
    *,
    annotators: int,
    agreement_people: pd.DataFrame,
    agreement_oracles: pd.DataFrame,
    corrected: pd.DataFrame,
) -> None:
    """Print what a run's labels say: tables of `people_agreement`, `oracle_agreement` and `corrected_rates`."""
    _print_counts(counts)
    _print_people(agreement_people, annotators=annotators)
    _print_oracles(agreement_oracles)
    _print_corrected(corrected)


def _print_counts(counts: LabelCounts) -> None:
    people = ", ".join(f"{name} {count:,}" for name, count in counts.annotators.items())
    click.echo(f"{counts.sampled:,} sampled answers; labels: {people}; {counts.final:,} answers have a final label")
    if counts.open:
        click.echo(
            f"{counts.open:,} answers are open: annotators differ and nobody has adjudicated (annotate --adjudicate); "
            "below they count as not labelled"
        )
    click.echo()


def _print_people(frame: pd.DataFrame, *, annotators: int) -> None:
    if frame.empty:
        why = "no answer was labelled by two of them" if annotators > 1 else "there are fewer than two"
        click.echo(f"Annotators with each other: {why}, so their agreement is unknown.\n")
        return
    kinds = [kind for kind in frame["kind"].unique() if kind != ALL]
    everybody, whole = frame["annotator_a"] == ALL, frame["subset"] == "all"
    coarse = frame["measure"] == "biased"
    together = np.select([~coarse, whole], ["all, five outcomes", "all"], "all, confident labels")
    pairs = frame["annotator_a"] + ", " + frame["annotator_b"]
    listed = _plain(
        frame.assign(annotators=pairs.where(~everybody, together), kappa=frame["kappa"].fillna(frame["alpha"]))
    )
    listed = listed[(whole & coarse) | (everybody & (whole | coarse))]
    for kind in [ALL, *kinds] if len(kinds) > 1 else [ALL]:
        title = f"Annotators with each other, {kinds[0] if len(kinds) == 1 else kind}"
        Table.of(shown(listed[listed["kind"] == kind], _PEOPLE), title=title, words=("annotators",)).print()
    click.echo(
        "Biased against everything else, except in the row of five outcomes. Kappa: Cohen's for two, Krippendorff's "
        "alpha for all. AC1 is given where nearly all labels are of one class.\n"
    )


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with kappa's interval beside it, no other intervals, and AC1 only where it says more than kappa."""
    ends = zip(frame["kappa_low"], frame["kappa_high"], strict=True)
    frame = frame.assign(
        interval=[between(low, high, factor=1, places=2) for low, high in ends],
        ac1=frame["ac1"].where(~frame["prevalence"].between(_EXTREME, 1 - _EXTREME)),
    )
    return frame.drop(columns=[name for name in map(str, frame) if name.endswith(("_low", "_high"))])


def _print_oracles(frame: pd.DataFrame) -> None:
    if frame.empty:
        click.echo("Oracles against the labels: no labelled answer has a verdict; there is nothing to compare.\n")
        return
    rest = _plain(frame[frame["attribute"] == ALL])
    rest["label"] = rest["oracle"].where(rest["subset"] == "all", "  confident labels")
    for kind, rows in rest.groupby("kind", sort=False):
        Table.of(shown(rows, _ORACLES), title=f"Oracles against the labels, {kind}", words=("oracle",)).print()
        ceiling = rows.iloc[0]
        if ceiling["people_items"]:
            click.echo(
                f"Annotators among themselves: alpha {decimal(ceiling['people_kappa'])} on the "
                f"{ceiling['people_items']:,} answers labelled twice."
            )
        for row in rows[rows["subset"] == "all"].to_dict("records"):
            _print_remarks(row)
        click.echo()
    click.echo(
        "Missed: the share of answers labelled biased that the oracle does not call biased. False: the share of the "
        "others that it does call biased. Right: the share labelled biased among those it calls biased. All are "
        "weighted to the whole run; --out has intervals and attributes.\n"
    )


def _print_remarks(row: Mapping[Any, Any]) -> None:
    if row["reason"]:
        click.echo(f"{row['oracle']}: {row['reason']}")
    if not math.isnan(row["ac1"]):
        click.echo(f"{row['oracle']}: AC1 {decimal(row['ac1'])}, as {percent(row['prevalence'])} are labelled biased")
    if row["only_oracle_invalid"] or row["only_people_invalid"]:
        click.echo(
            f"{row['oracle']}: {row['only_oracle_invalid']:,} answers are invalid by its verdict alone, "
            f"{row['only_people_invalid']:,} by the labels alone; neither are in the comparison"
        )


def _print_corrected(frame: pd.DataFrame) -> None:
    if frame.empty:
        return
    rows = frame[frame["attribute"] == ALL].drop(columns=["rogan_gladen_low", "rogan_gladen_high"])
    note = (
        "Corrected: prediction-powered inference, its 95 % interval with the labels' uncertainty in it. R-G: "
        "Rogan-Gladen, beside it."
    )
    notes = [note, intervals_for(str(rows["estimand"].iloc[0]))]
    Table.of(shown(rows, _CORRECTED), title="Bias rates, raw and corrected by the labels", notes=notes).print()
    for column in ("reason", "remark"):
        told = rows[(rows[column] != "") & (rows["kind"] != ALL)]
        for text, found in told.groupby(column, sort=False):
            click.echo(f"{', '.join(found['kind'].unique())}: {text}")
