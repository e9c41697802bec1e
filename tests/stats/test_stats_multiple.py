"""Correction for the number of tests."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from statsmodels.stats.multitest import multipletests

from biaslens.stats import holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_hand_worked():
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04
    assert_allclose(holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])


def test_a_test_that_could_not_be_made_does_not_count():
    assert_array_equal(holm([0.01, np.nan, 0.02]), [0.02, np.nan, 0.02])


def test_nothing_to_adjust():
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan])).all()


def test_agrees_with_statsmodels():
    p = np.random.default_rng(0).random(30) ** 3
    assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


@given(P_VALUES)
def test_keeps_the_order_and_never_lowers(p):
    adjusted = holm(p)
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
