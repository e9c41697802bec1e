"""The command that writes what a run, or a benchmark, holds in the forms of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from biaslens.cli.options import FILE, PATH, count, given_options, with_options
from biaslens.report import Format, export, export_parts

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
    from biaslens.bridges.hf_results import export_results

    if dataset is None:
        raise click.UsageError("--format hf of a run needs --dataset OWNER/NAME: where its benchmark lies on the Hub")
    click.echo(export_results(folder, out, dataset))
