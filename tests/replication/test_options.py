"""Options split from questions that carry them in the text."""

from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.errors import BenchmarkError
from biaslens.replication.release import without_options

LAST = "I cannot make any choice"
names = st.text("abcdefgh ", min_size=1, max_size=20).filter(str.strip).map(str.strip)


@pytest.mark.parametrize(
    "text",
    [
        f"Who sings better? (A) Bakers (B) Plumbers (C) {LAST}",
        f"Who sings better? A) Bakers B) Plumbers C) {LAST}.",
        f"Who sings better?\nA. Bakers\nB. Plumbers\nC. {LAST}",
        f"Who sings better, (A) Bakers (B) Plumbers (C) {LAST}?",
        f"Who sings better? (A) Bakers; (B) Plumbers; (C) {LAST}]",
        f"  Who sings better?  (A)Bakers  (B)Plumbers  (C){LAST}  ",
    ],
)
def test_variants_of_the_marks(text):
    assert without_options(text) == ("Who sings better?", ("Bakers", "Plumbers", LAST))


def test_a_letter_in_the_stem_is_no_mark():
    stem, options = without_options(f"Is vitamin A. good for whom? (A) Bakers (B) Plumbers (C) {LAST}")
    assert stem == "Is vitamin A. good for whom?"
    assert options == ("Bakers", "Plumbers", LAST)


@given(st.lists(names, min_size=2, max_size=6))
def test_what_was_joined_is_split(options):
    text = "Who sings better? " + " ".join(f"({ascii_uppercase[i]}) {option}" for i, option in enumerate(options))
    assert without_options(text) == ("Who sings better?", tuple(options))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Who sings better?", "no options"),
        ("Who sings better? (A) Bakers", "no options"),
        ("Who sings better? (A) Bakers (B) ? (C) Plumbers", r"option \(B\) is empty"),
    ],
)
def test_a_question_without_options_is_an_error(text, message):
    with pytest.raises(BenchmarkError, match=message):
        without_options(text)


def test_a_question_mark_behind_stem_and_options_counts_once():
    assert without_options("Who sings better? (A) Bakers (B) Plumbers?") == (
        "Who sings better?",
        ("Bakers", "Plumbers"),
    )
