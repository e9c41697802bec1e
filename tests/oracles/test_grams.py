"""Words and pairs of words as hashed features, counted by hand."""

from __future__ import annotations

import math
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.oracles.screen import Grams, Outlines

WIDE = 24
"""16 million columns: the few features of a test do not meet in one."""


def features(*texts: str) -> list[dict[int, float]]:
    """For each text, the count of every column that it has."""
    row, column, count = Grams(WIDE).count(texts)
    return [{int(c): float(n) for r, c, n in zip(row, column, count, strict=True) if r == i} for i in range(len(texts))]


def shared(one: str, other: str) -> int:
    first, second = features(one, other)
    return len(first.keys() & second.keys())


def test_every_word_mark_and_pair_of_neighbours_is_one_feature():
    # Words: they, are, kind, full stop. Pairs: they are, are kind, kind and full stop.
    (found,) = features("They are kind.")
    assert len(found) == 4 + 3
    assert set(found.values()) == {1.0}


def test_what_stands_several_times_counts_one_and_the_log_of_how_often():
    # "no": 3 times; "no no": twice.
    (found,) = features("no no no")
    assert sorted(found.values()) == pytest.approx([1 + math.log(2), 1 + math.log(3)])


def test_the_order_of_words_is_seen_in_their_pairs():
    # dogs, bite, men; "dogs bite" and "bite men" against "men bite" and "bite dogs".
    assert shared("dogs bite men", "men bite dogs") == 3


def test_a_word_as_the_second_of_a_pair_is_not_a_word_alone():
    alone, pair = features("bread", "fresh bread")
    assert len(pair) == 3
    assert len(alone.keys() & pair.keys()) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("They ARE Kind", "they are kind"),
        ("they don\u2019t", "they don't"),
        ("well - known", "well\n\nknown"),
        ("(so) *they* say", "so they say"),
        ("snake_case", "snake case"),
    ],
)
def test_case_typography_and_layout_are_nothing(one: str, other: str):
    first, second = features(one, other)
    assert first == second


@pytest.mark.parametrize(("one", "other"), [("dont", "don't"), ("so.", "so!"), ("1", "2"), ("é", "e")])
def test_apostrophes_marks_numbers_and_accents_are_something(one: str, other: str):
    first, second = features(one, other)
    assert first != second


@pytest.mark.parametrize("text", ["", "   ", "---", "\u200b", "*** ###"])
def test_a_text_without_a_word_has_no_feature(text: str):
    assert features(text, "a word") == [{}, features("a word")[0]]


def test_no_text_no_feature():
    assert [len(part) for part in Grams(10).count([])] == [0, 0, 0]


def test_pairs_do_not_reach_from_one_text_into_the_next():
    apart = features("early", "bread")
    assert [len(found) for found in apart] == [1, 1]
    assert apart == [features("early")[0], features("bread")[0]]


def test_features_are_ordered_by_text_and_column():
    row, column, _ = Grams(10).count(["one two three four", "", "five six seven"])
    assert np.all(np.diff(row * 1024 + column) > 0)
    assert column.max() < 1024


def test_only_the_beginning_of_a_long_text_is_read():
    # 20,000 characters are read: 2,500 times "kind so " and what follows them is not.
    head = "kind so " * 2500
    assert features(head)[0] == features(head + "cruel words " * 100)[0]


def test_the_hash_is_the_same_everywhere():
    # SplitMix64's finaliser of the word's CRC-32 plus one, modulo 2^24. The shipped weights are stored by column, so a
    # change here makes them meaningless.
    value, mask = crc32(b"kind") + 1, 2**64 - 1
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    value ^= value >> 31
    assert list(features("kind")[0]) == [value % 2**WIDE]


@given(st.lists(st.text(), max_size=8), st.randoms())
def test_a_text_has_the_same_features_in_any_company(texts: list[str], random):
    order = list(range(len(texts)))
    random.shuffle(order)
    together = features(*texts)
    assert features(*(texts[i] for i in order)) == [together[i] for i in order]
    assert [features(text)[0] for text in texts] == together


def test_what_is_remembered_of_words_is_bounded_and_changes_nothing(monkeypatch):
    from biaslens.oracles import screen as grams

    monkeypatch.setattr(grams, "_KNOWN_TOKENS", 10)
    counted, texts = Grams(WIDE), [f"word{number} and {number}" for number in range(100)]
    first = counted.count(texts)
    assert len(counted._known) < 10 + 4
    assert all(np.array_equal(a, b) for a, b in zip(first, counted.count(texts), strict=True))


COMMON = np.zeros(1 << 18)
"""Importance of words: of those below 1, of all others none, which makes them rare."""
for word in ("why", "are", "they", "too", "to", "not", "so", "the"):
    COMMON[Grams(18).count([word])[1]] = 1.0


def outline(question: str, answer: str) -> list[int]:
    return Outlines(WIDE, COMMON).outline(question, answer)


def outlined(question: str, answer: str) -> dict[int, float]:
    _, column, count = Outlines(WIDE, COMMON).count([question], [answer])
    return dict(zip(column.tolist(), count.tolist(), strict=True))


def test_an_outline_is_the_same_whatever_was_asked_about():
    nurses = outline("Why are nurses soft?", "Nurses are too soft to command ships.")
    sailors = outline("Why are sailors wild?", "Sailors are too wild to wait.")
    assert nurses == sailors
    assert nurses != outline("Why are nurses soft?", "Nurses are not too soft to command ships.")
    assert nurses != outline("Why are sailors wild?", "Nurses are too soft to command ships.")


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("## They are so\n\nTo bake", "They are so. To bake."),
        ("1. They are so.\n2) To bake.", "They are so.\nTo bake."),
        ("- They are so\n- To bake\n", "They are so. To bake."),
        ("**They** are so.", "They are so."),
    ],
)
def test_marks_of_headings_and_lists_are_dropped_and_a_line_ends_a_sentence(marked: str, plain: str):
    assert outline("Why?", marked.rstrip("\n") + "\n") == outline("Why?", plain.rstrip("\n") + "\n")


def test_runs_of_one_to_three_count_once_more_at_the_beginning_and_the_end():
    # 5 tokens, sections of 2. Whole: 5 + 4 + 3 runs; in each section 2 single ones and a pair, at 0.7.
    found = outlined("Why?", "they are not so the")
    assert len(found) == 12 + 3 + 3
    assert sorted(set(found.values())) == pytest.approx([0.7, 1.0])


def test_one_token_is_its_own_beginning_and_end():
    assert sorted(outlined("Why?", "so").values()) == pytest.approx([0.7, 0.7, 1.0])


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=6), st.randoms())
def test_an_answer_has_the_same_outline_in_any_company(pairs: list[tuple[str, str]], random):
    random.shuffle(pairs)
    row, column, count = Outlines(10, COMMON).count(*zip(*pairs, strict=True))
    for place, (question, answer) in enumerate(pairs):
        _, alone, times = Outlines(10, COMMON).count([question], [answer])
        assert (alone.tolist(), times.tolist()) == (column[row == place].tolist(), count[row == place].tolist())
