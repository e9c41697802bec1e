"""Counterfactual prompts: substitutions by example and by law, pronouns, and pairs of prompts."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslens.errors import InputError
from biaslens.usecase._agreement import Punctuated, base, decide
from biaslens.usecase._counterfactual import PAIR_COLUMNS, cased, make_pairs, pair_rows, substitute
from biaslens.usecase._lexicon import Spoken, load_words

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


FILLER = [
    "a",
    "an",
    "the",
    "and",
    "or",
    "is",
    "are",
    "was",
    "with",
    "from",
    "who",
    "very",
    "not",
    "student",
    "students",
    "people",
    "nurse",
    "works",
    "likes",
    "book",
    ",",
    ".",
    "'",
    "-",
    "in",
    "of",
]


def pieces(attribute: str) -> st.SearchStrategy[str]:
    words = LEXICON.attributes[attribute]
    forms = sorted({form for row in words.rows for forms in row.recognised.values() for form in forms})
    cased = st.sampled_from(forms).flatmap(lambda form: st.sampled_from([form, form.upper(), form.capitalize()]))
    return st.lists(st.sampled_from(FILLER) | cased, min_size=1, max_size=9).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_twice_is_once(data: st.DataObject) -> None:
    words = LEXICON.attributes[data.draw(st.sampled_from(list(LEXICON.attributes)))]
    text, group = data.draw(pieces(words.name)), data.draw(st.sampled_from(words.groups))
    once = substitute(text, words, group, LEXICON)
    if not once.notes:
        assert substitute(once.text, words, group, LEXICON).text == once.text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.sampled_from(list(LEXICON.attributes)))
def test_a_text_without_words_stays(text: str, attribute: str) -> None:
    words = LEXICON.attributes[attribute]
    if not any(found.attribute == attribute for found in LEXICON.find(text, prefer=attribute)):
        for group in words.groups:
            assert substitute(text, words, group, LEXICON).text == text


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_swaps_stand_in_the_text(data: st.DataObject) -> None:
    words = LEXICON.attributes[data.draw(st.sampled_from(list(LEXICON.attributes)))]
    text, group = data.draw(pieces(words.name)), data.draw(st.sampled_from(words.groups))
    variant = substitute(text, words, group, LEXICON)
    assert bool(variant.swaps) or variant.text == text
    for swap in variant.swaps:
        assert text[swap.start : swap.end] == swap.before


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "🙂",
        "👩‍🚀 is here",
        "она читает книгу",
        "彼女は医者です。",
        "\x00\n\t",
        "ǅ İ ß ﬁ",
        "he" * 50,
        "'''",
        "a an the a",
    ],
)
def test_strange_texts_stay(text: str) -> None:
    for attribute, words in LEXICON.attributes.items():
        for group in words.groups:
            assert substitute(text, LEXICON.attributes[attribute], group, LEXICON).text == text


def test_emoji_and_other_scripts_around_words_stay() -> None:
    text = "🙂 She 🙃 — Привет, 她 said «her» İstanbul!"
    gender = LEXICON.attributes["gender"]
    assert substitute(text, gender, "male", LEXICON).text == "🙂 He 🙃 — Привет, 她 said «him» İstanbul!"


def test_a_long_text() -> None:
    text = "She told her mother that the black box of an old car is hers; an Asian student agreed. " * 2_000
    gender = LEXICON.attributes["gender"]
    assert substitute(text, gender, "male", LEXICON).text.startswith("He told his father that the black box")
    assert substitute("x" * 200_000, gender, "male", LEXICON).text == "x" * 200_000


SCRIPT = """
from biaslens.usecase._counterfactual import make_pairs, pair_rows
from biaslens.usecase._lexicon import load_words
lexicon = load_words(names=True)
prompts = ["She saw a black man and her Jewish wife, an 80-year-old.", "Mary is a blind American; they are poor."]
for attribute in lexicon.attributes.values():
    print(pair_rows(make_pairs(prompts, attribute, attribute.groups, lexicon)))
