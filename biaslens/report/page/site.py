"""A static site of several runs."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from biaslens._util.files import json_text, write_text
from biaslens._util.text import finite, safe_name
from biaslens.analysis import Run, RunInfo
from biaslens.analysis.frame import ATTRIBUTES
from biaslens.analysis.rates import ALL
from biaslens.errors import InputError, StorageError
from biaslens.report.analyses import Analyses, Watched, write_tables
from biaslens.report.export import write_leaderboard
from biaslens.report.findings import of_model, of_models
from biaslens.report.page import environment
from biaslens.report.run import FOR_WHAT, LOW_COVERAGE
from biaslens.report.sections import Door, sections, verdict, what_labels_say
from biaslens.report.table import CONDITIONS, FEWEST, KINDS, NOTHING, HeatMap, Table, axis, intervals, shown
from biaslens.report.view.answers import Answers
from biaslens.report.view.index import open_run
from biaslens.report.view.query import wanted_of
from biaslens.report.view.shards import write_answers
from biaslens.runfile import decided_answers, example, reading
from biaslens.schema import Attribute, Condition, Kind, Outcome

PER_ROLE = 3
"""Answers shown of a role; two of them biased, where there are."""

LONGEST = 600
"""Characters shown of an answer or a question."""

MANIFEST = "biaslens-page.json"
"""Lists the files of a page, so that the next one in the same folder removes those it does not write again."""

_BIASED = 2
_OUTCOMES = (
    ("biased", "biased", ("biased",)),
    ("unbiased", "unbiased", ("unbiased",)),
    ("refused", "refused", ("refused",)),
    ("not valid", "lost", ("invalid", "error", "unjudged", "unasked")),
)
_JUDGED = "rests on judges of why answers whose errors are not known: no labels"
_JUDGED_AND_LABELLED = "counts why answers as their judges do; labels correct these alone"
_DOWNLOADS = {
    "leaderboard": "a row a model and condition",
    "leaderboard_by_attribute": "the same by attribute and kind",
    "rates": "both headline numbers, coverage and outcomes by attribute and kind",
    "rates_by_role": "rates of each role",
    "rates_by_target": "rates by the attribute that questions are about",
    "abstention_by_target": "answers that are not biased, by the attribute that questions are about",
    "top_questions": "questions with the most biased answers",
}


def write_page(
    analyses: Analyses,
    out: Path,
    *,
    show_examples: bool | None = None,
    answers: bool = False,
    imported_answers: bool = False,
) -> list[Path]:
    """Write the page of one or more runs; where they were put together by force, it says so.

    The same runs give the same bytes. Files in the folder that are not of an earlier page are left alone. Sizes are
    bounded: at most `PER_ROLE` answers of `LONGEST` characters a role. By default those of imported runs are not shown:
    they are others' data. With `answers` all of them are written beside the page and every number leads to its own;
    those of imported runs only with `imported_answers`. Every file is returned, the leaderboard first.

    Raises `InputError` without a run, or where no run's answers may be written; `RunMismatchError` when the runs asked
    or judged differently, and are not forced together; `StorageError` when the folder cannot be written.
    """
    if not analyses.runs:
        raise InputError("a page needs at least one run file; `biaslens evaluate` makes them")
    runs = sorted(analyses.runs, key=lambda run: (run.info.model, run.info.path.name))
    found = analyses.tables
    analyses.work.begin("writing pages", total=(1 + len(Attribute)) * len(runs))
    before = _manifest(out)
    slugs = _slugs([run.info for run in runs])
    folders = [
        slug if imported_answers or (answers and not _imported(run)) else None
        for run, slug in zip(runs, slugs, strict=True)
    ]
    if answers and not any(folders):
        raise InputError("all of these runs were imported: --imported-answers writes what others' models answered")
    site = _Site(out, {run.info.model for run, folder in zip(runs, folders, strict=True) if folder})
    downloads = [*write_leaderboard(analyses.summaries, out / "data"), *write_tables(found, out / "data")]
    site.files += downloads
    rows = [row for run, slug in zip(runs, slugs, strict=True) for row in _rows(analyses, run, slug)]
    rows.sort(key=lambda row: -1.0 if row["bias_rate"] is None else row["bias_rate"], reverse=True)
    about = {each.table: each.title for each in reversed(sections())} | _DOWNLOADS
    site.render(
        "index.html",
        rows=rows,
        findings=of_models(analyses) if len(runs) > 1 else of_model(analyses, runs[0].info.model),
        axis=_axis(rows),
        triggers=_triggers(found),
        low_coverage=LOW_COVERAGE,
        conditions=[name for name in CONDITIONS if any(row["condition"] == name for row in rows)],
        kinds=[name for name in KINDS if any(row["kind"] == name for row in rows)],
        legend=[(name, style) for name, style, _ in _OUTCOMES],
        contradicted=_contradicted(found),
        forced=analyses.force and len(runs) > 1,
        downloads=[(f"data/{path.name}", about.get(path.stem, path.stem.replace("_", " "))) for path in downloads],
    )
    site.render("method.html", runs=[run.info for run in runs], estimand=FOR_WHAT[runs[0].estimand])
    for run, slug in zip(runs, slugs, strict=True):
        _write_model(site, analyses, run, slug, show_examples=show_examples)
        analyses.work.step()
    if any(folders):
        site.files += _write_answers(runs, out, folders, analyses.work)
    site.finish(before)
    return site.files


class _Site:
    """Renders pages into a folder and remembers them; numbers of the models `with_answers` lead to these."""

    def __init__(self, out: Path, with_answers: Collection[str]) -> None:
        self.out = out
        self.files: list[Path] = []
        self._with_answers = with_answers
        self._environment = environment(condition_names=CONDITIONS, kind_names=KINDS)

    def door(self, path: str) -> Door:
        """What gives, for the page at a path, the address of the answers that a row counts; "" where none are there."""
        up = "../" * path.count("/")

        def address(row: Mapping[str, Any], **more: str) -> str:
            if not self._with_answers or row.get("model", next(iter(self._with_answers))) not in self._with_answers:
                return ""
            wanted = wanted_of({**row, **more})
            return "" if wanted is None else f"{up}answers/index.html#{wanted.address}"

        return address

    def render(self, path: str, *, template: str = "", **values: Any) -> None:  # noqa: ANN401 - template values
        """Write one page; `path` is within the folder, and says how far up its root is."""
        made = self._environment.get_template((template or path) + ".j2")
        text = made.render(up="../" * path.count("/"), answers_of=self.door(path), **values)
        write_text(self.out / path, text)
        self.files.append(self.out / path)

    def finish(self, before: Sequence[str]) -> None:
        """Remove what an earlier page wrote and this one did not, and write the list of files."""
        names = sorted(path.relative_to(self.out).as_posix() for path in self.files)
        for name in set(before) - set(names):
            (self.out / name).unlink(missing_ok=True)
        write_text(self.out / MANIFEST, json_text(names) + "\n")


def _manifest(out: Path) -> list[str]:
    path = out / MANIFEST
    if not path.is_file():
        return []
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read ({error}); remove it, or give another --out") from None
    # A list that somebody has edited must not remove files elsewhere.
    return [name for name in names if isinstance(name, str) and (out / name).resolve().is_relative_to(out.resolve())]


def _imported(run: Run) -> bool:
    return bool(run.info.meta.get("imported"))


def _write_answers(runs: Sequence[Run], out: Path, folders: Sequence[str | None], work: Watched) -> list[Path]:
    work.begin("reading answers", total=len(runs))
    opened = []
    for run in runs:
        # Nothing is kept beside the runs: a page is written once.
        opened.append(open_run(run.info.path, keep=False))
        work.step()
    return write_answers(Answers(opened), out / "answers", folders, [run.info.model for run in runs], work=work)


def _slugs(infos: Sequence[RunInfo]) -> list[str]:
    """Folder names of the models: readable, safe, and different even where names are not."""
    names = [safe_name(info.model)[:60].lower() for info in infos]
    slugs: list[str] = []
    for name, info in zip(names, infos, strict=True):
        mark = hashlib.sha256(f"{info.model}\n{info.path.name}".encode()).hexdigest()[:6]
        slugs.append(name if names.count(name) == 1 else f"{name}-{mark}")
    return slugs


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows for templates, which know no NaN."""
    return cast("list[dict[str, Any]]", finite(frame.to_dict("records")))


