"""Intervals of gaps: hand-worked numbers, what they cover, laws of the resampling; exchange of terms."""

from __future__ import annotations

import time
from dataclasses import replace
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probe_predictions import by_hand, drawn
from probe_world import World

from biaslens.probe.gaps import NEGATIVE_FPR, POSITIVE_FPR, counts, gaps
from biaslens.probe.intervals import (
    COVERS,
    KINDS,
    GapSums,
    bootstrap,
    covers,
    direction,
    exchange_terms,
    intervals,
    prompt_interval,
    term_permutation,
)
from biaslens.stats import holm
from biaslens.stats.resampling import rescaled_draws as weights


def _rows(predictions: pd.DataFrame, **options) -> pd.DataFrame:
    return intervals(predictions, metrics=(NEGATIVE_FPR,), **options).set_index("group")


# Intervals over prompts


def test_t_and_z_by_hand():
    gap = np.array([[0.10, -0.10], [0.14, -0.14], [0.06, -0.06], [0.10, -0.10], [0.10, -0.10]])
    # s^2 = (0.04^2 + 0.04^2) / 4 = 0.0008; s / sqrt(5) = 0.012649. t(4) is 2.7764, z 1.9600.
    t, z = (prompt_interval(gap, kind=kind) for kind in ("t", "z"))
    assert t.low == pytest.approx([0.1 - 2.7764 * 0.012649, -0.1 - 2.7764 * 0.012649], abs=1e-5)
    assert z.high == pytest.approx([0.1 + 1.96 * 0.012649, -0.1 + 1.96 * 0.012649], abs=1e-5)
    # t(4) is 1.417 times wider.
    assert (t.high - t.low) / (z.high - z.low) == pytest.approx([1.417] * 2, abs=1e-3)


def test_z_of_five_prompts_covers_88_per_cent():
    drawn = np.random.default_rng(0).normal(size=(5, 40_000))
    found = prompt_interval(drawn, kind="z")
    # P(|t(4)| < 1.96) = 0.8784; the standard error of the share is 0.0016.
    assert ((found.low < 0) & (found.high > 0)).mean() == pytest.approx(0.8784, abs=0.006)


def test_one_prompt_has_no_interval_and_says_why():
    for kind in KINDS:
        rows = _rows(drawn(prompts=1), kind=kind)
        assert rows[["low", "high", "p", "p_holm"]].isna().all(axis=None)
        assert rows["note"].str.contains("one prompt").all()
        assert rows["gap"].notna().all()


def test_where_nothing_varies_there_is_no_interval():
    predictions = drawn(prompts=3)
    predictions["y_pred"] = 1
    for kind in KINDS:
        rows = _rows(predictions, kind=kind)
        assert rows["gap"].tolist() == [0, 0, 0]
        assert rows[["low", "high"]].isna().all(axis=None)
        assert rows["note"].str.contains("nothing varies").all()


def test_unknown_templates_leave_prompts_only():
    predictions = drawn(prompts=3).assign(template="", term="")
    assert _rows(predictions)["note"].str.contains("one template").all()
    assert _rows(predictions, kind="t")["low"].notna().all()


# The table


def test_the_table_says_what_a_number_rests_on():
    rows = _rows(drawn(prompts=3))
    assert rows.loc["old", ["prompts", "sentences", "templates", "terms", "of"]].tolist() == [3, 180, 60, 3, 3 * 120]
    assert rows.loc["old", "rate"] == pytest.approx(rows.loc["old", "false"] / 360)
    by_prompt = gaps(drawn(prompts=3), metrics=(NEGATIVE_FPR,)).groupby("group")["gap"].mean()
    assert rows["gap"].to_dict() == pytest.approx(by_prompt.to_dict())
    assert set(COVERS) == set(KINDS)
    assert "one wording" in covers("t", "unmarked") and "one wording" not in covers("t")


def test_holm_within_attribute_and_metric():
    rows = intervals(drawn(["age", "sexuality"], prompts=3), kind="t")
    for _, part in rows.groupby(["attribute", "metric"]):
        assert part["p_holm"].tolist() == pytest.approx(holm(part["p"]).tolist())


def test_direction():
    assert direction(0.2, 0.1, 0.3, NEGATIVE_FPR) == "harmful"
    assert direction(-0.2, -0.3, -0.1, POSITIVE_FPR) == "harmful"
    assert direction(-0.2, -0.3, -0.1, NEGATIVE_FPR) == "favourable"
    assert direction(0.2, -0.1, 0.5, NEGATIVE_FPR) == ""
    assert direction(np.nan, np.nan, np.nan, NEGATIVE_FPR) == ""


