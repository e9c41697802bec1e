"""Agreement with intervals."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from statsmodels.stats import inter_rater

from biaslens.stats import Coefficient, agreement, cohen_kappa


def two_raters(seed, items=300, errors=0.1, prevalence=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < prevalence
    return (truth[:, None] ^ (rng.random((items, 2)) < errors)).astype(int)


def test_standard_error_of_kappa_is_that_of_fleiss_cohen_and_everitt():
    ratings = two_raters(0)
    found = agreement(ratings, Coefficient.COHEN)
    reference = inter_rater.cohens_kappa(inter_rater.to_table(ratings)[0])
    assert found.value == pytest.approx(reference.kappa)
    assert found.standard_error == pytest.approx(reference.std_kappa * math.sqrt(300 / 299), rel=1e-9)


def test_bootstrap_interval_is_near_the_linear_one():
    found = agreement(two_raters(1, items=1000), Coefficient.COHEN)
    assert_allclose(
        [found.low, found.high],
        [found.value - 1.96 * found.standard_error, found.value + 1.96 * found.standard_error],
        atol=0.15 * found.standard_error,
    )


def test_the_same_seed_gives_the_same_interval():
    ratings = two_raters(2)
    one, same, other = (agreement(ratings, Coefficient.ALPHA, seed=seed).interval for seed in (3, 3, 4))
    assert one == same != other


@pytest.mark.parametrize("coefficient", Coefficient)
def test_clusters_of_copies_are_worth_one_item_each(coefficient):
    ratings = two_raters(3, items=60)
    copies, roles = np.repeat(ratings, 5, axis=0), np.repeat(np.arange(60), 5)
    single, clustered = agreement(ratings, coefficient), agreement(copies, coefficient, clusters=roles)
    # alpha's n - 1 makes the only difference: 120 or 600 ratings
    assert clustered.standard_error == pytest.approx(single.standard_error, rel=0.01)
    assert agreement(copies, coefficient).standard_error < 0.5 * clustered.standard_error


@pytest.mark.parametrize("coefficient", [Coefficient.RAW, Coefficient.COHEN, Coefficient.FLEISS, Coefficient.AC1])
def test_a_weight_stands_for_copies(coefficient):
    ratings, weights = two_raters(4, items=40), np.arange(40) % 3 + 1
    copied = agreement(np.repeat(ratings, weights, axis=0), coefficient)
    assert agreement(ratings, coefficient, weights=weights).value == pytest.approx(copied.value)


def test_the_scale_of_the_weights_does_not_matter():
    ratings, weights = two_raters(5, items=40), np.arange(40) % 3 + 1.0
    one, other = (agreement(ratings, Coefficient.ALPHA, weights=scale * weights) for scale in (1, 250))
    assert_allclose([one.value, one.low, one.standard_error], [other.value, other.low, other.standard_error])


def test_perfect_agreement_is_not_certainty():
    # 4 items, De = 1/2; t(3)^2 = 10.127964: h = 10.127964 / 14.127964 = 0.716874, low = 1 - 2 h
    found = agreement([[1, 1], [1, 1], [0, 0], [0, 0]], Coefficient.COHEN)
    assert (found.value, found.high, found.standard_error) == (1.0, 1.0, 0.0)
    assert found.low == pytest.approx(1 - 2 * 0.716874, abs=1e-5)


def test_one_category_has_a_reason_and_no_kappa():
    found = agreement([[1, 1]] * 5, Coefficient.COHEN)
    assert math.isnan(found.value)
    assert (found.items, found.reason) == (5, "all ratings are of one category")


def test_nothing_to_compare_has_a_reason():
    assert agreement([[1, -1]], Coefficient.ALPHA).reason == "no item has two ratings to compare"


def test_one_cluster_has_a_value_and_no_interval():
    found = agreement([[1, 1], [0, 1], [0, 0]], Coefficient.COHEN, clusters=[7, 7, 7])
    assert found.value == cohen_kappa([[1, 1], [0, 1], [0, 0]])
    assert math.isnan(found.low)
    assert found.reason == "all items are of one cluster"


def test_a_class_of_one_item_has_no_kappa_interval():
    # Drawn without that item, 1/e of the time, kappa is not defined.
    ratings = [[0, 0]] * 30 + [[1, 0]]
    found = agreement(ratings, Coefficient.COHEN)
    assert found.value == 0.0
    assert math.isnan(found.low)
    assert "second category" in found.reason


def test_items_without_two_ratings_change_nothing():
    ratings = two_raters(6, items=50)
    more = np.vstack([ratings, [[1, -1], [-1, 0]]])
    one, other = agreement(more, Coefficient.COHEN), agreement(ratings, Coefficient.COHEN)
    assert (one, one.interval) == (other, other.interval)


@pytest.mark.parametrize(
    "options", [{"weights": [1, 0]}, {"weights": [1]}, {"clusters": [1]}, {"weights": [1, np.nan]}]
)
def test_weights_and_clusters_must_fit(options):
    with pytest.raises(ValueError, match=r"weights|clusters"):
        agreement([[1, 1], [0, 1]], Coefficient.RAW, **options)
