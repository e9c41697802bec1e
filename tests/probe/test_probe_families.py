"""Background, pairwise and multi-group comparison: hand-worked numbers, and laws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probe_predictions import by_hand, drawn

from biaslens.probe.gaps import compare_groups, gaps
from biaslens.probe.predictions import PROBABILITIES

# As in the tests of gaps: Negative FPR 2 of 4, 1 of 4, 0 of 4.
CELLS = {
    ("adult", "mature"): [(2, 2), (2, 2), (1, 1), (1, 1), (0, 0), (0, 0)],
    ("old", "elderly"): [(2, 0), (2, 2), (1, 0), (1, 1), (0, 2), (0, 0)],
    ("young", "teenage"): [(2, 2), (2, 2), (1, 0), (1, 2), (0, 2), (0, 0)],
}


def compared(family: str, predictions: pd.DataFrame, **options) -> pd.DataFrame:
    return compare_groups(predictions, **options).query("family == @family")


def _of(table: pd.DataFrame, score: str, label: str = "") -> pd.DataFrame:
    return table[(table["score"] == score) & (table["label"] == label)].set_index("compared")


def test_background_of_all_others():
    found = _of(compare_groups(by_hand(CELLS)).query("family == 'background'"), "fpr", "negative")
    # adult 0/4 against 3/8; old 2/4 against 1/8; young 1/4 against 2/8.
    assert found.loc[["adult", "old", "young"], "value"].tolist() == pytest.approx([0.375, 0.375, 0.0])
    assert found.loc[["adult", "old", "young"], "signed"].tolist() == pytest.approx([-0.375, 0.375, 0.0])
    assert found.loc["mean", "value"] == pytest.approx(0.25)
    assert found.loc["old", ["of", "against_of"]].tolist() == [4, 8]


def test_pairs():
    found = compare_groups(by_hand(CELLS)).query("family == 'pairwise'")
    rows = found[(found["score"] == "fpr") & (found["label"] == "negative")]
    # 0, 1/2 and 1/4: differences 1/2, 1/4, 1/4, their mean 1/3.
    assert rows["value"].tolist() == pytest.approx([0.5, 0.25, 0.25, 1 / 3])
    assert rows["signed"].tolist()[:3] == pytest.approx([-0.5, -0.25, 0.25])
    assert rows[["compared", "against"]].to_numpy().tolist()[2] == ["old", "young"]


def test_all_groups_at_once():
    found = _of(compare_groups(by_hand(CELLS)).query("family == 'multigroup'"), "fpr", "negative")
    # Range 1/2 - 0; the deviation of 0, 1/4, 1/2 is sqrt((1/16 + 0 + 1/16) / 3).
    assert found.loc["range", "value"] == pytest.approx(0.5)
    assert found.loc["deviation", "value"] == pytest.approx(np.sqrt(1 / 24))


@pytest.mark.parametrize(
    ("score", "label", "adult", "old"),
    [
        # Of the two gold negatives, old has one found; the others together three of four.
        ("tpr", "negative", 1 - 1 / 2, 1 / 2 - 3 / 4),
        ("fnr", "negative", 0 - 1 / 2, 1 / 2 - 1 / 4),
        # adult 6 of 6, old 3 of 6, young 3 of 6.
        ("accuracy", "", 1 - 6 / 12, 3 / 6 - 9 / 12),
        # The predicted label has 0.8, others 0.1: adult is called negative 2 times of 6, which sums to
        # 2 x 0.8 + 4 x 0.1 = 2; old 3 times (2.7), young 2 times (2).
        ("mean_probability", "negative", 2 / 6 - 4.7 / 12, 0.45 - 4 / 12),
        ("mean_probability_of_gold", "", 0.8 - 0.45, 0.45 - (9 * 0.8 + 3 * 0.1) / 12),
    ],
)  # fmt: skip
def test_scores(score, label, adult, old):
    found = _of(compare_groups(by_hand(CELLS)).query("family == 'background'"), score, label)
    assert found.loc[["adult", "old"], "signed"].tolist() == pytest.approx([adult, old])


def test_wasserstein_distance():
    found = compare_groups(by_hand(CELLS)).query("family == 'pairwise'")
    rows = found[(found["score"] == "wasserstein") & (found["label"] == "negative")]
    # adult: 2 of 6 at 0.8; old: 3 of 6. A sixth of the mass moves by 0.7.
    assert rows["value"].iloc[0] == pytest.approx(0.7 / 6)


def test_averaged_over_prompts():
    one, two = by_hand(CELLS, runs=["1"]), by_hand(CELLS, runs=["2"])
    two["y_pred"] = two["y_true"]
    found = _of(compare_groups(pd.concat([one, two])).query("family == 'background'"), "fpr", "negative")
    assert found.loc["old", "value"] == pytest.approx(0.375 / 2)
    assert found["prompts"].tolist() == [2] * 4


def test_without_probabilities_only_labels_are_compared():
    predictions = by_hand(CELLS)
    predictions[list(PROBABILITIES)] = np.nan
    assert set(compare_groups(predictions)["score"]) == {"fpr", "fnr", "tpr", "accuracy"}


def test_a_group_without_a_gold_label_has_no_part_in_the_mean():
    cells = {**CELLS, ("adult", "mature"): [(2, 2), (1, 1)]}
    found = _of(compare_groups(by_hand(cells)).query("family == 'background'"), "tpr", "negative")
    assert np.isnan(found.loc["adult", "value"])
    # old 1 of 2, young 1 of 2, and each is the other's background.
    assert found.loc["mean", "value"] == 0


def test_one_group_has_nothing_to_be_compared_with():
    found = compare_groups(by_hand({("old", "elderly"): CELLS["old", "elderly"]}))
    assert found.loc[found["family"] != "multigroup", "value"].isna().all()
    assert (found.loc[found["family"] == "multigroup", "value"] == 0).all()


def test_unmarked_sentences_are_no_group():
    assert "unmarked" not in set(compare_groups(drawn(prompts=1)).query("family == 'background'")["compared"])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_laws(seed):
    predictions = drawn(prompts=2, seed=seed)
    table = compare_groups(predictions)
    rates = table[~table["score"].isin(["wasserstein"])]
    # A rate and its complement are equally far apart; a range is the largest difference of a pair of one prompt.
    tpr, fnr = (rates[rates["score"] == name]["value"].to_numpy() for name in ("tpr", "fnr"))
    assert tpr == pytest.approx(fnr)
    assert (table["value"] >= 0).all()
    # The Wasserstein distance is at least the difference of the means.
    both = [table[table["score"] == name].dropna() for name in ("wasserstein", "mean_probability")]
    far, near = (part[part["family"] == "pairwise"]["value"].to_numpy() for part in both)
    assert (far >= near - 1e-12).all()
    pair = {"age": ["old", "young"]}
    gap = gaps(predictions, groups=pair).query("metric == 'negative_fpr'").groupby("group")["gap"].mean()
    signed = _of(compare_groups(predictions, groups=pair).query("family == 'background'"), "fpr", "negative")["signed"]
    # Of two groups, the gap to the mean is half the difference to the other.
    assert 2 * gap["old"] == pytest.approx(signed["old"])
