"""Shares, coverage and the majority rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.stats import biased_majority, biased_questions, coverage, majority_threshold, share


def test_a_share_of_nothing_is_unknown():
    assert np.isnan(share(0, 0))


def test_shares_broadcast():
    np.testing.assert_array_equal(share([[1], [2]], [4, 8]), [[0.25, 0.125], [0.5, 0.25]])


def test_nothing_planned_is_no_coverage():
    assert coverage(0, 0) == 0.0


def test_coverage_is_valid_over_planned():
    assert coverage(9, 12) == 0.75


@pytest.mark.parametrize(("planned", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half_of_the_planned_trials(planned, needed):
    assert majority_threshold(planned) == needed
    assert not biased_majority(needed - 1, planned)
    assert biased_majority(needed, planned)


def test_missing_answers_do_not_lower_the_bar():
    # One biased answer of three planned, the other two never given: 1 < 2.
    assert biased_questions([1], [3]) == 0


def test_a_question_without_trials_is_not_biased():
    assert not biased_majority(0, 0)


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_majority_is_strictly_more_than_half(counts):
    biased, planned = counts
    assert biased_majority(biased, planned) == (2 * biased > planned)


@pytest.mark.parametrize(("part", "whole"), [([2], [1]), ([-1], [1]), ([0.5], [1]), ([np.nan], [1])])
def test_what_is_no_count_is_refused(part, whole):
    with pytest.raises(ValueError, match=r"count|part"):
        share(part, whole)
