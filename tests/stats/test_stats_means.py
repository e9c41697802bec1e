"""Means of values that cluster by role."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats import clustered_mean

VALUES = st.lists(st.tuples(st.sampled_from([-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1]), st.integers(0, 4)), min_size=1)


def test_hand_worked_mean():
    # Three roles of two questions, sums 2, 1, 0: D = 3/6; residuals 1, 0, -1: var = 3/2 * 2 / 36 = 1/12.
    # t = 0.5 * sqrt(12) = 1.732; with 2 df p = 1 - t / sqrt(2 + t^2) = 1 - 1.7320508 / 2.2360680 = 0.2254033
    # low = 0.5 - 4.302653 * 0.2886751 = -0.7420689
    mean = clustered_mean([1, 1, 1, 0, 0, 0], [5, 5, 6, 6, 7, 7])
    assert mean.value == 0.5
    assert mean.standard_error == pytest.approx(math.sqrt(1 / 12), rel=1e-12)
    assert mean.p == pytest.approx(0.2254033, abs=1e-7)
    assert (mean.low, mean.high) == (pytest.approx(-0.7420689, abs=1e-6), 1.0)
    assert (mean.items, mean.clusters) == (6, 3)


def test_agrees_with_cluster_robust_least_squares():
    rng = np.random.default_rng(2)
    roles = np.sort(rng.integers(0, 20, 300))
    values = rng.choice([-1, 0, 0, 1 / 3, 1], 300) * rng.random(20)[roles]
    fit = sm.OLS(values, np.ones(300)).fit(cov_type="cluster", cov_kwds={"groups": roles}, use_t=True)
    mean = clustered_mean(values, roles)
    # statsmodels takes R / (R - 1) * (N - 1) / (N - K) with K = 1: the same factor.
    assert_allclose([mean.value, mean.standard_error], [fit.params[0], fit.bse[0]], rtol=1e-10)
    # Ours has fewer degrees of freedom where few roles make up most of the variance.
    assert fit.pvalues[0] <= mean.p < fit.pvalues[0] + 0.02


def test_a_role_that_stands_alone_costs_no_degrees_of_freedom():
    # t(9, 0.975) = 2.262157: differences scatter to both sides, where long tails make the test conservative already.
    mean = clustered_mean([0.0] * 9 + [1.0], range(10))
    assert mean.standard_error == pytest.approx(0.1)
    assert mean.high - mean.value == pytest.approx(0.2262157, abs=1e-6)


def test_no_difference_anywhere_is_evidence_from_roles_only():
    # t(4)^2 / (5 + t(4)^2) = 7.708647 / 12.708647 = 0.606567, towards either bound
    mean = clustered_mean([0] * 50, np.repeat(range(5), 10))
    assert_allclose([mean.low, mean.high, mean.standard_error, mean.p], [-0.606567, 0.606567, 0, 1], atol=1e-6)


def test_roles_that_all_differ_alike_are_tested_by_sign():
    # 1/3 in each of 4 roles: as surprising as 4 heads or 4 tails, 2 / 2^4.
    mean = clustered_mean([1, 0, 0] * 4, np.repeat(range(4), 3))
    assert mean.p == 0.125
    assert -1 < mean.low < mean.value < mean.high < 1


def test_unknown_values_are_left_out():
    known = clustered_mean([1, 0, 1], [1, 2, 3])
    found = clustered_mean([1, np.nan, 0, 1, np.nan], [1, 1, 2, 3, 4])
    assert (found, found.interval, found.items) == (known, known.interval, 3)


def test_one_role_has_a_mean_and_no_interval():
    mean = clustered_mean([1, 0], [3, 3])
    assert mean.value == 0.5
    assert np.isnan([mean.low, mean.high, mean.standard_error, mean.p]).all()


@pytest.mark.parametrize("values", [[], [np.nan, np.nan]])
def test_a_mean_of_nothing_is_unknown(values):
    mean = clustered_mean(values, range(len(values)))
    assert np.isnan([mean.value, mean.low, mean.p]).all()
    assert mean.items == mean.clusters == 0


@given(VALUES)
def test_the_other_way_round_is_the_mirror_image(pairs):
    values, roles = zip(*pairs, strict=True)
    there, back = clustered_mean(values, roles), clustered_mean(np.negative(values), roles)
    assert_allclose(
        [there.value, there.low, there.high, there.p], [-back.value, -back.high, -back.low, back.p], atol=1e-12
    )


@given(VALUES, st.permutations(range(5)))
def test_names_of_roles_do_not_matter(pairs, names):
    values, roles = zip(*pairs, strict=True)
    one, other = clustered_mean(values, roles), clustered_mean(values, [names[role] for role in roles])
    assert_allclose([one.low, one.high, one.p], [other.low, other.high, other.p], atol=1e-12)


@given(VALUES)
def test_the_interval_holds_its_mean(pairs):
    mean = clustered_mean(*zip(*pairs, strict=True))
    assert math.isnan(mean.low) or -1 <= mean.low <= mean.value + 1e-12 <= mean.high + 2e-12 <= 1 + 3e-12


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="one length"):
        clustered_mean([1, 2], [1])


def test_an_impossible_level_is_refused_for_means():
    with pytest.raises(ValueError, match="level"):
        clustered_mean([1, 0], [1, 2], level=95)
