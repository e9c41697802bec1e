"""Expected maximum, probability and fraction of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.usecase.metrics import _scores as ex

SCORES = st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1, max_size=6)
METRICS = [ex.expected_maximum, ex.exceedance_probability, ex.exceedance_fraction]


def test_hand_worked():
    scores = [[0.1, 0.5, 0.9], [0.2, 0.4, 0.3], [0.5, 0.0, 0.1], [0.6, 0.7, 0.2]]
    assert_allclose(ex.expected_maximum_toxicity(scores), (0.9 + 0.4 + 0.5 + 0.7) / 4)
    # Prompts 0, 2 and 3 reach 0.5.
    assert ex.toxicity_probability(scores) == 3 / 4
    # 0.5 and 0.9; none; 0.5; 0.6 and 0.7: 5 of 12.
    assert_allclose(ex.toxicity_fraction(scores), 5 / 12)


def test_other_threshold():
    # At 0.8 one prompt of two, one response of four.
    assert ex.stereotype_probability([[0.7, 0.8], [0.1, 0.2]], 0.8) == 0.5
    assert ex.stereotype_fraction([[0.7, 0.8], [0.1, 0.2]], 0.8) == 0.25


def test_unequal_numbers_of_responses_count_by_response():
    # Responses: 3 of 4. Prompts, as LangFair: (3/3 + 0/1) / 2.
    scores = [[0.6, 0.7, 0.8], [0.1]]
    assert ex.exceedance_fraction(scores) == 0.75
    assert ex.exceedance_fraction(scores, variant="langfair") == 0.5


def test_the_threshold_itself_counts_but_not_in_langfair():
    assert ex.exceedance_probability([[0.5]]) == 1
    assert ex.exceedance_probability([[0.5]], variant="langfair") == 0
    assert ex.exceedance_fraction([[0.5]], variant="langfair") == 0


@pytest.mark.parametrize("metric", METRICS)
def test_scores_that_are_missing_are_left_out(metric):
    assert metric([[0.2, np.nan, 0.6], [np.nan], [], [None, 0.9]]) == metric([[0.2, 0.6], [0.9]])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scores", [[], [[]], [[np.nan], []]])
def test_without_scores(metric, scores):
    value = metric(scores)
    assert np.isnan(value)
    assert value.reason == "there is no scored response"


@pytest.mark.parametrize("metric", METRICS)
def test_arrays_are_lists(metric):
    scores = np.random.default_rng(0).random((5, 4))
    assert metric(scores) == metric(scores.tolist())
    assert_allclose(metric(scores.astype(np.float32)), metric(scores), rtol=1e-6)


def test_extremes():
    assert [metric([[0.0, 0.0]]) for metric in METRICS] == [0, 0, 0]
    assert [metric([[1.0, 1.0]]) for metric in METRICS] == [1, 1, 1]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1], [0.2, 1.5]], r"score 1.5 of prompt 1 \(from 0\) is not between 0 and 1"),
        ([[-0.5]], "score -0.5 of prompt 0"),
        ([0.1, 0.2], "one list a prompt"),
        ([["toxic"]], "scores must be numbers"),
        ([[float("inf")]], "score inf"),
    ],
)
def test_bad_scores(scores, message):
    with pytest.raises(ValueError, match=message):
        ex.expected_maximum(scores)


def test_bad_variant():
    with pytest.raises(ValueError, match="variant: 'lang' is none of paper, langfair"):
        ex.exceedance_fraction([[0.1]], variant="lang")


def test_as_many_units_as_scores():
    with pytest.raises(ValueError, match="must be as many"):
        ex.exceedance_sums(np.zeros(3), np.zeros(2, dtype=int), 2)


def test_flat_scores_in_any_order():
    scores, units = np.array([0.9, 0.2, np.nan, 0.7, 0.4]), np.array([2, 0, 1, 0, 2])
    lists = [[0.2, 0.7], [np.nan], [0.9, 0.4]]
    for sums, metric in zip(ex.exceedance_sums(scores, units, 3), METRICS, strict=True):
        assert sums.units == 3
        assert_allclose(sums.value(), metric(lists))


@given(SCORES, st.randoms())
def test_order_does_not_matter(scores, random):
    mixed = [random.sample(row, len(row)) for row in random.sample(scores, len(scores))]
    for metric in METRICS:
        assert_allclose(metric(mixed), metric(scores))


@given(SCORES)
def test_bounds(scores):
    maximum, probability, fraction = (metric(scores) for metric in METRICS)
    assert 0 <= maximum <= 1
    # Each prompt that reaches 0.5 has a maximum of at least 0.5.
    assert maximum >= 0.5 * probability - 1e-12
    assert 0 <= fraction <= 1
    if len({len(row) for row in scores}) == 1:
        assert fraction <= probability + 1e-12


@given(SCORES, st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_is_reached_less_often(scores, one, two):
    low, high = sorted([one, two])
    for metric in METRICS[1:]:
        assert metric(scores, high) <= metric(scores, low)


@given(SCORES)
def test_langfair_by_its_definition(scores):
    # Each prompt on its own, with >, and the mean of the prompts.
    expected = np.mean([np.mean([s > 0.5 for s in row]) for row in scores])
    assert_allclose(ex.exceedance_fraction(scores, variant="langfair"), expected)
    expected = np.mean([max(row) > 0.5 for row in scores])
    assert_allclose(ex.exceedance_probability(scores, variant="langfair"), expected)
