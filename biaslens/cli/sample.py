"""The command that draws answers for people to label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from biaslens.annotation.draw import draw
from biaslens.annotation.folder import INFO, read_info, write_folder
from biaslens.cli.options import PATH, json_option
from biaslens.errors import InputError
from biaslens.schema import Condition, Kind


@click.command("sample")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder for the sample; annotators work in it.")
@click.option("--margin", type=float, default=0.05, show_default=True, help="Of a share, for each kind of question.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="That the share is within the margin.")
@click.option("--size", type=click.IntRange(1), help="Answers of each kind, instead of what the margin asks for.")
@click.option("--kind", "kinds", type=click.Choice([str(kind) for kind in Kind]), multiple=True, help="Only this kind.")
@click.option(
    "--condition", "conditions", type=click.Choice([str(name) for name in Condition]), multiple=True, help="Only this."
)
@click.option("--panel", help="Whose verdicts on why answers make the strata.  [default: the panel in force]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@json_option
def sample_command(run: Path, *, out: Path, kinds: tuple[str, ...], conditions: tuple[str, ...], **values: Any) -> None:  # noqa: ANN401 - click's values
    """Draw a stratified sample of a run's answers for people to label, large enough for a margin."""
    as_json = values.pop("as_json")
    drawn = draw(
        run,
        kinds=tuple(map(Kind, kinds)) or tuple(Kind),
        conditions=tuple(map(Condition, conditions)) or tuple(Condition),
        **values,
    )
    if _is_there(out, str(drawn.sample.info["sample"])):
        click.echo(f"{out}: holds this sample already; nothing was changed", err=True)
    else:
        write_folder(out, drawn.sample)
    if as_json:
        sizes = [
            {"kind": kind, "population": held, "size": size, "margin": margin}
            for kind, (held, size, margin) in drawn.sizes.items()
        ]
        click.echo(json.dumps({"folder": str(out), "sample": drawn.sample.info["sample"], "sizes": sizes}, indent=2))
        return
    click.echo(f"{'kind':<8} {'answers':>9} {'to label':>9} {'margin':>8}")
    for kind, (held, size, margin) in drawn.sizes.items():
        click.echo(f"{kind:<8} {held:>9,} {size:>9,} {margin:>8.3f}")
    if drawn.left_out:
        click.echo(f"{drawn.left_out:,} planned answers are not asked, empty, or have no verdict: left out", err=True)
    click.echo(f"label them with: biaslens annotate {out} --as NAME", err=True)


def _is_there(out: Path, sample: str) -> bool:
    if not (out / INFO).exists():
        return False
    if read_info(out)["sample"] != sample:
        raise InputError(f"{out}: holds another sample; nothing was changed. Name another folder with --out")
    return True
