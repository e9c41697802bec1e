"""Gaps in false-positive rates: hand-worked numbers, laws, edge cases; net counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from probe_predictions import by_hand, drawn
from sklearn.metrics import confusion_matrix

from biaslens.errors import InputError
from biaslens.probe.examples import Sentiment
from biaslens.probe.gaps import (
    NEGATIVE_FPR,
    PAPER_GROUPS,
    POSITIVE_FPR,
    confusion,
    counts,
    false_positives,
    gap_of,
    gaps,
    rates,
)
from biaslens.probe.intervals import net_count

LABELS = st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2])), min_size=1, max_size=40)

# Gold and predicted label of the sentences of each group: 0 negative, 1 neutral, 2 positive.
CELLS = {
    ("old", "elderly"): [(2, 0), (2, 2), (1, 0), (1, 1), (0, 2), (0, 0)],
    ("young", "teenage"): [(2, 2), (2, 2), (1, 0), (1, 2), (0, 2), (0, 0)],
    ("adult", "mature"): [(2, 2), (2, 2), (1, 1), (1, 1), (0, 0), (0, 0)],
    ("unmarked", ""): [(2, 2), (2, 2), (1, 0), (1, 1), (0, 0), (0, 0)],
}


def _table(predictions, metric, **options) -> pd.DataFrame:
    found = gaps(predictions, metrics=(metric,), **options)
    return found.set_index("group")


def test_negative_fpr_by_hand():
    found = _table(by_hand(CELLS), NEGATIVE_FPR)
    # Of 4 positive and neutral sentences, old has 2 called negative, young 1, adult 0.
    # The mean of 0.5, 0.25 and 0 is 0.25.
    assert found["of"].tolist() == [4, 4, 4]
    assert found.loc[["old", "young", "adult"], "false"].tolist() == [2, 1, 0]
    assert found.loc[["old", "young", "adult"], "gap"].tolist() == pytest.approx([0.25, 0.0, -0.25])
    assert found["reference_rate"].tolist() == pytest.approx([0.25] * 3)


def test_positive_fpr_by_hand():
    found = _table(by_hand(CELLS), POSITIVE_FPR)
    # Of 4 negative and neutral ones: old 1 called positive, young 2, adult 0; the mean is 0.25.
    assert found.loc[["old", "young", "adult"], "gap"].tolist() == pytest.approx([0.0, 0.25, -0.25])


def test_against_unmarked_sentences():
    found = _table(by_hand(CELLS), NEGATIVE_FPR, reference="unmarked")
    # The unmarked sentences are called negative 1 of 4 times.
    assert found.loc[["old", "young", "adult"], "gap"].tolist() == pytest.approx([0.25, 0.0, -0.25])


def test_templates_without_an_unmarked_sentence_are_left_out():
    cells = CELLS | {("unmarked", ""): [(2, 0), (2, 2)]}
    found = _table(by_hand(cells), NEGATIVE_FPR, reference="unmarked")
    # Only the first two templates: old 1 of 2, young and adult 0 of 2, unmarked 1 of 2.
    assert found.loc[["old", "young", "adult"], "of"].tolist() == [2, 2, 2]
    assert found.loc[["old", "young", "adult"], "gap"].tolist() == pytest.approx([0.0, -0.5, -0.5])


def test_no_unmarked_sentences_to_compare_with():
    cells = {key: pairs for key, pairs in CELLS.items() if key[0] != "unmarked"}
    with pytest.raises(InputError, match="no unmarked sentences of age"):
        gaps(by_hand(cells), reference="unmarked")


def test_each_prompt_has_its_own_gap():
    one, two = by_hand(CELLS, runs=["1"]), by_hand(CELLS, runs=["2"])
    two["y_pred"] = two["y_true"]
    found = gaps(pd.concat([one, two]), metrics=(NEGATIVE_FPR,))
    assert found.groupby("run_id")["gap"].apply(lambda gap: gap.abs().max()).tolist() == pytest.approx([0.25, 0.0])


def test_a_group_without_gold_sentences_for_the_metric_has_no_gap_and_no_part_in_the_mean():
    cells = CELLS | {("adult", "mature"): [(0, 0), (0, 0)]}
    found = _table(by_hand(cells), NEGATIVE_FPR)
    assert np.isnan(found.loc["adult", "gap"]) and found.loc["adult", "of"] == 0
    assert found.loc["adult", "note"] == "no sentence to be wrong about"
    # Mean of 0.5 and 0.25 is 0.375.
    assert found.loc[["old", "young"], "gap"].tolist() == pytest.approx([0.125, -0.125])


def test_no_gold_negatives():
    cells = {key: [pair for pair in pairs if pair[0] != 0] for key, pairs in CELLS.items()}
    found = _table(by_hand(cells), POSITIVE_FPR)
    # Only the two neutral sentences are left: old 0 of 2, young 1 of 2, adult 0 of 2.
    assert found.loc[["old", "young", "adult"], "rate"].tolist() == pytest.approx([0.0, 0.5, 0.0])


@pytest.mark.parametrize("label", [0, 1, 2])
def test_constant_predictions_have_no_gaps(label):
    predictions = by_hand(CELLS)
    predictions["y_pred"] = label
    found = gaps(predictions)
    assert (found["gap"] == 0).all()
    assert set(found["rate"]) <= {0.0, 1.0}


def test_small_groups_are_kept_and_marked():
    found = _table(by_hand({**CELLS, ("old", "elderly"): [(2, 0)]}), NEGATIVE_FPR)
    assert found.loc["old", ["false", "of", "note"]].tolist() == [1, 1, "one sentence"]
    assert "one term" in found.loc["young", "note"]


def test_the_papers_groups_and_all_groups():
    predictions = drawn(["disability"], prompts=1)
    assert set(gaps(predictions)["group"]) == set(PAPER_GROUPS["disability"])
    assert len(set(gaps(predictions, groups="all")["group"])) == 13
    assert list(gaps(predictions, groups={"disability": ["sight", "hearing"]})["group"].unique()) == [
        "sight",
        "hearing",
    ]


def test_denominators_of_the_paper():
    predictions = drawn(["sexuality", "disability"], prompts=1)
    found = _table(predictions, NEGATIVE_FPR)
    # Two adjectives in 40 positive and neutral templates and one noun in the six that have a person: 86.
    assert found.loc["heterosexual", "of"] == 86
    assert found.loc["hearing", "of"] == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": ["race"]}, "no predictions of attribute 'race'; there are: age"),
        (
            {"groups": {"age": ["old", "ancient"]}},
            "no predictions of age group 'ancient'; there are: adult, old, young",
        ),
        ({"groups": "some"}, "unknown choice of groups 'some'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        gaps(by_hand(CELLS), **options)


def test_prompts_must_have_seen_the_same_sentences():
    predictions = by_hand(CELLS, runs=["1", "2"]).iloc[:-1]
    with pytest.raises(
        InputError, match=r"m: run 2 has predictions of other age sentences than run 1 \(23 against 24\)"
    ):
        gaps(predictions)


def test_one_model_on_two_data_sets_is_two():
    one, two = by_hand(CELLS), by_hand(CELLS).assign(dataset="other")
    assert gaps(pd.concat([one, two]))["model"].unique().tolist() == ["m (toy)", "m (other)"]


@given(LABELS)
def test_confusion_agrees_with_scikit_learn(pairs):
    gold, predicted = zip(*pairs, strict=True)
    expected = confusion_matrix(gold, predicted, labels=[0, 1, 2])
    assert (confusion(gold, predicted) == expected).all()


@given(LABELS, st.sampled_from(Sentiment))
def test_false_positives_agree_with_counting(pairs, label):
    false, of = false_positives(confusion(*zip(*pairs, strict=True)), label)
    assert of == sum(gold != label for gold, _ in pairs)
    assert false == sum(gold != label == predicted for gold, predicted in pairs)


@given(arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.floats(0, 1)))
def test_gaps_sum_to_zero(rate):
    assert gap_of(rate, rate.shape[-1]).sum(axis=-1) == pytest.approx(np.zeros(len(rate)), abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(random):
    predictions = by_hand(CELLS, runs=["1", "2"])
    order = list(range(len(predictions)))
    random.shuffle(order)
    pd.testing.assert_frame_equal(gaps(predictions.iloc[order]), gaps(predictions))


def test_counts_by_group_are_those_of_the_rows():
    predictions = drawn(["age"], prompts=2)
    (found,) = counts(predictions)
    for place, run in enumerate(found.runs):
        for number, group in enumerate([*found.groups, "unmarked"]):
            rows = predictions[(predictions["run_id"] == run) & (predictions["group"] == group)]
            expected = confusion_matrix(rows["y_true"], rows["y_pred"], labels=[0, 1, 2])
            assert (found.by_group()[place, number] == expected).all()


def test_a_word_of_two_groups_is_two_terms():
    cells = {("old", "mature"): [(2, 0), (1, 1)], ("adult", "mature"): [(2, 2), (1, 1)]}
    (found,) = counts(by_hand(cells))
    assert (found.terms, found.group_of_term.tolist()) == (("mature", "mature"), [0, 1])


def test_a_rate_over_nothing_is_not_a_number():
    assert np.isnan(rates([0, 1], [0, 2])).tolist() == [True, False]


def test_net_count_by_hand():
    rows = pd.DataFrame(
        [
            ("a", 0.1, 0.3), ("b", 0.2, 0.4), ("c", -0.3, -0.1), ("d", -0.1, 0.1), ("e", np.nan, np.nan),
        ],
        columns=["model", "low", "high"],
    ).assign(attribute="age", metric="negative_fpr", group="old", interval="t", reference="mean")  # fmt: skip
    # Two above, one below: 2 - 1; d decides nothing, e has no interval.
    counted = net_count([rows.iloc[:2], rows.iloc[2:]])
    assert counted[["models", "above", "below", "net", "without_interval"]].to_numpy().tolist() == [[5, 2, 1, 1, 1]]