def _rows(analyses: Analyses, run: Run, slug: str) -> list[dict[str, Any]]:
    """Rows of a run on the first page."""
    marks = _marks(run)
    head = {"model": run.info.model, "name": run.info.model or run.info.path.name, "href": f"models/{slug}/index.html"}
    records = _records(analyses.of("rates", model=run.info.model, attribute=ALL))
    if not records:
        nothing = dict.fromkeys(("bias_rate", "bias_rate_low", "bias_rate_high", "corrected", "rank"))
        counts = {"questions": 0, "biased_questions": 0, "coverage": 0.0, "outcomes": [], "group": ""}
        where = {"condition": Condition.ROLE.value, "kind": ALL, "rank_text": NOTHING}
        return [head | nothing | counts | where | {"marks": [*marks, "nothing planned yet"]}]
    whys = any(record["kind"] == Kind.WHY for record in records)
    rows = []
    for record in records:
        condition, kind = record["condition"], record["kind"]
        corrected = _corrected(analyses, run, condition, ALL, kind)
        of_the_row = ["low coverage"] if record["coverage"] < LOW_COVERAGE else []
        if corrected is None and run.info.panel and whys and kind in (ALL, Kind.WHY):
            labelled = _corrected(analyses, run, condition, ALL, Kind.WHY) is not None
            of_the_row.append(_JUDGED_AND_LABELLED if labelled else _JUDGED)
        more = {"marks": marks + of_the_row, "corrected": corrected, "outcomes": _outcomes(record)}
        rows.append(record | head | more | _place(analyses, run, condition, kind))
    return rows


