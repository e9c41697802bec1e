"""What the pages show, made from the tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from biaslens.analysis import Run, RunInfo
from biaslens.analysis.rates import ALL
from biaslens.report.analyses import Analyses
from biaslens.report.run import LOW_COVERAGE
from biaslens.report.sections import verdict, what_labels_say
from biaslens.report.table import NOTHING, Column, Table, corrected_intervals, intervals, percent
from biaslens.schema import Attribute, Condition, Kind, Outcome

CONDITIONS = {
    Condition.ROLE.value: "playing the roles",
    Condition.NO_ROLE.value: "without a role",
    Condition.NEUTRAL_ROLE.value: "as an ordinary person",
}
KINDS = {"all": "all kinds", Kind.YES_NO.value: "yes/no", Kind.CHOICE.value: "choice", Kind.WHY.value: "why"}

FEWEST = 30
"""Valid answers under which a cell of role against target stands in brackets."""

_OUTCOMES = (
    ("biased", "biased", ("biased",)),
    ("unbiased", "unbiased", ("unbiased",)),
    ("refused", "refused", ("refused",)),
    ("not valid", "lost", ("invalid", "error", "unjudged", "unasked")),
)
_ROLES_LISTED = 15
_JUDGED = "rests on judges of why answers whose errors are not known: no labels"
_JUDGED_AND_LABELLED = "counts why answers as their judges do; labels correct these alone"


def name_of(info: RunInfo) -> str:
    """The model's name, or the run file's where none is recorded."""
    return info.model or info.path.name


def known(value: float) -> float | None:
    """None for NaN: templates and the script know no NaN."""
    return None if math.isnan(value) else float(value)


def leaderboard(analyses: Analyses, runs: Sequence[tuple[Run, str]]) -> dict[str, Any]:
    """Rows, filters and legend of the first page: runs in this order, each with the name of its folder."""
    rows = [row for run, slug in runs for row in _rows(analyses, run, slug)]
    conditions = [name for name in CONDITIONS if any(row["condition"] == name for row in rows)]
    kinds = [name for name in KINDS if any(row["kind"] == name for row in rows)]
    return {
        "rows": rows,
        "contradicted": contradicted(analyses.tables),
        "conditions": [(name, CONDITIONS[name]) for name in conditions],
        "kinds": [(name, KINDS[name]) for name in kinds],
        "legend": [(name, style) for name, style, _ in _OUTCOMES],
    }


def _rows(analyses: Analyses, run: Run, slug: str) -> list[dict[str, Any]]:
    table = analyses.of(run, "rates")
    marks = _marks(run)
    if not len(table):
        return [_empty_row(run, slug, marks)]
    found = analyses.tables
    table = table[table["attribute"] == ALL]
    rows = []
    whys = bool((table["kind"] == Kind.WHY).any())
    judged_kinds = {ALL, Kind.WHY.value} if whys else set()
    for record in table.to_dict("records"):
        condition, kind = str(record["condition"]), str(record["kind"])
        place = _place(found, run.info, condition, kind)
        corrected = _corrected(found, run.info.model, condition, ALL, kind)
        of_the_row = ["low coverage"] if record["coverage"] < LOW_COVERAGE else []
        if corrected is None and kind in judged_kinds and run.info.panel:
            labelled = _corrected(found, run.info.model, condition, ALL, Kind.WHY) is not None
            of_the_row.append(_JUDGED_AND_LABELLED if labelled else _JUDGED)
        rows.append(
            {
                **_head(run, slug),
                "marks": marks + of_the_row,
                "condition": record["condition"],
                "condition_text": CONDITIONS[record["condition"]],
                "kind": record["kind"],
                "kind_text": KINDS[record["kind"]],
                "questions": record["questions"],
                "biased_questions": record["biased_questions"],
                "coverage": record["coverage"],
                "corrected": corrected,
                "outcomes": _outcomes(record),
                **{name: known(record[name]) for name in ("bias_rate", "bias_rate_low", "bias_rate_high")},
                **place,
            }
        )
    return rows


def _head(run: Run, slug: str) -> dict[str, str]:
    return {"model": run.info.model, "name": name_of(run.info), "href": f"models/{slug}/index.html"}


def _empty_row(run: Run, slug: str, marks: Sequence[str]) -> dict[str, Any]:
    nothing = dict.fromkeys(("bias_rate", "bias_rate_low", "bias_rate_high", "rank"))
    return {
        **_head(run, slug),
        "marks": [*marks, "nothing planned yet"],
        "condition": Condition.ROLE.value,
        "condition_text": CONDITIONS[Condition.ROLE],
        "kind": "all",
        "kind_text": KINDS["all"],
        "questions": 0,
        "biased_questions": 0,
        "coverage": 0.0,
        "corrected": None,
        "outcomes": [],
        "group": "",
        "rank_text": "–",
        **nothing,
    }


def _corrected(found: Mapping[str, pd.DataFrame], model: str, condition: str, attribute: str, kind: str) -> str | None:
    """A rate corrected by labels with its interval, for people; None where there is none."""
    table = found.get("corrected")
    if table is None:
        return None
    rows = table[
        (table["model"] == model)
        & (table["condition"] == condition)
        & (table["attribute"] == attribute)
        & (table["kind"] == kind)
        & table["corrected_rate"].notna()
    ]
    return next(iter(corrected_intervals(rows)), None)


def contradicted(found: Mapping[str, pd.DataFrame]) -> list[str]:
    """Sentences on the pairs of models whose order labels turn, or leave open."""
    pairs = found.get("comparison_pairs")
    if pairs is None:
        return []
    told = pairs[~pairs["tied"] & pairs["labels_say"].isin(["opposite", "overlap"])]
    return [
        f"{KINDS[record['kind']].capitalize()}, {CONDITIONS[record['condition']]}: {verdict(record)}; "
        f"{what_labels_say(record)}."
        for record in ({str(name): value for name, value in row.items()} for row in told.to_dict("records"))
    ]


def _marks(run: Run) -> list[str]:
    marks = []
    if run.info.embedded:
        marks.append("the small embedded model: answers near chance")
    if run.info.meta.get("imported"):
        marks.append("imported from the published study; why answers as its judge voted")
    pending = sum(int((trials.states >= len(Outcome)).sum()) for trials in run.conditions.values())
    if pending:
        marks.append(f"incomplete: {pending:,} planned answers wait for the model or a judge")
    return marks


def _outcomes(record: Mapping[Any, Any]) -> list[dict[str, Any]]:
    parts = []
    start = 0.0
    for name, style, states in _OUTCOMES:
        share = sum(record[f"{state}_trials"] for state in states) / record["planned_trials"]
        parts.append({"name": name, "style": style, "share": share, "start": start})
        start += share
    return parts


def _place(found: Mapping[str, pd.DataFrame], info: RunInfo, condition: str, kind: str) -> dict[str, Any]:
    table = found.get("comparison")
    if table is not None:
        mine = table[
            (table["condition"] == condition)
            & (table["kind"] == kind)
            & (table["model"] == info.model)
            & (table["run"] == info.path.name)
        ]
        for record in mine.to_dict("records"):
            low, high = int(record["rank_low"]), int(record["rank_high"])
            text = str(low) if low == high else f"{low} to {high}"
            return {"group": record["tied_group"], "rank": record["rank"], "rank_text": text}
    return {"group": "", "rank": None, "rank_text": "–"}


def model(analyses: Analyses, run: Run) -> dict[str, Any]:
    """What a model's page shows."""
    info = run.info
    sections = [_section(analyses, run, condition) for condition in run.conditions]
    tables = [
        _ablation(analyses.of(run, "ablation")),
        _moved(analyses.of(run, "ablation_by_role")),
        _consistency(analyses.of(run, "consistency")),
        _form(analyses.of(run, "mirrors"), analyses.of(run, "option_position")),
    ]
    return {
        "name": name_of(info),
        "marks": _marks(run) or ([] if sections else ["Nothing is planned in this run yet."]),
        "run": info.path.name,
        "benchmark": info.benchmark_version,
        "trials": info.trials,
        "judges": ", ".join(info.judges),
        "version": info.package_version,
        "conditions": sections,
        "tables": [(text, table) for text, table in tables if table.rows],
        "fewest": FEWEST,
    }


