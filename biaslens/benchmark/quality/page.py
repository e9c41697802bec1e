"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from biaslens.benchmark.quality.coverage import Matrix
from biaslens.benchmark.quality.diversity import sample
from biaslens.benchmark.quality.faults import Fault, Rule
from biaslens.benchmark.quality.measure import Quality
from biaslens.benchmark.quality.rows import KIND_NAMES, NOTHING, ahead, rows
from biaslens.schema import Attribute, Kind, Question

EXAMPLES = 20
"""Random questions of each kind that a page shows."""

_PAIRS = 12


def page(quality: Quality, against: Quality | None = None) -> str:
    """Make the page: numbers side by side, what is compared by whom, all faults, random questions.

    Texts of the benchmarks are escaped; the page loads nothing.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    both = [quality] if against is None else [quality, against]
    return environment.get_template("page.html.j2").render(
        sides=[_side(one) for one in both],
        sections=_sections(both),
        attributes=list(Attribute),
        kinds=KIND_NAMES,
    )


def _sections(both: list[Quality]) -> Mapping[str, list[Mapping[str, Any]]]:
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for found in zip(*map(rows, both), strict=True):
        line = {
            "label": found[0].label,
            "shown": [row.shown for row in found],
            "ahead": ahead(*found) if len(found) > 1 else 0,
        }
        sections.setdefault(found[0].section, []).append(line)
    return sections


def _side(quality: Quality) -> Mapping[str, Any]:
    source = quality.source
    maps = [("estimated from words", quality.estimated.matrix)]
    if quality.recorded:
        maps.insert(0, ("as recorded", quality.recorded.matrix))
    return {
        "name": source.name,
        "version": source.version,
        "notes": source.notes,
        "counts": quality.counts,
        "readability": {kind: quality.readability.get(kind) for kind in Kind},
        "maps": [(label, _heat(matrix)) for label, matrix in maps],
        "orders": quality.balance.orders[:_PAIRS],
        "leaks": quality.leaks,
        "fault_count": len(quality.faults),
        "faults": list(_by_rule(quality.faults)),
        "examples": dict(_examples(source.questions, quality.seed)),
    }


def _heat(matrix: Matrix) -> Mapping[tuple[Attribute, Attribute], tuple[str, float]]:
    """Give each cell its share of the role attribute's questions in percent, and a shade from 0 to 1."""
    totals = {role: sum(matrix.get((role, target), 0) for target in Attribute) for role in Attribute}
    cells = {}
    for role in Attribute:
        for target in Attribute:
            share = matrix.get((role, target), 0) / totals[role] if totals[role] else 0.0
            cells[role, target] = (f"{100 * share:.0f}" if totals[role] else NOTHING, min(share / 0.5, 1.0))
    return cells


def _by_rule(faults: tuple[Fault, ...]) -> Iterator[tuple[Rule, list[Fault]]]:
    for rule in Rule:
        if found := [fault for fault in faults if fault.rule is rule]:
            yield rule, found


def _examples(questions: tuple[Question, ...], seed: int) -> Iterator[tuple[Kind, list[Question]]]:
    drawn = sample(questions, EXAMPLES, seed + 1)
    for kind in Kind:
        yield kind, [question for question in drawn if question.kind is kind]
