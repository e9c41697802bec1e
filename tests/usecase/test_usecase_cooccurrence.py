"""Co-occurrence bias: by hand, and beside a double loop over positions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslens.usecase._lexicon import find, load_words
from biaslens.usecase._tokens import NONE, OTHER, Places, marked, tokenise, words_of
from biaslens.usecase.metrics._association import (
    adjectives,
    cobs,
    cobs_by_word,
    cooccurrences,
    default_stop_words,
    professions,
)

SHE, HE = ["she", "her"], ["he", "him"]
WORDS = ["she", "her", "he", "him", "kind", "tall", "nurse", "the", "is"]
texts_of_few_words = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=6)


def brute(texts, a, b, targets, stops, beta=0.95):
    """The formula word for word: sums over pairs of positions."""
    split = [words_of(text) for text in texts]
    outside = {*stops, *a, *b}

    def chance(target, group):
        def near(which):
            return sum(
                beta ** abs(i - j)
                for words in split
                for i, v in enumerate(words)
                for j, other in enumerate(words)
                if which(v) and other in group
            )

        number = sum(word not in outside for words in split for word in words)
        mentions = sum(word in group for words in split for word in words)
        all_near = near(lambda v: v not in outside)
        if not number or not mentions or not all_near:
            return 0
        return (near(lambda v: v == target) / all_near) / (mentions / number)

    ratios = {}
    for target in targets:
        if target not in outside and (first := chance(target, a)) and (second := chance(target, b)):
            ratios[target] = math.log(first / second)
    return ratios


def test_cobs_by_hand():
    # "nurse": one word from "she" in the first text, two from "he" in the second.
    texts = ["she kind nurse tall", "he is a nurse", "tall nurse he"]
    # Without stop words {is, a}, the words that count: kind nurse tall | nurse | tall nurse: 6.
    # she: once. nurse .95^2 = .9025, of kind .95, nurse .9025, tall .857375: 2.709875.  P = (.9025 / 2.709875) / (1/6)
    # he: twice. nurse .95^3 + .95 = 1.807375, all: + tall .9025 = 2.709875.  P = (1.807375 / 2.709875) / (2/6)
    nurse = math.log((0.9025 / 2.709875 / (1 / 6)) / (1.807375 / 2.709875 / (2 / 6)))
    # tall: she .857375, he .9025
    tall = math.log((0.857375 / 2.709875 / (1 / 6)) / (0.9025 / 2.709875 / (2 / 6)))
    found = cobs_by_word(texts, SHE, HE, targets=["nurse", "tall", "kind", "doctor"], stop_words=["is", "a"])
    # kind stands with no "he", doctor nowhere: both are left out.
    assert found == {"nurse": pytest.approx(nurse, abs=1e-12), "tall": pytest.approx(tall, abs=1e-12)}
    score = cobs(texts, SHE, HE, targets=["nurse", "tall", "kind", "doctor"], stop_words=["is", "a"])
    assert score == pytest.approx((nurse + tall) / 2, abs=1e-12)
    # log(2 x .9025 / 1.807375) = log .99869 = -0.00131; log(2 x .857375 / .9025) = log 1.9 = 0.64185.
    assert score == pytest.approx(0.32027, abs=1e-5)


def test_a_stop_word_keeps_its_place_but_counts_for_nothing():
    # "the" between them makes it two words of distance; with one other word near, P(kind|A) = (.9025 / .9025) / (1 / 2)
    texts = ["she the kind", "kind he"]
    # P(kind|he) = (.95 / .95) / (1 / 2): the ratio is 1.
    assert cobs(texts, SHE, HE, targets=["kind"], stop_words=["the"]) == pytest.approx(0, abs=1e-12)
    # Without stop words, "the" is among what is near "she": .9025 / (.9025 + .95) = .487179.
    without = cobs(texts, SHE, HE, targets=["kind"], stop_words=[])
    assert without == pytest.approx(math.log(0.9025 / 1.8525), abs=1e-12)


def test_a_phrase_is_one_place_and_other_protected_words_count_for_nothing():
    texts = ["kind old woman x", "kind x man they"]
    # A phrase "old woman" is one position from "kind" and one from "x": .95 / 1.9. man: .9025 / (.9025 + .95).
    expected = math.log((0.95 / 1.9) / (0.9025 / 1.8525))
    options = {"targets": ["kind"], "stop_words": [], "all_protected": ["they"]}
    assert cobs(texts, ["old woman"], ["man"], **options) == pytest.approx(expected, abs=1e-12)


def test_targets_that_are_stop_words_or_protected_are_left_out():
    texts = ["she kind the he", "he kind she the"]
    assert set(cobs_by_word(texts, SHE, HE, targets=["kind", "the", "she"], stop_words=["the"])) == {"kind"}


def test_langfair_takes_absolute_values_and_base_ten():
    texts = ["she kind nurse tall", "he is a nurse", "tall nurse he"]
    words = cobs_by_word(texts, SHE, HE, targets=["nurse", "tall"], stop_words=["is", "a"])
    score = cobs(texts, SHE, HE, targets=["nurse", "tall"], stop_words=["is", "a"], variant="langfair")
    assert score == pytest.approx(sum(abs(each) / math.log(10) for each in words.values()) / 2, abs=1e-12)


@settings(deadline=None)
@given(texts_of_few_words, st.sampled_from([0.5, 0.95, 1.0]))
def test_cobs_is_the_double_loop(texts, beta):
    targets, stops = ["kind", "tall", "nurse"], ["the", "is"]
    expected = brute(texts, SHE, HE, targets, stops, beta)
    found = cobs_by_word(texts, SHE, HE, targets=targets, stop_words=stops, beta=beta)
    assert found == {word: pytest.approx(ratio, abs=1e-12) for word, ratio in expected.items()}
    score = cobs(texts, SHE, HE, targets=targets, stop_words=stops, beta=beta)
    if expected:
        assert score == pytest.approx(np.mean(list(expected.values())), abs=1e-12)
    else:
        assert math.isnan(score)
        assert score.reason


@given(texts_of_few_words)
def test_the_other_way_round_is_the_negative(texts):
    options = {"targets": ["kind", "tall"], "stop_words": []}
    there, back = cobs(texts, SHE, HE, **options), cobs(texts, HE, SHE, **options)
    assert (math.isnan(there) and math.isnan(back)) or there == pytest.approx(-back, abs=1e-12)


@given(texts_of_few_words.filter(len), st.integers(0, 99))
def test_exchanging_groups_in_some_units_is_exchanging_the_words(texts, seed):
    turned = {"she": "he", "her": "him", "he": "she", "him": "her"}
    masks = np.random.default_rng(seed).random((3, len(texts))) < 0.5
    sums = sums_of(texts, np.arange(len(texts)), len(texts))
    for mask, found in zip(masks, sums.under(masks), strict=True):
        exchanged = [
            " ".join(turned.get(word, word) for word in text.split()) if swap else text
            for text, swap in zip(texts, mask, strict=True)
        ]
        expected = cobs(exchanged, SHE, HE, targets=["kind", "tall"], stop_words=[])
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert sums.exchanged()[0].value() == pytest.approx(sums.under(np.ones_like(masks))[0], abs=1e-12, nan_ok=True)


def sums_of(texts, units, count, **options):
    tokens = tokenise(texts)
    options = {"targets": ["kind", "tall"], "stop_words": []} | options
    found = cooccurrences(marked(tokens, find(tokens, [SHE, HE])), np.asarray(units), count, groups=2, **options)
    return found.pair(0, 1)


def test_weights_of_units_are_repeats_of_their_responses():
    texts = ["she kind tall he", "she kind", "he tall kind", "kind she tall"]
    sums = sums_of(texts, [0, 0, 1, 2], 3)
    assert sums.units == 3
    weights = np.array([[1, 1, 1], [2, 0, 1], [0, 3, 0]], dtype=float)
    expected = [
        cobs(texts, SHE, HE, targets=["kind", "tall"], stop_words=[]),
        cobs([*texts[:2] * 2, texts[3]], SHE, HE, targets=["kind", "tall"], stop_words=[]),
        math.nan,  # only "he": no target with both
    ]
    assert sums.at(weights) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    merged = sums.merged(np.array([0, 1, 0]))
    assert merged.units == 2
    assert merged.at(np.array([[2.0, 1.0]])) == pytest.approx(sums.at(np.array([[2.0, 1.0, 2.0]])), abs=1e-12)


def test_parts_read_one_after_the_other_are_the_whole():
    texts = ["she kind tall he", "she kind", "he tall kind", "kind she tall"]
    whole = sums_of(texts, [0, 0, 1, 1], 2)
    parts = [sums_of(texts[:2], [0, 0], 2), sums_of(texts[2:], [1, 1], 2)]
    assert (parts[0].sums + parts[1].sums != whole.sums).nnz == 0


def test_every_pair_of_three_groups():
    texts = ["ann kind bob", "bob tall kind cat", "cat kind ann tall", "bob kind"]
    groups = [["ann"], ["bob"], ["cat"]]
    tokens = tokenise(texts)
    found = cooccurrences(
        marked(tokens, find(tokens, groups)), np.zeros(4, int), 1, groups=3, targets=["kind", "tall"], stop_words=[]
    )
    everyone = ["ann", "bob", "cat"]
    for a, b in [(0, 1), (0, 2), (1, 2), (2, 0)]:
        expected = cobs(texts, groups[a], groups[b], targets=["kind", "tall"], stop_words=[], all_protected=everyone)
        assert found.pair(a, b).value() == pytest.approx(expected, abs=1e-12)
        assert len(found.by_word(a, b)) == len(
            cobs_by_word(texts, groups[a], groups[b], ["kind", "tall"], [], all_protected=everyone)
        )


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], "no word of the first group occurs"),
        (["", ""], "no word of the first group occurs"),
        (["she is kind"], "no word of the second group occurs"),
        (["she sings", "he sings"], "no target word stands in responses with words of both groups"),
        (["彼女は優しい", "😀😀", "..."], "no word of the first group occurs"),
    ],
)
def test_undefined_says_why(texts, why):
    score = cobs(texts, SHE, HE, targets=["kind"])
    assert math.isnan(score)
    assert score.reason == why


def test_all_texts_equal_is_fair_only_by_distance():
    # "she" and "he" are both one word away: P is the same for both.
    assert cobs(["she kind he"] * 50, SHE, HE, targets=["kind"], stop_words=[]) == 0


def test_words_of_any_script_and_emoji_between_words():
    # Emoji are no words: "женщина" is next to "добрая", and so is "мужчина".
    texts = ["женщина 😀 добрая", "Добрая мужчина и"]
    score = cobs(texts, ["женщина"], ["мужчина"], targets=["добрая"], stop_words=[])
    # P(добрая|женщина) = 1 / (1/3); P(добрая|мужчина) = (.95 / 1.9) / (1/3)
    assert score == pytest.approx(math.log(2), abs=1e-12)


def test_a_megabyte_and_words_too_far_apart_count_nothing():
    long = "she " + "kind tall word other " * 50_000 + "he"
    assert len(long) > 10**6
    score = cobs([long, "she kind he", "x " * 40_000 + "he"], SHE, HE, targets=["kind", "tall"], stop_words=[])
    assert math.isfinite(score)
    # 0.95^20000 is 0 to a double: "kind" is near "she" alone.
    apart = "she kind " + "x " * 20_000 + "he"
    assert cobs_by_word([apart], SHE, HE, targets=["kind", "x"], stop_words=[]).keys() == {"x"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ["police officer"]}, "the target 'police officer' is 2 words; a target is a single word"),
        ({"variant": "other"}, "variant: 'other' is none of paper, langfair"),
        ({"beta": 0}, "beta is 0; nearness needs one above 0 and up to 1"),
        ({"words_a": ["she", "they"], "words_b": ["he", "They"]}, "'They' stands in two groups"),
        ({"words_a": ["..."]}, "'...' is no word"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        cobs(["she is kind"], **({"words_a": SHE, "words_b": HE} | options))


def test_found_words_do_not_overlap_and_end_with_their_text():
    tokens = tokenise(["an old man and old", "man old woman"])
    places = find(tokens, [["old man", "man"], ["woman", "old woman"]], others=["old", "man"])
    # "old man" | "old" is not of the next text's "man" | "man" | "old woman"
    assert places.token.tolist() == [1, 4, 5, 6]
    assert places.length.tolist() == [2, 1, 1, 2]
    assert places.group.tolist() == [0, OTHER, 0, 1]
    texts = marked(tokens, places)
    assert texts.group_of.tolist() == [NONE, 0, NONE, OTHER, 0, 1]
    assert texts.tokens.words(0) == ["an", "_", "and", "old"]
    assert texts.tokens.starts.tolist() == [0, 4, 6]


def test_places_may_come_from_elsewhere():
    tokens = tokenise(["she kind he"])
    places = Places(np.array([0, 2]), np.array([1, 1]), np.array([0, 1]))
    sums = cooccurrences(marked(tokens, places), np.array([0]), 1, groups=2, targets=["kind"], stop_words=[]).pair(0, 1)
    assert sums.value() == 0


def test_default_words_are_single_lower_case_words():
    for words in (professions(), adjectives(), default_stop_words()):
        assert len(set(words)) == len(words) > 200
        assert all(words_of(word) == [word] for word in words)
    assert not set(default_stop_words()) & {*professions(), *adjectives()}
    assert {"nurse", "nurses", "midwife", "midwives"} <= set(professions())


def test_no_default_target_names_a_group():
    groups = [words for of in load_words().attributes.values() for words in of.words_by_group.values()]
    protected = {word for words in groups for word in words}
    assert not {*professions(), *adjectives()} & protected
