"""Paired comparison of verdicts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from statsmodels.stats.contingency_tables import mcnemar as reference

from biaslens.stats import Clusters, clustered_mean
from biaslens.stats import mcnemar as clustered_mcnemar


def mcnemar(first, second, roles):
    """With roles alone as a sample."""
    return clustered_mcnemar(first, second, Clusters(np.asarray(roles)))


def questions(b, c):
    """Discordant questions by role."""
    first = np.concatenate([[1] * x + [0] * y for x, y in zip(b, c, strict=True)])
    return first, 1 - first, np.repeat(range(len(b)), np.add(b, c))


def test_hand_worked_odds_ratio():
    # b = 2, 1, 1 and c = 0, 1, 1: ratio 4 / 2; u = 2/4 - 0, 1/4 - 1/2, 1/4 - 1/2 = 0.5, -0.25, -0.25
    # var = 3/2 * 0.375 = 0.5625, reach 4.302653 * 0.75 = 3.226990, exp = 25.20367: 2 / 25.20367 .. 2 * 25.20367
    found = mcnemar(*questions([2, 1, 1], [0, 1, 1]))
    assert (found.only_first, found.only_second, found.odds_ratio) == (4, 2, 2.0)
    assert_allclose([found.odds_ratio_low, found.odds_ratio_high], [0.0793535, 50.4073], rtol=1e-5)


def test_exact_test_agrees_with_statsmodels():
    first, second, roles = questions([7, 3], [2, 1])
    found = mcnemar(first, second, roles)
    assert found.p_exact == pytest.approx(reference([[0, 10], [3, 0]], exact=True).pvalue, rel=1e-12)


def test_exact_interval_is_that_of_the_share():
    # Clopper-Pearson for 8 of 10: 0.4439045 .. 0.9747893; as odds 0.798254 .. 38.6654
    found = mcnemar(*questions([4, 4], [1, 1]))
    assert_allclose([found.odds_ratio_exact_low, found.odds_ratio_exact_high], [0.798254, 38.6654], rtol=1e-4)


def test_the_clustered_test_is_that_of_the_mean_difference():
    first, second, roles = questions([3, 1, 2, 0], [1, 1, 0, 1])
    assert mcnemar(first, second, roles).p == clustered_mean(first - second, roles).p


def test_only_one_direction_has_a_lower_bound():
    # Wilson with t(4) on 5 of 5 roles: share at least 1 - 0.606567 = 0.393433, odds 0.393433 / 0.606567 = 0.648622
    found = mcnemar(*questions([1] * 5, [0] * 5))
    assert (found.odds_ratio, found.odds_ratio_high) == (math.inf, math.inf)
    assert found.odds_ratio_low == pytest.approx(0.648622, rel=1e-5)


def test_roles_with_the_same_ratio_are_not_certainty():
    found = mcnemar(*questions([1] * 6, [1] * 6))
    assert found.odds_ratio == 1.0
    assert found.odds_ratio_low == pytest.approx(1 / found.odds_ratio_high)
    assert found.odds_ratio_low < 0.3


def test_no_discordant_question():
    found = mcnemar([1, 0, 1], [1, 0, 1], [1, 2, 3])
    assert found.p == 1.0
    assert np.isnan([found.p_exact, found.odds_ratio, found.odds_ratio_low, found.odds_ratio_exact_high]).all()


def test_one_role_knows_no_clustered_answer():
    found = mcnemar([1, 1, 0], [0, 0, 1], [4, 4, 4])
    assert np.isnan([found.p, found.odds_ratio_low, found.odds_ratio_high]).all()
    assert found.p_exact == 1.0


def test_no_question_at_all():
    found = mcnemar([], [], [])
    assert (found.only_first, found.only_second) == (0, 0)
    assert np.isnan([found.p, found.p_exact, found.odds_ratio]).all()


COUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=8)


@given(COUNTS.filter(lambda counts: sum(map(sum, counts)) > 0))
def test_the_arms_the_other_way_round_give_the_inverse(counts):
    first, second, roles = questions(*zip(*counts, strict=True))
    there, back = mcnemar(first, second, roles), mcnemar(second, first, roles)
    assert there.p == pytest.approx(back.p, nan_ok=True)
    with np.errstate(divide="ignore"):
        inverse = 1 / np.array([back.odds_ratio, back.odds_ratio_high, back.odds_ratio_exact_high])
    assert_allclose(
        [there.odds_ratio, there.odds_ratio_low, there.odds_ratio_exact_low], inverse, rtol=1e-9, atol=1e-12
    )
