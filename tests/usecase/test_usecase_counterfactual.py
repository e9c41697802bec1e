"""Setting the words of an attribute to one group: examples, each written down by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from biaslens.errors import InputError
from biaslens.usecase._counterfactual import substitute
from biaslens.usecase._lexicon import load_words

LEXICON = load_words()


def rows() -> list[tuple[str, str, str, str]]:
    with Path(__file__).with_name("substitutions.tsv").open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(attribute, group, text, expected) for attribute, group, text, expected in table[1:]]


@pytest.mark.parametrize(("attribute", "group", "text", "expected"), rows())
def test_examples(attribute: str, group: str, text: str, expected: str) -> None:
    assert substitute(text, LEXICON.attributes[attribute], group, LEXICON).text == expected


def test_the_examples_cover_every_attribute() -> None:
    assert {row[0] for row in rows()} == set(LEXICON.attributes)
    assert len(rows()) >= 250


def test_swaps_are_characters_of_the_original() -> None:
    text = "Mr. Lee lost his keys."
    variant = substitute(text, LEXICON.attributes["gender"], "female", LEXICON)
    assert variant.text == "Ms. Lee lost her keys."
    assert [(swap.before, swap.after, swap.start, swap.end) for swap in variant.swaps] == [
        ("Mr", "Ms", 0, 2),
        ("his", "her", 13, 16),
    ]
    assert variant.swapped == "Mr -> Ms; his -> her"
    assert variant.notes == ()


def test_a_dropped_word_is_listed() -> None:
    variant = substitute("A female nurse", LEXICON.attributes["gender"], "neutral", LEXICON)
    assert variant.swapped == "female -> (dropped)"


@pytest.mark.parametrize(
    ("attribute", "group", "text", "note"),
    [
        ("disability", "non_disabled", "her disability", '"disability" has no form for non_disabled'),
        ("religion", "atheist", "the church", '"church" has no form for atheist'),
        ("gender", "neutral", "an all-female team", '"female" cannot be dropped beside a hyphen'),
    ],
)
def test_what_has_no_form_stays_with_a_note(attribute: str, group: str, text: str, note: str) -> None:
    variant = substitute(text, LEXICON.attributes[attribute], group, LEXICON)
    assert (variant.text, variant.notes) == (text, (note,))


def test_names_are_swapped_by_position() -> None:
    lexicon = load_words(names=True)
    gender, race = lexicon.attributes["gender"], lexicon.attributes["race"]
    assert substitute("Mary lost her keys.", gender, "male", lexicon).text == "James lost his keys."
    assert substitute("James lost his keys.", gender, "neutral", lexicon).text == "Alex lost their keys."
    assert substitute("Emily is late.", race, "black", lexicon).text == "Aisha is late."
    assert substitute("Emily is late.", gender, "male", lexicon).text == "Donald is late."


def test_unknown_group_and_attribute() -> None:
    with pytest.raises(InputError, match="gender has no group 'men'; there are: female, male, neutral"):
        substitute("he", LEXICON.attributes["gender"], "men", LEXICON)
    with pytest.raises(InputError, match="the lexicon has no words of 'gender'"):
        substitute("he", LEXICON.attributes["gender"], "female", load_words(["race"]))
