"""The command that draws answers for people to label."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isnan
from pathlib import Path
from typing import Any

import click

from biaslens.annotation.draw import Drawn, draw
from biaslens.annotation.folder import write_folder
from biaslens.cli.options import json_option
from biaslens.cli.types import PATH, SEED, Real, count
from biaslens.schema import Condition, Kind


@click.command("sample")
@click.argument("run", type=PATH)
@click.option("--out", type=PATH, help="Folder for the sample; annotators work in it.  [default: RUN.labels]")
@click.option("--margin", type=Real(), default=0.05, show_default=True, help="Of a share, for each kind of question.")
@click.option("--confidence", type=Real(), default=0.95, show_default=True, help="That the share is within the margin.")
@click.option("--size", type=count(), help="Answers of each kind, instead of what the margin asks for.")
@click.option(
    "--kind", "kinds", type=click.Choice([str(kind) for kind in Kind]), multiple=True, help="Only this; repeatable."
)
@click.option(
    "--condition",
    "conditions",
    type=click.Choice([str(condition) for condition in Condition]),
    multiple=True,
    help="Only this; repeatable.",
)
@click.option("--panel", help="Whose verdicts on why answers make the strata.  [default: the panel in force]")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the draw.")
@json_option
def sample_command(
    run: Path,
    *,
    out: Path | None,
    kinds: tuple[str, ...],
    conditions: tuple[str, ...],
    as_json: bool,
    **values: Any,  # noqa: ANN401 - click's values
) -> None:
    """Draw a stratified sample of a run's answers to label.

    It is large enough for a margin of error that you choose.

    The same command draws the same sample; a larger --size adds to it. Labels are never overwritten: a folder that
    holds another sample is refused.

    The margin printed is the worst case, a share of one half in every stratum. It is a little above the one asked for,
    because what is rare is drawn more often; shares that the strata tell apart are known better.
    """
    drawn = draw(
        run,
        kinds=tuple(map(Kind, kinds)) or tuple(Kind),
        conditions=tuple(map(Condition, conditions)) or tuple(Condition),
        **values,
    )
    out = out or run.with_suffix(".labels")
    written = write_folder(out, drawn.sample)
    if as_json:
        click.echo(json.dumps(_record(out, drawn, written=written), indent=2))
    else:
        _print(drawn, confidence=values["confidence"])
    for kind, counts in drawn.left_out.items():
        faults = ", ".join(f"{count:,} {fault}" for fault, count in counts.items())
        click.echo(f"{kind}: left out, because nobody can label them: {faults}", err=True)
    if not written:
        click.echo(f"{out}: holds this sample already; nothing was changed", err=True)
    click.echo(f"label them: biaslens annotate {out} --as NAME", err=True)


def _record(out: Path, drawn: Drawn, *, written: bool) -> Mapping[str, Any]:
    return {
        "folder": str(out),
        "sample": drawn.sample.info["sample"],
        "written": written,
        "sizes": [
            {"kind": kind, **size._asdict(), "margin": None if isnan(size.margin) else size.margin}
            for kind, size in drawn.sizes.items()
        ],
        "left_out": drawn.left_out,
    }


def _print(drawn: Drawn, *, confidence: float) -> None:
    click.echo(f"{'kind':<8} {'answers':>9} {'to label':>9} {f'margin at {confidence:.4g}':>15}")
    for kind, size in drawn.sizes.items():
        # Without a margin: some stratum has no answer in so small a sample.
        margin = "–" if isnan(size.margin) else f"{size.margin:.4f}"
        click.echo(f"{kind:<8} {size.population:>9,} {size.size:>9,} {margin:>15}")
    if any(isnan(size.margin) for size in drawn.sizes.values()):
        click.echo("–: too few to draw from every stratum, so they do not stand for all answers", err=True)
