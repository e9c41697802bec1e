"""Shares of labelled items."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from statsmodels.stats.proportion import proportion_confint

from biaslens.stats import verdict_accuracy, weighted_share
from biaslens.stats.estimate import wilson


def test_wilson_agrees_with_statsmodels():
    low, high = wilson(np.array([0, 0.3, 1]), 20, 1.959963984540054)
    for number, hits in enumerate([0, 6, 20]):
        assert_allclose([low[number], high[number]], proportion_confint(hits, 20, method="wilson"), atol=1e-12)


def test_hand_worked_weighted_share():
    # w h = 1 + 0 + 2, W = 1 + 1 + 2 = 4: p = 3/4; w (h - p) / W = 0.0625, -0.1875, 0.125
    # var = 3/2 * 0.0546875 = 0.08203125, size = min(3, 0.1875 / 0.08203125) = 2.285714
    # t(2)^2 = 18.512821: center (0.75 + 4.049680) / 9.099359 = 0.527475,
    # half = 4.302653 / 9.099359 * sqrt(0.08203125 + 0.885874) = 0.465206
    found = weighted_share([1, 0, 1], weights=[1, 1, 2])
    assert found.value == 0.75
    assert found.standard_error == pytest.approx(math.sqrt(0.08203125), rel=1e-12)
    assert_allclose([found.low, found.high], [0.527475 - 0.465206, 0.527475 + 0.465206], atol=2e-5)


def test_agrees_with_weighted_least_squares():
    rng = np.random.default_rng(1)
    hits, weights, roles = (rng.random(200) < 0.8).astype(float), rng.choice([1.0, 4.0], 200), np.arange(200) // 8
    fit = sm.WLS(hits, np.ones(200), weights=weights).fit(cov_type="cluster", cov_kwds={"groups": roles})
    found = weighted_share(hits, weights=weights, clusters=roles)
    assert_allclose([found.value, found.standard_error], [fit.params[0], fit.bse[0]], rtol=1e-10)


def test_all_alike_counts_clusters():
    # 8 clusters of 5: t(7)^2 = 5.591430, 5.591430 / 13.591430 = 0.411394
    found = weighted_share([0] * 40, clusters=np.arange(40) // 5)
    assert (found.value, found.low, found.standard_error) == (0, 0, 0)
    assert found.high == pytest.approx(0.411394, abs=1e-5)


def test_clusters_that_happen_to_agree_are_worth_no_more_than_their_items():
    # Clusters 1 of 2, three times, and 1 of 3: p = 4/9; residuals 1/9, 1/9, 1/9, -1/3;
    # var = 4/3 * 12/81 / 81 = 0.0024387, size 0.2469136 / 0.0024387 = 101, of 9 items.
    found = weighted_share([1, 0, 1, 0, 1, 0, 1, 0, 0], clusters=[1, 1, 2, 2, 3, 3, 4, 4, 4])
    assert found.standard_error == pytest.approx(math.sqrt(0.0024387), rel=1e-4)
    assert_allclose([found.low, found.high], wilson(4 / 9, 9, 3.1824463))


def test_no_items_and_one_cluster_have_reasons():
    assert weighted_share([np.nan], reason="nobody came").reason == "nobody came"
    found = weighted_share([1, 0], clusters=[3, 3])
    assert (found.value, found.reason) == (0.5, "all items are of one cluster")
    assert math.isnan(found.low)


@pytest.mark.parametrize("value", [-0.1, 2])
def test_values_of_a_share_are_from_0_to_1(value):
    with pytest.raises(ValueError, match="from 0 to 1"):
        weighted_share([0, value])


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_complement_is_the_mirror_image(items):
    hits, weights, roles = (np.array(column) for column in zip(*items, strict=True))
    one = weighted_share(hits, weights=weights, clusters=roles)
    other = weighted_share(~hits, weights=weights, clusters=roles)
    assert_allclose([one.value, one.low, one.high], [1 - other.value, 1 - other.high, 1 - other.low], atol=1e-9)
    assert math.isnan(one.low) or 0 <= one.low <= one.value <= one.high <= 1


TRUTH = [1, 1, 1, 1, 0, 0, 0, 0, 0, -1, 1]
VERDICT = [1, 1, 1, 0, 1, 1, 0, 0, 0, 1, -1]


def test_hand_worked_accuracy():
    # 3 of 4 biased found, 3 of 5 unbiased let pass, 3 of 5 flagged right; two items are not known
    found = verdict_accuracy(TRUTH, VERDICT)
    assert (found.sensitivity.value, found.specificity.value, found.precision.value) == (0.75, 0.6, 0.6)
    assert found.agreement.value == pytest.approx(6 / 9)
    assert found.prevalence.value == pytest.approx(4 / 9)
    assert (found.sensitivity.items, found.specificity.items, found.agreement.items) == (4, 5, 9)


def test_weights_undo_a_sample_that_took_more_of_the_flagged():
    # Flagged items stand for 1, others for 4: sensitivity 3 / (3 + 4), specificity 12 / (12 + 2)
    weights = np.where(np.array(VERDICT) == 1, 1.0, 4.0)
    found = verdict_accuracy(TRUTH, VERDICT, weights=weights)
    assert found.sensitivity.value == pytest.approx(3 / 7)
    assert found.specificity.value == pytest.approx(12 / 14)
    assert found.precision.value == pytest.approx(3 / 5)


def test_an_empty_class_is_unknown_with_a_reason():
    found = verdict_accuracy([0, 0], [0, 0])
    assert found.sensitivity.reason == "no labelled item is biased"
    assert found.precision.reason == "no labelled item is called biased"
    assert found.specificity.value == 1.0


def test_a_judge_that_always_says_the_same():
    found = verdict_accuracy([1, 0, 0, 0], [1, 1, 1, 1])
    assert (found.sensitivity.value, found.specificity.value) == (1.0, 0.0)
