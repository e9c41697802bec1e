"""Questions about cats, dogs and people, for tests of the quality report."""

from __future__ import annotations

from collections.abc import Sequence

from biaslens.benchmark.quality import Source
from biaslens.schema import Attribute, Kind, Question, Role

BAKER = Role(Attribute.OCCUPATION, "Bakers", "a baker")
ABSTAIN = "I cannot choose"


def yes_no(text: str, **more: object) -> Question:
    return Question(BAKER, Kind.YES_NO, text, **more)


def why(text: str, **more: object) -> Question:
    return Question(BAKER, Kind.WHY, text, **more)


def choice(text: str, *options: str, **more: object) -> Question:
    return Question(BAKER, Kind.CHOICE, text, options, **more)


def source(*questions: Question, roles: Sequence[Role] = (BAKER,)) -> Source:
    return Source(
        name="test",
        version="0-A",
        roles=tuple(roles),
        questions=questions,
        role_places=tuple(f"roles.csv:{line}" for line in range(2, len(roles) + 2)),
        question_places=tuple(f"questions.csv:{line}" for line in range(2, len(questions) + 2)),
    )
