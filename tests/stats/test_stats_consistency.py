"""Consistency over trials."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats import clustered_rate, components, flip_rate, patterns, verdicts_changed
from biaslens.stats.trials import Patterns


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


def test_hand_worked_components():
    # Within questions: SS = 1/2 (third question), 8 - 4 = 4 df: 0.125.
    # Question means 1, 0 | 1/2, 0; role means 1/2, 1/4: SS = 2 * (1/4 + 1/4 + 1/16 + 1/16) = 1.25, 2 df: 0.625;
    # question = (0.625 - 0.125) / 2 = 0.25. Roles: SS = 4 * 2 * (1/8)^2 = 0.125; (0.125 - 0.125 - 2 * 0.25) / 4 < 0.
    found = components([[1, 1], [0, 0], [1, 0], [0, 0]], [1, 1, 2, 2])
    assert (found.role, found.question, found.trial) == (0.0, 0.25, 0.125)
    assert found.truncated
    assert_allclose(found.shares, [0, 2 / 3, 1 / 3])
    # sqrt(0.25 / 4 + 0.125 / 8) and, with a trial more, sqrt(0.25 / 4 + 0.125 / 12)
    assert found.standard_error() == pytest.approx(0.2795085, abs=1e-7)
    assert found.standard_error(extra_trials=1) == pytest.approx(0.2700309, abs=1e-7)
    # sqrt(0.25 / 8 + 0.125 / 16), by twice the roles or, as roles do not vary, by twice the questions
    assert found.standard_error(roles=2) == pytest.approx(0.1976424, abs=1e-7)
    assert found.standard_error(questions=2) == pytest.approx(0.1976424, abs=1e-7)


def made(rng, roles, questions, trials, *, missing=0.0):
    """Results with variance 0.02 between roles, 0.03 between questions, and the rest between trials."""
    effect = np.repeat(rng.choice([-1, 1], roles) * np.sqrt(0.02), questions)
    p = 0.4 + effect + rng.choice([-1, 1], roles * questions) * np.sqrt(0.03)
    results = (rng.random((roles * questions, trials)) < p[:, None]).astype(int)
    results[rng.random(results.shape) < missing] = -1
    return results, np.repeat(np.arange(roles), questions)


def test_with_equal_numbers_the_components_give_the_clustered_standard_error():
    results, roles = made(np.random.default_rng(1), 40, 10, 3)
    found = components(results, roles)
    assert not found.truncated
    rate = clustered_rate(np.bincount(roles, results.sum(axis=1)), np.bincount(roles) * 3)
    assert found.standard_error() == pytest.approx(rate.standard_error, rel=1e-12)


def test_components_are_unbiased_with_missing_trials():
    # Mean p (1 - p) = 0.4 * 0.6 - 0.02 - 0.03 = 0.19. 300 runs: standard errors 0.0005, 0.0004 and 0.0003.
    rng = np.random.default_rng(4)
    runs = [components(*made(rng, 40, 10, 3, missing=0.2)) for _ in range(300)]
    means = np.mean([[run.role, run.question, run.trial] for run in runs], axis=0)
    assert_allclose(means, [0.02, 0.03, 0.19], atol=0.0015)


def test_nothing_that_varies_has_no_shares():
    found = components([[1, 1], [1, 1], [1, 1], [1, 1]], [1, 1, 2, 2])
    assert np.isnan(found.shares).all()
    assert found.standard_error() == 0.0


@pytest.mark.parametrize(
    ("results", "roles"),
    [([[1], [0], [1], [0]], [1, 1, 2, 2]), ([[1, 0], [0, 0]], [1, 2]), ([[1, 0], [0, 0]], [1, 1])],
    ids=["one trial", "one question a role", "one role"],
)
def test_what_the_design_cannot_tell_is_unknown(results, roles):
    found = components(results, roles)
    assert np.isnan(found.shares).all()
    assert np.isnan(found.standard_error())


@pytest.mark.parametrize("results", [np.zeros((0, 3), dtype=int), np.full((2, 3), -1)])
def test_no_results_no_components(results):
    found = components(results, np.arange(len(results)))
    assert found.roles == 0
    assert np.isnan([found.role, found.question, found.trial, found.standard_error()]).all()


def test_verdicts_changed_of_a_uniform_distribution():
    # 0, 1, 2 and 3 of 3 equally often: p uniform. M = 3 p^2 - 2 p^3, its integral 1/2, of its square 13/35:
    # 2 * (1/2 - 13/35) = 9/35
    assert verdicts_changed([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]) == pytest.approx(9 / 35, rel=1e-12)


def test_verdicts_of_coin_tosses_change_half_the_time():
    assert verdicts_changed([[1, 0], [0, 1]]) == pytest.approx(2 * 0.25 * 0.75)
    assert verdicts_changed([[1, 0, -1], [0, 1, -1]]) == pytest.approx(0.5)


def test_verdicts_of_a_single_trial_are_unknown():
    assert np.isnan(verdicts_changed([[1], [0]]))


@given(st.lists(st.lists(st.sampled_from([0, 1, -1]), min_size=3, max_size=3), min_size=1, max_size=20))
def test_swapping_biased_and_unbiased_changes_no_measure_of_three_trials(rows):
    results = np.array(rows)
    swapped = np.where(results >= 0, 1 - results, -1)
    roles = np.arange(len(rows)) // 2
    assert_allclose(flip_rate(results, roles), flip_rate(swapped, roles))
    assert_allclose(verdicts_changed(results), verdicts_changed(swapped), atol=1e-9)
    assert_allclose(components(results, roles).trial, components(swapped, roles).trial, atol=1e-12)
