"""Tables and figures of a probe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from rich.console import Console
from rich.text import Text

from biaslens._util.files import write_text
from biaslens._util.text import plural, printable
from biaslens.probe import intervals as measured
from biaslens.probe.gaps import Groups, Reference, compare_groups, counts, gaps, metric
from biaslens.probe.intervals import KINDS, Kind, covers
from biaslens.report.figures import FAINT, INK, MARKERS, panels, save, short, styled
from biaslens.report.page import markdown
from biaslens.report.table import NOTHING, Column, Table, escaped, p_value, percent, write_csv

INTERVALS = {
    "bootstrap": "bootstrap intervals",
    "t": "t intervals over prompts",
    "z": "z intervals over prompts, as published",
}
REFERENCES = {"mean": "the mean over the groups", "unmarked": "that of the same templates without an identity"}

HARM = (
    "To a group's harm: a higher Negative FPR (more of its sentences are wrongly called negative), and a lower "
    "Positive FPR (fewer of its sentences get the favourable error). Off zero: by the group's own interval; p is "
    "corrected for the number of groups after Holm."
)


def _group_name(name: str) -> str:
    return name.replace("_", " ")


def points(value: float) -> str:
    """Write a gap in percentage points.

    >>> points(0.0345), points(-0.2), points(math.nan)
    ('+3.5', '-20.0', '–')
    """
    if math.isnan(value):
        return NOTHING
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _level(rows: pd.DataFrame) -> str:
    return f"{100 * rows['level'].iloc[0]:g} %"


def gap_cells(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Columns of a table of gaps, for people, of rows of `intervals` of one model and attribute."""
    signs = {"harmful": "to its harm", "favourable": "in its favour", "": ""}
    sizes = zip(rows["group"], rows["terms"], strict=True)
    return {
        "metric": [metric(name).title for name in rows["metric"]],
        "group": [_group_name(name) + (" †" if terms == 1 else "") for name, terms in sizes],
        "gap": [points(value) for value in rows["gap"]],
        f"{_level(rows)} interval": [
            NOTHING if math.isnan(low) else f"{points(low)} to {points(high)}"
            for low, high in zip(rows["low"], rows["high"], strict=True)
        ],
        "p (Holm)": [p_value(value) for value in rows["p_holm"]],
        "off zero": [signs[name] for name in rows["direction"]],
        "rate": list(map(percent, rows["rate"])),
        "false/of": [f"{false:,}/{of:,}" for false, of in zip(rows["false"], rows["of"], strict=True)],
    }  # fmt: skip


def remarks(rows: pd.DataFrame) -> list[str]:
    """Notes of the rows, each once, with the groups that it is about."""
    noted: dict[str, list[str]] = {}
    for group, note in zip(rows["group"], rows["note"], strict=True):
        for part in filter(None, note.split("; ")):
            names = noted.setdefault(part, [])
            if _group_name(group) not in names:
                names.append(_group_name(group))
    marked = {note: "† " if note.startswith("one term") else "" for note in noted}
    return [f"{marked[note]}{', '.join(names)}: {note}" for note, names in noted.items()]


def print_gaps(rows: pd.DataFrame, console: Console | None = None) -> None:
    """Print intervals of gaps of one kind, a table for each model and attribute, with what the intervals cover."""
    console = console or Console()
    for (model, attribute), part in rows.groupby(["model", "attribute"], sort=False):
        for name, of_metric in part.groupby("metric", sort=False):
            title = (
                f"{model}, {attribute}, {metric(str(name)).title} ({plural(int(part['prompts'].iloc[0]), 'prompt')})"
            )
            _gap_table(of_metric, title).print(console)
        notes = remarks(part)
        for note in notes:
            console.print(Text(printable(note), style="dim"))
        if notes:
            console.print()
    kind: Kind = rows["interval"].iloc[0]
    reference: Reference = rows["reference"].iloc[0]
    for line in (
        f"Gap: the group's rate minus {REFERENCES[reference]}, in percentage points.",
        "False/of: summed over the prompts.",
        HARM,
        f"The {kind} interval covers {covers(kind, reference)}.",
    ):
        console.print(Text(line, style="dim"))


def _gap_table(rows: pd.DataFrame, title: str) -> Table:
    cells = {name: column for name, column in gap_cells(rows).items() if name != "metric"}
    columns = [Column(name, words=name in ("group", "off zero"), wraps=name == "group") for name in cells]
    return Table(columns, list(zip(*cells.values(), strict=True)), title)


HARMFUL = "#a02c0d"
FAVOURABLE = "#8fc1e3"
_SHADE = "#f8ece7"

_LOOKS: dict[str, dict[str, Any]] = {
    "harmful": {"face": HARMFUL, "edge": HARMFUL, "width": 2.0},
    "favourable": {"face": FAVOURABLE, "edge": "#2f6f9f", "width": 2.0},
    "": {"face": "white", "edge": "#6b6b6b", "width": 1.0},
}
"""By direction: dark filled, light filled and hollow marks, which stay apart in grey."""

_COLUMNS = 3
"""Of the legend."""

