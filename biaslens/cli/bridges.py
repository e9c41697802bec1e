"""The commands around other people's harnesses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from biaslens._util.text import plural
from biaslens.bridges import lm_eval
from biaslens.bridges.collected import ImportedLogs
from biaslens.bridges.inspect_import import import_inspect
from biaslens.bridges.mapping import read_mapping
from biaslens.cli.options import FILE, INCOMPLETE, PATH

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
    """Print the folder of the tasks for lm-evaluation-harness.

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
