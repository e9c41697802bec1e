from itertools import product

import pytest
from small import questions

from biaslens.benchmark import Benchmark, select
from biaslens.schema import Attribute, Kind, Role

ROLES = tuple(
    Role(attribute, f"{attribute} {number}", f"a person {number}")
    for attribute, number in product((Attribute.AGE, Attribute.BODY), range(3))
)
# 6 roles x 3 kinds x 4 = 72 questions
BENCHMARK = Benchmark("1", "", None, ROLES, tuple(q for role in ROLES for n in range(4) for q in questions(role, n)))


def test_everything_by_default() -> None:
    assert select(BENCHMARK) == list(BENCHMARK.questions)


@pytest.mark.parametrize(
    ("roles", "each", "number"),
    [(None, None, 72), (1, None, 2 * 12), (2, 3, 4 * 3 * 3), (9, 9, 72), (0, None, 0), (None, 0, 0)],
)
def test_the_first_so_many(roles: int | None, each: int | None, number: int) -> None:
    assert len(select(BENCHMARK, roles_per_attribute=roles, questions_per_kind=each)) == number


def test_attributes_are_those_of_the_role_and_kinds_can_be_chosen() -> None:
    chosen = select(BENCHMARK, attributes=[Attribute.AGE], kinds={Kind.WHY}, roles_per_attribute=1)
    assert {(q.role.name, q.kind) for q in chosen} == {("age 0", Kind.WHY)}
    assert len(chosen) == 4


def test_slices_nest_and_keep_the_order_of_the_file() -> None:
    place = {question: index for index, question in enumerate(BENCHMARK.questions)}
    smaller: list[int] = []
    for roles, each in ((1, 1), (1, 3), (2, 3), (3, 4)):
        slice_ = [place[q] for q in select(BENCHMARK, roles_per_attribute=roles, questions_per_kind=each)]
        assert slice_ == sorted(slice_)
        assert set(smaller) < set(slice_)
        smaller = slice_


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot take -1"):
        select(BENCHMARK, questions_per_kind=-1)
