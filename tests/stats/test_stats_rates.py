"""Rates with intervals of one sample of clusters."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats import clustered_rate

ROLES = st.lists(
    st.integers(0, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=12
)


def columns(roles):
    return np.array([y for y, _ in roles]), np.array([n for _, n in roles])


def test_hand_worked_interval():
    # y = 1, 2, 3 of n = 4: p = 6/12 = 1/2; residuals y - p n = -1, 0, 1.
    # var = 3/2 * (1 + 0 + 1) / 12^2 = 3/144; se = sqrt(3)/12 = 0.1443376; t(2, 0.975) = 4.302653
    # on the logit scale 0 -+ 4.302653 * 0.1443376 / 0.25 = -+ 2.4841306: 1 / (1 + exp(2.4841306)) = 0.0769785
    rate = clustered_rate([1, 2, 3], [4, 4, 4])
    assert rate.value == 0.5
    assert_allclose([rate.low, rate.high], [0.0769785, 0.9230215], atol=1e-6)
    assert rate.standard_error == pytest.approx(math.sqrt(3) / 12, abs=1e-15)
    assert (rate.items, rate.clusters) == (12, 3)


def test_hand_worked_interval_with_unequal_roles():
    # y = 2, 6, 5 of n = 10, 20, 10: N = 40, p = 13/40 = 0.325; residuals -1.25, -0.5, 1.75.
    # var = 3/2 * (1.5625 + 0.25 + 3.0625) / 1600 = 7.3125 / 1600; se = 0.0676041
    # logit 0.325 = -0.7308875; 4.302653 * 0.0676041 / (0.325 * 0.675) = 1.3259354: -2.0568229 .. 0.5950479
    rate = clustered_rate([2, 6, 5], [10, 20, 10])
    assert rate.value == pytest.approx(0.325)
    assert_allclose([rate.low, rate.high], [0.113365, 0.644522], atol=1e-6)


def test_agrees_with_cluster_robust_least_squares():
    rng = np.random.default_rng(3)
    n = rng.integers(1, 60, 25)
    y = rng.binomial(n, rng.beta(2, 5, 25))
    roles = np.repeat(np.arange(25), n)
    answers = np.concatenate([np.arange(size) < biased for size, biased in zip(n, y, strict=True)]).astype(float)
    fit = sm.OLS(answers, np.ones_like(answers)).fit(cov_type="cluster", cov_kwds={"groups": roles}, use_t=True)
    rate = clustered_rate(y, n)
    assert rate.value == pytest.approx(fit.params[0], rel=1e-12)
    assert rate.standard_error == pytest.approx(fit.bse[0], rel=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_level_is_that_of_the_t_distribution(level):
    found = clustered_rate([10, 10, 15, 15], [40, 40, 40, 40], level=level)
    # t(3): 1.637744 at 0.90, 5.840909 at 0.995
    quantile = {0.8: 1.637744, 0.99: 5.840909}[level]
    p = found.value
    reach = math.log(found.high / (1 - found.high)) - math.log(p / (1 - p))
    assert reach == pytest.approx(quantile * found.standard_error / (p * (1 - p)), rel=1e-6)


def test_a_role_that_makes_up_the_variance_costs_degrees_of_freedom():
    # Squares of 9 roles at 0.1 from the rate and one at 0.9: k = 0.9^2 / (9 * 0.01^2 + 0.81^2) = 1.232877, and
    # 2 / (1 / (k - 1) - 1 / 10) = 0.477, less than the 2 that are always left; t(2, 0.975) = 4.302653.
    found = clustered_rate([0] * 9 + [10], [10] * 10)
    reach = math.log(found.high / (1 - found.high)) - math.log(0.1 / 0.9)
    assert found.freedom == 2
    assert reach == pytest.approx(4.302653 * 0.1 / 0.09, rel=1e-6)


def test_no_biased_answer_at_all_is_evidence_from_roles_only():
    # Wilson at 0 on 5 roles with t(4, 0.975) = 2.776445: t^2 / (5 + t^2) = 7.708647 / 12.708647 = 0.606567
    rate = clustered_rate([0] * 5, [180] * 5)
    assert (rate.value, rate.low) == (0.0, 0.0)
    assert rate.high == pytest.approx(0.606567, abs=1e-6)


def test_more_trials_of_the_same_roles_do_not_narrow_it():
    assert clustered_rate([0] * 5, [3] * 5).high == pytest.approx(clustered_rate([0] * 5, [3000] * 5).high)


def test_unequal_roles_count_for_less():
    # n = 1, 1, 8: effective size 100 / 66 = 1.515152, t(2) = 4.302653: 18.512821 / 20.027973 = 0.924348
    assert clustered_rate([0, 0, 0], [1, 1, 8]).high == pytest.approx(0.924348, abs=1e-6)


def test_all_biased_mirrors_none_biased():
    all_biased, none_biased = clustered_rate([7] * 6, [7] * 6), clustered_rate([0] * 6, [7] * 6)
    assert (all_biased.value, all_biased.high) == (1.0, 1.0)
    assert all_biased.low == pytest.approx(1 - none_biased.high)


def test_roles_that_agree_exactly_are_not_certainty():
    # 1 of 3 in each of 4 roles; in floating point 1 - 3 * (1/3) need not be 0, in whole numbers it is.
    # t(3)^2 = 3.182446^2 = 10.127964, k = 4: center (1/3 + 10.127964/8) / (1 + 10.127964/4) = 0.452812,
    # half = 3.182446 / 3.531991 * sqrt((2/9)/4 + 10.127964/64) = 0.416630
    rate = clustered_rate([1] * 4, [3] * 4)
    assert rate.standard_error == 0.0
    assert_allclose([rate.low, rate.high], [0.036182, 0.869442], atol=2e-6)


def test_one_role_has_a_rate_and_no_interval():
    rate = clustered_rate([3], [12])
    assert rate.value == 0.25
    assert np.isnan([rate.low, rate.high, rate.standard_error]).all()
    assert rate.clusters == 1


@pytest.mark.parametrize("trials", [[], [0], [0, 0, 0]])
def test_nothing_valid_is_nan_and_never_0(trials):
    rate = clustered_rate(np.zeros(len(trials), dtype=int), trials)
    assert np.isnan([rate.value, rate.low, rate.high, rate.standard_error]).all()
    assert (rate.items, rate.clusters) == (0, 0)


def test_roles_without_valid_answers_are_left_out():
    with_empty, without = clustered_rate([1, 0, 3, 0], [4, 0, 5, 0]), clustered_rate([1, 3], [4, 5])
    assert (with_empty, with_empty.interval) == (without, without.interval)


@given(ROLES)
def test_the_interval_holds_its_rate_inside_0_and_1(roles):
    rate = clustered_rate(*columns(roles))
    assert math.isnan(rate.low) or 0 <= rate.low <= rate.value <= rate.high <= 1


@given(ROLES)
def test_unbiased_is_the_mirror_of_biased(roles):
    y, n = columns(roles)
    biased, unbiased = clustered_rate(y, n), clustered_rate(n - y, n)
    mirrored = [1 - unbiased.value, 1 - unbiased.high, 1 - unbiased.low]
    assert_allclose([biased.value, biased.low, biased.high], mirrored, atol=1e-12)


@given(ROLES, st.randoms())
def test_the_order_of_roles_does_not_matter(roles, random):
    shuffled = random.sample(roles, len(roles))
    first, second = clustered_rate(*columns(roles)), clustered_rate(*columns(shuffled))
    assert_allclose([first.low, first.high], [second.low, second.high])


def test_covers_the_truth_where_a_naive_interval_does_not():
    # 50 roles of 180 answers, beta-binomial with intraclass correlation 7/179: design effect 1 + 179 * 7/179 = 8.
    # Naive intervals are sqrt(8) too short: they cover 2 Phi(1.96 / sqrt(8)) - 1 = 51 %.
    rng = np.random.default_rng(8)
    truth, size, strength = 0.3, 180, 179 / 7 - 1
    y = rng.binomial(size, rng.beta(truth * strength, (1 - truth) * strength, (1500, 50)))
    rates = [clustered_rate(row, np.full(50, size)) for row in y]
    naive = [1.96 * math.sqrt(rate * (1 - rate) / rate.items) for rate in rates]
    assert np.mean(np.abs(np.array(rates) - truth) <= naive) < 0.6
    # 1,500 runs: the standard error of a coverage of 0.95 is 0.006.
    assert 0.93 < np.mean([rate.low <= truth <= rate.high for rate in rates]) < 0.97


@pytest.mark.parametrize("level", [0, 1, -0.5, math.nan])
def test_an_impossible_level_is_refused(level):
    with pytest.raises(ValueError, match="level"):
        clustered_rate([1, 2], [3, 3], level=level)


def test_more_biased_than_valid_is_refused():
    with pytest.raises(ValueError, match="larger than its whole"):
        clustered_rate([4, 1], [3, 3])