def test_a_planted_effect_is_found_and_its_interval_leaves_out_zero():
    rows = _rows(drawn(prompts=5, shift=2.0))
    assert rows.loc["old", "direction"] == "harmful"
    assert rows.loc["old", "p_holm"] < 0.05


def test_the_same_seed_gives_the_same_interval_in_any_order_of_rows():
    predictions = drawn(prompts=3)
    shuffled = predictions.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(intervals(predictions, rounds=200), intervals(shuffled, rounds=200))
    assert not intervals(predictions, rounds=200, seed=1)["low"].equals(intervals(predictions, rounds=200)["low"])


def test_against_unmarked_sentences():
    rows = _rows(drawn(prompts=3), reference="unmarked")
    found = gaps(drawn(prompts=3), reference="unmarked", metrics=(NEGATIVE_FPR,)).groupby("group")["gap"].mean()
    assert rows["gap"].to_dict() == pytest.approx(found.to_dict())
    assert rows["low"].notna().all()
    assert rows["templates"].tolist() == [55] * 3


def test_a_group_with_one_term_borrows_the_spread_of_the_others_and_is_flagged():
    rows = _rows(drawn(["disability"], prompts=3))
    assert "one term" in rows.loc["hearing", "note"] and rows.loc["hearing", "low"] < rows.loc["hearing", "high"]
    assert rows.loc["mobility", "note"] == ""


# The bootstrap


def test_weights_have_the_mean_and_the_variance_of_an_estimated_mean():
    drawn = weights(5, 200_000, np.random.default_rng(0))
    x = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    means = drawn @ x / drawn.sum(axis=1)
    # s^2 / n = 12.5 / 5 = 2.5; the plain bootstrap would give 2.0.
    assert means.var() == pytest.approx(2.5, rel=0.02)
    assert drawn.sum(axis=1) == pytest.approx(np.full(200_000, 5.0))
    assert (weights(1, 3, np.random.default_rng(0)) == 1).all()


def test_templates_are_drawn_together_for_all_groups():
    # Every group is wrong on the same templates: however they are drawn, nothing lies between the groups.
    false = np.zeros((2, 10, 4))
    false[:, :5] = 1
    tensor = GapSums(false, np.ones((10, 4)), np.eye(2)[[0, 0, 1, 1]], 2)
    assert np.abs(tensor.crossed().draws(500, 0)).max() < 1e-12


@given(st.integers(0, 100))
@settings(max_examples=10, deadline=None)
def test_gaps_of_every_draw_sum_to_zero(seed):
    tensor = World().draw(np.random.default_rng(seed))
    assert tensor.crossed().draws(50, seed).sum(axis=1) == pytest.approx(np.zeros(50), abs=1e-12)


def test_draws_are_those_of_resampled_sentences():
    """The tensor arithmetic against a loop over the sentences, with the same weights."""
    world = World(terms=(2, 1), prompts=3, templates=4, shift=(0.0, 0.0))
    tensor = world.draw(np.random.default_rng(3))
    rng = np.random.default_rng(7)
    of_prompt, of_template = weights(3, 1, rng)[0], weights(4, 1, rng)[0]
    of_term = np.concatenate([weights(2, 1, rng)[0], weights(1, 1, rng)[0]])
    rate = []
    for terms in ((0, 1), (2,)):
        false = of = 0.0
        for p in range(3):
            for t in range(4):
                for k in terms:
                    weight = of_prompt[p] * of_template[t] * of_term[k]
                    false, of = false + weight * tensor.false[p, t, k], of + weight
        rate.append(false / of)
    expected = np.array(rate) - np.mean(rate)
    assert tensor.crossed().draws(1, 7)[0] == pytest.approx(expected)


def test_jackknife_of_prompts_is_the_variance_of_their_mean():
    tensor = World().draw(np.random.default_rng(0))
    variance, freedom = next(tensor.crossed().components())
    assert variance == pytest.approx(tensor.by_prompt().var(axis=0, ddof=1) / 5)
    assert freedom == 4


def test_templates_without_an_eligible_sentence_play_no_part():
    (found,) = counts(drawn(prompts=2))
    # A third of the 60 templates is gold negative, and cannot be falsely called so.
    assert GapSums.of_counts(found.against("mean"), NEGATIVE_FPR).false.shape == (2, 40, 14)


