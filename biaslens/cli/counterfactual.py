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
@click.option("--attribute", required=True, help="Attribute to vary: gender, race, religion, age, ...")
@click.option("--groups", help="Groups to compare, separated by commas.  [default: those in the word list]")
@click.option("--words", type=PATH, multiple=True, help="File with words of your own; repeatable.")
@click.option("--names", is_flag=True, help="Treat given names as words for gender and race.")
@click.option("--out", type=FILE, help="CSV file for the pairs.  [default: standard output]")
def counterfactual_command(
    source: Path, attribute: str, groups: str | None, words: Sequence[Path], *, names: bool, out: Path | None
) -> None:
    """Make counterfactual prompts by swapping the words for groups.

    Each prompt of SOURCE is rewritten with the words for another group, and the swaps are listed. Each pair is
    accompanied by one with no effect, the same prompt twice: the baseline of every comparison.
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
        said.append(f"{pairs.without:,} prompts contain no word for {name}")
    if pairs.same:
        said.append(f"{pairs.same:,} pairs came out identical and are left out")
    if noted:
        said.append(f"check the {noted:,} that carry a note")
    click.echo("; ".join(said), err=True)


def _write(rows: Iterable[Mapping[str, object]], file: TextIO) -> None:
    writer = csv.writer(file)
    writer.writerow(PAIR_COLUMNS)
    writer.writerows(cells([row[name] for name in PAIR_COLUMNS]) for row in rows)
