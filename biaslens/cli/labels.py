"""The commands around people's labels: sample, annotate, labels, agreement."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from biaslens.analysis import corrected_rates, oracle_agreement, people_agreement, read_labels
from biaslens.analysis.labels import labels_in
from biaslens.annotation.annotators import known_keys, new_labels, read_all, take_labels, write_sheet
from biaslens.annotation.folder import write_folder
from biaslens.annotation.journal import Assignment, Journal, open_task
from biaslens.annotation.sampling import Drawn, draw
from biaslens.cli.options import PATH, SEED, Real, count, json_option, served, several
from biaslens.report.sections import print_agreement
from biaslens.report.table import Table, decimal, json_records, known, write_csv
from biaslens.schema import Condition, Kind


@click.command("sample")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="Folder for the sample; annotators work in it.  [default: RUN.labels]")
@click.option("--margin", type=Real(), default=0.05, help="Margin of error of a share, for each kind of question.")
@click.option("--confidence", type=Real(), default=0.95, help="Confidence level of the margin.")
@click.option("--size", type=count(), help="Number of answers of each kind, instead of what the margin requires.")
@several("--kind", Kind, "Only this; repeatable.")
@several("--condition", Condition, "Only this; repeatable.")
@click.option("--panel", help="Panel whose verdicts on why answers define the strata.  [default: the active panel]")
@click.option("--seed", type=SEED, default=0, help="Seed of the draw.")
@json_option
def sample_command(run: Path, *, out: Path | None, as_json: bool, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Draw a stratified sample of a run's answers to label.

    The sample is large enough for the margin of error that you choose.

    The same command draws the same sample; a larger --size adds to it. Labels are never overwritten: a folder that
    holds another sample is refused.

    The margin printed is that of the worst case, a share of one half in every stratum. It is a little wider than
    requested because rare answers are oversampled; shares that differ between strata are estimated more precisely.
    """
    kinds = tuple(map(Kind, values.pop("kinds"))) or tuple(Kind)
    conditions = tuple(map(Condition, values.pop("conditions"))) or tuple(Condition)
    drawn = draw(run, kinds=kinds, conditions=conditions, **values)
    out = out or run.with_suffix(".labels")
    written = write_folder(out, drawn.sample)
    if as_json:
        click.echo(json.dumps(_record(out, drawn, written=written), indent=2))
    else:
        _print(drawn, confidence=values["confidence"])
    for kind, counts in drawn.left_out.items():
        faults = ", ".join(f"{count:,} {fault}" for fault, count in counts.items())
        click.echo(f"{kind}: left out because they cannot be labelled: {faults}", err=True)
    if not written:
        click.echo(f"{out}: already holds this sample; nothing was changed", err=True)
    click.echo(f"label them: biaslens annotate {out} --as NAME", err=True)


def _record(out: Path, drawn: Drawn, *, written: bool) -> Mapping[str, Any]:
    return {
        "folder": str(out),
        "sample": drawn.sample.info["sample"],
        "written": written,
        "sizes": [{"kind": kind, **size._asdict(), "margin": known(size.margin)} for kind, size in drawn.sizes.items()],
        "left_out": drawn.left_out,
    }


def _print(drawn: Drawn, *, confidence: float) -> None:
    sizes = drawn.sizes.values()
    Table.of(
        {
            "kind": list(drawn.sizes),
            "answers": [f"{size.population:,}" for size in sizes],
            "to label": [f"{size.size:,}" for size in sizes],
            f"margin at {confidence:.4g}": [decimal(size.margin, 4) for size in sizes],
        }
    ).print()
    if any(math.isnan(size.margin) for size in sizes):
        click.echo("–: the sample is too small to cover every stratum, so it does not represent all answers", err=True)


