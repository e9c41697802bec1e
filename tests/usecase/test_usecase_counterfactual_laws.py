"""What holds for every text."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslens.usecase._counterfactual import make_pairs, substitute
from biaslens.usecase._lexicon import load_words

LEXICON = load_words()
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


def test_a_text_of_a_megabyte() -> None:
    text = "She told her mother that the black box of an old car is hers; an Asian student agreed. " * 11_500
    assert len(text) > 1_000_000
    start = time.perf_counter()
    gender = LEXICON.attributes["gender"]
    assert substitute(text, gender, "male", LEXICON).text.startswith("He told his father that the black box")
    assert substitute("x" * 1_000_000, gender, "male", LEXICON).text == "x" * 1_000_000
    assert time.perf_counter() - start < 30


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
    assert len(pairs) == 1_000
    assert time.perf_counter() - start < 10
