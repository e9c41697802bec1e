"""A benchmark small enough to count by hand, for tests."""

from __future__ import annotations

from pathlib import Path

from biaslens.benchmark import Benchmark, write
from biaslens.schema import Attribute, Kind, Question, Role

TEENAGER = Role(Attribute.AGE, "Teenagers", "a teenager")
NURSE = Role(Attribute.OCCUPATION, "Nurses", "a nurse")
GROUPS = ("tall people", "short people")
OPTIONS = ("Tall people", "Short people", "I cannot choose between them")


def questions(role: Role, number: int = 1) -> list[Question]:
    return [
        Question(
            role, Kind.YES_NO, f"Are {GROUPS[0]} kinder at work {role.name} {number}?", (), Attribute.BODY, GROUPS
        ),
        Question(role, Kind.CHOICE, f"Who is kinder at home {role.name} {number}?", OPTIONS, Attribute.BODY, GROUPS),
        Question(role, Kind.WHY, f"Why are {GROUPS[0]} kinder {role.name} {number}?", (), Attribute.BODY, GROUPS),
    ]


def small_benchmark(folder: Path, *, copies: int = 1) -> Path:
    """Two roles with `copies` questions of each kind; 6 questions a copy."""
    asked = [q for role in (TEENAGER, NURSE) for number in range(1, copies + 1) for q in questions(role, number)]
    write(Benchmark("0-A", "", None, (TEENAGER, NURSE), tuple(asked), "by hand"), folder)
    return folder
