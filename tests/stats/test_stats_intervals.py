"""Intervals that hold at every look."""

import math

import numpy as np
import pytest

from biaslens.stats import Estimate, clustered_mean, clustered_rate
from biaslens.stats.intervals import always_valid


def test_half_width_by_hand():
    # 55 roles, alpha 0.05: t rho^2 = 5.991465 + log(6.991465) = 7.936156; half-width in standard errors
    # sqrt(2 * 8.936156 / 7.936156 * log(sqrt(8.936156) / 0.05)) = sqrt(2.252013 * 4.090794) = 3.035229; very many df.
    low, high = always_valid(Estimate(0.0, standard_error=0.01, clusters=55, freedom=1e9), share=False)
    assert [low, high] == pytest.approx([-0.03035229, 0.03035229], rel=1e-5)


def test_few_degrees_of_freedom_widen_it():
    wide, narrow = (
        always_valid(Estimate(0.0, standard_error=0.01, clusters=11, freedom=free), share=False) for free in (5, 500)
    )
    assert wide[1] > 1.5 * narrow[1]


def test_a_share_stays_a_share():
    low, high = always_valid(clustered_rate([0, 1, 0, 0, 2, 0], [6] * 6))
    assert 0 < low < 1 / 12 < high < 1


def test_no_biased_answer_has_an_upper_bound():
    rate = clustered_rate([0] * 20, [6] * 20)
    low, high = always_valid(rate)
    assert low == 0
    assert rate.high < high < 1


def test_one_role_says_nothing():
    assert math.isnan(always_valid(clustered_rate([1], [3]))[0])


def test_five_looks_reject_a_true_null_no_more_often_than_one():
    # Looks at 11 to 550 roles: the ordinary test rejects somewhere in about a fifth of the rounds.
    # 300 rounds: three standard errors of 0.05 are 0.038.
    rng, looks = np.random.default_rng(7), (11, 33, 88, 220, 550)
    ordinary, sequence = 0, 0
    for _ in range(300):
        values = rng.normal(0, 0.2, 550)
        means = [clustered_mean(values[:look], np.arange(look)) for look in looks]
        ordinary += any(mean.p < 0.05 for mean in means)
        sequence += any(not low <= 0 <= high for low, high in (always_valid(mean, share=False) for mean in means))
    assert ordinary / 300 > 0.1
    assert sequence / 300 < 0.05
