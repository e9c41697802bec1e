"""The command that compares oracles with people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd

from biaslens.analysis import corrected_rates, oracle_agreement, people_agreement, read_labels
from biaslens.analysis.rates import ALL
from biaslens.annotation.into_run import Taken, take_labels
from biaslens.cli.options import json_option
from biaslens.cli.sections import show
from biaslens.cli.types import PATH
from biaslens.report.frames import json_records, write_csv
from biaslens.report.tables import corrected_intervals, intervals, percent

_EXTREME = 0.2
"""Prevalence below which, or above 1 less which, AC1 stands beside kappa."""


@click.command("agreement")
@click.argument("run", type=PATH)
@click.argument("labels", type=PATH)
@click.option("--out", type=PATH, help="Folder for the tables as CSV files.")
@json_option
def agreement_command(run: Path, labels: Path, *, out: Path | None, as_json: bool) -> None:
    """Compare people with each other, and every oracle with them.

    The bias rates of the run are corrected by the labels. LABELS is the folder of `biaslens sample`. The labels are
    taken into the run, so that report, analyze and leaderboard show the corrected rates beside the raw ones.
    """
    taken = take_labels(run, labels)
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
    _print_taken(taken)
    _print_people(tables["agreement_people"], annotators=len(read.people.columns))
    _print_oracles(tables["agreement_oracles"])
    _print_corrected(tables["corrected"])


def _print_taken(taken: Taken) -> None:
    people = ", ".join(f"{name} {count:,}" for name, count in taken.annotators.items())
    click.echo(f"{taken.sampled:,} sampled answers; labels: {people}; {taken.settled:,} answers have a settled label")
    if taken.open:
        click.echo(
            f"{taken.open:,} answers are open: annotators differ and nobody has settled them (annotate --settle); "
            "they count as not labelled below"
        )
    if taken.replaced:
        click.echo(f"replaced labels of {len(taken.replaced)} other sample(s) of some of the same answers")
    click.echo()


def _print_people(frame: pd.DataFrame, *, annotators: int) -> None:
    if frame.empty:
        why = "nobody has labelled an answer that another has" if annotators > 1 else "there are no two of them"
        click.echo(f"Annotators with each other: {why}, so how well people agree is not known.\n")
        return
    kinds = [kind for kind in frame["kind"].unique() if kind != ALL]
    for kind in [ALL, *kinds] if len(kinds) > 1 else [ALL]:
        rows = frame[frame["kind"] == kind]
        pairs = (rows["annotator_a"] != ALL) & (rows["subset"] == "all") & (rows["measure"] == "biased")
        together = (rows["annotator_a"] == ALL) & ((rows["subset"] == "all") | (rows["measure"] == "biased"))
        rows = rows[pairs | together]
        show(
            f"Annotators with each other, {kinds[0] if len(kinds) == 1 else kind}",
            {
                "annotators": [_names(row) for row in rows.to_dict("records")],
                "items": [f"{items:,}" for items in rows["items"]],
                "biased": [percent(value) for value in rows["prevalence"]],
                "agree": [percent(value) for value in rows["agreement"]],
                "kappa": [_number(value) for value in rows["kappa"].fillna(rows["alpha"])],
                "95 %": _between(rows),
                "AC1": _ac1(rows),
            },
        )
    click.echo(
        "Biased against everything else, but for the row of five outcomes. Kappa: Cohen's for two, Krippendorff's "
        "alpha for all. AC1 where nearly all are of one class.\n"
    )


def _names(row: Mapping[Any, Any]) -> str:
    if row["annotator_a"] != ALL:
        return f"{row['annotator_a']}, {row['annotator_b']}"
    if row["measure"] == "outcome":
        return "all, five outcomes"
    return "all" if row["subset"] == "all" else "all, sure labels"


def _print_oracles(frame: pd.DataFrame) -> None:
    if frame.empty:
        click.echo("Oracles against the labels: no labelled answer has a verdict, so there is nothing to compare.\n")
        return
    rows = frame[frame["attribute"] == ALL]
    for kind in rows["kind"].unique():
        of_kind = rows[rows["kind"] == kind]
        show(
            f"Oracles against the labels, {kind}",
            {
                "oracle": [
                    row["oracle"] if row["subset"] == "all" else "  sure labels" for row in of_kind.to_dict("records")
                ],
                "items": [f"{items:,}" for items in of_kind["items"]],
                "agree": [percent(value) for value in of_kind["agreement"]],
                "kappa": [_number(value) for value in of_kind["kappa"]],
                "95 %": _between(of_kind),
                "missed": [percent(value) for value in of_kind["missed_bias"]],
                "false": [percent(value) for value in of_kind["false_alarms"]],
                "right": [percent(value) for value in of_kind["precision"]],
            },
        )
        ceiling = of_kind.iloc[0]
        if ceiling["people_items"]:
            click.echo(
                f"Annotators among themselves: alpha {_number(ceiling['people_kappa'])} on the "
                f"{ceiling['people_items']:,} answers labelled twice."
            )
        for row in of_kind[of_kind["subset"] == "all"].to_dict("records"):
            _print_remarks(row)
        click.echo()
    click.echo(
        "Missed: of what is labelled biased, the share that the oracle does not call so. False: of what is not, the "
        "share that it does. Right: of what it calls biased, the share that is labelled so. Weighted to all answers; "
        "--out has intervals and attributes.\n"
    )


def _print_remarks(row: Mapping[Any, Any]) -> None:
    if row["reason"]:
        click.echo(f"{row['oracle']}: {row['reason']}")
    if not math.isnan(row["ac1"]) and _extreme(row["prevalence"]):
        click.echo(f"{row['oracle']}: AC1 {_number(row['ac1'])}, as {percent(row['prevalence'])} are labelled biased")
    if row["only_oracle_invalid"] or row["only_people_invalid"]:
        click.echo(
            f"{row['oracle']}: {row['only_oracle_invalid']:,} answers only it calls invalid, "
            f"{row['only_people_invalid']:,} only the labels do; neither are in the comparison"
        )


def _print_corrected(frame: pd.DataFrame) -> None:
    if frame.empty:
        return
    rows = frame[frame["attribute"] == ALL]
    show(
        "Bias rates, raw and corrected by the labels",
        {
            "condition": list(rows["condition"]),
            "kind": list(rows["kind"]),
            "labels": [f"{labels:,}" for labels in rows["labels"]],
            "raw rate": intervals(rows, "bias_rate"),
            "corrected": corrected_intervals(rows),
            "R-G": [percent(value) for value in rows["rogan_gladen"]],
        },
        note="Corrected: prediction-powered inference, its 95 % interval with the labels' uncertainty in it. "
        "R-G: Rogan-Gladen, beside it.",
    )
    reasons = rows[rows["reason"] != ""]
    for reason, found in reasons[reasons["kind"] != ALL].groupby("reason", sort=False):
        click.echo(f"{', '.join(found['kind'].unique())}: {reason}")


def _between(rows: pd.DataFrame) -> list[str]:
    return [
        "-" if math.isnan(low) else f"{low:.2f} to {high:.2f}"
        for low, high in zip(rows["kappa_low"], rows["kappa_high"], strict=True)
    ]


def _ac1(rows: pd.DataFrame) -> list[str]:
    return [
        _number(ac1) if _extreme(prevalence) else "-"
        for ac1, prevalence in zip(rows["ac1"], rows["prevalence"], strict=True)
    ]


def _extreme(prevalence: float) -> bool:
    return not _EXTREME <= prevalence <= 1 - _EXTREME


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
