"""Decide whether runs may stand in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from biaslens.analysis.info import RunInfo
from biaslens.analysis.summary import ConditionSummary, Summary
from biaslens.errors import RunMismatchError
from biaslens.schema import Condition, Kind

SAME: tuple[tuple[str, Callable[[RunInfo], object]], ...] = (
    ("the benchmark version differs", lambda run: run.benchmark_version),
    ("the benchmark's content (hash) differs", lambda run: run.benchmark_hash[:12]),
    ("the system message differs", lambda run: run.meta.get("system")),
    ("the wording of the questions (hash of the templates) differs", lambda run: run.template_hash[:12]),
    ("option shuffling differs", lambda run: run.meta.get("shuffle_options")),
    ("the number of trials differs", lambda run: run.trials),
    ("the judges differ", lambda run: sorted(run.judges)),
    ("the number of votes differs", lambda run: run.votes),
    ("the local judge before them differs", lambda run: run.panels.get(run.panel, {}).get("screen")),
    (
        "what the judges were asked (hash of the prompt) differs",
        lambda run: str(run.panels.get(run.panel, {}).get("prompt_hash") or "")[:12],
    ),
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
    for condition in Condition:
        asked = [
            (summary, part)
            for summary in summaries
            for part in summary.conditions
            if part.condition is condition and part.question_set
        ]
        if len({part.question_set for _, part in asked}) > 1:
            (first, part), (other, others) = (
                asked[0],
                next(pair for pair in asked if pair[1].question_set != asked[0][1].question_set),
            )
            raise _mismatch(
                f"under condition {condition} the questions differ",
                *((first, _questions(part)), (other, _questions(others, than=_questions(part)))),
            )


def _questions(condition: ConditionSummary, *, than: str = "") -> str:
    """The questions of a condition in words; `than` are the words for those of another run."""
    roles = condition.cell().roles
    counts = {kind: condition.cell(kind=kind).questions for kind in Kind}
    each = {count / roles for count in counts.values()}
    of_roles = f"{roles:,} {'role' if roles == 1 else 'roles'}"
    if len(each) == 1 and (count := each.pop()).is_integer():
        words = f"{count:.0f} {'question' if count == 1 else 'questions'} a kind for {of_roles}"
    else:
        words = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count) + f" questions for {of_roles}"
    return "as many, but others" if words == than else words


def _require_same(name: str, values: Iterable[tuple[Summary, object]]) -> None:
    first: tuple[Summary, object] | None = None
    for summary, value in values:
        if first is None:
            first = (summary, value)
        elif value != first[1]:
            raise _mismatch(name, (first[0], _show(first[1])), (summary, _show(value)))


def _mismatch(what: str, first: tuple[Summary, str], other: tuple[Summary, str]) -> RunMismatchError:
    return RunMismatchError(
        f"these runs cannot stand in one table, {what}: {first[0].run.path} has {first[1]}, {other[0].run.path} has "
        f"{other[1]}; make a table of each, or put them together with --force"
    )


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value in (None, "") else str(value)
