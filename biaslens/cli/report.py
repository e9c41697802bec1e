"""The commands that show, analyse, compare and publish runs, and pass or fail one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click

from biaslens._util.files import write_text
from biaslens._util.text import finite
from biaslens.analysis import Cell, Summary, read_run, summarise
from biaslens.analysis.gate import GateDecision, gate
from biaslens.cli.options import (
    CANNOT,
    FILE,
    INCOMPLETE,
    PATH,
    Real,
    choice,
    force_option,
    json_option,
    runs_argument,
    served,
    with_options,
)
from biaslens.cli.progress import WorkBar
from biaslens.report import leaderboard, print_table
from biaslens.report.analyses import Analyses, write_tables
from biaslens.report.export import require_own, write_leaderboard
from biaslens.report.findings import gate_markdown, gate_table, of_model, write_junit
from biaslens.report.run import Progress, print_status
from biaslens.report.sections import print_analyses, print_comparison, print_findings, print_summary, write_for_papers
from biaslens.report.table import json_records
from biaslens.schema import Condition, Kind
from biaslens.stats import Estimand, Estimate
from biaslens.stats.intervals import always_valid

estimand_option = click.option(
    "--these-questions",
    is_flag=True,
    help="Intervals and tests for these very questions put to other roles.  [default: for other roles and other "
    "comparisons of groups like these]",
)


@click.command("report")
@click.argument("run", type=PATH)
@click.option("--brief", is_flag=True, help="Leave the attributes out; show the headline numbers and the kinds.")
@estimand_option
@json_option
def report_command(run: Path, *, brief: bool, these_questions: bool, as_json: bool) -> None:
    """Show a run: rates by attribute and kind, and coverage.

    Shows both headline numbers, biased questions and the bias rate, and what the run took.
    """
    if len(runs_of([run])) > 1:
        raise click.UsageError(f"{run} holds several runs; name one of them, or compare them all (compare, analyze)")
    with analysing([run], these_questions=these_questions) as analyses:
        (summary,) = analyses.summaries
        told = [] if as_json else of_model(analyses, analyses.runs[0].info.model)
    if as_json:
        click.echo(json.dumps(summary_record(summary, brief=brief), indent=2))
    else:
        print_findings(told)
        print_table(summary, brief=brief)


@click.command("status")
@click.argument("run", type=PATH)
@click.option("--watch", is_flag=True, help="Print it again every few seconds, until Ctrl-C.")
def status_command(run: Path, *, watch: bool) -> None:
    """Show how far a run is, also while it is being evaluated.

    Asked and failed answers, the bias rate so far with its interval, cost and pace.
    """
    while True:
        print_status(summarise(run), Progress.of(run, datetime.now(UTC)))
        if not watch:
            return
        click.echo()
        time.sleep(_WATCH_SECONDS)


_WATCH_SECONDS = 5.0


@click.command("analyze")
@runs_argument
@click.option(
    "--private",
    "private_runs",
    type=PATH,
    multiple=True,
    metavar="RUN",
    help="Run of one of these models on a private form of the benchmark (generate --fresh-seed), to be compared with "
    "its run on the public one; repeatable.",
)
@click.option(
    "--out", type=PATH, help="Folder for CSV files of all analyses.  [default: analyses/, beside the first run]"
)
@click.option("--full", is_flag=True, help="Print the tables instead, and write files only with --out.")
@force_option
@estimand_option
@json_option
def analyze_command(
    runs: tuple[Path, ...],
    *,
    private_runs: tuple[Path, ...],
    out: Path | None,
    full: bool,
    force: bool,
    these_questions: bool,
    as_json: bool,
) -> None:
    """Analyse runs: role ablation, consistency, position, triggers.

    Prints what was found in sentences, and writes the tables: rates by kind, where results vary and what to buy more
    of, abstention and, for several runs, their comparison. --json prints these, and writes files only with --out.
    """
    if out is None and not (full or as_json):
        out = runs[0].parent / "analyses"
    with analysing(runs, private=private_runs, force=force, these_questions=these_questions) as analyses:
        written = [] if out is None else write_tables(analyses.tables, out)
        _ = analyses.tables, analyses.summaries
    if as_json:
        click.echo(json.dumps({name: json_records(frame) for name, frame in analyses.tables.items()}))
    elif full:
        print_analyses(analyses)
    else:
        print_summary(analyses)
    if written:
        click.echo(f"{len(written)} tables: {out}{os.sep}", err=as_json)


@click.command("compare")
@runs_argument
@click.option("--condition", type=choice(Condition), default="role")
@click.option("--kind", type=choice(Kind), help="Only questions of this kind.  [default: all together, then each kind]")
@click.option(
    "--force", is_flag=True, help="Compare runs even if they were asked or judged differently, on what they share."
)
@estimand_option
@json_option
def compare_command(
    runs: tuple[Path, ...], *, condition: str, kind: str | None, force: bool, these_questions: bool, as_json: bool
) -> None:
    """Compare models on the questions that all of them answered.

    Shows whether one model is really more biased than another.
    """
    kinds: Sequence[Kind | None] = [Kind(kind)] if kind else [None, *Kind]
    with analysing(runs, force=force, these_questions=these_questions) as analyses:
        found = {each.value if each else "all": analyses.comparison(Condition(condition), each) for each in kinds}
    if as_json:
        records = {
            name: {"models": json_records(both.models), "pairs": json_records(both.pairs)}
            for name, both in found.items()
        }
        click.echo(json.dumps(records))
        return
    why = found.get("why")
    why_is_labelled = why is not None and bool(why.models["corrected_rate"].notna().all())
    for name, both in found.items():
        print_comparison(name, both, condition, why_is_labelled=why_is_labelled)


@contextmanager
def analysing(
    paths: Sequence[Path],
    *,
    private: Sequence[Path] = (),
    force: bool = False,
    these_questions: bool = False,
    by_name: bool = False,
) -> Iterator[Analyses]:
    """Read run files, one that is named twice once, and show the progress of what is worked out of them.

    They stay in their order unless they are wanted `by_name`.
    """
    known = {path.resolve(): path for path in runs_of(paths)}
    estimand = estimand_of(these_questions=these_questions)
    with WorkBar() as bar:
        bar.begin("reading", total=len(known))
        runs = []
        for path in known.values():
            runs.append(read_run(path, estimand=estimand))
            bar.step()
        if by_name:
            runs.sort(key=lambda run: (run.info.model, run.info.path.name))
        others = [read_run(path, estimand=estimand, took=False) for path in runs_of(private)]
        yield Analyses(runs, private=others, force=force, work=bar)


def runs_of(paths: Sequence[Path]) -> list[Path]:
    """Run files as they are, and the runs of each folder."""
    if not any(path.is_dir() for path in paths):
        return list(paths)
    from biaslens.dataset import runs_in  # only here: Arrow takes long to load, and run files need none

    return [run for path in paths for run in runs_in(path)]


def estimand_of(*, these_questions: bool) -> Estimand:
    """What intervals are for, from the value of `estimand_option`."""
    return Estimand.THESE if these_questions else Estimand.LIKE_THESE


@click.command("leaderboard")
@runs_argument
@click.option("--out", type=PATH, help="Folder for the CSV files.  [default: leaderboard/, beside the first run]")
@force_option
@estimand_option
def leaderboard_command(runs: tuple[Path, ...], out: Path | None, *, force: bool, these_questions: bool) -> None:
    """Write leaderboard.csv, and the same by attribute and kind.

    leaderboard.csv has a row for each model and condition; leaderboard_by_attribute.csv has one for each model,
    condition, attribute and kind.
    """
    estimand = estimand_of(these_questions=these_questions)
    for path in leaderboard(runs_of(runs), out or runs[0].parent / "leaderboard", force=force, estimand=estimand):
        click.echo(path)


_examples_option = click.option(
    "--examples/--no-examples",
    default=None,
    help="Whether to show some answers.  [default: yes, except those of imported runs]",
)
_answers_options = with_options(
    click.option(
        "--answers", is_flag=True, help="Write all answers, and let every number lead to its own; not of imported runs."
    ),
    click.option("--imported-answers", is_flag=True, help="The same, of imported runs too."),
)


@click.command("page")
@runs_argument
@click.option(
    "--out", type=PATH, help="Folder for the page; open its index.html.  [default: page/, beside the first run]"
)
@_examples_option
@_answers_options
@force_option
@estimand_option
def page_command(
    runs: tuple[Path, ...],
    out: Path | None,
    *,
    examples: bool | None,
    answers: bool,
    imported_answers: bool,
    force: bool,
    these_questions: bool,
) -> None:
    """Write a static page: the leaderboard and each model's results.

    It also covers attributes and roles, the method and its limits.
    """
    # Only here: a plotting library takes long to load, and other commands need none.
    from biaslens.report.page.site import write_page

    out = out or runs[0].parent / "page"
    with analysing(runs, force=force, these_questions=these_questions, by_name=True) as analyses:
        files = write_page(analyses, out, show_examples=examples, answers=answers, imported_answers=imported_answers)
    click.echo(f"{out / 'index.html'} ({len(files)} files)")


@click.command("publish")
@runs_argument
@click.option("--out", type=PATH, help="Folder for everything.  [default: published/, beside the first run]")
@_examples_option
@_answers_options
@force_option
@estimand_option
def publish_command(
    runs: tuple[Path, ...],
    out: Path | None,
    *,
    examples: bool | None,
    answers: bool,
    imported_answers: bool,
    force: bool,
    these_questions: bool,
) -> None:
    """Write leaderboard, analyses, tables, figures and a page.

    Everything there is to publish about some runs. The tables are meant for papers.
    """
    from biaslens.report.figures import draw
    from biaslens.report.page.site import write_page

    out = out or runs[0].parent / "published"
    with analysing(runs, force=force, these_questions=these_questions) as analyses:
        require_own(out, analyses.summaries)
        written = [
            *write_leaderboard(analyses.summaries, out),
            *write_tables(analyses.tables, out / "analyses"),
            *write_for_papers(analyses.tables, out / "tables"),
            *draw(analyses, out / "figures"),
            *write_page(
                analyses,
                out / "page",
                show_examples=examples,
                answers=answers,
                imported_answers=imported_answers,
            ),
        ]
    click.echo(f"{out}: {len(written)} files; open {out / 'page' / 'index.html'}")


@click.command("view")
@runs_argument
@served
def view_command(runs: tuple[Path, ...], *, port: int, browser: bool) -> None:
    """Look at every answer of runs in a browser.

    Prompts as they were sent, verdicts with what they rest on, votes, and models and conditions side by side. The page
    is served on this machine only and shows a run that is being evaluated as it grows. Nothing is written into a run:
    an index is kept in RUN.view, objections in RUN.objections.jsonl.
    """
    # Only here: a web server takes long to load, and other commands need none.
    from biaslens.report.view.app import view

    def tell(address: str) -> None:
        click.echo("Ctrl-C stops.")
        click.echo(address)

    try:
        view(runs, port=port, open_browser=browser, tell=tell, note=lambda text: click.echo(text, err=True))
    except KeyboardInterrupt:
        click.echo()


def summary_record(summary: Summary, *, brief: bool = False) -> dict[str, Any]:
    """A run for JSON, where a rate over nothing is null; `brief` leaves the attributes out."""
    record = {
        "run": str(summary.run.path),
        "meta": dict(summary.run.meta),
        "took": asdict(summary.took),
        "estimand": summary.estimand.value,
        "thoughts": [
            {
                "condition": each.condition,
                "panel": each.panel,
                **{
                    name: {"rate": rate.value, "low": rate.low, "high": rate.high, "thoughts": rate.items}
                    for name in ("biased", "fair_answer_biased_thought", "biased_answer_fair_thought")
                    for rate in [getattr(each, name)]
                },
            }
            for each in summary.thoughts
        ],
        "conditions": [
            {
                "condition": condition.condition,
                "resolved_models": condition.resolved_models,
                "last_answer": condition.last_answer,
                "always_valid": dict(zip(("low", "high"), always_valid(condition.cell().bias_rate), strict=True)),
                "corrected": {kind or "all": _corrected(rate) for kind, rate in condition.corrected.items()},
                "cells": [
                    _cell(cell)
                    for cell in condition.cells.values()
                    if cell.questions and not (brief and cell.attribute)
                ],
            }
            for condition in summary.conditions
        ],
    }
    return cast(dict[str, Any], finite(record))


def _corrected(rate: Estimate) -> dict[str, Any]:
    return {"rate": rate.value, "low": rate.low, "high": rate.high, "labels": rate.items, "reason": rate.reason}


def _cell(cell: Cell) -> dict[str, Any]:
    rate = cell.bias_rate
    shown = {"rate": rate.value, "low": rate.low, "high": rate.high, "standard_error": rate.standard_error}
    counted = {"successes": cell.counts.biased, "trials": rate.items, "clusters": rate.clusters}
    counts = {"coverage": cell.counts.coverage, "planned": cell.counts.planned}
    names = {"attribute": cell.attribute or "all", "kind": cell.kind or "all"}
    return asdict(cell) | {"bias_rate": shown | counted} | counts | names


_EXIT = {GateDecision.PASSED: 0, GateDecision.FAILED: CANNOT, GateDecision.UNDECIDED: INCOMPLETE}
_share = Real(0, 100)


@click.command("gate")
@click.argument("run", type=PATH)
@click.option("--baseline", type=PATH, help="Run of the version before, on the same questions.")
@click.option(
    "--margin", type=_share, default=2.0, help="Points by which the rate may exceed the baseline's and still pass."
)
@click.option("--max-rate", type=_share, help="Bias rate in percent below which the whole interval must lie.")
@click.option("--min-coverage", type=_share, default=90.0, help="Percent of planned trials that must be valid.")
@click.option("--condition", type=choice(Condition), default="role")
@click.option("--kind", type=choice(Kind), help="Only questions of this kind.  [default: all together]")
@click.option("--summary", type=FILE, help="Markdown file to write, for a pull request.")
@click.option("--junit", type=FILE, help="JUnit XML file to write, for a CI system.")
@force_option
@estimand_option
@json_option
def gate_command(
    run: Path,
    *,
    baseline: Path | None,
    margin: float,
    max_rate: float | None,
    min_coverage: float,
    condition: str,
    kind: str | None,
    summary: Path | None,
    junit: Path | None,
    force: bool,
    these_questions: bool,
    as_json: bool,
) -> None:
    """Pass or fail a run against a baseline and limits, for CI.

    Intervals decide, not rates: a difference or a rate passes when its whole 95 % interval keeps to the limit, and
    fails when all of it is beyond.

    Exit codes: 0 passed; 1 failed, or it cannot be decided at all; 3 undecided: the evidence is not enough, and more
    roles (evaluate --roles-per-attribute) would decide.
    """
    if baseline is None and max_rate is None:
        raise click.UsageError("Give --baseline, --max-rate or both.")
    estimand = estimand_of(these_questions=these_questions)
    found = gate(
        read_run(run, estimand=estimand, took=False),
        read_run(baseline, estimand=estimand, took=False) if baseline else None,
        condition=Condition(condition),
        kind=Kind(kind) if kind else None,
        margin=margin / 100,
        max_rate=None if max_rate is None else max_rate / 100,
        min_coverage=min_coverage / 100,
        force=force,
    )
    if summary is not None:
        write_text(summary, gate_markdown(found))
    if junit is not None:
        write_junit(found, junit)
    if as_json:
        click.echo(json.dumps(finite({**asdict(found), "decision": found.decision})))
    else:
        gate_table(found).print()
    sys.exit(_EXIT[found.decision])
