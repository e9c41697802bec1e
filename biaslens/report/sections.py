"""Analyses as people read them: sections in a terminal and on a page, tables in a paper, a comparison in words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd
from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from biaslens._util.files import write_text
from biaslens._util.text import plural, printable
from biaslens.analysis import Comparison, Run, question_texts
from biaslens.analysis.rates import ALL, OF_A_ROLE
from biaslens.analysis.variance import LOPSIDED
from biaslens.report.analyses import Analyses
from biaslens.report.findings import of_model, of_models
from biaslens.report.run import FOR_WHAT, warnings
from biaslens.report.table import CONDITIONS, KINDS, NOTHING, Table, between, percent, shown
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
