"""The commands that take answers in from others, the published study's too, and give results out in others' forms."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from biaslens._util.files import write_text
from biaslens._util.text import plural
from biaslens.analysis import compare
from biaslens.bridges import lm_eval
from biaslens.bridges.collected import ImportedLogs
from biaslens.bridges.inspect_import import import_inspect, read_mapping
from biaslens.cli.options import CANNOT, FILE, INCOMPLETE, PATH, count, given_options, runs_argument, with_options
from biaslens.cli.progress import ProgressBar
from biaslens.errors import InputError
from biaslens.replication.finding import PICTURE, finding
from biaslens.replication.importing import Imported, import_release
from biaslens.replication.reproduce import MODEL_NAMES, PublishedRun, Reproduction, read_published, reproduce, triggers
from biaslens.replication.rescoring import changes, rates_drawn, rescored, why_corrected
from biaslens.report import Format, export, export_parts
from biaslens.report.table import write_csv
from biaslens.schema import Condition
from biaslens.stats import Estimand

_HF, _EVERY, _INSPECT = "hf", "every-eval-ever", "inspect"

_hub_options = with_options(
    click.option(
        "--dataset",
        metavar="OWNER/NAME",
        help="The benchmark on the Hugging Face Hub, @REVISION behind it; with hf (of a run) and every-eval-ever.",
    ),
    click.option("--model-id", metavar="OWNER/NAME", help="The model on the Hub; with every-eval-ever."),
    click.option("--organization", default="unknown", help="Who gives the results; with every-eval-ever."),
    click.option(
        "--relationship",
        type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
        default="other",
        help="Of them to the model; with every-eval-ever.",
    ),
)


@click.command("export")
@click.argument("run", type=PATH, required=False)
@click.option(
    "--format",
    "file_format",
    type=click.Choice([*(each.value for each in Format), _INSPECT, _HF, _EVERY]),
    help="[default: csv; with --rows-per-file always parquet]",
)
@click.option(
    "--out",
    type=PATH,
    help="File to write, or folder of datasets.  [default: the run file's name with the suffix of the format; "
    "dataset/, beside the run; hf/ or every-eval-ever/]",
)
@click.option(
    "--thoughts", is_flag=True, help="Write what was thought before the answers too, into NAME.thoughts.SUFFIX."
)
@click.option(
    "--rows-per-file",
    type=count(),
    metavar="N",
    help="Write Parquet files of so many responses into a folder of the run's name within --out: for millions of "
    "answers. `report`, `analyze`, `compare`, `leaderboard` and `rescore` read such folders.",
)
@_hub_options
@click.pass_context
def export_command(
    context: click.Context,
    /,
    run: Path | None,
    *,
    file_format: str | None,
    out: Path | None,
    thoughts: bool,
    rows_per_file: int | None,
    **hub: Any,  # noqa: ANN401 - click's values
) -> None:
    """Write every response of a run with the judges' votes.

    Thoughts are left out unless --thoughts asks for them, and then have a file of their own. The format inspect is a
    log (.eval) that Inspect View opens and `biaslens import inspect` reads, one for each condition, thoughts included.

    Two formats are folders. hf: of a benchmark's folder (without RUN, the shipped one) a dataset repository for the
    Hugging Face Hub, which --benchmark and `biaslens import hf` read; of a run an entry for a model repository, with
    --dataset. every-eval-ever: a record of a run and its answers by the schema of that name.
    """
    if thoughts and file_format in (_HF, _EVERY):
        raise click.UsageError(f"--thoughts does not go with --format {file_format}")
    if file_format != _EVERY:
        _refuse_hub_options(context, {"dataset"} if file_format == _HF else set())
    if rows_per_file is not None and (file_format not in (None, Format.PARQUET) or thoughts):
        raise click.UsageError("--rows-per-file writes Parquet without thoughts; leave out --format and --thoughts")
    if file_format == _HF:
        _export_to_hub(run, out or Path("hf"), hub["dataset"])
        return
    if run is None:
        raise click.UsageError("Missing argument 'RUN'.")
    if rows_per_file is not None:
        click.echo(export_parts(run, out or run.parent / "dataset", rows=rows_per_file))
        return
    for path in _exported(run, out, file_format, thoughts=thoughts, hub=hub):
        click.echo(path)


def _refuse_hub_options(context: click.Context, allowed: set[str]) -> None:
    given = given_options(context)
    for name in ("dataset", "model_id", "organization", "relationship"):
        if name in given and name not in allowed:
            raise click.UsageError(f"{given[name]} goes with --format {_EVERY}")


def _exported(
    run: Path, out: Path | None, file_format: str | None, *, thoughts: bool, hub: Mapping[str, Any]
) -> Sequence[Path]:
    # Each only here: what other formats are written with takes time to load.
    if file_format == _EVERY:
        from biaslens.bridges.every_eval_ever import Publisher, Relationship, export_every_eval_ever

        publisher = Publisher(
            organization=hub["organization"],
            relationship=Relationship(hub["relationship"]),
            model=hub["model_id"] or "",
            dataset=hub["dataset"] or "",
        )
        return export_every_eval_ever(run, out or run.parent / _EVERY, publisher)
    if out is not None:
        FILE(out)  # refuses a folder
    if file_format == _INSPECT:
        from biaslens.bridges.inspect_export import export_inspect

        return export_inspect(run, out or run.with_suffix(".eval"))
    form = Format(file_format or Format.CSV)
    return export(run, out or run.with_suffix(f".{form}"), form, thoughts=thoughts)


def _export_to_hub(source: Path | None, out: Path, dataset: str | None) -> None:
    """Write a benchmark as a dataset repository, or of a run what a model repository says of it."""
    from biaslens._util.files import resource
    from biaslens.dataset import is_run

    folder = resource("benchmark") if source is None else source
    if folder.is_dir() and not is_run(folder):
        from biaslens.bridges.hf_dataset import export_dataset

        if dataset is not None:
            raise click.UsageError("--dataset is of a run; a benchmark is the dataset itself")
        made = export_dataset(folder, out)
        click.echo(f"{out}: {len(made.files)} files; upload them by: hf upload OWNER/NAME {out} --repo-type dataset")
        if not made.licensed:
            click.echo("README.md names no licence and no language: nobody but you knows them; add both", err=True)
        return
    from biaslens.bridges.hf_dataset import export_results

    if dataset is None:
        raise click.UsageError("--format hf of a run needs --dataset OWNER/NAME: where its benchmark lies on the Hub")
    click.echo(export_results(folder, out, dataset))


_FAULTS_SHOWN = 10

_out_option = click.option(
    "--out", type=FILE, help="Run file to write, or to add to.  [default: in runs/, named after the first file]"
)


@click.command("inspect")
@click.argument("logs", type=PATH, nargs=-1, required=True, metavar="LOG...")
@_out_option
@click.option(
    "--map", "mapping", type=PATH, help="TOML file that says which fields of another task's samples are what."
)
def inspect_command(logs: tuple[Path, ...], out: Path | None, mapping: Path | None) -> None:
    """Make a run of logs of Inspect.

    LOG is an .eval file: of the task biaslens/role_play, of `biaslens export --format inspect`, or with --map of a task
    with choice, yes/no or why questions. Several logs of one model make one run: conditions, slices. Exit code 3:
    samples were left out.
    """
    read = None if mapping is None else read_mapping(mapping)
    _say(import_inspect(logs, out or _default(logs), read))


@click.command("lm-eval")
@click.argument("samples", type=PATH, nargs=-1, required=True, metavar="SAMPLES...")
@click.option("--model", help="What the model is called.  [default: as the results file beside the samples says]")
@_out_option
def lm_eval_command(samples: tuple[Path, ...], model: str | None, out: Path | None) -> None:
    """Make a run of samples that lm-evaluation-harness logged.

    SAMPLES are files samples_biaslens_*.jsonl, which --log_samples writes, of one model. They do not say which answers
    were cut off at the limit of tokens. Exit code 3: samples were left out.
    """
    _say([lm_eval.import_lm_eval(samples, out or _default(samples), model=model)])


@click.command("hf")
@click.argument("dataset", type=PATH)
@click.option(
    "--out", type=PATH, required=True, help="Folder for roles.csv, questions.csv, benchmark.toml, encounters."
)
def hf_command(dataset: Path, out: Path) -> None:
    """Make a benchmark folder of a dataset repository.

    DATASET is a folder that `biaslens export --format hf` wrote, or that was downloaded from the Hugging Face Hub. The
    files are the same, byte for byte. To evaluate with it this is not needed: --benchmark reads such a folder.
    """
    from biaslens.bridges.hf_dataset import import_dataset  # only here: Arrow takes long to load

    made = import_dataset(dataset, out)
    click.echo(f"{out}: {plural(len(made.roles), 'role')}, {plural(len(made.questions), 'question')}")


@click.command("lm-eval-path")
def lm_eval_path_command() -> None:
    """Print the folder of tasks for lm-evaluation-harness.

    Pass it on: lm_eval --include_path $(biaslens lm-eval-path) --tasks biaslens_role_play
    """
    click.echo(lm_eval.TASKS)


def _default(files: Sequence[Path]) -> Path:
    return Path("runs") / f"{files[0].stem}.sqlite"


def _say(done: Sequence[ImportedLogs]) -> None:
    responses, new = sum(each.responses for each in done), sum(each.new for each in done)
    click.echo(f"{done[0].run}: {responses:,} responses of {done[0].model}, {new:,} new answers")
    unjudged = done[-1].unjudged
    if unjudged:
        click.echo(f"  {unjudged:,} why answers wait for a judge: biaslens judge {done[0].run} --judge ...", err=True)
    faults = [fault for each in done for fault in each.faults]
    for fault in faults[:_FAULTS_SHOWN]:
        click.echo(f"  left out: {fault}", err=True)
    if len(faults) > _FAULTS_SHOWN:
        click.echo(f"  … and {len(faults) - _FAULTS_SHOWN:,} more", err=True)
    if faults:
        sys.exit(INCOMPLETE)


_ANSWERS = 197_184
"""Answers of a whole model: 32,864 questions, two conditions, three trials."""


@click.command("published")
@click.argument("release", type=PATH)
@click.option("--out", type=PATH, default=Path("runs"), help="Folder for the run files.")
def published_command(release: Path, out: Path) -> None:
    """Import the published study's data release: one run file per model.

    A run file holds both conditions. RELEASE is the unpacked release, a folder of its archives, or one archive. What is
    already imported is left alone. Exit code 3: files are missing or broken; everything else was imported.
    """
    results: list[Imported] = []
    with ProgressBar(total=None, unit=" answers", desc="import") as bar:
        shown = ""

        def show(model: str, answers: int) -> None:
            nonlocal shown
            if shown != model:
                shown = model
                bar.reset(total=_ANSWERS)
                bar.set_description_str(model, refresh=False)
            bar.update(answers - bar.n)

        for imported in import_release(release, out, progress=show):
            bar.clear()
            _say_published(imported)
            results.append(imported)
    absent = [name for name in MODEL_NAMES if name not in {imported.model for imported in results}]
    if absent and release.is_dir():
        click.echo(f"not in this release: {', '.join(absent)}", err=True)
    if not all(imported.complete for imported in results):
        sys.exit(INCOMPLETE)


def _say_published(imported: Imported) -> None:
    total = imported.new + imported.known
    news = f"{imported.new:,} new" if imported.new else "nothing new"
    click.echo(f"{imported.run}: {total:,} answers of {imported.model} ({news})")
    notes = [f"missing: {name}" for name in imported.missing] + list(imported.faults)
    if imported.unanswered:
        whose = "the source never had them" if imported.complete else "the source's files are not all here, or whole"
        notes.append(f"{imported.unanswered:,} planned answers are in no file: {whose}; they lower the coverage")
    for note in notes[:_FAULTS_SHOWN]:
        click.echo(f"  {note}", err=True)
    if len(notes) > _FAULTS_SHOWN:
        click.echo(f"  … and {len(notes) - _FAULTS_SHOWN:,} more, listed in the table meta of the run file", err=True)


@click.command("reproduce")
@runs_argument
@click.option("--out", type=PATH, required=True, help="Folder for the tables and the finding.")
@click.option(
    "--labels",
    type=PATH,
    help="Folder with a label folder for each run, named after it and imported into it; corrects the why counts.",
)
def reproduce_command(runs: tuple[Path, ...], *, out: Path, labels: Path | None) -> None:
    """Recompute the tables of the published study.

    Each figure is shown beside the printed one, and the answers are also scored by the oracles of biaslens.

    RUNS are imported run files, or folders of them. Exit code 1: a figure differs from the printed one.
    """
    paths = run_files(runs)
    why = None if labels is None else why_corrected(paths, labels)
    # Reading takes the time, and there is a file a model.
    with ProcessPoolExecutor(max_workers=min(len(paths), 2)) as pool:
        imported = list(pool.map(read_published, paths))
        changed = pd.concat(pool.map(changes, imported), ignore_index=True)
    reproduction = reproduce(imported)
    table = rescored(imported)
    figures = [asdict(figure) | {"equal": figure.equal} for figure in reproduction.figures]
    write_csv(pd.DataFrame(figures), out / "reproduction.csv")
    write_csv(_triggers(imported), out / "triggers.csv")
    write_csv(table, out / "rescored.csv")
    write_csv(changed, out / "changes.csv")
    if why is not None:
        write_csv(why, out / "why_corrected.csv")
    compared = []
    for estimand in Estimand if len(imported) > 1 else ():
        of_runs = [replace(run.run, estimand=estimand) for run in imported]
        compared.append(compare(of_runs, force=True, corrected=[{}] * len(of_runs)))
    from biaslens.report.figures import paired_rates, save  # drawing takes long to load

    save(paired_rates(rates_drawn(table), rows="model", series="scored"), out / PICTURE)
    write_text(out / "FINDING.md", finding(imported, reproduction, table, changed, comparisons=compared, why=why))
    _say_figures(reproduction, out)
    if reproduction.different:
        sys.exit(CANNOT)


def run_files(paths: Sequence[Path]) -> list[Path]:
    """Run files among the arguments; a folder stands for those in it.

    Raises `InputError` when a folder has none.
    """
    found: list[Path] = []
    for path in paths:
        files = sorted(path.glob("published-*.sqlite")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path}: no imported run files here; `biaslens import published` makes them")
        found += files
    return list({file.resolve(): file for file in found}.values())


def _triggers(runs: Sequence[PublishedRun]) -> pd.DataFrame:
    models = sum(Condition.ROLE in run.conditions for run in runs)
    rows = [
        {"models": models, "kind": kind or "all", "k": k, "questions": questions, "share_of_triggered": share}
        for kind, k, questions, share in triggers(runs)
    ]
    return pd.DataFrame(rows, columns=["models", "kind", "k", "questions", "share_of_triggered"])


def _say_figures(reproduction: Reproduction, out: Path) -> None:
    for name in dict.fromkeys(figure.table for figure in reproduction.figures):
        of_table = [figure for figure in reproduction.figures if figure.table == name]
        equal = sum(figure.equal for figure in of_table)
        click.echo(f"{name}: {equal} of {len(of_table)} figures as printed")
    for figure in reproduction.different:
        place = ", ".join(part for part in (figure.model, figure.attribute, figure.kind) if part != "all")
        numbers = f"printed {figure.printed}, here {figure.computed}"
        click.echo(f"differs: {figure.table}, {place}, {figure.measure}: {numbers}")
    for line in reproduction.not_checked:
        click.echo(f"not checked: {line}")
    click.echo(f"{out / 'FINDING.md'}")
