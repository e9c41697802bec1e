"""Means over questions that share roles and comparisons, and the parts of their variance."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats import Clusters, Layout, components, crossed_difference, crossed_mean, crossed_rate, crossed_share
from biaslens.stats.crossed import BOTH, COMPARISON, ITEM, ROLE

EFFECTS = {ROLE: 0.3, COMPARISON: 0.5, BOTH: 0.4, ITEM: 1.0}
"""Standard deviations."""


def lopsided(rng, roles=33, questions=12, comparisons=30):
    """Roles of 11 attributes, of whose questions two fifths are on one comparison; weights of 1 to 3."""
    role = np.repeat(np.arange(roles), questions)
    comparison = np.where(rng.random(len(role)) < 0.4, 0, rng.integers(0, comparisons, len(role)))
    return Clusters(role, comparison, role % 11), rng.integers(1, 4, len(role))


def effects(rng, layout):
    """Values with an effect of each level."""
    both = np.unique(layout.role * layout.comparisons + layout.comparison, return_inverse=True)[1]
    codes = {ROLE: layout.role, COMPARISON: layout.comparison, BOTH: both, ITEM: np.arange(layout.items)}
    return sum(EFFECTS[which] * rng.standard_normal(code.max() + 1)[code] for which, code in codes.items())


def test_components_are_unbiased_with_strata_and_a_lopsided_design():
    # 1,500 rounds; the standard errors are 0.002, 0.003, 0.004 and 0.003.
    rng = np.random.default_rng(1)
    clusters, weights = lopsided(rng)
    layout = Layout(weights, clusters)
    found = [layout.components(effects(rng, layout) + layout.stratum) for _ in range(1500)]
    for which, deviation in EFFECTS.items():
        assert np.mean([each[which] for each in found]) == pytest.approx(deviation**2, abs=0.012)


def test_the_variance_is_that_of_the_mean_where_one_comparison_is_two_fifths():
    # Two-way clustering from residuals has about half of it here.
    rng = np.random.default_rng(2)
    clusters, weights = lopsided(rng)
    layout = Layout(weights, clusters)
    values = [effects(rng, layout) for _ in range(2000)]
    means = [(layout.weight * value).sum() / layout.total for value in values]
    assert np.mean([layout.spread(value).variance for value in values]) == pytest.approx(np.var(means), rel=0.12)


def test_components_of_a_balanced_design_are_those_of_the_analysis_of_variance():
    # Two-way random effects: every expected mean square is set equal to statsmodels' own.
    rng, (r, c, n) = np.random.default_rng(3), (6, 5, 4)
    role, comparison = np.repeat(np.arange(r), c * n), np.tile(np.repeat(np.arange(c), n), r)
    layout = Layout(np.ones(r * c * n), Clusters(role, comparison))
    values = effects(rng, layout)
    frame = pd.DataFrame({"y": values, "role": role, "comparison": comparison})
    table = sm.stats.anova_lm(smf.ols("y ~ C(role) * C(comparison)", frame).fit())
    of_role, of_comparison, of_both, of_item = table["sum_sq"] / table["df"]
    expected = {
        ROLE: (of_role - of_both) / (c * n),
        COMPARISON: (of_comparison - of_both) / (r * n),
        BOTH: (of_both - of_item) / n,
        ITEM: of_item,
    }
    found = layout.components(values)
    for which, value in expected.items():
        assert found[which] == pytest.approx(value, rel=1e-9)


def test_a_large_balanced_design_has_the_error_of_two_way_clustering():
    rng, (r, c) = np.random.default_rng(4), (60, 60)
    role, comparison = np.repeat(np.arange(r), c), np.tile(np.arange(c), r)
    values = rng.standard_normal(r)[role] + rng.standard_normal(c)[comparison] + rng.standard_normal(r * c)
    fit = sm.OLS(values, np.ones(r * c)).fit(
        cov_type="cluster", cov_kwds={"groups": np.column_stack([role, comparison]), "use_correction": False}
    )
    found = crossed_mean(values, Clusters(role, comparison), bounds=(-9, 9))
    # Theirs is without R / (R - 1), and takes the covariances of pairs from their residuals.
    assert found.standard_error == pytest.approx(fit.bse[0], rel=0.02)


def test_comparisons_that_do_not_recur_change_nothing():
    rng = np.random.default_rng(5)
    role, values = np.repeat(np.arange(20), 6), rng.random(120)
    alone = crossed_mean(values, Clusters(role))
    for comparison in (np.arange(120), np.arange(120) // 3):
        found = crossed_mean(values, Clusters(role, comparison))
        assert (found.interval, found.p) == (alone.interval, alone.p)


def test_a_single_comparison_says_nothing_of_others():
    role, values = np.repeat(np.arange(8), 3), np.random.default_rng(6).random(24)
    assert crossed_mean(values, Clusters(role, np.zeros(24))).interval == crossed_mean(values, Clusters(role)).interval


def test_that_attributes_differ_adds_nothing():
    # Two attributes at 0.2 and 0.8, within which roles hardly differ.
    role = np.repeat(np.arange(20), 10)
    values = np.where(role < 10, 0.2, 0.8) + 0.01 * np.random.default_rng(7).standard_normal(20)[role]
    as_strata = crossed_share(values, Clusters(role, None, role // 10))
    assert as_strata.standard_error < 0.004 < 0.06 < crossed_share(values, Clusters(role)).standard_error
    assert as_strata.value == crossed_share(values, Clusters(role)).value


def test_hand_worked_strata():
    # Roles 0 and 1 with 1 and 3 of 4, roles 2 and 3 with 0 and 2 of 4: stratum rates 1/2 and 1/4, residual sums -1, 1,
    # -1, 1, each stratum 2/1 * 2: 8 / 16^2 = 1/32.
    found = crossed_rate([1, 3, 0, 2], [4] * 4, Clusters(np.arange(4), None, np.array([0, 0, 1, 1])))
    assert found.value == 6 / 16
    assert found.standard_error == pytest.approx(math.sqrt(1 / 32))


def test_attributes_of_a_single_role_are_put_together():
    y, n, role = [1, 2, 3, 2], [4] * 4, np.arange(4)
    assert crossed_rate(y, n, Clusters(role, None, role)).interval == crossed_rate(y, n, Clusters(role)).interval
    # A single one joins the smallest other.
    found = crossed_rate(y, n, Clusters(role, None, np.array([0, 0, 0, 1])))
    assert found.interval == crossed_rate(y, n, Clusters(role)).interval


def test_no_biased_answer_is_evidence_from_roles_only():
    # Wilson at 0 on 5 roles with t(4, 0.975) = 2.776445: 7.708647 / 12.708647
    clusters = Clusters(np.repeat(np.arange(5), 60), np.tile(np.arange(30), 10))
    rate = crossed_rate([0] * 300, [3] * 300, clusters)
    assert (rate.low, rate.high) == (0.0, pytest.approx(0.606567, abs=1e-6))


def test_unknown_values_are_left_out():
    clusters = Clusters(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]), np.zeros(6, dtype=int))
    values = np.array([0.1, np.nan, 0.5, 0.2, np.nan, 0.9])
    known = ~np.isnan(values)
    found, without = crossed_mean(values, clusters), crossed_mean(values[known], clusters.at(known))
    assert (found, found.interval, found.items) == (without, without.interval, 4)


QUESTIONS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS)
def test_the_interval_holds_its_rate_inside_0_and_1(rows):
    biased, role, comparison, _ = map(np.array, zip(*rows, strict=True))
    rate = crossed_rate(np.minimum(biased, 3), np.full(len(rows), 3), Clusters(role, comparison, role % 2))
    assert math.isnan(rate.low) or 0 <= rate.low <= rate.value <= rate.high <= 1


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, st.randoms())
def test_the_order_of_questions_does_not_matter(rows, random):
    def rate(rows):
        biased, role, comparison, _ = map(np.array, zip(*rows, strict=True))
        return crossed_rate(np.minimum(biased, 3), np.full(len(rows), 3), Clusters(role, comparison))

    first, second = rate(rows), rate(random.sample(rows, len(rows)))
    assert_allclose([first.low, first.high], [second.low, second.high], atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS)
def test_a_difference_holds_the_symmetric_interval_and_agrees_with_its_test(rows):
    first, role, comparison, second = map(np.array, zip(*rows, strict=True))
    one, other = np.minimum(first, 2) / 2, second / 2
    clusters = Clusters(role, comparison, role % 2)
    found, back = crossed_difference(one, other, clusters), crossed_difference(other, one, clusters)
    plain = crossed_mean(one - other, clusters)
    assert_allclose([found.value, found.low, found.high, found.p], [-back.value, -back.high, -back.low, back.p])
    assert_allclose([found.value, found.standard_error], [plain.value, plain.standard_error])
    if math.isnan(found.low):
        return
    assert -1 <= found.low <= plain.low <= found.value <= plain.high <= found.high <= 1
    assert plain.p <= found.p <= 1
    if found.standard_error > 0 and abs(found.p - 0.05) > 1e-6:
        assert (found.p < 0.05) == (not found.low <= 0 <= found.high)


def test_a_rare_bias_in_few_roles_leaves_a_difference_open():
    # 11 roles, of which one is biased in 10 of 10 questions with the role and nobody is without it: D = 1/11, and the
    # symmetric interval ends at 1/11 + t(10, 0.975) / 11 = 3.228 / 11 = 0.2935. The rate's own interval ends where the
    # logit of 1/11 plus t / (11 * (1/11) * (10/11)) does: -2.3026 + 2.2281 * 1.1 = 0.1483, so at 0.5370; without the
    # role nobody is biased, Wilson's upper end of 0 in 11 with t(10): 0.3110 above 0.
    roles = np.repeat(np.arange(11), 10)
    found = crossed_difference(roles == 0, np.zeros(110), Clusters(roles))
    assert (found.value, found.high) == (pytest.approx(1 / 11), pytest.approx(0.5370, abs=1e-4))
    # The lower end is at the logit -2.3026 - 2.4509, so at 0.0085: below D the two reach
    # sqrt((1/11 - 0.0085)^2 + 0.3110^2) = 0.3217.
    assert found.low == pytest.approx(1 / 11 - 0.3217, abs=1e-4)


def results(rng, roles=40, questions=20, trials=3):
    """Trials of questions on 12 comparisons, with effects of roles and comparisons."""
    role = np.repeat(np.arange(roles), questions)
    comparison = rng.integers(0, 12, len(role))
    chance = np.clip(
        0.4 + 0.1 * rng.standard_normal(roles)[role] + 0.15 * rng.standard_normal(12)[comparison], 0.02, 0.98
    )
    return (rng.random((len(role), trials)) < chance[:, None]).astype(int), Clusters(role, comparison, role % 4)


def test_shares_of_the_variance_add_up_to_one():
    found = components(*results(np.random.default_rng(8)))
    assert sum(found.shares) == pytest.approx(1)
    assert found.comparison > found.question


def test_the_components_give_the_standard_error_of_the_rate():
    answers, clusters = results(np.random.default_rng(9), roles=120)
    rate = crossed_rate(answers.sum(axis=1), [3] * len(answers), clusters)
    assert components(answers, clusters).standard_error() == pytest.approx(rate.standard_error, rel=0.05)


def test_the_best_to_buy_is_what_varies_most():
    answers, clusters = results(np.random.default_rng(10), roles=120)
    assert components(answers, clusters).best_doubled() == "comparisons"
    role_only = Clusters(clusters.role, None, clusters.stratum)
    assert components(answers, role_only).best_doubled() in ("roles", "questions")


def test_a_single_trial_does_not_tell_trials_from_questions():
    answers, clusters = results(np.random.default_rng(11))
    found = components(answers[:, :1], clusters)
    assert math.isnan(found.trial)
    assert found.question > 0.15


@pytest.mark.parametrize("answers", [np.zeros((0, 3), dtype=int), np.full((2, 3), -1)])
def test_no_results_no_components(answers):
    found = components(answers, Clusters(np.arange(len(answers)), np.arange(len(answers))))
    assert (found.roles, found.best_doubled()) == (0, "")
    assert np.isnan([found.role, found.trial, found.standard_error()]).all()


def test_a_row_is_no_table():
    with pytest.raises(ValueError, match="questions by trials"):
        components([1, 0, 1], Clusters(np.arange(3)))


def test_a_small_component_does_not_take_all_degrees_of_freedom():
    # Without any effect of comparisons, two fifths of the questions on one: its component is all noise.
    rng = np.random.default_rng(4)
    clusters, weights = lopsided(rng, roles=110, comparisons=60)
    layout = Layout(weights, clusters)
    values = [layout.role % 2 * 0.1 + rng.random(layout.items) for _ in range(50)]
    for differences, fewest in ((False, 2), (True, 5)):
        assert min(layout.spread(each, differences=differences).freedom for each in values) >= fewest