def _section(analyses: Analyses, run: Run, condition: Condition) -> dict[str, Any]:
    table = analyses.of(run, "rates")
    table = table[table["condition"] == condition]
    kinds = [kind for kind in KINDS if kind in set(table["kind"])]
    rows = []
    for attribute, cells in table.groupby("attribute", sort=False):
        by_kind = {record["kind"]: record for record in cells.to_dict("records")}
        whole = by_kind["all"]
        rows.append(
            {
                "attribute": attribute,
                "href": None if attribute == "all" else f"{attribute}.html",
                "rates": [
                    _rate(
                        by_kind.get(kind), _corrected(analyses.tables, run.info.model, condition, str(attribute), kind)
                    )
                    for kind in kinds
                ],
                "questions": whole["questions"],
                "biased_questions": whole["biased_questions"],
                "coverage": whole["coverage"],
            }
        )
    text = CONDITIONS[condition].capitalize()
    targets = analyses.of(run, "rates_by_target")
    return {
        "text": text,
        "kinds": [KINDS[kind].capitalize() for kind in kinds],
        "rows": rows,
        "targets": _targets(targets[targets["condition"] == condition]),
    }


def _rate(record: Mapping[Any, Any] | None, corrected: str | None) -> dict[str, float | str | None] | None:
    if record is None:
        return None
    names = {"rate": "bias_rate", "low": "bias_rate_low", "high": "bias_rate_high"}
    return {short: known(record[name]) for short, name in names.items()} | {"corrected": corrected}


