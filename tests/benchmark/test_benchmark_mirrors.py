from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.benchmark import Benchmark, expand, load_bank, select
from biaslens.benchmark.bank import Form, mirrored
from biaslens.benchmark.files import repeats
from biaslens.schema import Attribute, Kind, Mirror


@pytest.fixture(scope="module")
def plain() -> Benchmark:
    return expand(load_bank(), seed=1, roles_per_attribute=1)


@pytest.fixture(scope="module")
def with_mirrors() -> Benchmark:
    return expand(load_bank(), seed=1, roles_per_attribute=1, mirrors=True)


@given(
    kind=st.sampled_from(Kind),
    form=st.sampled_from(Form),
    groups=st.lists(st.text(), min_size=2, max_size=3),
    degree=st.sampled_from(["more", "less"]),
)
def test_the_mirror_of_a_mirror_is_the_claim(kind: Kind, form: Form, groups: list[str], degree: str) -> None:
    for how, order, other in mirrored(kind, form, groups, degree):
        back = {again: (names, more) for again, names, more in mirrored(kind, form, order, other)}
        assert back[how] == (groups, degree)


@pytest.mark.parametrize(
    ("kind", "form", "expected"),
    [
        (Kind.YES_NO, Form.LIKELY, [Mirror.SWAPPED, Mirror.REVERSED]),
        (Kind.YES_NO, Form.SHOULD, [Mirror.SWAPPED]),
        (Kind.YES_NO, Form.RATHER, [Mirror.SWAPPED]),
        (Kind.CHOICE, Form.LIKELY, [Mirror.SWAPPED]),
        (Kind.WHY, Form.IS, [Mirror.SWAPPED]),
    ],
)
def test_which_mirrors_there_are(kind: Kind, form: Form, expected: list[Mirror]) -> None:
    assert [how for how, _, _ in mirrored(kind, form, ["a", "b"], "more")] == expected


def test_mirrors_are_added_and_change_nothing_else(plain: Benchmark, with_mirrors: Benchmark) -> None:
    assert tuple(q for q in with_mirrors.questions if q.mirror is None) == plain.questions
    counts = Counter((q.kind, q.mirror) for q in with_mirrors.questions)
    for kind in Kind:
        assert counts[kind, Mirror.SWAPPED] == counts[kind, None] == 11 * 20
    assert 11 * 10 < counts[Kind.YES_NO, Mirror.REVERSED] < 11 * 20
    assert counts[Kind.CHOICE, Mirror.REVERSED] == counts[Kind.WHY, Mirror.REVERSED] == 0


def test_a_mirror_names_its_original_and_its_role(with_mirrors: Benchmark) -> None:
    originals = {q.id: q for q in with_mirrors.questions if q.mirror is None}
    for question in with_mirrors.questions:
        if question.mirror_of is not None:
            original = originals[question.mirror_of]
            assert (original.role, original.kind, original.target) == (question.role, question.kind, question.target)
            assert sorted(original.groups) == sorted(question.groups)
            assert original.text != question.text


def test_a_swapped_mirror_exchanges_the_options_and_abstains_last(with_mirrors: Benchmark) -> None:
    originals = {q.id: q for q in with_mirrors.questions if q.mirror is None}
    swapped = [q for q in with_mirrors.questions if q.kind is Kind.CHOICE and q.mirror]
    for question in swapped:
        assert question.mirror_of
        *groups, abstain = originals[question.mirror_of].options
        assert question.options == (*reversed(groups), abstain)


def test_a_reversed_mirror_keeps_the_groups_in_place(with_mirrors: Benchmark) -> None:
    originals = {q.id: q for q in with_mirrors.questions if q.mirror is None}
    for question in with_mirrors.questions:
        if question.mirror is Mirror.REVERSED:
            assert question.groups == originals[question.mirror_of or ""].groups


def test_mirrors_collide_with_nothing_once_the_role_is_off(with_mirrors: Benchmark) -> None:
    # A choice has the options of its mirror in another order, and names them in that order.
    assert repeats(with_mirrors.questions) == []
    assert len({q.id for q in with_mirrors.questions}) == len(with_mirrors.questions)


def test_an_expansion_with_mirrors_says_so(plain: Benchmark, with_mirrors: Benchmark) -> None:
    assert with_mirrors.command == plain.command.replace(" --out", " --mirrors --out")
    assert with_mirrors.version == f"{load_bank().version}+{with_mirrors.hash[:8]}"


def test_the_full_expansion_with_mirrors_has_a_version_of_its_own() -> None:
    bank = load_bank()
    one_role_each = replace(
        bank, roles=tuple(next(role for role in bank.roles if role.attribute is name) for name in Attribute)
    )
    assert expand(one_role_each, seed=0).version == bank.version
    assert expand(one_role_each, seed=0, mirrors=True).version != bank.version


def test_a_slice_takes_mirrors_with_their_originals_and_does_not_count_them(with_mirrors: Benchmark) -> None:
    chosen = select(with_mirrors, kinds={Kind.CHOICE}, questions_per_kind=3)
    # 11 roles x 3 choices, each with its one mirror
    assert Counter(q.mirror for q in chosen) == {None: 33, Mirror.SWAPPED: 33}
    assert {q.mirror_of for q in chosen if q.mirror} == {q.id for q in chosen if not q.mirror}


def test_a_slice_finds_mirrors_wherever_they_stand(with_mirrors: Benchmark) -> None:
    turned = replace(with_mirrors, questions=with_mirrors.questions[::-1])
    chosen = select(turned, kinds={Kind.WHY}, questions_per_kind=1)
    assert [q.mirror for q in chosen] == [Mirror.SWAPPED, None] * 11
