"""Fairness through unawareness."""

from __future__ import annotations

from biaslens.usecase._framework import check_unawareness
from biaslens.usecase._lexicon import load_words

LEXICON = load_words(["gender", "race"])


def test_which_words_where_and_how_often() -> None:
    prompts = ["Is she a good nurse?", "Hello", "The woman said she is black.", "A man, a woman"]
    found = check_unawareness(prompts, LEXICON)
    assert not found.satisfied
    assert found.prompts == 4
    assert found.mentioning == (0, 2, 3)
    gender = found.attributes["gender"]
    assert gender.prompts == (0, 2, 3)
    # she in prompts 0 and 2, woman in 2 and 3.
    assert gender.groups["female"].words == {"she": 2, "woman": 2}
    assert gender.groups["female"].count == 4
    assert gender.groups["male"].prompts == (3,)
    assert gender.groups["neutral"].words == {}
    assert found.attributes["race"].groups["black"].prompts == (2,)
    index, spans = gender.examples[0]
    assert (index, [(one.start, one.end, one.text) for one in spans]) == (0, [(3, 6, "she")])


def test_satisfied_means_that_no_prompt_names_a_group() -> None:
    found = check_unawareness(["Is the applicant qualified?", "black coffee", ""], LEXICON)
    assert found.satisfied
    assert found.mentioning == ()
    assert found.attributes["race"].satisfied


def test_no_prompts() -> None:
    assert check_unawareness([], LEXICON).satisfied


def test_prompts_are_read_in_chunks() -> None:
    found = check_unawareness((("she" if number == 25_000 else "it") for number in range(30_000)), LEXICON)
    assert found.prompts == 30_000
    assert found.mentioning == (25_000,)
    assert found.attributes["gender"].examples[0][0] == 25_000
