"""Rates corrected for the judge's errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from biaslens.stats import (
    Clusters,
    labelled_difference,
    labelled_rate,
    prediction_powered,
    rogan_gladen,
    weighted_share,
    with_comparisons,
)


def judged(rng, *, roles=60, size=20, sensitivity=0.95, specificity=0.7, labels=400):
    """Items of roles with rates around 0.2, the judge's verdicts, and labels: twice as likely where it flagged."""
    role = np.repeat(np.arange(roles), size)
    truth = rng.random(len(role)) < rng.beta(2, 8, roles)[role]
    verdict = np.where(truth, rng.random(len(role)) < sensitivity, rng.random(len(role)) > specificity).astype(int)
    inclusion = labels * (1 + verdict) / (1 + verdict).sum()
    return verdict, np.where(rng.random(len(role)) < inclusion, truth, -1).astype(int), inclusion, role


def test_hand_worked_rogan_gladen_and_its_standard_error():
    # q = 5/10, se = sp = 3/4: theta = 0.25 / 0.5 = 0.5. Influence: ((v - q) / 10 + 0.5 [y=0] (1-v - 3/4) / 4
    # - 0.5 [y=1] (v - 3/4) / 4) / 0.5, squares summed over 8 labelled and 2 other items:
    # y=1: v=1 3 times (0.05 - 0.03125) / 0.5 = 0.0375, v=0 (-0.05 + 0.09375) / 0.5 = 0.0875; y=0: mirrored;
    # others +-0.1. 6 * 0.00140625 + 2 * 0.00765625 + 2 * 0.01 = 0.04375; * 8/7 = 0.05; root 0.2236068
    found = rogan_gladen([1, 1, 1, 0, 1, 0, 0, 0, 1, 0], [1, 1, 1, 1, 0, 0, 0, 0, -1, -1])
    assert (found.value, found.items) == (0.5, 8)
    assert found.standard_error == pytest.approx(math.sqrt(0.05), rel=1e-12)
    # t(7) * 0.2236068 = 2.364624 * 0.2236068 = 0.528746: clipped
    assert (found.low, found.high) == (0.0, 1.0)


def test_hand_worked_prediction_powered_mean():
    # Labels 1, 0, 1 with f = 1, 0, 0; f of all = 3/6: 2/3 + lambda (1/2 - 1/3)
    verdicts, labels = [1, 0, 0, 1, 0, 1], [1, 0, 1, -1, -1, -1]
    assert prediction_powered(verdicts, labels, tuning=1).value == pytest.approx(2 / 3 + 1 / 6)
    assert prediction_powered(verdicts, labels, tuning=0.5).value == pytest.approx(2 / 3 + 1 / 12)


def test_without_the_judge_it_is_the_share_of_the_labels():
    verdict, labels, inclusion, role = judged(np.random.default_rng(0))
    found = prediction_powered(verdict, labels, inclusion=inclusion, clusters=role, tuning=0)
    alone = weighted_share(np.where(labels >= 0, labels, np.nan), weights=1 / inclusion, clusters=role)
    assert_allclose([found.value, found.standard_error], [alone.value, alone.standard_error])


def test_weights_undo_a_sample_that_took_more_of_the_flagged():
    # 4 flagged, all labelled, 2 biased; 4 not flagged, half labelled, 1 of these 2 biased:
    # (2 + 2 * 1) / (4 + 2 * 2) = 0.5. se: 2 / (2 + 2) = 1/2, sp: 2 / (2 + 2) = 1/2: no better than chance.
    verdicts, labels = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0, -1, -1]
    inclusion = [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5]
    assert prediction_powered(verdicts, labels, inclusion=inclusion).value == pytest.approx(0.5)
    assert rogan_gladen(verdicts, labels, inclusion=inclusion).reason == "the judge is no better than chance"


