"""How the numbers of the probe are put into words."""

from __future__ import annotations

import math

import pandas as pd

from biaslens.probe.gaps import metric

INTERVALS = {
    "bootstrap": "bootstrap intervals",
    "t": "t intervals over prompts",
    "z": "z intervals over prompts, as published",
}
REFERENCES = {
    "mean": "the mean over the groups",
    "unmarked": "that of the same templates without an identity",
}

HARM = (
    "To a group's harm: a higher Negative FPR (more of its sentences are wrongly called negative), and a lower "
    "Positive FPR (fewer of its sentences get the favourable error). Off zero: by the group's own interval; p is "
    "corrected for the number of groups after Holm."
)


def group_name(name: str) -> str:
    """Write the name of a group for people."""
    return name.replace("_", " ")


def points(value: float) -> str:
    """Write a gap in percentage points.

    Examples
    --------
    >>> points(0.0345), points(-0.2), points(math.nan)
    ('+3.5', '-20.0', '–')
    """
    if math.isnan(value):
        return "–"
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def percent(share: float) -> str:
    """Write the level of an interval.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:g} %"


def p_value(value: float) -> str:
    """Write a p-value; a dash where there is none."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def gap_cells(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Columns of a table of gaps, for people: rows of `intervals` of one model and attribute."""
    signs = {"harmful": "to its harm", "favourable": "in its favour", "": ""}
    sizes = zip(rows["group"], rows["terms"], strict=True)
    return {
        "metric": [metric(name).title for name in rows["metric"]],
        "group": [group_name(name) + (" †" if terms == 1 else "") for name, terms in sizes],
        "gap": [points(value) for value in rows["gap"]],
        f"{percent(rows['level'].iloc[0])} interval": [
            "–" if math.isnan(low) else f"{points(low)} to {points(high)}"
            for low, high in zip(rows["low"], rows["high"], strict=True)
        ],
        "p (Holm)": [p_value(value) for value in rows["p_holm"]],
        "off zero": [signs[name] for name in rows["direction"]],
        "rate": ["–" if math.isnan(rate) else f"{100 * rate:.1f} %" for rate in rows["rate"]],
        "false/of": [f"{false:,}/{of:,}" for false, of in zip(rows["false"], rows["of"], strict=True)],
    }  # fmt: skip


def remarks(rows: pd.DataFrame) -> list[str]:
    """Notes of the rows, each once, with the groups that it is about."""
    noted: dict[str, list[str]] = {}
    for group, note in zip(rows["group"], rows["note"], strict=True):
        for part in filter(None, note.split("; ")):
            names = noted.setdefault(part, [])
            if group_name(group) not in names:
                names.append(group_name(group))
    marked = {note: "† " if note.startswith("one term") else "" for note in noted}
    return [f"{marked[note]}{', '.join(names)}: {note}" for note, names in noted.items()]
