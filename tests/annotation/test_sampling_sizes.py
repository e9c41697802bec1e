"""How many answers to label, and how many of each stratum."""

from __future__ import annotations

from itertools import product
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.annotation.sampling import FLOOR, allocate, margin_of, sample_size
from biaslens.errors import InputError

strata_of_any_size = st.dictionaries(st.text("abcdef/", max_size=4), st.integers(1, 400), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("population", "size"),
    [
        (10_975, 372),  # 384.146 / (1 + 383.146 / 10,975) = 371.19: the study's yes/no questions
        (10_917, 372),  # 384.146 / (1 + 383.146 / 10,917) = 371.12: its choice questions
        (197_496, 384),  # 384.146 / (1 + 383.146 / 197,496) = 383.40: its why answers, six models, three trials
        (32_925, 380),  # 379.73: one model's yes/no answers in three trials
        (100, 80),  # 384.146 / (1 + 3.83146) = 79.51
        (1, 1),
        (0, 0),
    ],
)
def test_sizes_at_95_percent_and_a_margin_of_5(population, size):
    assert sample_size(population) == size


def test_without_bounds_the_study_s_384_rounds_up_to_385():
    assert sample_size(10**12) == 385  # 1.96^2 / (4 * 0.05^2) = 384.16


def test_size_at_another_margin_and_confidence():
    # z = 1.6449 at 90 %: 2.7055 / (4 * 0.1^2) = 67.64; 67.64 / (1 + 66.64 / 1000) = 63.41
    assert sample_size(1000, margin=0.1, confidence=0.9) == 64


def test_the_smallest_margin_takes_everything():
    assert sample_size(1234, margin=1e-200) == 1234


@pytest.mark.parametrize("margin", [0, -0.05, 0.5, 5, nan])
def test_a_margin_that_makes_no_sense(margin):
    with pytest.raises(InputError, match=r"margin: .* is not between 0 and 0\.5"):
        sample_size(100, margin=margin)


@pytest.mark.parametrize("confidence", [0, 1, 95, nan])
def test_a_confidence_that_makes_no_sense(confidence):
    with pytest.raises(InputError, match=r"confidence: .* is not between 0 and 1"):
        sample_size(100, confidence=confidence)
    with pytest.raises(InputError, match="confidence"):
        margin_of({"a": 9}, {"a": 3}, confidence=confidence)


@given(st.integers(2, 10**7), st.floats(0.005, 0.3), st.floats(0.5, 0.999))
def test_the_size_is_the_smallest_that_reaches_the_margin(population, margin, confidence):
    size = sample_size(population, margin=margin, confidence=confidence)
    assert margin_of({"all": population}, {"all": size}, confidence=confidence) <= margin * (1 + 1e-9)
    if size > 1:
        assert margin_of({"all": population}, {"all": size - 1}, confidence=confidence) > margin * (1 - 1e-9)


def test_margin_of_two_strata():
    # 1.96 * sqrt(0.75^2 * 25 / 29 / 20 + 0.25^2 * 8 / 9 / 8) = 1.96 * sqrt(0.024246 + 0.006944) = 0.34614
    assert margin_of({"a": 30, "b": 10}, {"a": 5, "b": 2}) == pytest.approx(0.34614, abs=1e-4)


def test_a_whole_population_has_no_margin():
    assert margin_of({"a": 30, "b": 1}, {"a": 30, "b": 1}) == 0


def test_a_stratum_that_was_not_drawn_from_leaves_the_margin_unknown():
    assert isnan(margin_of({"a": 30, "b": 10}, {"a": 5, "b": 0}))
    assert isnan(margin_of({}, {}))


def test_allocation_by_hand():
    # Square roots 10 and 30, c has one: 44 * 10 / 40 = 11 and 44 * 30 / 40 = 33
    assert allocate({"a": 100, "b": 900, "c": 1}, 45) == {"a": 11, "b": 33, "c": 1}


def test_too_few_for_two_of_each_go_to_the_largest_first():
    assert allocate({"a": 5, "b": 9, "c": 7}, 2) == {"a": 0, "b": 1, "c": 1}
    assert allocate({"a": 5, "b": 9, "c": 7}, 4) == {"a": 1, "b": 2, "c": 1}


def test_an_empty_stratum_gets_nothing():
    assert allocate({"a": 0, "b": 3}, 9) == {"a": 0, "b": 3}


@given(strata_of_any_size, st.integers(0, 3000))
def test_an_allocation_adds_up_and_takes_no_more_than_there_is(strata, size):
    drawn = allocate(strata, size)
    assert sum(drawn.values()) == min(size, sum(strata.values()))
    assert all(0 <= drawn[name] <= held for name, held in strata.items())


@given(strata_of_any_size, st.integers(0, 3000))
def test_every_stratum_gets_the_floor_where_the_size_allows(strata, size):
    drawn = allocate(strata, size)
    if size >= sum(min(FLOOR, held) for held in strata.values()):
        assert all(drawn[name] >= min(FLOOR, held) for name, held in strata.items())
    elif size >= len(strata):
        assert all(drawn.values())


@given(strata_of_any_size, st.integers(0, 1500), st.integers(0, 1500))
def test_a_larger_sample_takes_no_less_of_any_stratum(strata, one, other):
    small, large = allocate(strata, min(one, other)), allocate(strata, max(one, other))
    assert all(small[name] <= large[name] for name in strata)


@given(strata_of_any_size, st.integers(0, 1500))
def test_the_order_of_strata_does_not_matter(strata, size):
    assert allocate(dict(reversed(strata.items())), size) == allocate(strata, size)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 27))
def test_no_other_allocation_with_the_floor_is_better(sizes, size):
    """Of all allocations of so many answers, at least two of each stratum, none has a smaller sum of N / n."""
    held = {str(number): count for number, count in enumerate(sizes)}
    least = [min(FLOOR, count) for count in sizes]
    size = max(sum(least), min(size, sum(sizes)))
    others = product(*(range(low, high + 1) for low, high in zip(least, sizes, strict=True)))
    best = min(sum(N / n for N, n in zip(sizes, other, strict=True)) for other in others if sum(other) == size)
    drawn = allocate(held, size)
    assert sum(held[name] / drawn[name] for name in held) == pytest.approx(best)
