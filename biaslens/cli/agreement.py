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
from biaslens.annotation.into_run import Taken, take_labels
from biaslens.cli.options import PATH, json_option
from biaslens.cli.sections import show
from biaslens.report.frames import json_records, write_csv
from biaslens.report.tables import intervals, percent

_EXTREME = 0.2
"""Prevalence below which, or above 1 less which, AC1 stands beside kappa."""


@click.command("agreement")
@click.argument("run", type=PATH)
@click.argument("labels", type=PATH)
@click.option("--out", type=PATH, help="Folder for the tables as CSV files.")
@json_option
def agreement_command(run: Path, labels: Path, *, out: Path | None, as_json: bool) -> None:
    """Compare people with each other and every oracle of a run with people, and correct its bias rates.

    LABELS is the folder of `biaslens sample`. The labels are taken into the run, so that report, analyze and
    leaderboard show the corrected rates beside the raw ones.
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
    _print_people(tables["agreement_people"])
    _print_oracles(tables["agreement_oracles"])
    print_corrected(tables["corrected"])


def _print_taken(taken: Taken) -> None:
    people = ", ".join(f"{name} {count:,}" for name, count in taken.annotators.items())
    click.echo(f"{taken.sampled:,} sampled answers; labels: {people}; {taken.settled:,} answers have a settled label")
    if taken.open:
        click.echo(f"{taken.open:,} answers are open: people differ and nobody has settled them (annotate --settle)")
    click.echo()


def _print_people(frame: pd.DataFrame) -> None:
    if frame.empty:
        click.echo("People: one annotator only, so how well people agree is not known.\n")
        return
    kinds = [kind for kind in frame["kind"].unique() if kind != "all"]
    for kind in ["all", *kinds] if len(kinds) > 1 else ["all"]:
        rows = frame[(frame["kind"] == kind) & (frame["measure"] == "biased")]
        rows = rows[(rows["subset"] == "all") | (rows["annotator_a"] == "all")]
        show(
            f"People with each other, {kinds[0] if len(kinds) == 1 else kind}",
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
        "Biased against everything else. Kappa: Cohen's for two, Krippendorff's alpha for all. AC1 where nearly all "
        "are of one class. --out and --json have all five outcomes too.\n"
    )


def _names(row: Mapping[Any, Any]) -> str:
    if row["annotator_a"] != "all":
        return f"{row['annotator_a']}, {row['annotator_b']}"
    return "all" if row["subset"] == "all" else "all, where sure"


def _print_oracles(frame: pd.DataFrame) -> None:
    if frame.empty:
        click.echo("Oracles: no labelled answer has a verdict, so there is nothing to compare.\n")
        return
    rows = frame[frame["attribute"] == "all"]
    for kind in rows["kind"].unique():
        of_kind = rows[rows["kind"] == kind]
        show(
            f"Oracles against people, {kind}",
            {
                "oracle": [
                    row["oracle"] if row["subset"] == "all" else "  where people are sure"
                    for row in of_kind.to_dict("records")
                ],
                "items": [f"{items:,}" for items in of_kind["items"]],
                "agree": [percent(value) for value in of_kind["agreement"]],
                "kappa": [_number(value) for value in of_kind["kappa"]],
                "95 %": _between(of_kind),
                "AC1": _ac1(of_kind),
                "missed": [percent(value) for value in of_kind["missed_bias"]],
                "false": [percent(value) for value in of_kind["false_alarms"]],
                "right": [percent(value) for value in of_kind["precision"]],
            },
        )
        ceiling = of_kind.iloc[0]
        if ceiling["people_items"]:
            click.echo(
                f"People among themselves on these answers: {_number(ceiling['people_kappa'])} "
                f"({ceiling['people_items']:,} labelled twice)."
            )
        for row in of_kind[of_kind["subset"] == "all"].to_dict("records"):
            _print_remarks(row)
        click.echo()
    click.echo(
        "Missed: of what people call biased, the share that the oracle does not. False: of what they do not, the share "
        "that it does. Right: of what it calls biased, the share that they do. Weighted to all answers; --out has "
        "intervals and attributes.\n"
    )


def _print_remarks(row: Mapping[Any, Any]) -> None:
    if row["reason"]:
        click.echo(f"{row['oracle']}: {row['reason']}")
    if row["only_oracle_invalid"] or row["only_people_invalid"]:
        click.echo(
            f"{row['oracle']}: {row['only_oracle_invalid']:,} answers only it calls invalid, "
            f"{row['only_people_invalid']:,} only people do; neither are in the comparison"
        )


def print_corrected(frame: pd.DataFrame) -> None:
    """Print corrected rates beside the raw ones."""
    if frame.empty:
        return
    show(
        "Bias rates, raw and corrected by the labels",
        {
            "condition": list(frame["condition"]),
            "kind": list(frame["kind"]),
            "labels": [f"{labels:,}" for labels in frame["labels"]],
            "raw rate": intervals(frame, "bias_rate"),
            "corrected": intervals(
                frame.rename(columns={"corrected_low": "corrected_rate_low", "corrected_high": "corrected_rate_high"}),
                "corrected_rate",
            ),
            "Rogan-Gladen": [percent(value) for value in frame["rogan_gladen"]],
        },
        note="Corrected: prediction-powered inference, its 95 % interval with the labels' uncertainty in it.",
    )
    for reason in frame["reason"][frame["reason"] != ""].unique():
        click.echo(f"not corrected: {reason}")


def _between(rows: pd.DataFrame) -> list[str]:
    return [
        "-" if math.isnan(low) else f"{low:.2f} to {high:.2f}"
        for low, high in zip(rows["kappa_low"], rows["kappa_high"], strict=True)
    ]


def _ac1(rows: pd.DataFrame) -> list[str]:
    return [
        _number(ac1) if not _EXTREME <= prevalence <= 1 - _EXTREME else "-"
        for ac1, prevalence in zip(rows["ac1"], rows["prevalence"], strict=True)
    ]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