"""


def test_the_result_does_not_depend_on_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
            encoding="utf-8",
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "Jewish" in outputs.pop()


def test_many_prompts_are_quick() -> None:
    prompts = [f"She told her boss number {number} that the job is hers." for number in range(500)]
    start = time.perf_counter()
    pairs = make_pairs(prompts, LEXICON.attributes["gender"], None, LEXICON)
    assert len(pairs) == 1_500
    assert time.perf_counter() - start < 10


def sentences() -> list[tuple[str, int, bool]]:
    """Sentence, first character of the pronoun in brackets, and whether it is a determiner."""
    with Path(__file__).with_name("pronouns.tsv").open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    read = []
    for sentence, determiner in table:
        found = re.search(r"\[(?:her|his)\]", sentence)
        assert found, sentence
        text = sentence.replace("[", "").replace("]", "")
        read.append((text[0].upper() + text[1:], found.start(), determiner == "yes"))
    return read


def test_rules_with_the_tagger_are_right_where_the_tagger_alone_is_not() -> None:
    right = alone = 0
    wrong = []
    for text, start, determiner in sentences():
        spoken = Spoken(text)
        marked = Punctuated(spoken)
        place = marked.places[[begin for begin, _ in spoken.spans].index(start)]
        ours = decide(marked, place).determiner
        right += ours == determiner
        alone += (marked.tags(place, back=6, forth=5)[0] == "DPS") == determiner
        if ours != determiner:
            wrong.append(text)
    count = len(sentences())
    assert count >= 80
    assert right / count >= 0.97, wrong
    assert alone / count < 0.85  # HanTa 1.2: 0.78


GENDER = LEXICON.attributes["gender"]


def test_each_pair_has_two_without_an_effect_beside_it() -> None:
    pairs = make_pairs(["Did he lose his keys?", "Hello", "black coffee"], GENDER, None, LEXICON)
    assert [(pair.number, pair.kind) for pair in pairs] == [(0, "counterfactual"), *[(0, "no_effect")] * 2]
    first, second, third = pairs
    assert (first.text_a, first.text_b) == ("Did she lose her keys?", "Did he lose his keys?")
    assert (first.swapped_a, first.swapped_b) == ("he -> she; his -> her", "")
    assert (second.text_a, second.text_b) == ("Did she lose her keys?", "Did she lose her keys?")
    assert (second.group_a, second.group_b) == ("female", "female")
    assert (third.text_a, third.text_b, third.group_a) == ("Did he lose his keys?", "Did he lose his keys?", "male")
    assert pairs.without == 2
    assert pairs.counterfactual == (first,)


def test_every_pair_of_groups() -> None:
    pairs = make_pairs(["An Asian nurse"], LEXICON.attributes["race"], ["white", "black", "asian"], LEXICON)
    made = [(pair.group_a, pair.group_b, pair.text_a, pair.text_b) for pair in pairs.counterfactual]
    assert made == [
        ("white", "black", "A white nurse", "A black nurse"),
        ("white", "asian", "A white nurse", "An Asian nurse"),
        ("black", "asian", "A black nurse", "An Asian nurse"),
    ]


def test_pairs_that_came_out_equal_are_left_out_and_counted() -> None:
    pairs = make_pairs(["Her disability"], LEXICON.attributes["disability"], None, LEXICON)
    assert (len(pairs), pairs.without, pairs.same) == (0, 0, 1)


def test_notes_of_both_sides() -> None:
    pairs = make_pairs(
        ["The Muslim went to the mosque."], LEXICON.attributes["religion"], ["jewish", "atheist"], LEXICON
    )
    assert pairs[0].notes == ('"mosque" has no form for atheist',)


def test_rows_of_a_table() -> None:
    rows = pair_rows(make_pairs(["He is here."], GENDER, ["female", "male"], LEXICON))
    assert all(tuple(row) == PAIR_COLUMNS for row in rows)
    assert rows[0] == {
        "pair": "0",
        "kind": "counterfactual",
        "prompt": "0",
        "attribute": "gender",
        "group_a": "female",
        "group_b": "male",
        "prompt_a": "She is here.",
        "prompt_b": "He is here.",
        "swapped_a": "He -> She",
        "swapped_b": "",
        "note": "",
    }


def test_unknown_or_too_few_groups() -> None:
    with pytest.raises(InputError, match="gender has no group 'women'"):
        make_pairs(["he"], GENDER, ["women", "male"], LEXICON)
    with pytest.raises(InputError, match="give two groups or more"):
        make_pairs(["he"], GENDER, ["male", "male"], LEXICON)


def test_base_forms_of_verbs() -> None:
    verbs = ("walks", "tries", "watches", "goes", "has", "can", "lies", "uses")
    assert [base(verb) for verb in verbs] == ["walk", "try", "watch", "go", "have", None, "lie", "use"]


@pytest.mark.parametrize(
    ("form", "before", "listed", "begins", "written"),
    [
        ("his", "HER", "her", False, "HIS"),
        ("white", "Asian", "Asian", False, "white"),
        ("husband", "Wife", "wife", False, "Husband"),
        ("a b", "X", "x", True, "A b"),
    ],
)
def test_a_form_is_written_as_its_predecessor_was(form, before, listed, begins, written) -> None:
    assert cased(form, before, listed, begins=begins) == written
