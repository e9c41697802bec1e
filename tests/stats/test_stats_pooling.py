"""Partial pooling of the rates of small groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from statsmodels.stats.meta_analysis import combine_effects

from biaslens.stats import pooled_rates


def made(rng, groups=60, spread=0.1, size=15):
    """True rates, and what is seen of them."""
    truth = np.clip(0.4 + spread * rng.standard_normal(groups), 0.02, 0.98)
    seen = rng.binomial(size, truth) / size
    return truth, seen, np.sqrt(seen * (1 - seen) / (size - 1)), np.full(groups, size)


def test_shrinkage_is_that_of_random_effects_meta_analysis():
    # With equal variances; statsmodels has the estimator of Paule and Mandel too.
    _, seen, error, size = made(np.random.default_rng(1))
    variance = np.mean(error**2)
    theirs = combine_effects(seen, np.full(60, variance), method_re="iterated")
    found = pooled_rates(seen, error, size, np.zeros(60))
    assert_allclose(found.shrinkage, 57 / 59 * variance / (variance + theirs.tau2), rtol=1e-4)


def test_pooled_rates_are_nearer_to_the_truth_and_their_intervals_hold_it():
    # 200 rounds of 60 groups: the standard error of the coverage is under 0.003.
    rng, squares, covered = np.random.default_rng(2), np.zeros(2), []
    for _ in range(200):
        truth, *seen = made(rng)
        found = pooled_rates(*seen, np.zeros(60))
        squares += [np.square(seen[0] - truth).mean(), np.square(found.value - truth).mean()]
        covered.append(((found.low <= truth) & (truth <= found.high)).mean())
    assert squares[1] < 0.7 * squares[0]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


def test_groups_that_differ_by_chance_alone_are_drawn_to_their_mean():
    _, *seen = made(np.random.default_rng(3), spread=0.0)
    assert np.ptp(pooled_rates(*seen, np.zeros(60)).value) < 0.2 * np.ptp(seen[0])


def test_each_family_has_its_own_mean():
    rng = np.random.default_rng(4)
    families = np.repeat([0, 1], 30)
    seen = np.where(families == 0, 0.2, 0.7) + 0.02 * rng.standard_normal(60)
    found = pooled_rates(seen, np.full(60, 0.1), np.full(60, 10), families)
    assert found.value[families == 0].max() < 0.3 < 0.6 < found.value[families == 1].min()


def test_unknown_rates_stay_unknown():
    found = pooled_rates([0.1, np.nan, 0.5, 0.2, 0.4, 0.3], [0.1] * 6, [5] * 6, [0] * 6)
    assert np.isnan(found.value).tolist() == [False, True, False, False, False, False]


def test_too_few_groups_are_not_pooled():
    assert np.isnan(pooled_rates([0.1, 0.5, 0.3], [0.1] * 3, [5] * 3, [0] * 3).value).all()
