"""Comparison of models on the same questions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit, stdtrit

from biaslens.stats import Clusters, clustered_mean, compare_pairs, holm, rank_intervals, tied_groups, tied_with
from biaslens.stats.comparison import Pair

NOTHING = clustered_mean([], [])


def pairs_apart(models, apart):
    """All pairs, of which those in `apart` differ significantly."""
    return [Pair(a, b, NOTHING, 0.01 if (a, b) in apart else 0.5, math.nan) for a, b in combinations(range(models), 2)]


def by_role(rates, questions=1):
    """Pairs of models whose questions are so many a role, one after the other."""
    rates = np.asarray(rates, dtype=float)
    return compare_pairs(rates, Clusters(np.arange(rates.shape[1]) // questions))


def test_hand_worked_pair():
    # Differences by role 2, 1, 0 over 2 questions each: D = 1/2, SE = sqrt(1/12) as in the test of the mean;
    # smallest difference (t(2, 0.975) + t(2, 0.8)) * SE = (4.302653 + 1.060660) * 0.2886751 = 1.548255
    (first, second), (pair,) = by_role([[1, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0]], 2)
    assert (first, second, pair.first, pair.second, pair.difference) == (5 / 6, 1 / 3, 0, 1, 0.5)
    # The t test has p = 0.2254, the rates' own intervals more. Their variances are 1/36 both, and their covariance is
    # (1/36 + 1/36 - 1/12) / 2 = -1/72, so 1/24 is each rate's own: sqrt(1/24) / (5/36) and sqrt(1/24) / (2/9) on the
    # scale of the logit. At p the interval ends at 0: below^2 + above^2 = (1/2)^2.
    assert 0.2254033 < pair.p_holm == pair.difference.p
    reach = stdtrit(2, 1 - pair.p_holm / 2) * math.sqrt(1 / 24)
    below, above = 5 / 6 - expit(logit(5 / 6) - reach * 36 / 5), expit(logit(1 / 3) + reach * 9 / 2) - 1 / 3
    assert below**2 + above**2 == pytest.approx(1 / 4)
    assert pair.minimal_difference == pytest.approx(1.548255, abs=1e-6)


def test_the_smallest_difference_is_found_four_times_out_of_five():
    # 40 roles, differences with standard deviation 0.1: SE near 0.0158, t(39).
    rng = np.random.default_rng(6)
    rates = 0.3 + 0.1 * rng.standard_normal(40)
    (_, _), (pair,) = by_role([rates, np.full(40, 0.3)])
    least, error = pair.minimal_difference, pair.difference.standard_error
    found = [abs(least + error * draw) > 2.0227 * error for draw in rng.standard_normal(20000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.02)


def test_p_values_are_adjusted_over_the_pairs():
    _, pairs = by_role(np.random.default_rng(0).random((4, 12)))
    assert len(pairs) == 6
    assert_allclose([pair.p_holm for pair in pairs], holm([pair.difference.p for pair in pairs]))


def test_models_with_the_same_answers_are_tied():
    _, (pair,) = by_role([[1, 0, 0.5], [1, 0, 0.5]])
    assert pair.p_holm == 1.0
    assert math.isnan(pair.minimal_difference)


def test_the_order_of_the_models_turns_the_sign():
    rates = np.random.default_rng(1).random((2, 8))
    (_, (there,)), (_, (back,)) = by_role(rates), by_role(rates[::-1])
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_holm == pytest.approx(back.p_holm)


def apart(first, second, *, lower):
    """A pair told apart, of which one has the lower rate."""
    return Pair(first, second, NOTHING.__class__(-0.1 if lower == first else 0.1), 0.01, math.nan)


def test_models_told_apart_from_all_others_have_one_rank():
    pairs = [apart(0, 1, lower=1), apart(0, 2, lower=0), apart(1, 2, lower=1)]
    assert_array_equal(rank_intervals(pairs, models=3), [[2, 1, 3], [2, 1, 3]])


def test_models_not_told_apart_share_their_ranks():
    # The third is above the first; the second could be anywhere.
    pairs = [*pairs_apart(2, set()), apart(0, 2, lower=0)]
    assert_array_equal(rank_intervals(pairs, models=3), [[1, 1, 2], [2, 3, 3]])


def test_no_pair_leaves_every_rank_open():
    assert_array_equal(rank_intervals([], models=4), [[1] * 4, [4] * 4])


def test_ranks_of_equal_models_are_all_covered():
    # 6 equal models on 40 roles: each of the intervals must hold every rank, all at once, in 95 % of the rounds.
    # 150 rounds: three standard errors are 0.053.
    rng, covered = np.random.default_rng(9), []
    for _ in range(150):
        rates = rng.binomial(20, np.clip(0.3 + rng.normal(0, 0.08, 40), 0, 1), (6, 40)) / 20
        _, pairs = by_role(rates)
        low, high = rank_intervals(pairs, models=6)
        covered.append((low == 1).all() and (high == 6).all())
    assert np.mean(covered) > 0.897


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
