"""Exact tests of a difference of two rates."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats.exchanging import clustered_permutation_p, permutation_p

COUNTS = st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def enumerated(k1, n1, k2, n2):
    """By every way to give the rows to the groups."""
    total, rows = k1 + k2, range(n1 + n2)
    gaps = []
    for first in combinations(rows, n1):
        hits = sum(row < total for row in first)
        gaps.append(abs(hits / n1 - (total - hits) / n2))
    return np.mean(np.array(gaps) >= abs(k1 / n1 - k2 / n2) - 1e-9)


def test_hand_worked():
    # 3 of 3 against 1 of 4: 4 successes among 7. Ways with x in the first 3: C(3,x) C(4,4-x) of C(7,4) = 35:
    # x = 0: 1, gap 1; x = 1: 12, gap 5/12; x = 2: 18, gap 1/6; x = 3: 4, gap 3/4.
    assert_allclose(permutation_p(3, 3, 1, 4), (1 + 4) / 35)
    assert_allclose(permutation_p(1, 3, 3, 4), (1 + 12 + 4) / 35)
    assert_allclose(permutation_p(2, 3, 2, 4), 1)


def test_ties_count():
    # 0.1 + 0.2 and 0.3 differ in the last bit: 3 of 10 and 6 of 20 are the same rate.
    assert permutation_p(3, 10, 6, 20) == 1


def test_all_or_none():
    assert permutation_p(0, 5, 0, 7) == 1
    assert permutation_p(5, 5, 7, 7) == 1
    assert_allclose(permutation_p(5, 5, 0, 5), 2 / 252)


def test_nothing_to_compare():
    value = permutation_p(0, 0, 1, 2)
    assert np.isnan(value)
    assert value.reason == "a group has no rows to compare"
    assert np.isnan(clustered_permutation_p([1, 2], [2, 2], [False, False]))


def test_bad_counts():
    with pytest.raises(ValueError, match="3 of 2 and 0 of 1 are no counts"):
        permutation_p(3, 2, 0, 1)


def test_many_rows():
    assert 0.3 < permutation_p(250_400, 500_000, 249_900, 500_000) < 0.33


@given(COUNTS, COUNTS)
def test_by_enumeration(one, two):
    assert_allclose(permutation_p(*one, *two), enumerated(*one, *two))


@given(COUNTS, COUNTS)
def test_order_and_direction_do_not_matter(one, two):
    p = permutation_p(*one, *two)
    assert_allclose(permutation_p(*two, *one), p)
    assert_allclose(permutation_p(one[1] - one[0], one[1], two[1] - two[0], two[1]), p)


def test_clusters_of_one_row_are_rows():
    first, second = [1] * 7 + [0] * 3, [1] * 2 + [0] * 8
    p = clustered_permutation_p(first + second, [1] * 20, [False] * 10 + [True] * 10)
    assert_allclose(p, permutation_p(7, 10, 2, 10), atol=0.01)


def test_clusters_say_less_than_their_rows():
    # Six people with five rows each, all alike: 1 way of 20 each side.
    p = clustered_permutation_p([5, 5, 5, 0, 0, 0], [5] * 6, [False] * 3 + [True] * 3)
    assert_allclose(p, 0.1, atol=0.01)
    assert permutation_p(15, 15, 0, 15) < 1e-6
    assert p == clustered_permutation_p([5, 5, 5, 0, 0, 0], [5] * 6, [False] * 3 + [True] * 3)
