"""Take a smaller part of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from biaslens.benchmark.files import Benchmark
from biaslens.schema import Attribute, Kind, Question


def select(
    benchmark: Benchmark,
    *,
    attributes: Collection[Attribute] | None = None,
    kinds: Collection[Kind] | None = None,
    roles_per_attribute: int | None = None,
    questions_per_kind: int | None = None,
) -> list[Question]:
    """Choose questions, in file order.

    Slices nest: one with smaller numbers is contained in one with larger numbers, so a run on a small slice is
    a head start for a run on a larger one.

    Parameters
    ----------
    benchmark
        The benchmark.
    attributes
        Attributes of the **role**; None for all.
    kinds
        Kinds of question; None for all.
    roles_per_attribute
        The first so many roles of each attribute; None for all.
    questions_per_kind
        The first so many questions of each kind for each role; None for all. Mirrors do not count: each comes
        along with its original.

    Returns
    -------
    list of Question
        Empty where nothing fits.

    Raises
    ------
    ValueError
        When a number is negative.
    """
    for number in (roles_per_attribute, questions_per_kind):
        if number is not None and number < 0:
            raise ValueError(f"cannot take {number} of something; give 0 or more")
    ranks: Counter[Attribute] = Counter()
    kept = set()
    for role in benchmark.roles:
        if (attributes is None or role.attribute in attributes) and _fits(ranks[role.attribute], roles_per_attribute):
            kept.add(role)
        ranks[role.attribute] += 1
    taken: Counter[tuple[object, Kind]] = Counter()
    chosen = set()
    for index, question in enumerate(benchmark.questions):
        place = (question.role, question.kind)
        if question.mirror_of or question.role not in kept or (kinds is not None and question.kind not in kinds):
            continue
        if _fits(taken[place], questions_per_kind):
            chosen.add(index)
        taken[place] += 1
    if any(question.mirror_of for question in benchmark.questions):
        originals = {benchmark.questions[index].id for index in chosen}
        chosen.update(i for i, question in enumerate(benchmark.questions) if question.mirror_of in originals)
    return [benchmark.questions[index] for index in sorted(chosen)]


def _fits(rank: int, limit: int | None) -> bool:
    return limit is None or rank < limit