def test_strata_are_corrected_each_and_added_up_by_their_size():
    # All are labelled. Stratum 0: 4 items, se = sp = 1, q = 2/4, rate 1/2. Stratum 1: 8 items, 4 biased, 2 of them
    # flagged: se = 1/2, sp = 1, q = 1/4, rate 1/2. 4/12 * 1/2 + 8/12 * 1/2
    verdicts = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    labels = [1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    found = rogan_gladen(verdicts, labels, strata=[0] * 4 + [1] * 8)
    assert found.value == pytest.approx(0.5)
    parts = [prediction_powered(verdicts[a:b], labels[a:b], tuning=1).value for a, b in ((0, 4), (4, 12))]
    whole = prediction_powered(verdicts, labels, strata=[0] * 4 + [1] * 8, tuning=1)
    assert whole.value == pytest.approx(parts[0] / 3 + 2 * parts[1] / 3)


def test_strata_of_one_stratum_change_nothing():
    verdict, labels, inclusion, role = judged(np.random.default_rng(1))
    for correct in (rogan_gladen, prediction_powered):
        plain = correct(verdict, labels, inclusion=inclusion, clusters=role)
        assert correct(verdict, labels, inclusion=inclusion, clusters=role, strata=np.full(len(role), 9)) == plain


def test_tuning_is_at_least_as_precise_as_labels_alone_or_full_trust():
    verdict, labels, inclusion, role = judged(np.random.default_rng(2))
    tuned, none, full = (
        prediction_powered(verdict, labels, inclusion=inclusion, clusters=role, tuning=tuning).standard_error
        for tuning in (None, 0, 1)
    )
    assert tuned <= min(none, full) + 1e-12


def test_a_good_judge_makes_labels_go_further():
    verdict, labels, inclusion, role = judged(np.random.default_rng(5), specificity=0.97, labels=150)
    tuned, alone = (
        prediction_powered(verdict, labels, inclusion=inclusion, clusters=role, tuning=tuning).standard_error
        for tuning in (None, 0)
    )
    assert tuned < 0.8 * alone


def test_errors_not_seen_add_up_over_strata_as_variances():
    # One stratum: q = 1/2, se = sp = 1; influence +-1/8 of 4 items: 4/3 * 4/64 = 0.0833333; not seen, of 2 labels
    # each: 1/4 * 3/4 / 2 = 0.09375, times 1/4 for se and for sp: 0.046875; in all 0.1302083.
    verdicts = [1, 1, 0, 0]
    assert rogan_gladen(verdicts, verdicts).standard_error ** 2 == pytest.approx(0.1302083, abs=1e-7)
    # Two of them: +-1/16 of 8 items: 8/7 * 8/256 = 0.0357143; not seen 2 * (1/2)^2 * 0.046875 = 0.0234375.
    found = rogan_gladen(verdicts * 2, verdicts * 2, strata=[0] * 4 + [1] * 4)
    assert found.standard_error**2 == pytest.approx(0.0591518, abs=1e-7)


def test_a_useless_judge_costs_nothing():
    rng = np.random.default_rng(3)
    labels = np.where(np.arange(4000) < 400, rng.random(4000) < 0.3, -1).astype(int)
    noise = rng.integers(0, 2, 4000)
    tuned, alone = (prediction_powered(noise, labels, tuning=tuning).standard_error for tuning in (None, 0))
    assert tuned == pytest.approx(alone, rel=0.01)


def test_a_judge_without_errors_seen_still_has_some():
    # All 20 labels agree with the verdicts.
    verdict = np.arange(2000) % 2
    labels = np.where(np.arange(2000) < 20, verdict, -1)
    found = prediction_powered(verdict, labels)
    # at least the root of 1/22 * 21/22 / 20 = 0.0465735
    assert found.standard_error >= 0.0465735
    assert rogan_gladen(verdict, labels).standard_error > 0.04


def test_labels_of_one_class_only_have_an_interval():
    verdict = np.arange(300) % 3 == 0
    found = prediction_powered(verdict, np.where(np.arange(300) < 30, 0, -1))
    assert (found.value, found.low) == (0.0, 0.0)
    # 1/32 * 31/32 / 30, root 0.0317665, times t(29, 0.975) = 2.045230
    assert found.high == pytest.approx(2.045230 * 0.0317665, rel=1e-4)


def test_probabilities_can_stand_for_verdicts():
    # 1/2 + (0.4 - 0.55)
    assert prediction_powered([0.9, 0.2, 0.4, 0.1], [1, 0, -1, -1], tuning=1).value == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("correct", "labels", "reason"),
    [
        (rogan_gladen, [-1, -1, -1], "no item has a label"),
        (prediction_powered, [-1, -1, -1], "no item has a label"),
        (rogan_gladen, [0, 0, -1], "a stratum has no label of a biased item"),
        (rogan_gladen, [1, 1, -1], "a stratum has no label of an unbiased item"),
        (rogan_gladen, [0, 1, -1], "the judge is no better than chance"),
    ],
)
def test_what_labels_cannot_tell_has_a_reason(correct, labels, reason):
    found = correct([1, 0, 1], labels)
    assert math.isnan(found.value)
    assert found.reason == reason


