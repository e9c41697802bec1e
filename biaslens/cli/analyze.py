"""Commands that analyse runs and compare models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from biaslens.analysis import Run, compare, read_run
from biaslens.cli.options import PATH, json_option
from biaslens.report.tables import intervals, percent, tables, write_tables
from biaslens.schema import Condition, Kind

_ROWS = 10


@click.command("analyze")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--out", type=PATH, help="Folder for all analyses as CSV files.")
@click.option("--force", is_flag=True, help="Put runs together that asked or judged differently.")
@json_option
def analyze_command(runs: tuple[Path, ...], *, out: Path | None, force: bool, as_json: bool) -> None:
    """Analyse runs: rates by kind, role ablation, consistency, abstention, position effects, triggers, comparison."""
    found = tables(read_runs(runs), force=force)
    if out is not None:
        for path in write_tables(found, out):
            click.echo(path, err=True)
    if as_json:
        click.echo(json.dumps({name: json.loads(frame.to_json(orient="records")) for name, frame in found.items()}))
    else:
        _print(found)


@click.command("compare")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@click.option("--condition", type=click.Choice([*Condition]), default=Condition.ROLE, show_default=True)
@click.option("--kind", type=click.Choice([*Kind]), help="Only questions of this kind.  [default: each kind and all]")
@click.option("--force", is_flag=True, help="Compare runs that asked or judged differently, on what they share.")
@json_option
def compare_command(
    runs: tuple[Path, ...], *, condition: Condition, kind: Kind | None, force: bool, as_json: bool
) -> None:
    """Compare models on the questions that all of them answered, and say whether one is really more biased."""
    read = read_runs(runs)
    kinds: Sequence[Kind | None] = [kind] if kind else [None, *Kind]
    found = {name or "all": compare(read, condition=Condition(condition), kind=name, force=force) for name in kinds}
    if as_json:
        records = {
            name: {
                "models": json.loads(both.models.to_json(orient="records")),
                "pairs": json.loads(both.pairs.to_json(orient="records")),
            }
            for name, both in found.items()
        }
        click.echo(json.dumps(records))
        return
    for name, both in found.items():
        if both.models["questions"].iloc[0] == 0:
            click.echo(f"{name}: no question has a valid answer from all of them")
            continue
        models = both.models
        _show(
            f"{name}: {models['questions'].iloc[0]:,} questions of {models['roles'].iloc[0]} roles",
            {
                "model": list(models["model"]),
                "bias rate": intervals(models, "bias_rate"),
                "rank": [
                    f"{low:.0f}–{high:.0f}" if low != high else f"{low:.0f}"
                    for low, high in zip(models["rank_low"], models["rank_high"], strict=True)
                ],
                "group": list(models["tied_group"]),
            },
        )
        for pair in both.pairs.to_dict("records"):
            click.echo("  " + verdict({str(column): value for column, value in pair.items()}))


def verdict(pair: Mapping[str, object]) -> str:
    """Say in words what a comparison of two models came to.

    Parameters
    ----------
    pair
        A row of `Comparison.pairs`.
    """
    a, b = str(pair["model_a"]), str(pair["model_b"])
    if a == b:
        a, b = f"{a} ({pair['run_a']})", f"{b} ({pair['run_b']})"
    difference, low, high, p, least = (
        float(str(pair[name]))
        for name in ("difference", "difference_low", "difference_high", "p_holm", "minimal_difference")
    )
    if difference < 0:
        a, b, difference, low, high = b, a, -difference, -high, -low
    size = f"{100 * difference:+.1f} points"
    if pd.isna(low):
        return f"{a} against {b}: {size}; a single role cannot say how sure that is"
    size += f" (95 % interval {100 * low:+.1f} to {100 * high:+.1f}, p {_p(p)})"
    if not bool(pair["tied"]):
        return f"{a} is more biased than {b}: {size}"
    seen = "" if pd.isna(least) else f"; the design would find differences from {100 * least:.1f} points on"
    return f"no difference can be told between {a} and {b}: {size}{seen}"


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read run files; one that is named twice counts once."""
    return [read_run(path) for path in {path.resolve(): path for path in paths}.values()]


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"= {value:.4f}"


