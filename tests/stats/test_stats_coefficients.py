"""Coefficients of agreement."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from statsmodels.stats import inter_rater

from biaslens.stats import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha, raw_agreement

# The textbook table of four observers and twelve units, five categories (Krippendorff, "Computing Krippendorff's
# alpha-reliability", 2011), 0 for no rating there, -1 here.
TEXTBOOK = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    - 1
)
ALL = [raw_agreement, fleiss_kappa, krippendorff_alpha, gwet_ac1]
TABLES = arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(2, 4)), elements=st.integers(-1, 2))


def test_alpha_of_the_textbook():
    assert krippendorff_alpha(TEXTBOOK) == pytest.approx(0.743, abs=5e-4)


def test_ac1_of_the_textbook():
    # 0.77544 in Gwet's own package irrCAC
    assert gwet_ac1(TEXTBOOK) == pytest.approx(0.77544, abs=5e-6)


def test_hand_worked_kappa():
    # Cells 20, 5 | 10, 15: Po = 35/50, Pe = (25 * 30 + 25 * 20) / 2500 = 0.5: 0.2 / 0.5
    ratings = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [20, 5, 10, 15], axis=0)
    assert cohen_kappa(ratings) == pytest.approx(0.4)
    assert raw_agreement(ratings) == pytest.approx(0.7)


def test_kappas_agree_with_statsmodels():
    rng = np.random.default_rng(1)
    ratings = np.where(rng.random((60, 4)) < 0.7, rng.integers(0, 3, (60, 1)), rng.integers(0, 3, (60, 4)))
    counts, _ = inter_rater.aggregate_raters(ratings)
    assert fleiss_kappa(ratings) == pytest.approx(inter_rater.fleiss_kappa(counts), rel=1e-12)
    table = inter_rater.to_table(ratings[:, :2])[0]
    assert cohen_kappa(ratings[:, :2]) == pytest.approx(inter_rater.cohens_kappa(table).kappa, rel=1e-12)


def test_ac1_stays_high_where_kappa_falls():
    # 118 items rated 0 by both, 5 and 2 by one only, none 1 by both: Po = 118/125;
    # p = 7/250, Pe = 2 * 7/250 * 243/250 = 0.054432: AC1 = (0.944 - 0.054432) / 0.945568 = 0.940777
    ratings = np.repeat([[0, 0], [0, 1], [1, 0]], [118, 5, 2], axis=0)
    assert gwet_ac1(ratings) == pytest.approx(0.940777, abs=1e-6)
    assert cohen_kappa(ratings) < 0


def test_ac1_knows_categories_nobody_used():
    # Do = 1/2, sum of p (1 - p) = 3/8: De = 1 - 3/8 with 2 categories, 1 - 3/8 / 4 with 5
    ratings = [[0, 0], [0, 1]]
    assert gwet_ac1(ratings) == pytest.approx(1 - 0.5 / (5 / 8))
    assert gwet_ac1(ratings, categories=5) == pytest.approx(1 - 0.5 / (29 / 32))


def test_fleiss_kappa_is_of_complete_items():
    complete = [[1, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert fleiss_kappa([*complete, [1, -1, 0]]) == fleiss_kappa(complete)


def test_one_category_leaves_nothing_to_agree_on():
    ratings = [[1, 1], [1, 1]]
    assert np.isnan([cohen_kappa(ratings), fleiss_kappa(ratings), krippendorff_alpha(ratings)]).all()
    assert (raw_agreement(ratings), gwet_ac1(ratings)) == (1.0, 1.0)


@pytest.mark.parametrize("ratings", [np.zeros((0, 2), dtype=int), [[1, -1], [-1, 0]], [[-1, -1]]])
def test_nothing_rated_twice_is_unknown(ratings):
    assert np.isnan([coefficient(ratings) for coefficient in (*ALL, cohen_kappa)]).all()


@pytest.mark.parametrize("coefficient", ALL)
def test_one_rater_agrees_with_nobody(coefficient):
    assert np.isnan(coefficient([[1], [0], [1]]))


@pytest.mark.parametrize("ratings", [[1, 0], [[0.5, 1.0]], [[-2, 0]], [["a", "b"]]])
def test_what_are_no_ratings_is_refused(ratings):
    with pytest.raises(ValueError, match="ratings"):
        raw_agreement(ratings)


def test_kappa_of_three_raters_is_refused():
    with pytest.raises(ValueError, match="two raters"):
        cohen_kappa([[1, 0, 1]])


@given(st.lists(st.integers(0, 3), min_size=2).filter(lambda row: len(set(row)) > 1))
def test_a_rater_agrees_with_themselves(row):
    ratings = np.column_stack([row, row])
    assert_allclose([coefficient(ratings) for coefficient in (*ALL, cohen_kappa)], 1.0)


@given(TABLES, st.permutations(range(3)), st.randoms())
def test_names_of_categories_and_order_of_items_and_raters_do_not_matter(ratings, names, random):
    renamed = np.array([*names, -1])[ratings]
    turned = renamed[:, random.sample(range(ratings.shape[1]), ratings.shape[1])]
    mixed = turned[random.sample(range(len(turned)), len(turned))]
    for coefficient in ALL:
        assert_allclose(coefficient(mixed), coefficient(ratings), atol=1e-12)


@given(TABLES)
def test_alpha_of_complete_ratings_is_fleiss_kappa_with_a_small_sample_term(ratings):
    complete = np.maximum(ratings, 0)
    kappa, alpha, n = fleiss_kappa(complete), krippendorff_alpha(complete), complete.size
    # De is n / (n - 1) times as large: 1 - alpha = (1 - kappa) (n - 1) / n
    assert_allclose(1 - alpha, (1 - kappa) * (n - 1) / n)
