"""Stereotypical associations: by hand, and beside counting response by response."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslens.usecase._lexicon import find
from biaslens.usecase._tokens import Places, marked, of_attribute, tokenise, words_of
from biaslens.usecase.metrics._association import sa_sums, stereotypical_associations

WOMEN, MEN, BOTH = ["she", "her"], ["he", "him"], ["they"]
GROUPS = {"women": WOMEN, "men": MEN}
WORDS = ["she", "her", "he", "him", "they", "kind", "tall", "nurse", "the"]
texts_of_few_words = st.lists(st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join), max_size=6)


def brute(texts, groups, targets, *, langfair=False):
    distances = []
    for target in targets:
        gamma = []
        for words in groups.values():
            each = [
                words_of(text).count(word) * (words_of(text).count(target) if langfair else (target in words_of(text)))
                for text in texts
                for word in words
            ]
            gamma.append(sum(each) / (len(words) if langfair else 1))
        if sum(gamma):
            distances.append(sum(abs(each / sum(gamma) - 1 / len(groups)) for each in gamma) / 2)
    return sum(distances) / len(distances) if distances else math.nan


def test_associations_by_hand():
    texts = ["She is a nurse and her nurse is tall.", "He is a nurse.", "He is tall, he says.", "She sleeps."]
    # nurse: women 2 (she, her; that "nurse" stands twice does not matter), men 1: |2/3 - 1/2| = 1/6.
    # tall: women 2, men 2: 0. doctor: in no response, left out of the mean.
    score = stereotypical_associations(texts, GROUPS, targets=["nurse", "tall", "doctor"])
    assert score == pytest.approx((1 / 6 + 0) / 2, abs=1e-12)


def test_associations_of_three_groups_by_hand():
    texts = ["she is kind", "she and he are kind", "they are tall", "kind"]
    groups = GROUPS | {"both": BOTH}
    # kind: women 2, men 1, both 0: half of |2/3 - 1/3| + |1/3 - 1/3| + |0 - 1/3| = 1/3. tall: both alone: 1 - 1/3.
    score = stereotypical_associations(texts, groups, targets=["kind", "tall"])
    assert score == pytest.approx((1 / 3 + 2 / 3) / 2, abs=1e-12)


def test_langfair_counts_targets_and_divides_by_the_length_of_lists():
    texts = ["She is a nurse and her nurse is tall.", "He is a nurse."]
    groups = {"women": ["she", "her"], "men": ["he", "him", "his", "himself"]}
    # nurse: women 2 x 2 / 2 words = 2, men 1 x 1 / 4 words = 0.25: |2 / 2.25 - 1/2| = 0.38889.
    # tall: women 1, men 0: 1/2.
    score = stereotypical_associations(texts, groups, targets=["nurse", "tall"], variant="langfair")
    assert score == pytest.approx((2 / 2.25 - 0.5 + 0.5) / 2, abs=1e-12)
    # The formula: nurse 2 and 1, tall 2 and 0.
    assert stereotypical_associations(texts, groups, targets=["nurse", "tall"]) == pytest.approx((1 / 6 + 0.5) / 2)


@settings(deadline=None)
@given(texts_of_few_words, st.booleans(), st.booleans())
def test_associations_are_the_count_response_by_response(texts, three, langfair):
    groups = GROUPS | ({"both": BOTH} if three else {})
    expected = brute(texts, groups, ["kind", "tall", "nurse"], langfair=langfair)
    score = stereotypical_associations(
        texts, groups, ["kind", "tall", "nurse"], variant="langfair" if langfair else "paper"
    )
    assert score == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert math.isnan(score) == bool(score.reason)
    assert math.isnan(score) or 0 <= score <= 1 - 1 / len(groups) + 1e-12


def sums_of(texts, units, count, groups=(WOMEN, MEN)):
    tokens = tokenise(texts)
    texts_marked = marked(tokens, find(tokens, groups))
    return sa_sums(texts_marked, np.asarray(units), count, groups=len(groups), targets=["kind", "tall"])


def test_weights_of_units_are_repeats_of_their_responses():
    texts = ["she is kind", "he is kind", "he is kind, tall", "they sing"]
    sums = sums_of(texts, [0, 1, 1, 2], 3)
    weights = np.array([[1, 1, 1], [3, 1, 0], [0, 0, 1]], dtype=float)
    expected = [
        stereotypical_associations(texts, GROUPS, ["kind", "tall"]),
        stereotypical_associations([texts[0]] * 3 + texts[1:3], GROUPS, ["kind", "tall"]),
        math.nan,
    ]
    assert sums.at(weights) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert sums.merged(np.array([0, 0, 1])).value() == sums.value()


@given(texts_of_few_words.filter(len), st.integers(0, 99))
def test_exchanging_groups_in_some_units_is_exchanging_the_words(texts, seed):
    turned = {"she": "he", "her": "him", "he": "she", "him": "her"}
    mask = np.random.default_rng(seed).random(len(texts)) < 0.5
    exchanged = [
        " ".join(turned.get(word, word) for word in text.split()) if swap else text
        for text, swap in zip(texts, mask, strict=True)
    ]
    found = sums_of(texts, np.arange(len(texts)), len(texts)).under(mask[None])[0]
    expected = stereotypical_associations(exchanged, GROUPS, ["kind", "tall"])
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_three_groups_take_each_others_places_in_turn():
    texts = ["she is kind", "he is kind", "they are kind"]
    sums = sums_of(texts, [0, 1, 2], 3, groups=(WOMEN, MEN, BOTH))
    assert sums.ways == 3 and sums.value() == 0
    # Of the first text the one group is seen for the other: one has none of the three mentions of "kind", one has two.
    for way in (1, 2):
        assert sums.under(np.array([[way, 0, 0]]))[0] == pytest.approx(1 / 3)
        assert sums.under(np.full((1, 3), way))[0] == 0


@pytest.mark.parametrize("texts", [[], [""], ["she sings"], ["kind"], ["彼女は優しい 😀"]])
def test_undefined_says_why(texts):
    score = stereotypical_associations(texts, GROUPS, targets=["kind"])
    assert math.isnan(score)
    assert score.reason == "no target word stands in a response with a word of any group"


def test_one_group_alone_is_an_error_and_one_that_never_occurs_is_not():
    with pytest.raises(ValueError, match="1 group of words: associations are compared between two or more"):
        stereotypical_associations(["she is kind"], {"women": WOMEN})
    # Women alone: |1 - 1/2|.
    assert stereotypical_associations(["she is kind"] * 9, GROUPS, targets=["kind"]) == 0.5


def test_default_targets_and_a_megabyte():
    text = "She was a kind nurse. He was a tall surgeon. 😀 " * 22_000
    assert len(text) > 10**6
    assert stereotypical_associations([text], GROUPS) == 0  # 22,000 mentions of each with every target


def test_groups_of_an_attribute_from_mentions():
    class Mentions:
        token = np.array([0, 2, 4, 6])
        length = np.array([1, 1, 1, 1])
        attribute = np.array([0, 0, 1, 0])
        group = np.array([2, 0, 0, 1])

    places = of_attribute(Mentions(), 0, [2, 0])
    assert isinstance(places, Places)
    assert places.token.tolist() == [0, 2, 6]
    assert places.group.tolist() == [0, 1, -2]  # the third is of a group that is not compared
