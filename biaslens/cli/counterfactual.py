"""The command that makes counterfactual prompts."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import click

from biaslens._util.files import replacing
from biaslens._util.text import cells
from biaslens.cli.options import FILE, PATH
from biaslens.usecase import PAIR_COLUMNS, load_words, make_pairs, pair_rows, read_prompts


@click.command("counterfactual")
@click.argument("source", type=PATH)
@click.option("--attribute", required=True, help="What to vary: gender, race, religion, age, ...")
@click.option("--groups", help="Groups to compare, with commas.  [default: those of the word list]")
@click.option("--words", type=PATH, multiple=True, help="File of your own words; repeatable.")
@click.option("--names", is_flag=True, help="Given names count as words of gender and race.")
@click.option("--out", type=FILE, help="CSV file of the pairs.  [default: standard output]")
def counterfactual_command(
    source: Path, attribute: str, groups: str | None, words: Sequence[Path], *, names: bool, out: Path | None
) -> None:
    """Make counterfactual prompts by swapping group words.

    Each prompt of SOURCE is written with the words of another group, with what was swapped. Beside each pair stands
    one without an effect: the same prompt twice, the baseline of every comparison.
    """
    lexicon = load_words([attribute], own=words, names=names)
    prompts = list(read_prompts(source).values())
    pairs = make_pairs(
        prompts,
        lexicon.attributes[attribute],
        [part.strip() for part in groups.split(",")] if groups else None,
        lexicon,
    )
    rows = pair_rows(pairs)
    if out is None:
        _write(rows, sys.stdout)
    else:
        with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            _write(rows, file)
    noted = sum(bool(pair.notes) for pair in pairs.counterfactual)
    name = attribute.replace("_", " ")
    said = [f"{len(pairs.counterfactual):,} pairs of {len(prompts):,} prompts"]
    if pairs.without:
        said.append(f"{pairs.without:,} prompts have no word of {name}")
    if pairs.same:
        said.append(f"{pairs.same:,} pairs came out alike and are left out")
    if noted:
        said.append(f"read the {noted:,} with a note")
    click.echo("; ".join(said), err=True)


def _write(rows: Iterable[Mapping[str, object]], file: TextIO) -> None:
    writer = csv.writer(file)
    writer.writerow(PAIR_COLUMNS)
    writer.writerows(cells([row[name] for name in PAIR_COLUMNS]) for row in rows)