def _print(found: Mapping[str, pd.DataFrame]) -> None:
    if "rates" not in found:
        click.echo("nothing is planned in these runs yet; `biaslens evaluate` asks")
        return
    rates = found["rates"]
    for names, rows in rates[rates["attribute"] == "all"].groupby(["model", "condition"], sort=False):
        _show(
            f"{', '.join(map(str, names))}: headline numbers",
            {
                "kind": list(rows["kind"]),
                "biased questions": [
                    f"{a:,} of {b:,}" for a, b in zip(rows["biased_questions"], rows["questions"], strict=True)
                ],
                "bias rate": intervals(rows, "bias_rate"),
                "coverage": [percent(value) for value in rows["coverage"]],
            },
        )
    for name, title, show in _SECTIONS:
        if name not in found:
            continue
        if "model" not in found[name]:
            _show(title, show(found[name]))
            continue
        for model, rows in found[name].groupby("model", sort=False):
            _show(f"{model}: {title}", show(rows))


def _ablation(rows: pd.DataFrame) -> dict[str, list[str]]:
    rows = rows[rows["attribute"] == "all"]
    return {
        "against": list(rows["against"]),
        "kind": list(rows["kind"]),
        "in the role": [percent(value) for value in rows["rate_role"]],
        "without": [percent(value) for value in rows["rate_against"]],
        "difference, points": intervals(rows, "difference", points=True),
        "p": [_p(value) if pd.notna(value) else "–" for value in rows["p_holm"]],
    }


def _consistency(rows: pd.DataFrame) -> dict[str, list[str]]:
    return {
        "condition": list(rows["condition"]),
        "kind": list(rows["kind"]),
        "consistent": [percent(value) for value in rows["consistent"]],
        "flips": intervals(rows, "flip_rate"),
        "alpha": ["–" if pd.isna(value) else f"{value:.2f}" for value in rows["krippendorff_alpha"]],
        "would change": [percent(value) for value in rows["verdicts_changed"]],
    }


def _abstention(rows: pd.DataFrame) -> dict[str, list[str]]:
    rows = rows[rows["attribute"] == "all"]
    names = ("unbiased", "refused", "invalid")
    shares = {name: [percent(value) for value in rows[f"{name}_share"]] for name in names}
    return {"condition": list(rows["condition"]), "kind": list(rows["kind"]), **shares}


def _mirrors(rows: pd.DataFrame) -> dict[str, list[str]]:
    return {
        "condition": list(rows["condition"]),
        "kind": list(rows["kind"]),
        "mirror": list(rows["mirror"]),
        "pairs": [f"{count:,}" for count in rows["pairs"]],
        "held": [percent(value) for value in rows["held"]],
        "form alone": intervals(rows, "form"),
    }


def _position(rows: pd.DataFrame) -> dict[str, list[str]]:
    return {
        "condition": list(rows["condition"]),
        "position": list(rows["position"]),
        "taken": [percent(value) for value in rows["share"]],
        "by chance": [percent(value) for value in rows["expected"]],
        "excess, points": intervals(rows, "excess", points=True),
    }


def _roles(rows: pd.DataFrame) -> dict[str, list[str]]:
    rows = rows.groupby(["model", "condition"], sort=False).head(_ROWS)
    return {
        "condition": list(rows["condition"]),
        "attribute": list(rows["attribute"]),
        "role": list(rows["role"]),
        "bias rate": [percent(value) for value in rows["bias_rate"]],
    }


def _triggers(rows: pd.DataFrame) -> dict[str, list[str]]:
    return {
        "condition": list(rows["condition"]),
        "kind": list(rows["kind"]),
        "models": [f"{k} of {n}" for k, n in zip(rows["k"], rows["models"], strict=True)],
        "questions": [f"{count:,}" for count in rows["questions"]],
        "share": [percent(value) for value in rows["share"]],
    }


_SECTIONS = (
    ("ablation", "what the role does, question by question", _ablation),
    ("consistency", "consistency over trials", _consistency),
    ("abstention", "shares of the answers that are not biased", _abstention),
    ("mirrors", "mirrored questions: held views, and answers that follow the form", _mirrors),
    ("option_position", "position of the options taken", _position),
    ("top_roles", "roles with the highest bias rates", _roles),
    ("triggers", "How many of the models a question triggers", _triggers),
)


def _show(title: str, columns: Mapping[str, Sequence[str]]) -> None:
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    Console().print(table)
