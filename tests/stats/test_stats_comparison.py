"""Comparison of models on the same questions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from biaslens.stats import compare_pairs, holm, mean_of_sums, rank_intervals, rank_shares, tied_groups, tied_with
from biaslens.stats.comparison import Pair

NOTHING = mean_of_sums([], [])


def pairs_apart(models, apart):
    """All pairs, of which those in `apart` differ significantly."""
    return [Pair(a, b, NOTHING, 0.01 if (a, b) in apart else 0.5, math.nan) for a, b in combinations(range(models), 2)]


def test_hand_worked_pair():
    # Differences by role 2, 1, 0 over 2 questions each: D = 1/2, SE = sqrt(1/12) as in the test of the mean;
    # smallest difference (t(2, 0.975) + t(2, 0.8)) * SE = (4.302653 + 1.060660) * 0.2886751 = 1.548255
    (pair,) = compare_pairs([[2, 2, 1], [0, 1, 1]], [2, 2, 2])
    assert (pair.first, pair.second, pair.difference) == (0, 1, 0.5)
    assert pair.p_holm == pair.difference.p == pytest.approx(0.2254033, abs=1e-7)
    assert pair.minimal_difference == pytest.approx(1.548255, abs=1e-6)


def test_p_values_are_adjusted_over_the_pairs():
    sums = np.random.default_rng(0).random((4, 12))
    pairs = compare_pairs(sums, np.ones(12))
    assert len(pairs) == 6
    assert_allclose([pair.p_holm for pair in pairs], holm([pair.difference.p for pair in pairs]))


def test_models_with_the_same_answers_are_tied():
    (pair,) = compare_pairs([[1, 0, 2], [1, 0, 2]], [3, 3, 3])
    assert pair.p_holm == 1.0
    assert math.isnan(pair.minimal_difference)


def test_the_order_of_the_models_turns_the_sign():
    sums = np.random.default_rng(1).random((2, 8))
    (there,), (back,) = compare_pairs(sums, np.ones(8)), compare_pairs(sums[::-1], np.ones(8))
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_holm == pytest.approx(back.p_holm)


def test_ranks_of_models_far_apart_are_certain():
    sums = np.array([[3, 3, 2, 3], [0, 1, 0, 0], [9, 8, 9, 9]])
    low, high = rank_intervals(sums, [10] * 4)
    assert_array_equal(low, [2, 1, 3])
    assert_array_equal(high, [2, 1, 3])


def test_the_bootstrap_draws_roles_jointly():
    # The first model is always one question better than the second, however much roles vary.
    first = np.array([0, 5, 9, 2, 7])
    low, high = rank_intervals([first, first + 1], [10] * 5)
    assert_array_equal([low, high], [[1, 2], [1, 2]])


def test_equal_models_share_the_best_rank():
    shares = rank_shares([[1, 2, 3], [1, 2, 3]], [4, 4, 4])
    assert_array_equal(shares, [[1, 0], [1, 0]])


def test_shares_of_ranks_by_hand():
    # Two roles; each model is best in one by the same margin. Both roles are drawn in half of the rounds: a tie, both
    # rank 1; one role twice in a quarter each. So 3/4 and 1/4 for both.
    shares = rank_shares([[0, 1], [1, 0]], [1, 1], rounds=4000)
    assert_allclose(shares, [[0.75, 0.25], [0.75, 0.25]], atol=0.03)
    assert_allclose(shares.sum(axis=1), 1)


def test_one_role_leaves_every_rank_open():
    low, high = rank_intervals([[1], [2]], [5])
    assert_array_equal([low, high], [[1, 1], [2, 2]])
    assert np.isnan(rank_shares([[1], [2]], [5])).all()


def test_the_same_seed_draws_the_same_roles():
    sums = np.random.default_rng(3).random((3, 6))
    assert_array_equal(rank_shares(sums, np.ones(6), seed=5), rank_shares(sums, np.ones(6), seed=5))
    assert not np.array_equal(rank_shares(sums, np.ones(6), seed=5), rank_shares(sums, np.ones(6), seed=6))


def test_rank_intervals_cover_the_true_ranks():
    # 4 models of rates 0.2, 0.25, 0.3, 0.5 on 40 roles of 20 questions, role effects shared.
    rng, truth, covered = np.random.default_rng(9), np.array([0.2, 0.25, 0.3, 0.5]), []
    for _ in range(150):
        effect = rng.normal(0, 0.08, 40)
        sums = rng.binomial(20, np.clip(truth[:, None] + effect, 0, 1))
        low, high = rank_intervals(sums, [20] * 40, rounds=300)
        covered.append((low <= [1, 2, 3, 4]) & (high >= [1, 2, 3, 4]))
    # At least 95 %, less three standard errors of 0.018.
    assert np.mean(covered, axis=0).min() > 0.9


def test_being_tied_is_not_transitive():
    assert tied_groups([0.1, 0.2, 0.3], pairs_apart(3, {(0, 2)})) == ["a", "ab", "b"]


def test_the_best_model_can_have_two_letters():
    pairs = pairs_apart(3, {(1, 2)})
    assert tied_groups([0.1, 0.2, 0.3], pairs) == ["ab", "a", "b"]
    assert tied_with(0, pairs, models=3) == [True, True, True]
    assert tied_with(2, pairs, models=3) == [True, False, True]


def test_letters_go_from_the_lowest_rate_up():
    assert tied_groups([0.9, 0.1, 0.5], pairs_apart(3, {(0, 1), (0, 2), (1, 2)})) == ["c", "a", "b"]


def test_no_models_no_groups():
    assert tied_groups([], []) == []


def test_a_pair_that_could_not_be_tested_is_tied():
    assert tied_groups([0.1, 0.9], [Pair(0, 1, NOTHING, math.nan, math.nan)]) == ["a", "a"]


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.sampled_from([*combinations(range(n), 2), (9, 9)])))
    )
)
def test_two_models_share_a_letter_exactly_if_they_are_not_told_apart(case):
    models, apart = case
    pairs = pairs_apart(models, apart)
    letters = tied_groups(list(range(models)), pairs)
    for a, b in combinations(range(models), 2):
        assert bool(set(letters[a]) & set(letters[b])) == ((a, b) not in apart) == tied_with(a, pairs, models=models)[b]
