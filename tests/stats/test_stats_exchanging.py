"""Tests of exchanging: gaps within units, and rates of independent and of clustered rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats import resampling
from biaslens.stats.comparison import clustered_permutation_p, permutation_p, swap_p
from biaslens.stats.estimate import Estimate
from biaslens.stats.resampling import Sums, mean


def gaps(values):
    """The mean of one signed gap a unit, and with every gap turned around."""
    values = np.asarray(values, dtype=np.float64)
    units = np.arange(len(values))
    return tuple(mean(sign * values, units, len(values), of="no gap") for sign in (1, -1))


def absolute(one, two):
    """The absolute difference of two means, and with the two exchanged."""
    rows = np.stack([one, two, np.ones(len(one))], axis=1)

    def statistic(totals):
        return np.abs(totals[..., 0] - totals[..., 1]) / totals[..., 2]

    return tuple(Sums(table, statistic, lambda totals: "") for table in (rows, rows[:, [1, 0, 2]]))


def swap_test(as_is, swapped, **options):
    """p of a metric over units as they are, against those with some exchanged: two tables of sums side by side."""
    width = as_is.sums.shape[1]
    columns = np.arange(2 * width)
    both = Sums(
        np.hstack([as_is.sums, swapped.sums]),
        lambda totals: as_is.statistic(totals[..., :width]),
        lambda totals: as_is.reason(totals[:width]),
        np.concatenate([columns[width:], columns[:width]]),
    )
    return swap_p(both, **options)


def test_hand_worked():
    # Means of the 8 ways to turn 4, 1, -2, times 3: 3, -5, 1, 7, -7, -1, 5, -3. 3, 7 and 5 are at least 3.
    assert swap_test(*gaps([4, 1, -2])) == 3 / 8
    # The other way around only the least one, 7 turned, is below: -3 and more are 6 of them.
    assert swap_test(*gaps([-4, -1, 2])) == 6 / 8


def test_ties_count_in_spite_of_rounding():
    # 0.1 + 0.2 - 0.3 is not quite 0, and every way that gives 0 is as large: 0.6, 0.4, 0.2 and both 0s of 8.
    assert swap_test(*gaps([0.1, 0.2, -0.3])) == 5 / 8


def test_two_sided_metric():
    # Differences 1, 1, 1, 1: of 16 ways none and all exchanged give a mean of 1.
    assert swap_test(*absolute(np.ones(4), np.zeros(4))) == 2 / 16


def test_one_unit():
    assert swap_test(*gaps([0.4])) == 0.5


def test_undefined():
    value = swap_test(*gaps([np.nan, np.nan]))
    assert np.isnan(value)
    assert value.reason == "there is no gap"


def test_nothing_at_all():
    assert np.isnan(swap_test(*gaps([])))


def test_random_exchanges_are_near_to_all():
    values = np.random.default_rng(3).normal(0.4, 1, 14)
    exact = np.mean([np.dot(signs, values) >= values.sum() - 1e-9 for signs in product([1, -1], repeat=14)])
    assert_allclose(swap_test(*gaps(values)), exact, atol=0.01)


def test_the_seed_decides_and_p_is_never_0():
    values = np.random.default_rng(4).normal(0.3, 1, 40)
    assert swap_test(*gaps(values), seed=1) == swap_test(*gaps(values), seed=1)
    assert swap_test(*gaps(np.ones(60)), rounds=99) == 0.01


def test_steps_are_only_for_memory(monkeypatch):
    exact, random = gaps(np.arange(10.0) - 3), gaps(np.random.default_rng(5).normal(0.1, 1, 64))
    whole = swap_test(*exact), swap_test(*random, rounds=160)
    # 16 masks of 64 units are whole words of the generator, so that the draws are the same.
    monkeypatch.setattr(resampling, "HELD", 2048)
    assert (swap_test(*exact), swap_test(*random, rounds=160)) == whole


def test_exchanges_that_leave_it_undefined_are_left_out():
    table = np.array([[1.0, 1, 0], [2.0, 0, 1]])

    def statistic(totals):
        return np.where(totals[..., 2] > 0, totals[..., 0], np.nan)

    as_is, swapped = Sums(table, statistic, lambda totals: ""), Sums(table * [[1, 1, 1], [0, 0, 0]], statistic, str)
    # The second unit exchanged leaves nothing; as it is is the only way that is left.
    assert swap_test(as_is, swapped) == 1


def test_many_units_are_exchanged_in_blocks():
    rng = np.random.default_rng(6)
    assert swap_test(*gaps(rng.normal(0.1, 1, 20_000)), rounds=499) == 1 / 500
    assert swap_test(*gaps(rng.normal(-0.1, 1, 20_000)), rounds=499) > 0.99


@dataclass(frozen=True)
class Distance:
    """Largest distance of the sorted values of two samples: a metric that is no sum."""

    one: np.ndarray
    two: np.ndarray
    ways = 2

    @property
    def units(self):
        return len(self.one)

    def value(self):
        return Estimate(float(self.under(np.zeros((1, self.units), dtype=bool))[0]))

    def under(self, masks):
        one, two = np.where(masks, self.two, self.one), np.where(masks, self.one, self.two)
        return np.abs(np.sort(one, axis=1) - np.sort(two, axis=1)).max(axis=1)

    def merged(self, blocks):
        raise AssertionError("few units are not put together")


def test_a_metric_that_is_no_sum():
    # 1, 2, 3 against 11, 12, 13: only none and all exchanged keep all distances at 10.
    assert swap_p(Distance(np.array([1.0, 2, 3]), np.array([11.0, 12, 13]))) == 2 / 8
    # 0, 0, 0 against 0, 0, 9: all of 8 ways have one distance of 9.
    assert swap_p(Distance(np.zeros(3), np.array([0.0, 0, 9]))) == 1
    rng = np.random.default_rng(8)
    assert swap_p(Distance(rng.random(30), rng.random(30) + 2), rounds=499) < 0.05


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=7))
def test_by_enumeration(values):
    ways = [np.dot(signs, values) for signs in product([1, -1], repeat=len(values))]
    assert_allclose(swap_test(*gaps(values)), np.mean(np.array(ways) >= sum(values)))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=7), st.randoms())
def test_order_of_units_does_not_matter(values, random):
    assert_allclose(swap_test(*gaps(random.sample(values, len(values)))), swap_test(*gaps(values)))


def test_level_and_power():
    rng = np.random.default_rng(9)
    none = [swap_test(*absolute(*rng.exponential(size=(2, 25))), rounds=199, seed=s) for s in range(600)]
    assert 0.03 <= np.mean(np.array(none) <= 0.05) <= 0.072
    effect = np.array([[0.0], [1.0]])
    some = [swap_test(*absolute(*rng.normal(size=(2, 25)) + effect), rounds=199, seed=s) for s in range(100)]
    assert np.mean(np.array(some) <= 0.05) > 0.85


COUNTS = st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def enumerated(k1, n1, k2, n2):
    """By every way to give the rows to the groups."""
    total, rows = k1 + k2, range(n1 + n2)
    gaps = []
    for first in combinations(rows, n1):
        hits = sum(row < total for row in first)
        gaps.append(abs(hits / n1 - (total - hits) / n2))
    return np.mean(np.array(gaps) >= abs(k1 / n1 - k2 / n2) - 1e-9)


def test_rates_hand_worked():
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
def test_rates_by_enumeration(one, two):
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