def test_a_stratum_without_a_label_has_a_reason():
    assert prediction_powered([1, 0, 1], [1, 0, -1], strata=[1, 1, 2]).reason == "a stratum has no label of any item"


def test_labels_of_one_role_have_no_interval():
    found = prediction_powered([1, 0, 1, 0], [1, 0, -1, -1], clusters=[1, 1, 2, 2])
    assert math.isnan(found.low)
    assert found.reason == "all labels are of one cluster"


@pytest.mark.parametrize(
    ("verdicts", "labels", "options"),
    [
        ([1, 0], [1], {}),
        ([1, 2], [1, 0], {}),
        ([1, 0], [1, 3], {}),
        ([1, 0], [1, 0], {"inclusion": [0, 1]}),
        ([1, 0], [1, 0], {"inclusion": [1.5, 1]}),
        ([1, 0], [1, 0], {"clusters": [1]}),
        ([1, 0], [1, 0], {"strata": [1, 1, 1]}),
    ],
)
@pytest.mark.parametrize("correct", [rogan_gladen, prediction_powered])
def test_impossible_input_is_refused(correct, verdicts, labels, options):
    with pytest.raises(ValueError, match=r"verdicts|labels|inclusion|clusters"):
        correct(verdicts, labels, **options)


def test_rogan_gladen_takes_no_probabilities():
    with pytest.raises(ValueError, match="0 or 1"):
        rogan_gladen([0.5, 1], [0, 1])


def test_impossible_tuning_is_refused():
    with pytest.raises(ValueError, match="tuning"):
        prediction_powered([0, 1], [0, 1], tuning=2)


ITEMS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([-1, 0, 1]), st.sampled_from([0.25, 0.5, 1.0]), st.integers(0, 4)),
    min_size=2,
    max_size=40,
)


@given(ITEMS)
def test_the_rate_of_the_unbiased_is_the_rest(items):
    verdict, label, inclusion, role = (np.array(column) for column in zip(*items, strict=True))
    turned = np.where(label >= 0, 1 - label, -1)
    for correct in (rogan_gladen, prediction_powered):
        one = correct(verdict, label, inclusion=inclusion, clusters=role)
        other = correct(1 - verdict, turned, inclusion=inclusion, clusters=role)
        assert_allclose([one.value, one.low, one.high], [1 - other.value, 1 - other.high, 1 - other.low], atol=1e-9)
        assert math.isnan(one.low) or 0 <= one.low <= one.value + 1e-9 <= one.high + 2e-9 <= 1 + 3e-9


def test_the_interval_covers_the_truth_where_the_judge_is_far_off():
    # Rate 0.2; the judge flags 0.2 * 0.95 + 0.8 * 0.3 = 0.43.
    rng, covered, raw = np.random.default_rng(11), [], []
    for _ in range(200):
        verdict, labels, inclusion, role = judged(rng)
        raw.append(verdict.mean())
        for correct in (rogan_gladen, prediction_powered):
            found = correct(verdict, labels, inclusion=inclusion, clusters=role)
            covered.append(found.low <= 0.2 <= found.high)
    assert np.mean(raw) == pytest.approx(0.43, abs=0.01)
    # 400 intervals, the two of a run alike: standard error 0.015 at most.
    assert np.mean(covered) > 0.91


