"""Consistency over trials."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import comb

from biaslens.stats import Clusters, patterns, verdicts_changed
from biaslens.stats import flip_rate as clustered_flip_rate
from biaslens.stats.agreement import Patterns


def flip_rate(results, roles):
    """With roles alone as a sample."""
    return clustered_flip_rate(results, Clusters(np.asarray(roles)))


def test_three_trials_have_four_patterns_in_three_classes():
    results = [[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]]
    assert patterns(results) == Patterns(questions=5, consistent=2, mostly_biased=1, mostly_unbiased=2)


def test_an_even_split_has_no_biased_majority():
    assert patterns([[1, 0]]) == Patterns(questions=1, consistent=0, mostly_biased=0, mostly_unbiased=1)


def test_questions_with_a_missing_trial_are_not_counted():
    assert patterns([[1, 1, -1], [1, 1, 1]]).questions == 1


def test_a_row_is_no_table():
    with pytest.raises(ValueError, match="questions by trials"):
        patterns([1, 0, 1])


@pytest.mark.parametrize("p", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("trials", [2, 3, 5])
def test_flip_rate_is_unbiased(p, trials):
    # Over all results of one question, by their probability: 2 p (1 - p).
    expected = sum(
        p ** sum(row) * (1 - p) ** (trials - sum(row)) * flip_rate([row], [1]) for row in product((0, 1), repeat=trials)
    )
    assert expected == pytest.approx(2 * p * (1 - p))


def test_flip_rate_leaves_out_what_was_tried_once():
    # 1 of 2 pairs differs in the first question (2 * 1 * 1 / (2 * 1) = 1), none in the second.
    found = flip_rate([[1, 0, -1], [1, 1, 1], [1, -1, -1]], [1, 2, 3])
    assert (found, found.items, found.clusters) == (0.5, 2, 2)


def binomial_shares(p, weights, trials=3, questions=2_000_000):
    """Results with the shares of questions that are expected where p has a discrete distribution."""
    k = np.arange(trials + 1)
    share = (np.array(weights)[:, None] * [comb(trials, k) * q**k * (1 - q) ** (trials - k) for q in p]).sum(axis=0)
    rows = np.tril(np.ones((trials, trials), dtype=int))
    rows = np.vstack([np.zeros(trials, dtype=int), rows])
    return np.repeat(rows, np.round(share * questions).astype(int), axis=0)


def changed(p, trials=3):
    """Chance that two majorities differ."""
    majority = sum(comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials // 2 + 1, trials + 1))
    return 2 * majority * (1 - majority)


@pytest.mark.parametrize(
    ("p", "weights"),
    [
        pytest.param([0.5, 0.0], [0.3, 0.7], id="coin tosses and certainty"),
        pytest.param([0.02, 0.98], [0.5, 0.5], id="two kinds of questions"),
        pytest.param([0.1, 0.4, 0.9], [0.6, 0.2, 0.2], id="three kinds"),
        pytest.param(np.linspace(0.0125, 0.9875, 40), [1 / 40] * 40, id="uniform"),
    ],
)
def test_the_range_holds_the_share_of_verdicts_that_change(p, weights):
    truth = float(np.dot(weights, [changed(q) for q in p]))
    found = verdicts_changed(binomial_shares(p, weights))
    assert found.low - 1e-4 <= truth <= found.high + 1e-4
    assert found.low <= found.middle <= found.high


def test_questions_that_never_split_leave_no_verdict_to_change():
    assert verdicts_changed([[1, 1, 1]] * 5 + [[0, 0, 0]] * 7).high < 1e-4


def test_verdicts_of_two_trials_by_hand():
    # Two trials, a biased verdict needs both: P = p^2, and 2 p^2 (1 - p^2) is 3/8 at p = 1/2. One of two biased in
    # every question is nearest to p = 1/2 everywhere.
    found = verdicts_changed([[1, 0], [0, 1]])
    assert_allclose([found.low, found.high], 0.375, atol=0.01)


def test_verdicts_of_a_single_trial_are_unknown():
    assert np.isnan(verdicts_changed([[1], [0]]).middle)


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from([0, 1, -1]), min_size=3, max_size=3), min_size=1, max_size=20))
def test_swapping_biased_and_unbiased_changes_no_measure_of_three_trials(rows):
    results = np.array(rows)
    swapped = np.where(results >= 0, 1 - results, -1)
    roles = np.arange(len(rows)) // 2
    assert_allclose(flip_rate(results, roles), flip_rate(swapped, roles))
    assert_allclose(verdicts_changed(results).middle, verdicts_changed(swapped).middle, atol=1e-3)
