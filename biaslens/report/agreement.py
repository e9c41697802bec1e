"""Agreement of annotators and oracles, and the rates that labels correct, in a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click
import numpy as np
import pandas as pd

from biaslens.analysis.rates import ALL
from biaslens.report.sections import intervals_for
from biaslens.report.table import Table, between, decimal, percent, shown
from biaslens.runfile import LabelCounts

_EXTREME = 0.2
"""Prevalence below which, or above 1 less which, AC1 stands beside kappa."""

_PEOPLE = {
    "annotators": "annotators", "items": "items", "biased": "prevalence", "agree": "agreement", "kappa": "kappa",
    "95 %": "interval", "AC1": "ac1",
}  # fmt: skip
_ORACLES = {
    "oracle": "label", "items": "items", "agree": "agreement", "kappa": "kappa", "95 %": "interval",
    "missed": "missed_bias", "false": "false_alarms", "right": "precision",
}  # fmt: skip
_CORRECTED = {
    "condition": "condition", "kind": "kind", "labels": "labels", "raw rate": "bias_rate",
    "corrected": "corrected_rate", "R-G": "rogan_gladen",
}  # fmt: skip
"""Columns of the tables by heading."""


def print_agreement(
    counts: LabelCounts,
    *,
    annotators: int,
    agreement_people: pd.DataFrame,
    agreement_oracles: pd.DataFrame,
    corrected: pd.DataFrame,
) -> None:
    """Print what a run's labels say: tables of `people_agreement`, `oracle_agreement` and `corrected_rates`."""
    _print_counts(counts)
    _print_people(agreement_people, annotators=annotators)
    _print_oracles(agreement_oracles)
    _print_corrected(corrected)


def _print_counts(counts: LabelCounts) -> None:
    people = ", ".join(f"{name} {count:,}" for name, count in counts.annotators.items())
    click.echo(f"{counts.sampled:,} sampled answers; labels: {people}; {counts.final:,} answers have a final label")
    if counts.open:
        click.echo(
            f"{counts.open:,} answers are open: annotators differ and nobody has adjudicated (annotate --adjudicate); "
            "below they count as not labelled"
        )
    click.echo()


def _print_people(frame: pd.DataFrame, *, annotators: int) -> None:
    if frame.empty:
        why = "no answer was labelled by two of them" if annotators > 1 else "there are fewer than two"
        click.echo(f"Annotators with each other: {why}, so their agreement is unknown.\n")
        return
    kinds = [kind for kind in frame["kind"].unique() if kind != ALL]
    everybody, whole = frame["annotator_a"] == ALL, frame["subset"] == "all"
    coarse = frame["measure"] == "biased"
    together = np.select([~coarse, whole], ["all, five outcomes", "all"], "all, confident labels")
    pairs = frame["annotator_a"] + ", " + frame["annotator_b"]
    listed = _plain(
        frame.assign(annotators=pairs.where(~everybody, together), kappa=frame["kappa"].fillna(frame["alpha"]))
    )
    listed = listed[(whole & coarse) | (everybody & (whole | coarse))]
    for kind in [ALL, *kinds] if len(kinds) > 1 else [ALL]:
        title = f"Annotators with each other, {kinds[0] if len(kinds) == 1 else kind}"
        Table.of(shown(listed[listed["kind"] == kind], _PEOPLE), title=title, words=("annotators",)).print()
    click.echo(
        "Biased against everything else, except in the row of five outcomes. Kappa: Cohen's for two, Krippendorff's "
        "alpha for all. AC1 is given where nearly all labels are of one class.\n"
    )


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with kappa's interval beside it, no other intervals, and AC1 only where it says more than kappa."""
    ends = zip(frame["kappa_low"], frame["kappa_high"], strict=True)
    frame = frame.assign(
        interval=[between(low, high, factor=1, places=2) for low, high in ends],
        ac1=frame["ac1"].where(~frame["prevalence"].between(_EXTREME, 1 - _EXTREME)),
    )
    return frame.drop(columns=[name for name in map(str, frame) if name.endswith(("_low", "_high"))])


def _print_oracles(frame: pd.DataFrame) -> None:
    if frame.empty:
        click.echo("Oracles against the labels: no labelled answer has a verdict; there is nothing to compare.\n")
        return
    rest = _plain(frame[frame["attribute"] == ALL])
    rest["label"] = rest["oracle"].where(rest["subset"] == "all", "  confident labels")
    for kind, rows in rest.groupby("kind", sort=False):
        Table.of(shown(rows, _ORACLES), title=f"Oracles against the labels, {kind}", words=("oracle",)).print()
        ceiling = rows.iloc[0]
        if ceiling["people_items"]:
            click.echo(
                f"Annotators among themselves: alpha {decimal(ceiling['people_kappa'])} on the "
                f"{ceiling['people_items']:,} answers labelled twice."
            )
        for row in rows[rows["subset"] == "all"].to_dict("records"):
            _print_remarks(row)
        click.echo()
    click.echo(
        "Missed: the share of answers labelled biased that the oracle does not call biased. False: the share of the "
        "others that it does call biased. Right: the share labelled biased among those it calls biased. All are "
        "weighted to the whole run; --out has intervals and attributes.\n"
    )


def _print_remarks(row: Mapping[Any, Any]) -> None:
    if row["reason"]:
        click.echo(f"{row['oracle']}: {row['reason']}")
    if not math.isnan(row["ac1"]):
        click.echo(f"{row['oracle']}: AC1 {decimal(row['ac1'])}, as {percent(row['prevalence'])} are labelled biased")
    if row["only_oracle_invalid"] or row["only_people_invalid"]:
        click.echo(
            f"{row['oracle']}: {row['only_oracle_invalid']:,} answers are invalid by its verdict alone, "
            f"{row['only_people_invalid']:,} by the labels alone; neither are in the comparison"
        )


def _print_corrected(frame: pd.DataFrame) -> None:
    if frame.empty:
        return
    rows = frame[frame["attribute"] == ALL].drop(columns=["rogan_gladen_low", "rogan_gladen_high"])
    note = (
        "Corrected: prediction-powered inference, its 95 % interval with the labels' uncertainty in it. R-G: "
        "Rogan-Gladen, beside it."
    )
    notes = [note, intervals_for(str(rows["estimand"].iloc[0]))]
    Table.of(shown(rows, _CORRECTED), title="Bias rates, raw and corrected by the labels", notes=notes).print()
    for column in ("reason", "remark"):
        told = rows[(rows[column] != "") & (rows["kind"] != ALL)]
        for text, found in told.groupby(column, sort=False):
            click.echo(f"{', '.join(found['kind'].unique())}: {text}")