def of_comparisons(rng, *, roles=50, comparisons=12):
    """A corrected rate for the roles alone and for other comparisons too; each comparison has a rate of its own."""
    role, comparison = (codes.ravel() for codes in np.indices((roles, comparisons)))
    truth = rng.random(len(role)) < rng.beta(1.5, 3.5, comparisons)[comparison]
    verdict = (truth ^ (rng.random(len(role)) < 0.1)).astype(int)
    label = np.where(rng.random(len(role)) < 0.5, truth, -1)
    found = prediction_powered(verdict, label, inclusion=np.full(len(role), 0.5), clusters=role)
    items = np.arange(len(role))
    rate = labelled_rate(verdict, label, items, questions=len(role), inclusion=np.full(len(role), 0.5), clusters=role)
    return (
        found,
        with_comparisons(found, rate, Clusters(role, comparison)),
        with_comparisons(found, rate, Clusters(role)),
    )


def test_an_interval_for_other_comparisons_covers_the_rate_they_are_drawn_from():
    rng = np.random.default_rng(5)
    alone, crossed, _ = zip(*(of_comparisons(rng) for _ in range(150)), strict=True)
    assert np.mean([rate.low <= 0.3 <= rate.high for rate in crossed]) > 0.88
    assert np.mean([rate.low <= 0.3 <= rate.high for rate in alone]) < 0.6


def test_without_comparisons_a_corrected_rate_stays_as_it_is():
    found, crossed, same = of_comparisons(np.random.default_rng(6))
    assert (same.low, same.high) == (found.low, found.high)
    assert crossed.low < found.low < found.value == crossed.value < found.high < crossed.high


def test_few_labels_leave_an_interval_that_says_something():
    # 40 labels, next to none of them on one comparison: their own component of comparisons is noise.
    rng = np.random.default_rng(8)
    role, comparison = np.repeat(np.arange(60), 20), rng.integers(0, 40, 1200)
    truth = rng.random(1200) < rng.beta(1.5, 6, 40)[comparison]
    verdict = np.where(truth, rng.random(1200) < 0.9, rng.random(1200) < 0.4).astype(int)
    for _ in range(20):
        drawn = np.concatenate([rng.choice(np.flatnonzero(verdict == each), 20, replace=False) for each in (0, 1)])
        label, inclusion = np.full(1200, -1), np.ones(1200)
        label[drawn], inclusion[drawn] = truth[drawn], 20 / np.bincount(verdict)[verdict[drawn]]
        found = prediction_powered(verdict, label, inclusion=inclusion, clusters=role)
        rate = labelled_rate(verdict, label, np.arange(1200), questions=1200, inclusion=inclusion, clusters=role)
        crossed = with_comparisons(found, rate, Clusters(role, comparison))
        assert found.high - found.low <= crossed.high - crossed.low < 0.5


def test_what_rules_decide_keeps_its_freedom_beside_few_labels():
    # Two thirds of the questions are decided for certain; the labels of the rest say next to nothing of comparisons.
    rng = np.random.default_rng(10)
    role, comparison = np.repeat(np.arange(60), 30), rng.integers(0, 40, 1800)
    judged = np.arange(1800) % 3 == 0
    clusters, rates = Clusters(role, comparison), []
    for bias in (2, 4):
        truth = (rng.random(1800) < rng.beta(bias, 6, 40)[comparison]).astype(int)
        label = np.where(judged & (rng.random(1800) > 0.1), -1, truth)
        rates.append(
            labelled_rate(
                truth, label, np.arange(1800), questions=1800, clusters=role, strata=judged.astype(int),
                inclusion=np.where(judged, 0.1, 1.0),
            )
        )  # fmt: skip
    known = [freedom for rate in rates for _, freedom in rate.varying(clusters)]
    assert min(known) < 8 < labelled_difference(*rates, clusters).freedom


def test_labels_of_all_answers_vary_between_comparisons_as_they_do_themselves():
    rng = np.random.default_rng(9)
    role, comparison = (codes.ravel() for codes in np.indices((40, 30)))
    truth = (rng.random(1200) < rng.beta(2, 6, 30)[comparison]).astype(int)
    rate = labelled_rate(truth, truth, np.arange(1200), questions=1200, clusters=role)
    ((varying, _),) = rate.varying(Clusters(role, comparison))
    assert_allclose(varying * 1200, truth)