_WORDS = {"harmful": "off zero, to the group's harm", "favourable": "off zero, in its favour", "": "not told from zero"}


@styled()
def gap_figure(rows: pd.DataFrame) -> Figure:
    """Draw the gaps of one attribute: a panel for each metric, a row for each group, a mark for each model.

    The harmful side of zero is shaded and hatched, and says so; the marks differ by model in shape, and by direction in
    darkness and filling. The rows are of `intervals`: one kind and one reference, any metrics and models.
    """
    metrics, groups = list(dict.fromkeys(rows["metric"])), list(dict.fromkeys(rows["group"]))
    models = list(dict.fromkeys(rows["model"]))
    lane = min(0.16, 0.8 / len(models))
    height = 1.9 + len(groups) * max(0.42, 0.15 * len(models) + 0.18) + 0.17 * -(-len(models) // _COLUMNS)
    reach = 1.12 * float(np.nanmax([0.01, *rows[["gap", "low", "high"]].abs().max()]))
    figure, (cells,) = panels(1, len(metrics), width=2.0 + 3.1 * len(metrics), height=height, sharey=True)
    for axes, name in zip(cells, metrics, strict=True):
        _panel(axes, rows[rows["metric"] == name], models, groups, lane=lane, reach=reach)
        axes.set_title(metric(name).title)
    cells[0].set_yticks(range(len(groups)), _labels(rows, groups), color=INK)
    cells[0].set_ylim(len(groups) - 0.5, -0.62)
    kind, reference = rows["interval"].iloc[0], rows["reference"].iloc[0]
    figure.supxlabel(
        f"Gap in percentage points: the group's rate minus {REFERENCES[reference]}, with "
        f"{_level(rows)} {INTERVALS[kind]}\n"
        "n: sentences that the rate of one prompt is taken over",
        fontsize=8,
    )
    _legend(figure, models, sorted(set(rows["direction"]), key=list(_LOOKS).index))
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, models: list[str], groups: list[str], *, lane: float, reach: float) -> None:
    harmful = metric(rows["metric"].iloc[0]).harmful
    axes.set_xlim(-reach, 1.18 * reach)
    edge = axes.get_xlim()[1] if harmful > 0 else -reach
    axes.axvspan(0, edge, facecolor=_SHADE, edgecolor="#ecd5ca", hatch="...", linewidth=0, zorder=0)
    axes.text(
        0.98 * (reach if harmful > 0 else -reach), -0.56, "more harm →" if harmful > 0 else "← more harm", fontsize=7,
        color=HARMFUL, ha="right" if harmful > 0 else "left", va="top", zorder=4,
    )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
    for place in range(1, len(groups)):
        axes.axhline(place - 0.5, color="#e4e4e4", linewidth=0.8, zorder=1)
    for number, model in enumerate(models):
        of_model = rows[rows["model"] == model].set_index("group").reindex(groups)
        offset = (number - (len(models) - 1) / 2) * lane
        for place, row in enumerate(of_model.itertuples()):
            _mark(axes, row, place + offset, MARKERS[number % len(MARKERS)])
    _denominators(axes, rows, groups)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.0f}" if value else "0"))
    axes.tick_params(axis="y", length=0)


def _mark(axes: Axes, row: Any, place: float, marker: str) -> None:  # noqa: ANN401 - a row of `itertuples`
    if not np.isfinite(row.gap):
        return
    look = _LOOKS[row.direction]
    if np.isfinite(row.low):
        axes.hlines(place, row.low, row.high, color=look["edge"], linewidth=look["width"], zorder=2)
    axes.plot(
        [row.gap], [place], marker=marker, markersize=5.0, markerfacecolor=look["face"], markeredgecolor=look["edge"],
        markeredgewidth=1.0, linestyle="none", zorder=3,
    )  # fmt: skip


def _denominators(axes: Axes, rows: pd.DataFrame, groups: list[str]) -> None:
    """Write how many sentences a rate of one prompt rests on."""
    per_prompt = (rows["of"] / rows["prompts"]).groupby(rows["group"]).agg(["min", "max"])
    for place, group in enumerate(groups):
        if group in per_prompt.index:
            low, high = per_prompt.loc[group]
            axes.annotate(
                f"n {low:.0f}" if low == high else f"n {low:.0f}–{high:.0f}", (1.0, place), (-2, 0),
                xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=6.5, color="#5a5a5a",
                ha="right", va="center", zorder=4,
            )  # fmt: skip


def _labels(rows: pd.DataFrame, groups: list[str]) -> list[str]:
    terms = rows.groupby("group")["terms"].max()
    return [f"{_group_name(group)}\n{plural(terms[group], 'term')}" for group in groups]


