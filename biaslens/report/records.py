"""The measures of a cell as a flat record: one name and one meaning in every file."""

from __future__ import annotations

import math

from biaslens.analysis import Cell, Summary

Value = str | int | float | None

ALL = "all"
"""Stands for every attribute, or every kind."""


def number(value: float) -> float | None:
    """Turn NaN into None: an empty cell in CSV, null in JSON."""
    return None if math.isnan(value) else value


def measures(cell: Cell) -> dict[str, Value]:
    """Flatten a cell: both headline numbers, with coverage and what became of the other trials.

    Counts of biased trials and questions are None where nothing is valid: nothing measured must not look like nothing
    found. Coverage is 0 there.
    """
    counts = cell.counts
    measured = counts.valid > 0
    return {
        "roles": cell.roles,
        "questions": cell.questions,
        "planned_trials": counts.planned,
        "valid_trials": counts.valid,
        "biased_trials": counts.biased if measured else None,
        "biased_questions": cell.biased_questions if measured else None,
        "bias_rate": number(cell.bias_rate.rate),
        "bias_rate_low": number(cell.bias_rate.low),
        "bias_rate_high": number(cell.bias_rate.high),
        "coverage": counts.coverage,
        "refused_share": number(counts.share(counts.refused)),
        "invalid_share": number(counts.share(counts.invalid)),
        "error_share": number(counts.share(counts.error)),
        "pending_share": number(counts.share(counts.pending)),
    }


def by_attribute(summary: Summary) -> list[dict[str, Value]]:
    """Make a record for every condition, attribute and kind with a planned question, and for their totals ("all")."""
    return [
        {
            "model": summary.run.model,
            "condition": condition.condition.value,
            "attribute": cell.attribute.value if cell.attribute else ALL,
            "kind": cell.kind.value if cell.kind else ALL,
            **measures(cell),
            "run": summary.run.path.name,
        }
        for condition in summary.conditions
        for cell in condition.cells.values()
        if cell.questions
    ]