@pytest.mark.parametrize("terms", [(5, 3, 6), (5, 1, 6)])
def test_false_alarms_are_near_nominal_and_those_of_z_far_above(terms):
    world, rng = World(terms=terms), np.random.default_rng(0)
    alarms = dict.fromkeys(KINDS, 0)
    for seed in range(80):
        tensor = world.draw(rng)
        for kind in KINDS:
            found = (
                bootstrap(tensor, rounds=300, seed=seed)
                if kind == "bootstrap"
                else prompt_interval(tensor.by_prompt(), kind=kind)
            )
            alarms[kind] += int(((found.low > 0) | (found.high < 0)).sum())
    # 240 gaps; 5 % are 12, and 22 is three standard errors above.
    assert alarms["bootstrap"] <= 22
    assert alarms["t"] > 80
    assert alarms["z"] > alarms["t"]


def test_coverage_of_a_planted_gap():
    world, rng = replace(World(), shift=(0.0, 0.0, 0.6)), np.random.default_rng(1)
    truth, held = world.gap(), 0
    for seed in range(80):
        found = bootstrap(world.draw(rng), rounds=300, seed=seed)
        held += int(((found.low <= truth) & (truth <= found.high)).sum())
    assert held / 240 > 0.90


def test_the_gap_of_a_world_is_that_of_many_draws():
    world = World(terms=(400, 400, 400), prompts=20, templates=200, shift=(0.0, 0.0, 0.6))
    assert world.draw(np.random.default_rng(0)).value() == pytest.approx(world.gap(), abs=0.02)


def test_is_fast_enough():
    tensor = World(terms=(7,) * 5, prompts=15, shift=(0.0,) * 5).draw(np.random.default_rng(0))
    start = time.process_time()
    bootstrap(tensor, rounds=2000)
    # 15 prompts x 2,100 sentences x 2,000 rounds take about 0.1 s of CPU.
    assert time.process_time() - start < 5


# Exchange of terms


def test_exchange_of_terms_by_hand():
    # Two terms a group, rates 1, 1 and 0, 0. Of the six allotments, two have a gap as large: p is near 2/6.
    false = np.zeros((1, 2, 4))
    false[:, :, :2] = 1
    tensor = GapSums(false, np.ones((2, 4)), np.eye(2)[[0, 0, 1, 1]], 2)
    p, together = exchange_terms(tensor, rounds=20_000)
    assert p == pytest.approx([1 / 3, 1 / 3], abs=0.01)
    assert together == pytest.approx(1 / 3, abs=0.01)


def test_the_smallest_p_that_the_terms_allow_is_said():
    cells = {("old", name): [(2, 0), (1, 0)] for name in ("a", "b")} | {
        ("young", name): [(2, 2), (1, 1)] for name in "cd"
    }
    found = term_permutation(by_hand(cells), metrics=(NEGATIVE_FPR,), rounds=500)
    # 4! / (2! 2!) = 6 allotments.
    assert found["smallest_p"].tolist() == pytest.approx([1 / 6] * 3)
    assert found["note"].tolist() == ["too few terms for p < 0.05"] * 3
    assert found["group"].tolist() == ["old", "young", "all"]
    assert found["terms"].tolist() == [2, 2, 4]


def test_exchange_of_terms_has_its_level_where_words_make_the_difference():
    world, rng = World(of_term=1.0, templates=20), np.random.default_rng(0)
    p = [exchange_terms(world.draw(rng), rounds=199, seed=seed)[1] for seed in range(150)]
    # 5 % of 150 are 7.5, standard error 2.7.
    assert sum(value <= 0.05 for value in p) <= 16


def test_exchange_of_terms_finds_a_difference_between_groups():
    found = term_permutation(drawn(prompts=3, shift=2.0), metrics=(NEGATIVE_FPR,)).set_index("group")
    # Of the 364 ways to choose three terms for old, none is as far apart.
    assert comb(14, 3) == 364
    assert found.loc["old", "p_terms"] < 0.01
    assert found.loc["all", "p_terms"] < 0.01


def test_the_unmarked_sentences_are_not_exchanged():
    found = term_permutation(drawn(prompts=2), reference="unmarked", metrics=(NEGATIVE_FPR,), rounds=200)
    assert found["p_terms"].between(1 / 201, 1).all()
    assert found["terms"].tolist() == [5, 3, 6, 14]
