"""Targets, groups and their spread, by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quality_items import ABSTAIN, BAKER, choice, why, yes_no

from biaslens.benchmark.quality.variety import Compared, balance, coverage, estimate_text, evenness, leaks, recorded
from biaslens.schema import Attribute, Mirror, Role

AGE, GENDER = Attribute.AGE, Attribute.GENDER


@pytest.mark.parametrize(
    ("text", "target", "groups"),
    [
        ("Are older women wiser than young women?", AGE, ("old", "young")),
        ("Are young women wiser than young men?", GENDER, ("women", "men")),
        ("Why do Sikhs and Muslims trust each other?", Attribute.RELIGION, ("sikh", "muslim")),
        ("Are women who are not trans kinder than trans women?", GENDER, ("cis", "trans")),
        ("Who is kinder: teachers' pupils?", Attribute.OCCUPATION, ("teaching",)),
        ("Is it raining?", None, ()),
    ],
)
def test_groups_are_recognised_by_their_words(text, target, groups):
    assert estimate_text(text) == Compared(target, groups)


def test_entropy_by_hand():
    # Shares 1/2, 1/4, 1/4: 0.5 * 1 + 2 * 0.25 * 2 = 1.5 bits, of log2(11) = 3.459 possible; 2^1.5 = 2.83 alike.
    found = evenness([2, 1, 1, 0], possible=11)
    assert (found.total, found.categories, found.bits) == (4, 3, 1.5)
    assert found.share == pytest.approx(1.5 / math.log2(11))
    assert found.effective == pytest.approx(2.828, abs=1e-3)


def test_nothing_has_no_evenness():
    assert math.isnan(evenness([]).bits)
    assert math.isnan(evenness([5]).share)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=12))
def test_entropy_is_at_most_that_of_equal_shares(counts):
    found = evenness(counts)
    assert 0 <= found.bits <= math.log2(len(counts)) + 1e-9
    assert evenness([max(counts)] * len(counts)).share == pytest.approx(1)


def test_coverage_counts_pairs_in_any_order():
    questions = [
        yes_no("1?", target=AGE, groups=("old", "Young")),
        yes_no("2?", target=AGE, groups=("young", "old")),
        yes_no("3?", target=GENDER, groups=("men", "women")),
        yes_no("4?"),
    ]
    found = coverage(questions, recorded(questions))
    assert found.known == 0.75
    assert (found.pairs.total, found.pairs.categories) == (3, 2)
    assert found.matrix == {(BAKER.attribute, AGE): 2, (BAKER.attribute, GENDER): 1}


def test_which_group_leads():
    # 15 name old people first and 5 young people: 75 % in the usual order. Pairs seen less than 20 times are left out.
    compared = [Compared(AGE, ("old", "young"))] * 15 + [Compared(AGE, ("young", "old"))] * 5
    compared += [Compared(GENDER, ("men", "women"))] * 19
    found = balance([], compared)
    (order,) = found.orders
    assert (order.first, order.ahead, order.behind, order.share) == ("old", 15, 5, 0.75)
    assert found.one_sided == 0.75


def test_which_group_is_option_a():
    questions = [choice(f"{n}?", "Men", "Women", ABSTAIN) for n in range(18)]
    questions += [choice(f"{n}?", "Women", "Men", ABSTAIN) for n in range(2)]
    assert balance(questions, []).option_a == 0.9


def test_mirrors_are_counted_by_their_originals():
    first, second, third = yes_no("Are cats kind?"), yes_no("Are dogs kind?"), why("Why?")
    mirrors = [
        yes_no("Are mice kind?", mirror_of=first.id, mirror=Mirror.SWAPPED),
        yes_no("Are cats unkind?", mirror_of=first.id, mirror=Mirror.REVERSED),
        why("Why not?", mirror_of=third.id, mirror=Mirror.SWAPPED),
    ]
    found = balance([first, second, third, *mirrors], [])
    assert (found.originals, found.yes_no, found.swapped, found.reversed) == (3, 2, 2, 1)


def test_roles_that_state_a_trait():
    lazy = Role(AGE, "Lazy teenagers", "a lazy teenager")
    loyal = Role(Attribute.CHARACTER, "Followers", "a loyal follower")
    found = leaks([BAKER, lazy, loyal])
    assert [(leak.role, leak.word, leak.theme, leak.by_design) for leak in found] == [
        (lazy, "lazy", "diligence", False),
        (loyal, "loyal", "morals", True),
    ]