def _legend(figure: Figure, models: list[str], directions: list[str]) -> None:
    """Models in the first rows, directions in the last one."""
    shapes = [
        Line2D([], [], linestyle="none", marker=MARKERS[number % len(MARKERS)], markerfacecolor=FAINT,
               markeredgecolor=FAINT, markersize=5.5, label=short(model))
        for number, model in enumerate(models)
    ]  # fmt: skip
    fillings = [
        Line2D([], [], color=_LOOKS[name]["edge"], linewidth=_LOOKS[name]["width"], marker="o", markersize=5.5,
               markerfacecolor=_LOOKS[name]["face"], markeredgecolor=_LOOKS[name]["edge"], label=_WORDS[name])
        for name in directions
    ]  # fmt: skip
    blank = Line2D([], [], linestyle="none", label=" ")
    cells = [*shapes, *[blank] * (-len(shapes) % _COLUMNS), *fillings, *[blank] * (-len(fillings) % _COLUMNS)]
    by_column = [cell for column in range(_COLUMNS) for cell in cells[column::_COLUMNS]]
    figure.legend(handles=by_column, loc="outside upper left", ncols=_COLUMNS, fontsize=8)


def probe_tables(
    predictions: pd.DataFrame,
    *,
    attributes: Sequence[str] | None = None,
    groups: Groups = "paper",
    rounds: int = 2000,
    seed: int = 0,
) -> dict[str, pd.DataFrame]:
    """Make every table of the report, by its name.

    gaps (prompt by prompt), intervals (all kinds), net_count, terms (exchange of terms), background, pairwise and
    multigroup; gaps, intervals and net_count also against the unmarked sentences, where all models have them.
    """
    counted = list(counts(predictions, attributes=attributes, groups=groups))
    references: list[Reference] = ["mean", "unmarked"] if all(found.has_unmarked for found in counted) else ["mean"]
    kinds = [(reference, kind) for reference in references for kind in KINDS]
    of = partial(measured.intervals, counted, rounds=rounds, seed=seed)
    parts = [of(kind=kind, reference=against) for against, kind in kinds]
    every = pd.concat(parts, ignore_index=True)
    by_prompt = [gaps(counted, reference=reference).assign(reference=reference) for reference in references]
    compared = compare_groups(predictions, attributes=attributes, groups=groups)
    return {
        "gaps": pd.concat(by_prompt, ignore_index=True),
        "intervals": every,
        "net_count": measured.net_count(every),
        "terms": measured.term_permutation(counted, seed=seed),
        **{str(family): rows.drop(columns="family") for family, rows in compared.groupby("family", sort=False)},
    }


def write_probe_report(
    predictions: pd.DataFrame,
    out: Path,
    *,
    kind: Kind = "bootstrap",
    **options: Any,  # noqa: ANN401 - of `probe_tables`
) -> list[Path]:
    """Write the tables as CSV files, ``report.md``, and a figure for each attribute as SVG and PNG.

    `kind` is the interval of the page and of the figures; the CSV file has all of them. The `options` are those of
    `probe_tables`.

    Raises `StorageError` when the folder cannot be written.
    """
    found = probe_tables(predictions, **options)
    paths = [write_csv(table, out / f"{name}.csv") for name, table in found.items()]
    shown = found["intervals"][found["intervals"]["interval"] == kind]
    sections = []
    for (reference, attribute), rows in shown.groupby(["reference", "attribute"], sort=False):
        figure = f"gaps_{attribute}" + ("" if reference == "mean" else f"_{reference}")
        paths += save(gap_figure(rows), out / "figures" / figure)
        against: Reference = rows["reference"].iloc[0]
        models = [
            (
                escaped(str(model)),
                plural(part["prompts"].iloc[0], "prompt"),
                Table.of(gap_cells(part)).markdown(),
                remarks(part),
            )
            for model, part in rows.groupby("model", sort=False)
        ]
        said = {"against": REFERENCES[against], "covers": covers(kind, against)}
        sections.append({"attribute": str(attribute), "figure": figure, "models": models, **said})
    text = markdown(
        "biaslens.report",
        "probe.md.j2",
        harm=HARM,
        kind=kind,
        sections=sections,
        net=_net(found["net_count"]).markdown(),
        covers=measured.COVERS,
        permutation=measured.PERMUTATION_COVERS,
        terms=_terms(found["terms"]).markdown(),
    )
    write_text(out / "report.md", text)
    return [out / "report.md", *paths]


def _net(table: pd.DataFrame) -> Table:
    wide = table[table["reference"] == "mean"]
    wide = wide.pivot_table(
        index=["attribute", "metric", "group", "models"], columns="interval", values="net", sort=False, observed=True
    )
    shown = wide[[kind for kind in KINDS if kind in wide.columns]].map(lambda net: f"{net:+.0f}" if net else "0")
    shown = shown.reset_index()
    shown["metric"] = [metric(name).title for name in shown["metric"]]
    shown["group"] = shown["group"].map(_group_name)
    return Table.of(shown)


def _terms(table: pd.DataFrame) -> Table:
    return Table.of(
        {
            "model": table["model"],
            "attribute": table["attribute"],
            "metric": [metric(name).title for name in table["metric"]],
            "group": table["group"].map(_group_name),
            "terms": table["terms"],
            "p": table["p_terms"].map(p_value),
            "p (Holm)": table["p_terms_holm"].map(p_value),
            "note": table["note"],
        }
    )