def _targets(table: pd.DataFrame) -> Table:
    table = table[(table["attribute"] != ALL) & table["target"].isin(list(Attribute))]
    targets = [attribute.value for attribute in Attribute if attribute in set(table["target"])]
    cells = {(record["attribute"], record["target"]): record for record in table.to_dict("records")}
    rows = []
    for attribute in dict.fromkeys(table["attribute"]):
        texts = [attribute]
        for target in targets:
            record = cells.get((attribute, target))
            text = NOTHING if record is None else percent(record["bias_rate"])
            few = record is not None and 0 < record["valid_trials"] < FEWEST
            texts.append(f"({text})" if few else text)
        rows.append(texts)
    return Table([Column("Role", words=True, heads=True), *map(Column, targets)], rows, title="Role against target")


def _of_words(title: str, *names: str, cells: Sequence[Iterable[str]]) -> Table:
    return Table([Column(name, words=True) for name in names], list(zip(*cells, strict=True)), title=title)


def _ablation(table: pd.DataFrame) -> tuple[str, Table]:
    table = table[table["attribute"] == ALL] if len(table) else table
    return (
        "The same questions with the role and without it; differences in percentage points, paired by "
        "question, with a 95 % interval clustered by role.",
        _of_words(
            "What the role does",
            *("Against", "Questions", "In the role", "Without", "Difference"),
            cells=[
                [CONDITIONS[name] for name in table["against"]],
                [KINDS[kind] for kind in table["kind"]],
                [percent(value) for value in table["rate_role"]],
                [percent(value) for value in table["rate_against"]],
                intervals(table, "difference", points=True),
            ]
            if len(table)
            else [],
        ),
    )


def _moved(table: pd.DataFrame) -> tuple[str, Table]:
    table = table[table["against"] == Condition.NO_ROLE].head(_ROLES_LISTED) if len(table) else table
    return (
        "Against the same questions without a role. Picked because they are the largest of many, so expect "
        "less in a repetition. The interval is over the role's questions.",
        _of_words(
            "Roles that move the answers most",
            *("Attribute", "Role", "In the role", "Without", "Difference"),
            cells=[
                table["attribute"],
                table["role"],
                [percent(value) for value in table["rate_role"]],
                [percent(value) for value in table["rate_against"]],
                intervals(table, "difference", points=True),
            ]
            if len(table)
            else [],
        ),
    )


def _consistency(table: pd.DataFrame) -> tuple[str, Table]:
    return (
        "Consistent: all trials of a question agree. Flips: chance that two trials differ. Would change: share "
        "of the verdicts that another set of trials would turn. Alpha: agreement beyond chance (Krippendorff).",
        _of_words(
            "Consistency over trials",
            *("Condition", "Questions", "Consistent", "Flips", "Would change", "Alpha"),
            cells=[
                [CONDITIONS[name] for name in table["condition"]],
                [KINDS[kind] for kind in table["kind"]],
                [percent(value) for value in table["consistent"]],
                intervals(table, "flip_rate"),
                [percent(value) for value in table["verdicts_changed"]],
                [NOTHING if pd.isna(value) else f"{value:.2f}" for value in table["krippendorff_alpha"]],
            ]
            if len(table) and table["consistent"].notna().any()
            else [],
        ),
    )


def _form(mirrors: pd.DataFrame, positions: pd.DataFrame) -> tuple[str, Table]:
    rows = []
    for record in mirrors.to_dict("records"):
        what = (
            "yes to a claim and to its mirror" if record["kind"] == Kind.YES_NO else "the same position in both orders"
        )
        shares = (percent(record["form"]), percent(record["held"]))
        rows.append((CONDITIONS[record["condition"]], f"{what} ({record['mirror']})", *shares))
    for record in positions.to_dict("records"):
        what = f"takes the {record['position']} option ({percent(record['expected'])} by chance)"
        rows.append((CONDITIONS[record["condition"]], what, percent(record["share"]), NOTHING))
    return (
        "How often an answer goes by how a question is put rather than by what it says.",
        _of_words(
            "Answers that follow the form",
            *("Condition", "What", "Share", "A held view"),
            cells=list(zip(*rows, strict=True)),
        ),
    )


def roles(table: pd.DataFrame, attribute: Attribute) -> list[dict[str, Any]]:
    """Rows of the roles of an attribute, of a table of rates by role."""
    return [
        {
            "role": record["role"],
            "condition": record["condition"],
            "condition_text": CONDITIONS[record["condition"]],
            "bias_rate": known(record["bias_rate"]),
            "biased_questions": record["biased_questions"],
            "questions": record["questions"],
            "coverage": record["coverage"],
        }
        for record in table.to_dict("records")
        if record["attribute"] == attribute
    ]
