"""Decide whether runs may stand in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from biaslens.analysis.info import RunInfo
from biaslens.analysis.summary import Summary
from biaslens.errors import RunMismatchError

SAME: tuple[tuple[str, Callable[[RunInfo], object]], ...] = (
    ("benchmark version", lambda run: run.benchmark_version),
    ("benchmark hash", lambda run: run.benchmark_hash),
    ("prompt wording (template hash)", lambda run: run.template_hash),
    ("option shuffling", lambda run: run.meta.get("shuffle_options")),
    ("number of trials", lambda run: run.trials),
    ("judges", lambda run: sorted(run.judges)),
    ("number of votes", lambda run: run.votes),
    ("local judge before them", lambda run: run.panels.get(run.panel, {}).get("screen")),
    ("judge wording (prompt hash)", lambda run: run.panels.get(run.panel, {}).get("prompt_hash")),
)
"""What must be the same in all runs of a table."""


def require_comparable(summaries: Sequence[Summary]) -> None:
    """Refuse runs that asked different questions, asked them differently, or were judged differently.

    A condition without any planned question is comparable with everything.

    Raises
    ------
    RunMismatchError
        Names the first difference and two runs that show it.
    """
    for name, value in SAME:
        _require_same(name, ((summary, value(summary.run)) for summary in summaries))
    sets: dict[str, list[tuple[Summary, object]]] = {}
    for summary in summaries:
        for condition in summary.conditions:
            if condition.question_set:
                sets.setdefault(condition.condition, []).append((summary, condition.question_set))
    for condition_name, values in sets.items():
        _require_same(f"questions in condition {condition_name}", values)


def _require_same(name: str, values: Iterable[tuple[Summary, object]]) -> None:
    first: tuple[Summary, object] | None = None
    for summary, value in values:
        if first is None:
            first = (summary, value)
        elif value != first[1]:
            raise RunMismatchError(
                f"these runs cannot stand in one table, the {name} differ: "
                f"{first[0].run.path} has {_show(first[1])}, {summary.run.path} has {_show(value)}; "
                "make a table of each, or put them together with --force"
            )


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value in (None, "") else str(value)