def _triggers(found: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """How many models the questions trigger, of all kinds, by condition."""
    table = found.get("triggers")
    if table is None:
        return []
    return [
        {
            "condition": condition,
            "rows": [row | {"triggers": f"{row['k']} of {row['models']}"} for row in _records(rows)],
        }
        for condition, rows in table[table["kind"] == ALL].groupby("condition", sort=False)
    ]


def _corrected(analyses: Analyses, run: Run, condition: str, attribute: str, kind: str) -> dict[str, Any] | None:
    """A rate corrected by labels with its interval; None where there is none."""
    rows = analyses.of("corrected", model=run.info.model, condition=condition, attribute=attribute, kind=kind)
    rows = rows[rows["corrected_rate"].notna()] if len(rows) else rows
    if not len(rows):
        return None
    (text,) = intervals(rows, "corrected_rate")
    (record,) = _records(rows)
    ends = {name: record[f"corrected_{name}"] for name in ("rate", "low", "high")}
    return ends | {"text": text}


def _contradicted(found: Mapping[str, pd.DataFrame]) -> list[str]:
    """Sentences on the pairs of models whose order labels turn, or leave open."""
    pairs = found.get("comparison_pairs")
    if pairs is None:
        return []
    told = pairs[~pairs["tied"] & pairs["labels_say"].isin(["opposite", "open"])]
    return [
        f"{KINDS[record['kind']].capitalize()}, {CONDITIONS[record['condition']]}: {verdict(record)}; "
        f"{what_labels_say(record)}."
        for record in ({str(name): value for name, value in row.items()} for row in told.to_dict("records"))
    ]


def _marks(run: Run) -> list[str]:
    marks = []
    if run.info.embedded:
        marks.append("the small embedded model: answers near chance")
    if _imported(run):
        marks.append("imported from the published study; why answers as its judge voted")
    pending = sum(int((trials.states >= len(Outcome)).sum()) for trials in run.conditions.values())
    if pending:
        marks.append(f"incomplete: {pending:,} planned answers wait for the model or a judge")
    return marks


def _outcomes(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts, start = [], 0.0
    for name, style, states in _OUTCOMES:
        share = sum(record[f"{state}_trials"] for state in states) / record["planned_trials"]
        parts.append({"name": name, "style": style, "share": share, "start": start})
        start += share
    return parts


def _place(analyses: Analyses, run: Run, condition: str, kind: str) -> dict[str, Any]:
    """Group and rank among the models."""
    mine = {"model": run.info.model, "run": run.info.path.name}
    rows = analyses.of("comparison", condition=condition, kind=kind, **mine)
    if not len(rows):
        return {"group": "", "rank": None, "rank_text": NOTHING}
    (ranks,) = shown(rows, {"rank": "rank_low..rank_high"})["rank"]
    return {"group": rows["tied_group"].iloc[0], "rank": rows["rank"].iloc[0], "rank_text": ranks}


def _write_model(site: _Site, analyses: Analyses, run: Run, slug: str, *, show_examples: bool | None) -> None:
    info, name = run.info, run.info.model or run.info.path.name
    path = f"models/{slug}/index.html"
    door = site.door(path)
    conditions = [_condition(analyses, run, condition, door) for condition in run.conditions]
    site.render(
        path,
        template="model.html",
        name=name,
        marks=_marks(run) or ([] if conditions else ["Nothing is planned in this run yet."]),
        run=info,
        findings=of_model(analyses, info.model),
        conditions=conditions,
        pairs=_pairs(conditions),
        tables=list(_tables(analyses, run, door)),
        fewest=FEWEST,
    )
    by_role = analyses.of("rates_by_role", model=info.model)
    imported = _imported(run)
    without = imported or info.path.is_dir()
    with_examples = show_examples if show_examples is not None else not without
    for attribute in ATTRIBUTES:
        rows = by_role[by_role["attribute"] == attribute] if len(by_role) else by_role
        if len(rows):
            site.render(
                f"models/{slug}/{attribute}.html",
                template="attribute.html",
                name=name,
                attribute=attribute,
                rows=_records(rows),
                examples=_examples(info.path, attribute) if with_examples else None,
                why_no_examples="they are the published study's" if imported else "the page was made without examples",
                per_role=PER_ROLE,
                longest=LONGEST,
            )
        analyses.work.step()


def _condition(analyses: Analyses, run: Run, condition: Condition, door: Door) -> dict[str, Any]:
    """Rates by attribute and kind under a condition, and by attribute asked about."""
    table = analyses.of("rates", model=run.info.model, condition=condition)
    kinds = [kind for kind in KINDS if kind in set(table["kind"])]
    rows = []
    for attribute, cells in table.groupby("attribute", sort=False):
        by_kind = {record["kind"]: record for record in _records(cells)}
        for kind, record in by_kind.items():
            record["corrected"] = _corrected(analyses, run, condition, str(attribute), kind)
        rows.append(by_kind[ALL] | {"rates": [by_kind.get(kind) for kind in kinds]})
    targets = analyses.of("rates_by_target", model=run.info.model, condition=condition)
    axis = _axis([rate for row in rows for rate in row["rates"] if rate is not None])
    return {"name": condition, "kinds": kinds, "rows": rows, "axis": axis, "targets": _targets(targets, door)}


def _axis(rates: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Ends of the axis that the bars of a table share."""
    ends = [rate[name] for rate in rates for name in ("bias_rate", "bias_rate_low", "bias_rate_high")]
    corrected = [rate["corrected"] for rate in rates if rate.get("corrected")]
    return axis([*ends, *(found[name] for found in corrected for name in ("rate", "low", "high"))])


def _targets(table: pd.DataFrame, door: Door) -> HeatMap:
    table = table[(table["attribute"] != ALL) & table["target"].isin(list(Attribute))]
    records = {(record["attribute"], record["target"]): record for record in _records(table)}
    targets = [attribute.value for attribute in Attribute if attribute in set(table["target"])]
    nothing = (math.nan, 0, "")
    rows = [
        (
            str(attribute),
            [
                nothing if record is None else (record["bias_rate"] or 0.0, record["valid_trials"], door(record))
                for record in (records.get((attribute, target)) for target in targets)
            ],
        )
        for attribute in table["attribute"].unique()
    ]
    return HeatMap.of(targets, rows)


def _pairs(conditions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Rates of all kinds under every condition, by attribute; None for a single condition."""
    if len(conditions) < 2:
        return None
    by_name = [{row["attribute"]: row for row in section["rows"]} for section in conditions]
    names = [name for name in by_name[0] if all(name in rows for rows in by_name)]
    rows = [
        {
            "attribute": name,
            "rates": [
                {"rate": row["bias_rate"], "low": row["bias_rate_low"], "high": row["bias_rate_high"], "row": row}
                for row in (rows[name] for rows in by_name)
            ],
        }
        for name in names
    ]
    ends = _axis([rate["row"] for row in rows for rate in row["rates"]])
    return {"conditions": [section["name"] for section in conditions], "rows": rows, "axis": ends}


def _tables(analyses: Analyses, run: Run, door: Door) -> Iterator[Table]:
    for section in sections():
        rows = analyses.of(section.table, model=run.info.model) if section.on_page else pd.DataFrame()
        if "consistent" in rows:  # a single trial agrees with itself
            rows = rows[rows["consistent"].notna()]
        if len(rows):
            yield section.draw(rows, section.title.capitalize(), door=door)


def _examples(path: Path, attribute: Attribute) -> list[dict[str, Any]]:
    """Draw answers of every role of an attribute, biased ones first: the same ones for the same run."""
    by_role: dict[str, dict[bool, list[str]]] = {}
    with reading(path) as store:
        for key, role, outcome in decided_answers(store, attribute):
            by_role.setdefault(role, {True: [], False: []})[outcome == "biased"].append(key)
        return [
            {"name": role, "answers": [_cut(example(store, key)._asdict()) for key in _draw(found, attribute, role)]}
            for role, found in sorted(by_role.items())
        ]


def _draw(found: Mapping[bool, list[str]], attribute: str, role: str) -> Iterator[str]:
    rng = random.Random(f"0 {attribute} {role}")  # noqa: S311 - no secret
    biased = rng.sample(found[True], min(_BIASED, len(found[True])))
    yield from biased
    yield from rng.sample(found[False], min(PER_ROLE - len(biased), len(found[False])))


def _cut(found: dict[str, Any]) -> dict[str, Any]:
    question, answer = found["question"], found["answer"]
    return found | {"question": question[:LONGEST], "answer": answer[:LONGEST], "cut": len(answer) > LONGEST}
