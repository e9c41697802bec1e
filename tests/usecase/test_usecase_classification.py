"""Parity of classifiers between groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from biaslens.usecase.metrics import _classification as cl
from biaslens.usecase.metrics._classification import (
    Parity,
    gap_estimate,
    group_rates,
)

# Group a: 3 hits, 1 miss, 2 false alarms, 4 correct rejections. Group b: 2, 2, 1, 5.
A = [(1, 1)] * 3 + [(1, 0)] * 1 + [(0, 1)] * 2 + [(0, 0)] * 4
B = [(1, 1)] * 2 + [(1, 0)] * 2 + [(0, 1)] * 1 + [(0, 0)] * 5
GROUP = ["a"] * 10 + ["b"] * 10
LABEL, PREDICTION = ([row[i] for row in A + B] for i in (0, 1))
WORKED = {
    Parity.DP: (5 / 10, 3 / 10),
    Parity.FNRD: (1 / 4, 2 / 4),
    Parity.FORD: (1 / 5, 2 / 7),
    Parity.FPRD: (2 / 6, 1 / 6),
    Parity.FDRD: (2 / 5, 1 / 3),
}
FUNCTIONS = {
    Parity.FNRD: cl.false_negative_rate_parity,
    Parity.FORD: cl.false_omission_rate_parity,
    Parity.FPRD: cl.false_positive_rate_parity,
    Parity.FDRD: cl.false_discovery_rate_parity,
}
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), min_size=2, max_size=30)


def columns(rows):
    group, label, prediction = zip(*rows, strict=True)
    assume(len(set(group)) > 1)
    return list(group), [int(value) for value in label], [int(value) for value in prediction]


def same(one, two):
    assert_array_equal(np.isnan(one), np.isnan(two))
    assert_allclose(one, two)


@pytest.mark.parametrize("parity", Parity)
def test_hand_worked(parity):
    one, two = WORKED[parity]
    assert_allclose([rate.value for rate in group_rates(parity, GROUP, LABEL, PREDICTION)], [one, two])
    assert_allclose(cl.parity_gap(parity, GROUP, LABEL, PREDICTION), abs(one - two))
    assert_allclose(cl.parity_gap(parity, GROUP, LABEL, PREDICTION, ratio=True), min(one, two) / max(one, two))
    langfair = cl.parity_gap(parity, GROUP, LABEL, PREDICTION, ratio=True, variant="langfair")
    assert_allclose(langfair, one / two)


def test_each_has_its_function():
    for parity, function in FUNCTIONS.items():
        assert function(GROUP, LABEL, PREDICTION) == cl.parity_gap(parity, GROUP, LABEL, PREDICTION)
        ratio = cl.parity_gap(parity, GROUP, LABEL, PREDICTION, ratio=True)
        assert function(GROUP, LABEL, PREDICTION, ratio=True) == ratio
    assert_allclose(cl.demographic_parity(GROUP, PREDICTION), 0.2)


def test_numerators_and_denominators():
    rates = group_rates(Parity.FORD, GROUP, LABEL, PREDICTION)
    assert [(rate.group, rate.numerator, rate.denominator) for rate in rates] == [("a", 1, 5), ("b", 2, 7)]


def test_arrays_and_any_labels():
    names = np.array(["no", "yes"])
    label, prediction = names[LABEL], names[PREDICTION]
    for parity in Parity:
        value = cl.parity_gap(parity, np.array(GROUP), label, prediction, positive="yes")
        assert value == cl.parity_gap(parity, GROUP, LABEL, PREDICTION)
    assert cl.demographic_parity(GROUP, [bool(value) for value in PREDICTION]) == cl.demographic_parity(
        GROUP, np.array(PREDICTION, dtype=float)
    )


def test_groups_of_mixed_kinds():
    rates = group_rates(Parity.DP, [2, "b", 10, 2], None, [1, 1, 0, 0])
    assert [rate.group for rate in rates] == [10, 2, "b"]


@pytest.mark.parametrize(
    ("parity", "label", "prediction", "reason"),
    [
        (Parity.FNRD, [1, 0, 0, 0], [1, 0, 1, 0], "group b has no positives"),
        (Parity.FPRD, [1, 0, 1, 1], [1, 0, 1, 0], "group b has no negatives"),
        (Parity.FORD, [1, 0, 1, 1], [1, 0, 1, 1], "group b has no negative predictions"),
        (Parity.FDRD, [1, 0, 1, 1], [0, 0, 1, 0], "group a has no positive predictions"),
        (Parity.FNRD, [0, 0, 0, 0], [1, 0, 1, 0], "groups a and b have no positives"),
    ],
)
def test_a_group_without_what_the_rate_is_of(parity, label, prediction, reason):
    for value in (
        cl.parity_gap(parity, list("aabb"), label, prediction),
        cl.pairwise_gaps(parity, list("aabb"), label, prediction)[0].difference,
        cl.pairwise_gaps(parity, list("aabb"), label, prediction)[0].ratio,
    ):
        assert np.isnan(value)
        assert value.reason == reason


def test_rates_of_0_and_1():
    # Group a passes always, b never.
    group, prediction = list("aabb"), [1, 1, 0, 0]
    assert cl.demographic_parity(group, prediction) == 1
    assert cl.demographic_parity(group, prediction, ratio=True) == 0
    assert np.isnan(cl.parity_gap(Parity.DP, group, None, prediction, ratio=True, variant="langfair"))
    assert cl.demographic_parity(group, [1, 1, 1, 1]) == 0
    assert cl.demographic_parity(group, [1, 1, 1, 1], ratio=True) == 1


def test_both_rates_0():
    assert cl.demographic_parity(list("aabb"), [0, 0, 0, 0]) == 0
    value = cl.demographic_parity(list("aabb"), [0, 0, 0, 0], ratio=True)
    assert np.isnan(value)
    assert value.reason == "the rate is 0 in every group"
    assert cl.pairwise_gaps(Parity.DP, list("aabb"), None, [0] * 4)[0].ratio.reason == "the rate is 0 in both groups"


def test_more_groups():
    # Rates 1, 1/2, 0, 1/2.
    group, prediction = list("aabbccdd"), [1, 1, 1, 0, 0, 0, 0, 1]
    assert cl.demographic_parity(group, prediction) == 1
    assert cl.parity_gap(Parity.DP, group, None, prediction, groups=["b", "d"]) == 0
    gaps = cl.pairwise_gaps(Parity.DP, group, None, prediction)
    assert [f"{gap.first.group}{gap.second.group}" for gap in gaps] == ["ab", "ac", "ad", "bc", "bd", "cd"]
    assert [gap.difference for gap in gaps] == [0.5, 1, 0.5, 0.5, 0, 0.5]
    assert [gap.ratio for gap in gaps] == [0.5, 0, 0.5, 0, 1, 0]


def test_a_group_without_a_rate_leaves_the_others():
    group, label, prediction = list("aabbcc"), [1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0]
    assert cl.false_negative_rate_parity(group, label, prediction) == 0.5
    gaps = cl.pairwise_gaps(Parity.FNRD, group, label, prediction)
    assert [gap.difference.reason for gap in gaps] == ["", "group c has no positives", "group c has no positives"]
    assert np.isnan(gaps[1].p)


def test_one_against_the_rest():
    group = list("aaabbb")
    label, prediction = ["x", "y", "z", "x", "y", "z"], ["x", "x", "z", "y", "y", "x"]
    found = cl.one_vs_rest(Parity.DP, group, None, prediction, sensitive=["x", "z"])
    # x: 2/3 and 1/3; z: 1/3 and 0.
    assert_allclose([found[name][0].difference for name in "xz"], [1 / 3, 1 / 3])
    assert found["z"][0].positive == "z"
    # Of those that are not x, a: y -> x, z -> z; b: y -> y, z -> x.
    found = cl.one_vs_rest(Parity.FPRD, np.array(group), np.array(label), np.array(prediction), sensitive=["x"])
    assert [found["x"][0].first.value, found["x"][0].second.value] == [0.5, 0.5]


def test_exact_p_of_a_pair():
    # 5 of 10 and 3 of 10, 8 of 20 in all: as large a gap has every split but 4 and 4.
    gap = cl.pairwise_gaps(Parity.DP, GROUP, LABEL, PREDICTION)[0]
    assert_allclose(gap.p, 1 - 210 * 210 / 125970)


@pytest.mark.parametrize(
    ("group", "label", "prediction", "message"),
    [
        (["a"], [1], [1], "only group 'a' is there; a comparison needs two groups"),
        ([], [], [], "there are no rows"),
        (["a", "b"], [1], [1, 0], r"group \(2 rows\), label \(1\) and prediction \(2\) must be of one length"),
        (["a", None], [1, 0], [1, 0], r"row 1 \(from 0\) has no group"),
        (["a", "b"], [np.nan, 0], [1, 0], r"row 0 \(from 0\) has no label"),
        (["a", "b"], ["yes", "no"], ["no", "no"], "positive: 1 is no label or prediction; those are 'no', 'yes'"),
        (["a", "b"], None, [1, 0], "FNRD compares predictions with labels"),
    ],
)
def test_bad_rows(group, label, prediction, message):
    with pytest.raises(ValueError, match=message):
        cl.parity_gap(Parity.FNRD, group, label, prediction)


def test_bad_options():
    with pytest.raises(ValueError, match="group 'z' has no row; groups are a, b"):
        cl.parity_gap(Parity.DP, GROUP, None, PREDICTION, groups=["a", "z"])
    with pytest.raises(ValueError, match="langfair compares two groups, and not 3"):
        cl.parity_gap(Parity.DP, list("abc"), None, [1, 0, 1], ratio=True, variant="langfair")
    with pytest.raises(ValueError, match="a direction is between two groups, and not 3"):
        cl.parity_sums(cl.count_rows(Parity.DP, list("abc"), None, [1, 0, 1]), directed=True)
    with pytest.raises(ValueError, match="cluster"):
        cl.parity_sums(cl.count_rows(Parity.DP, list("ab"), None, [1, 0]), cluster=[1])


def test_sums_by_row_and_by_person():
    group, prediction, person = ["a", "a", "b", "b"], [1, 0, 1, 1], ["p", "q", "r", "r"]
    sums = cl.parity_sums(cl.count_rows(Parity.DP, group, None, prediction))
    assert_array_equal(sums.sums, [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    sums = cl.parity_sums(cl.count_rows(Parity.DP, group, None, prediction), cluster=person)
    assert_array_equal(sums.sums, [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 2, 2]])
    assert sums.value() == 0.5
    # Without r no row of group b is left; with r twice the rates are 1/2 and 1.
    assert_array_equal(sums.at(np.array([[2.0, 1, 0], [1, 0, 2], [1, 1, 1]])), [np.nan, 0, 0.5])


def test_directed_sums():
    sums = cl.parity_sums(cl.count_rows(Parity.DP, GROUP, None, PREDICTION, groups=["b", "a"]), directed=True)
    assert_allclose(sums.value(), 0.3 - 0.5)
    sums = cl.parity_sums(cl.count_rows(Parity.DP, GROUP, None, PREDICTION), directed=True, ratio=True)
    assert_allclose(sums.value(), 0.5 / (0.5 + 0.3))


@given(ROWS, st.sampled_from(Parity), st.booleans())
def test_names_and_order_of_groups_do_not_matter(rows, parity, ratio):
    group, label, prediction = columns(rows)
    value = cl.parity_gap(parity, group, label, prediction, ratio=ratio)
    renamed = [{"a": "z", "b": "y", "c": "x"}[name] for name in group]
    same(cl.parity_gap(parity, renamed, label, prediction, ratio=ratio), value)
    mixed = [column[::-1] for column in (group, label, prediction)]
    same(cl.parity_gap(parity, *mixed, ratio=ratio), value)
    assert np.isnan(value) or 0 <= value <= 1


@given(ROWS, st.sampled_from(Parity))
def test_the_gap_is_the_largest_of_the_pairs(rows, parity):
    group, label, prediction = columns(rows)
    gaps = cl.pairwise_gaps(parity, group, label, prediction)
    known = [gap for gap in gaps if not np.isnan(gap.difference)]
    same(cl.parity_gap(parity, group, label, prediction), max((gap.difference for gap in known), default=np.nan))
    ratios = [gap.ratio for gap in gaps if not np.isnan(gap.ratio)]
    same(cl.parity_gap(parity, group, label, prediction, ratio=True), min(ratios, default=np.nan))


@given(ROWS)
def test_turning_labels_and_predictions_around_turns_the_rates(rows):
    # Positives missed are negatives raised once 0 and 1 have changed places.
    group, label, prediction = columns(rows)
    turned = [1 - value for value in label], [1 - value for value in prediction]
    for one, two in [(Parity.FNRD, Parity.FPRD), (Parity.FORD, Parity.FDRD), (Parity.DP, Parity.DP)]:
        same(cl.parity_gap(one, group, label, prediction), cl.parity_gap(two, group, *turned))


def test_interval_of_a_gap():
    # Rates 5/10 and 0/10; Wilson's with t(9) = 2.2622, t**2 = 5.1173: 0.5 -+ 2.2622 * sqrt(0.25 / n + 5.1173 / 4 n**2)
    # / (1 + 5.1173 / n), where the effective n is 0.25 / (0.25 / 9) = 9; and 0 to 5.1173 / 15.1173 = 0.33851.
    half = 2.26216 * np.sqrt(0.25 / 9 + 5.11736 / (4 * 81)) / (1 + 5.11736 / 9)
    found = gap_estimate(Parity.DP, GROUP, None, [1] * 5 + [0] * 15, groups=("a", "b"))
    assert_allclose([found.low, found.high], [0.5 - np.hypot(half, 0.33851), 0.5 + half], atol=1e-4)
    assert (found.value, found.items, found.reason) == (0.5, 20, "")


def test_interval_of_a_gap_in_any_order_and_around_0():
    forth = gap_estimate(Parity.FNRD, GROUP, LABEL, PREDICTION, groups=("a", "b"))
    back = gap_estimate(Parity.FNRD, GROUP, LABEL, PREDICTION, groups=("b", "a"))
    assert_allclose([forth.value, forth.low, forth.high], [back.value, back.low, back.high])
    assert forth.low == 0


def test_interval_of_a_gap_by_person_is_wider():
    group, prediction = ["a"] * 40 + ["b"] * 40, [1] * 20 + [0] * 20 + [1] * 8 + [0] * 32
    rows = gap_estimate(Parity.DP, group, None, prediction, groups=("a", "b"))
    people = gap_estimate(Parity.DP, group, None, prediction, groups=("a", "b"), cluster=np.arange(80) // 4)
    assert people.high - people.low > 1.5 * (rows.high - rows.low)


def test_no_interval_of_a_gap():
    found = gap_estimate(Parity.FNRD, list("aabb"), [1, 1, 0, 0], [1, 0, 1, 0], groups=("a", "b"))
    assert np.isnan(found.value)
    assert found.reason == "group b has no positives"
    found = gap_estimate(Parity.FNRD, list("aabb"), [1, 1, 1, 0], [1, 0, 1, 0], groups=("a", "b"))
    assert found.value == 0.5
    assert np.isnan(found.low)
    assert found.reason == "1 row of group b: all items are of one cluster"
