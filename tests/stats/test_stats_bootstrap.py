"""The bootstrap of a metric over its units: bounds, coverage, policies for what is undefined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from biaslens.stats import resampling
from biaslens.stats.resampling import GAP, RATIO, Sums, blocks_of, bootstrap, mean, ratio

UNIT = st.floats(0, 1)


def scores(values):
    """The mean of one score a unit."""
    values = np.asarray(values, dtype=np.float64)
    return mean(values, np.arange(len(values)), len(values), of="no score")


def rates(one, two):
    """The difference of the rates of two groups of rows, signed."""
    rows = np.zeros((len(one) + len(two), 4))
    rows[: len(one), 0], rows[: len(one), 1] = one, 1
    rows[len(one) :, 2], rows[len(one) :, 3] = two, 1

    def difference(totals):
        return ratio(totals[..., :2]) - ratio(totals[..., 2:])

    return Sums(rows, difference, lambda totals: "a group is empty")


def coverage(make, truth, simulations, **options):
    """Share of intervals that hold the truth."""
    rng = np.random.default_rng(7)
    found = [bootstrap(make(rng), rounds=400, seed=seed, **options) for seed in range(simulations)]
    return np.mean([one.low - 1e-12 <= truth <= one.high + 1e-12 for one in found])


def test_bounds_are_widened_percentiles():
    # Two units, 0 and 1: a quarter of the rounds draws either twice. With t(1) = 12.7 the bounds are the ends.
    found = bootstrap(scores([0, 1]), rounds=500)
    assert (found.value, found.low, found.high, found.items, found.reason) == (0.5, 0, 1, 2, "")


def test_interval_and_error_of_many_normal_scores():
    values = np.random.default_rng(0).normal(5, 2, 400)
    found = bootstrap(scores(values), rounds=8000)
    error = values.std(ddof=1) / 20
    assert_allclose(found.standard_error, error, rtol=0.03)
    # t(399) = 1.9659 times sqrt(400 / 399).
    assert_allclose([found.low, found.high], values.mean() + np.array([-1.9684, 1.9684]) * error, atol=0.15 * error)
    assert found.items == 400


def test_the_seed_decides():
    metric = scores(np.random.default_rng(1).random(30))
    one, same, other = (bootstrap(metric, rounds=200, seed=seed).interval for seed in (3, 3, 4))
    assert one == same != other


def test_higher_level_is_wider():
    metric = scores(np.random.default_rng(1).random(30))
    narrow, wide = bootstrap(metric, level=0.8), bootstrap(metric, level=0.99)
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_steps_are_only_for_memory(monkeypatch):
    metric = scores(np.random.default_rng(1).random(30))
    whole = bootstrap(metric, rounds=100)
    monkeypatch.setattr(resampling, "HELD", 140)
    assert_allclose([bootstrap(metric, rounds=100).low, bootstrap(metric, rounds=100).high], [whole.low, whole.high])


def test_blocks_are_of_nearly_one_size():
    assert blocks_of(4096, np.random.default_rng(0)) is None
    sizes = np.bincount(blocks_of(10_000, np.random.default_rng(0)))
    assert (len(sizes), sizes.min(), sizes.max()) == (4096, 2, 3)


def test_blocks_keep_the_variance():
    values = np.random.default_rng(2).exponential(size=50_000)
    found = bootstrap(scores(values), rounds=4000)
    assert_allclose(found.standard_error, values.std() / np.sqrt(50_000), rtol=0.06)
    assert found.low < found.value < found.high
    assert found.items == 50_000


def test_undefined_metric():
    found = bootstrap(scores([np.nan, np.nan]))
    assert_array_equal([found.value, found.low, found.high, found.standard_error], np.nan)
    assert found.reason == "there is no score"


@pytest.mark.parametrize("values", [[0.3], [0.3, np.nan]])
def test_one_unit(values):
    # A unit without any score is no unit.
    found = bootstrap(scores(values))
    assert (found.value, found.items) == (0.3, 1)
    assert np.isnan(found.low)
    assert np.isnan(found.high)
    assert found.reason == "one unit alone says nothing about how units differ"


def test_all_units_alike():
    found = bootstrap(scores([0.1] * 12))
    assert_allclose(found.value, 0.1)
    assert np.isnan(found.low)
    assert found.standard_error == 0
    assert "all units are alike" in found.reason


def test_a_share_of_which_nothing_was_seen():
    # t(19)**2 / (20 + t(19)**2) = 4.3808 / 24.3808.
    found = bootstrap(scores([0.0] * 20), share=True)
    assert (found.value, found.low, found.reason) == (0, 0, "")
    assert_allclose(found.high, 4.3808 / 24.3808, atol=1e-5)
    assert_allclose(bootstrap(scores([1.0] * 20), share=True).low, 1 - 4.3808 / 24.3808, atol=1e-5)


def test_units_of_unequal_sizes_are_worth_fewer():
    # 0 of 1, 1, 1 and 9: 12**2 / 84 = 1.714 units; t(3) = 3.1824, squared 10.128.
    found = bootstrap(Sums(np.array([[0.0, 1], [0, 1], [0, 1], [0, 9]]), ratio, lambda totals: ""), share=True)
    assert_allclose(found.high, 10.1279 / (144 / 84 + 10.1279), atol=1e-4)


def test_interval_of_a_share_is_wilsons():
    # 30 of 100: variance 0.21 / 99, so the effective size is about 99; Wilson's with t(99) = 1.9842 and size 99:
    # (0.3 + 3.9371 / 198 -+ 1.9842 sqrt(0.21 / 99 + 3.9371 / 39204)) / (1 + 3.9371 / 99) = 0.3076 -+ 0.0900.
    found = bootstrap(scores([1] * 30 + [0] * 70), rounds=20_000, share=True)
    assert_allclose([found.low, found.high], [0.2176, 0.3976], atol=0.003)


def test_a_share_is_between_0_and_1():
    with pytest.raises(ValueError, match="a share is between 0 and 1"):
        bootstrap(scores([2.0, 3.0]), share=True)


def test_few_undefined_rounds_are_left_out_and_many_leave_no_interval():
    # A group of 4 in 40 rows is drawn without any of its rows in 0.9**40 = 1.5 % of the rounds, one of 2 in 12.9 %.
    found = bootstrap(rates([0, 1] * 18, [1, 0, 1, 1]))
    assert found.low < found.value < found.high
    found = bootstrap(rates([0, 1] * 19, [1, 0]))
    assert found.value == 0
    assert np.isnan(found.low)
    assert found.reason.startswith("too few units for an interval: 1")


def test_bad_options():
    with pytest.raises(ValueError, match="level: 95 is not between 0 and 1"):
        bootstrap(scores([0, 1]), level=95)
    with pytest.raises(ValueError, match="rounds: 0"):
        bootstrap(scores([0, 1]), rounds=0)


def test_a_gap_is_the_folded_difference():
    metric = rates([1] * 8 + [0] * 32, [1] * 24 + [0] * 16)
    signed, gap = bootstrap(metric), bootstrap(metric, fold=GAP)
    assert_allclose([gap.value, gap.low, gap.high], [-signed.value, -signed.high, -signed.low])
    metric = rates([1] * 19 + [0] * 21, [1] * 20 + [0] * 20)
    signed, gap = bootstrap(metric), bootstrap(metric, fold=GAP)
    assert (gap.low, gap.high) == (0, max(-signed.low, signed.high))


def test_a_fold_keeps_missing_bounds():
    found = bootstrap(rates([0.0] * 9, [0.0] * 9), fold=GAP)
    assert found.value == 0
    assert np.isnan([found.low, found.high]).all()


def test_fold_of_a_ratio():
    # 0.2 / (0.2 + 0.8) is a ratio of 1/4; from 0.4 to 0.75 it reaches from 1/3 over 1 to 2/3.
    assert_allclose(RATIO.of(0.2), 1 / 4)
    assert_allclose(RATIO.interval(0.4, 0.75), (1 / 3, 1))
    assert_allclose(RATIO.interval(0.6, 0.75), (1 / 3, 2 / 3))


@given(st.lists(UNIT, min_size=2, max_size=12), st.booleans())
def test_bounds_are_in_order_and_in_range(values, share):
    found = bootstrap(scores(values), rounds=60, share=share)
    if not np.isnan(found.low):
        assert -1e-12 <= found.low <= found.high <= 1 + 1e-12


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=10), st.floats(-5, 5))
def test_moving_the_scores_moves_the_interval(values, by):
    one, two = (bootstrap(scores(np.array(values) + move), rounds=60) for move in (0, by))
    if not np.isnan([one.low, two.low]).any():
        assert_allclose([two.low, two.high], [one.low + by, one.high + by], atol=1e-9)


@pytest.mark.parametrize(("units", "least"), [(20, 0.89), (200, 0.92)])
def test_coverage_of_a_mean_of_skewed_scores(units, least):
    assert least <= coverage(lambda rng: scores(rng.exponential(size=units)), 1, 400) <= 0.98


@pytest.mark.parametrize("units", [20, 50])
def test_coverage_of_a_small_share(units):
    assert coverage(lambda rng: scores(rng.random(units) < 0.05), 0.05, 400, share=True) >= 0.94


def test_coverage_of_a_ratio():
    def make(rng):
        size = rng.poisson(3, 50) + 1.0
        return replace(scores(np.zeros(50)), sums=np.stack([rng.gamma(1, 1, 50) * size, size], axis=1))

    assert 0.89 <= coverage(make, 1, 400) <= 0.98


def test_coverage_of_a_gap_that_is_not_there():
    # Percentiles of the absolute difference would hold 0 in hardly any simulation.
    assert coverage(lambda rng: rates(rng.random(60) < 0.4, rng.random(60) < 0.4), 0, 400, fold=GAP) >= 0.92
