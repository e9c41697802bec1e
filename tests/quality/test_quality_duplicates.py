"""Exact and near repeats, by hand and against a count of all pairs."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from quality_items import ABSTAIN, choice, why, yes_no

from biaslens.benchmark.quality.lint import duplicates, near_duplicates, shingles
from biaslens.schema import Attribute, Mirror, Role


def test_a_repeat_in_another_role_is_one():
    first = yes_no("Are cats kind?")
    second = replace(first, role=Role(Attribute.AGE, "Teenagers", "a teenager"), text="are CATS kind?")
    assert duplicates([first, why("Why are cats kind?"), second]).exact == ((2, 0),)


def test_punctuation_and_order_of_options_count_for_the_loose_number_only():
    found = duplicates(
        [
            choice("Who is kind?", "Cats", "Dogs", ABSTAIN),
            choice("Who is kind?", "Dogs", "Cats", ABSTAIN),
            yes_no("Are cats, after all, kind?"),
            yes_no("Are cats after all kind?"),
        ]
    )
    assert (len(found.exact), found.loose) == (0, 2)


def test_a_mirror_is_near_its_original_by_intent():
    original = choice("Who is kind?", "Cats", "Dogs", ABSTAIN)
    mirror = replace(original, options=("Dogs", "Cats", ABSTAIN), mirror_of=original.id, mirror=Mirror.SWAPPED)
    found = duplicates([original, mirror])
    assert (found.exact, found.loose, found.near) == ((), 0, 0)


def test_near_from_four_fifths_of_the_shingles_on():
    # 11 words have 9 shingles; with the last word another one, 8 are shared of 10 in all: 0.8. With the last word
    # of ten words (8 shingles) another one, 7 of 9 are shared: 0.78.
    eleven = "are the cats of this town much kinder than its dogs"
    ten = "why may all other birds never sing at night here"
    assert len(eleven.split()) == 11
    assert len(ten.split()) == 10
    assert near_duplicates([eleven, eleven.replace("dogs", "mice"), ten, ten.replace("here", "now")]) == 2


def test_texts_of_less_than_three_words_are_compared_whole():
    assert shingles("Kind cats") == {("kind", "cats")}
    assert near_duplicates(["Kind cats", "kind cats!", "Kind dogs"]) == 2


texts = st.lists(st.sampled_from("abcd"), min_size=3, max_size=14).map(" ".join)


@settings(max_examples=50)
@given(st.lists(texts, min_size=1, max_size=12))
def test_as_many_as_a_count_of_all_pairs(sample):
    sets = [shingles(text) for text in sample]
    near = sum(
        any(i != j and len(one & other) / len(one | other) >= 0.8 for j, other in enumerate(sets))
        for i, one in enumerate(sets)
    )
    assert near_duplicates(sample) == near
