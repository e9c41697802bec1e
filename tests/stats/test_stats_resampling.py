"""Bootstrap of clusters."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from biaslens.stats import resampling
from biaslens.stats.resampling import resampled_sums


def test_each_round_draws_as_many_clusters_as_there_are():
    totals = resampled_sums([[1, 5], [1, 0], [1, 2]], rounds=50, seed=0)
    assert_array_equal(totals[:, 0], 3)
    assert len(np.unique(totals[:, 1])) > 3


def test_mean_and_variance_are_those_of_drawing_with_replacement():
    # Sums 0, 0, 3, 5: mean 2, variance (4 + 4 + 1 + 9) / 4 = 4.5; of the total of 4 draws 8 and 18.
    totals = resampled_sums([[0], [0], [3], [5]], rounds=40_000, seed=1)
    assert_allclose([totals.mean(), totals.var()], [8, 18], rtol=0.02)


def test_blocks_are_only_for_memory(monkeypatch):
    sums = np.random.default_rng(2).random((7, 2))
    whole = resampled_sums(sums, rounds=30, seed=4)
    monkeypatch.setattr(resampling, "HELD", 20)
    assert_allclose(resampled_sums(sums, rounds=30, seed=4), whole)
