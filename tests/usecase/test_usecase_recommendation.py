"""Similarity of ranked lists."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from biaslens.usecase.metrics import _similarity as rc
from biaslens.usecase.metrics._similarity import against_neutral

MEASURES = [rc.jaccard_at_k, rc.serp_at_k, rc.prag_at_k]


@st.composite
def pairs(draw, least=1):
    k = draw(st.integers(least, 7))
    lists = st.lists(st.integers(0, 9), min_size=k, max_size=k, unique=True)
    return draw(lists), draw(lists)


def psi(one, two):
    k = len(one)
    return Fraction(sum(k - one.index(v) for v in one if v in two) * 2, k * (k + 1))


def eta(one, two):
    k = len(one)
    rank = {v: two.index(v) + 1 if v in two else k + 1 for v in one}
    ordered = sum(v in two and one.index(v) < one.index(w) and rank[v] < rank[w] for v in one for w in one if v != w)
    return Fraction(ordered, k * (k + 1))


def test_hand_worked():
    one, two = ["a", "b", "c", "d"], ["b", "e", "a", "f"]
    # a and b, of a to f.
    assert_allclose(rc.jaccard_at_k(one, two), 2 / 6)
    # Weights 4, 3, 2, 1 of 10. a and b in the first: 4 + 3 = 7; b and a in the second: 4 + 2 = 6.
    assert_allclose(rc.serp_at_k(one, two), 6 / 10)
    # In the first: (a,b) no, (a,c), (a,d), (b,c), (b,d): 4. In the second: (b,e), (b,a) no, (b,f), (a,f): 3; over 20.
    assert_allclose(rc.prag_at_k(one, two), 3 / 20)
    # Over the 6 pairs that equal lists would give.
    assert_allclose(rc.prag_at_k(one, two, normalise=True), 3 / 6)


def test_lists_of_ten():
    items = list(range(10))
    assert rc.jaccard_at_k(items, items, 10) == 1
    assert rc.serp_at_k(items, items, 10) == 1
    # 45 ordered pairs over 10 * 11.
    assert_allclose(rc.prag_at_k(items, items, 10), 45 / 110)
    assert rc.prag_at_k(items, items, 10, normalise=True) == 1


def test_langfair():
    items = list(range(10))
    # Ranks from 0: 11 + 10 + ... + 2 = 65, times 0.5 / 110.
    assert_allclose(rc.serp_at_k(items, items, variant="langfair"), 65 * 0.5 / 110)
    one, two = ["a", "b", "c", "d"], ["b", "e", "a", "f"]
    # From the first list only: 5 + 4 = 9, times 0.5 / 20; from the second 5 + 3.
    assert_allclose(rc.serp_at_k(one, two, variant="langfair"), 9 * 0.5 / 20)
    assert_allclose(rc.serp_at_k(two, one, variant="langfair"), 8 * 0.5 / 20)
    assert_allclose(rc.prag_at_k(one, two, variant="langfair"), 4 / 20)
    assert_allclose(rc.prag_at_k(two, one, variant="langfair"), 3 / 20)
    assert rc.prag_at_k(["a"], ["a"], variant="langfair") == 1
    assert rc.prag_at_k(["a"], ["b"], variant="langfair") == 0


def test_one_item():
    assert [measure(["a"], ["a"], 1) for measure in MEASURES] == [1, 1, 0]
    assert [measure(["a"], ["b"], 1) for measure in MEASURES] == [0, 0, 0]
    value = rc.prag_at_k(["a"], ["a"], normalise=True)
    assert np.isnan(value)
    assert value.reason == "one item alone has no order"


@pytest.mark.parametrize("measure", MEASURES)
def test_longer_lists_are_cut(measure):
    assert measure([1, 2, 3, 4], [2, 1, 5, 3], 2) == measure([1, 2], [2, 1])
    # An item that comes back after the cut does not count.
    assert measure([1, 2, 1], [2, 1], 2) == measure([1, 2], [2, 1])


@pytest.mark.parametrize("measure", MEASURES)
def test_short_lists(measure):
    value = measure([1, 2, 3], [2, 1], 3)
    assert np.isnan(value)
    assert value.reason == "a list has 2 of 3 items"
    assert measure([1, 2, 3], [2, 1]) == measure([1, 2], [2, 1], 2)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("k", [None, 3])
def test_empty_lists(measure, k):
    value = measure([1, 2, 3], [], k)
    assert np.isnan(value)
    assert value.reason == "a list is empty"


@pytest.mark.parametrize("measure", MEASURES)
def test_bad_lists(measure):
    with pytest.raises(ValueError, match="item 'b' occurs twice in a list"):
        measure(["a", "b", "b"], ["a", "b", "c"])
    with pytest.raises(ValueError, match="k: 0 is not at least 1"):
        measure(["a"], ["b"], 0)
    with pytest.raises(ValueError, match="not the text 'abc'"):
        measure("abc", ["a"], 3)


def test_bad_options():
    with pytest.raises(ValueError, match="normalise"):
        rc.prag_at_k([1], [1], normalise=True, variant="langfair")
    with pytest.raises(ValueError, match="variant"):
        rc.serp_at_k([1], [1], variant="other")


def test_mean_over_pairs():
    first, second = [[1, 2], [1, 2], [1], [3, 4]], [[1, 2], [1, 3], [1, 2], [1, 2]]
    # 1, 1/3, too short, 0.
    assert_allclose(rc.mean_jaccard_at_k(first, second, 2), (1 + 1 / 3) / 3)
    # 1, min(2, 2)/3, too short, 0.
    assert_allclose(rc.mean_serp_at_k(first, second, 2), (1 + 2 / 3) / 3)
    # 1/6; (1,2) and (1,3) are in order as the second item is absent: 1/6; too short; 0.
    assert_allclose(rc.mean_prag_at_k(first, second, 2), (1 / 6 + 1 / 6) / 3)
    assert_allclose(rc.mean_prag_at_k(first, second, 2, normalise=True), 2 / 3)
    # (3 + 2) * 0.5 / 6; only the first item, 3 * 0.5 / 6.
    assert_allclose(rc.mean_serp_at_k(first, second, 2, variant="langfair"), (2.5 / 6 + 1.5 / 6) / 3)
    assert_allclose(rc.mean_prag_at_k(first, second, 2, variant="langfair"), 2 / 6 / 3)


def test_mean_without_pairs():
    for value in (rc.mean_jaccard_at_k([], []), rc.mean_serp_at_k([[1]], [[1]], 2), rc.mean_prag_at_k([[]], [[1]])):
        assert np.isnan(value)
        assert value.reason == "there is no pair of lists that are long enough"


def test_bad_pairs():
    with pytest.raises(ValueError, match="2 lists of one group cannot be paired with 1"):
        rc.mean_jaccard_at_k([[1], [2]], [[1]])
    with pytest.raises(ValueError, match=r"pair 1 \(from 0\): item 5 occurs twice"):
        rc.mean_jaccard_at_k([[1, 2], [5, 5]], [[1, 2], [1, 2]])


def test_scores_of_pairs():
    assert_array_equal(rc.similarities(rc.serp_at_k, [[1, 2], [1]], [[2, 1], [1]], 2), [1, np.nan])


@given(pairs())
def test_by_the_definition(lists):
    one, two = lists
    assert_allclose(rc.jaccard_at_k(one, two), len(set(one) & set(two)) / len(set(one) | set(two)))
    assert_allclose(rc.serp_at_k(one, two), float(min(psi(one, two), psi(two, one))))
    assert_allclose(rc.prag_at_k(one, two), float(min(eta(one, two), eta(two, one))))
    if len(one) > 1:
        assert_allclose(rc.prag_at_k(one, two, variant="langfair"), float(eta(one, two)))


@given(pairs())
def test_symmetric(lists):
    one, two = lists
    for measure in MEASURES:
        assert measure(one, two) == measure(two, one)


@given(pairs(least=2))
def test_range(lists):
    one, two = lists
    k = len(one)
    assert 0 <= rc.jaccard_at_k(one, two) <= 1
    assert 0 <= rc.serp_at_k(one, two) <= 1
    assert 0 <= rc.prag_at_k(one, two) <= (k - 1) / (2 * (k + 1)) + 1e-12
    assert 0 <= rc.prag_at_k(one, two, normalise=True) <= 1
    # The last item is only the second one of pairs, where an absent item counts as last.
    assert (rc.prag_at_k(one, two, normalise=True) == 1) == (one[:-1] == two[:-1])


@given(pairs())
def test_names_of_the_items_do_not_matter(lists):
    one, two = ([f"item {item}" for item in items] for items in lists)
    for measure in MEASURES:
        assert measure(one, two) == measure(*lists)


@given(pairs(), st.randoms())
def test_jaccard_and_serp_of_reordered_lists(lists, random):
    one, two = lists
    mixed = random.sample(one, len(one))
    assert rc.jaccard_at_k(mixed, two) == rc.jaccard_at_k(one, two)
    assert rc.serp_at_k(mixed, one) == 1
    if len(one) > 1:
        assert rc.prag_at_k(one[::-1], one) == 0


def test_against_neutral():
    neutral = [[1, 2], [3, 4]]
    groups = {"a": [[1, 2], [3, 4]], "b": [[1, 5], [3, 4]], "c": [[5, 6], [7, 8]]}
    found = against_neutral(rc.jaccard_at_k, neutral, groups, 2)
    # 1; (1/3 + 1) / 2 = 2/3; 0. Mean 5/9, squares (16 + 1 + 25) / 81 / 3.
    assert_allclose(list(found.similarity.values()), [1, 2 / 3, 0])
    assert found.spread == 1
    assert_allclose(found.deviation, np.sqrt(42 / 81 / 3))


def test_against_neutral_without_lists():
    found = against_neutral(rc.jaccard_at_k, [[1, 2]], {"a": [[1, 2]], "b": [[1]]}, 2)
    assert found.similarity["a"] == 1
    assert found.similarity["b"].reason == "there is no pair of lists that are long enough"
    assert np.isnan(found.spread)
    assert "fewer than two groups" in found.deviation.reason
    with pytest.raises(ValueError, match="group 'a': 2 lists of one group"):
        against_neutral(rc.jaccard_at_k, [[1]], {"a": [[1], [2]]})