@click.command("annotate")
@click.argument("folder", type=PATH)
@click.option("--as", "annotator", required=True, metavar="NAME", help="Name of the annotator, preferably a pseudonym.")
@click.option("--adjudicate", is_flag=True, help="Decide where the others differ; shows only those answers.")
@served
@click.option("--import", "import_from", type=PATH, metavar="FILE", help="Import labels from a .csv or .jsonl file.")
@click.option("--export", "export_to", type=PATH, metavar="FILE", help="Write a .csv or .jsonl sheet to fill in.")
def annotate_command(folder: Path, annotator: str, *, adjudicate: bool, **values: Any) -> None:  # noqa: ANN401 - click's values
    """Label the answers of a sample.

    FOLDER is what `biaslens sample` made. A page opens, served on this machine only. Every label is on disk before the
    next answer is shown, and the same command resumes. With --import or --export no page is opened.
    """
    import_from, export_to = values.pop("import_from"), values.pop("export_to")
    if import_from is not None and export_to is not None:
        raise click.UsageError("give either --import or --export")
    if import_from is not None:
        _import(folder, annotator, import_from, adjudicate=adjudicate)
        return
    task = open_task(folder, annotator, adjudicates=adjudicate)
    if export_to is not None:
        person = read_all(folder).get(annotator)
        labels = person.labels if person else {}
        write_sheet(export_to, task.items, labels, others=task.others)
        labelled = sum(item.key in labels for item in task.items)
        click.echo(f"{export_to}: {labelled:,} of {len(task.items):,} labelled")
        return
    with Journal(folder, annotator, adjudicates=adjudicate) as journal:
        _serve(task, journal, **values)


def _import(folder: Path, annotator: str, path: Path, *, adjudicate: bool) -> None:
    with Journal(folder, annotator, adjudicates=adjudicate) as journal:
        labels = new_labels(path, known_keys(folder), journal.labels)
        journal.extend(labels)
        click.echo(f"{journal.path}: {len(labels):,} labels imported, {len(journal.labels):,} in total")


def _serve(task: Assignment, journal: Journal, *, port: int, browser: bool) -> None:
    # Only here: a web server takes long to load, and other commands need none.
    from biaslens.annotation.web import Pages, Sitting, create_app
    from biaslens.report.page.server import serve

    pages = Pages(sitting := Sitting(task.items, journal, others=task.others))

    def tell(address: str) -> None:
        click.echo(f"{sitting.done:,} of {len(task.items):,} labelled. Ctrl-C stops; every label is saved at once.")
        click.echo(address)

    try:
        serve(create_app(pages), policy=pages.policy, port=port, open_browser=browser, tell=tell)
    except KeyboardInterrupt:
        click.echo(f"\n{journal.path}: {sitting.done:,} of {len(task.items):,} labelled")


@click.group("labels")
def labels_group() -> None:
    """Take people's labels into a run."""


@labels_group.command("import")
@click.argument("run", type=PATH)
@click.argument("folder", type=PATH)
def import_labels_command(run: Path, folder: Path) -> None:
    """Take the labels of a sample into the run that it was drawn from.

    FOLDER is what `biaslens sample` made. What the run held of this sample is replaced. From then on report, analyze
    and leaderboard show corrected rates beside the raw ones, and `biaslens agreement RUN` what each oracle misses.
    """
    taken = take_labels(run, folder)
    people = ", ".join(f"{name} {count:,}" for name, count in taken.annotators.items())
    click.echo(f"{run}: {taken.sampled:,} sampled answers; labels: {people}; {taken.final:,} with a final label")
    if taken.open:
        click.echo(f"{taken.open:,} answers are open: annotators differ and nobody has adjudicated")
    if taken.replaced:
        click.echo(f"replaced the labels of {len(taken.replaced)} other sample(s) that share answers with this one")


@click.command("agreement")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="Folder for the tables as CSV files.")
@json_option
def agreement_command(run: Path, *, out: Path | None, as_json: bool) -> None:
    """Compare annotators with each other and every oracle with them.

    The bias rates of the run are corrected by the labels that `biaslens labels import` has taken into it.
    """
    counts = labels_in(run)
    read = read_labels(run)
    tables = {
        "agreement_people": people_agreement(read),
        "agreement_oracles": oracle_agreement(read),
        "corrected": corrected_rates(run),
    }
    if out is not None:
        for name, frame in tables.items():
            click.echo(write_csv(frame, out / f"{name}.csv"), err=True)
    if as_json:
        click.echo(json.dumps({name: json_records(frame) for name, frame in tables.items()}))
        return
    print_agreement(counts, annotators=len(read.people.columns), **tables)
