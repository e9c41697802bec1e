"""Items are read out of whatever a model replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.benchmark.llm.reading import read_items
from biaslens.schema import Attribute

TWO = {
    "questions": [
        {"text": "Are bakers kinder than tailors?", "target": "occupation", "groups": ["bakers", "tailors"]},
        {"text": "Are tailors wiser than bakers?", "target": "occupation", "groups": ["tailors", "bakers"]},
    ]
}
TEXTS = [item["text"] for item in TWO["questions"]]
PLAIN = json.dumps(TWO)


def texts(reply: str, **options: bool) -> list[str]:
    return [draft.text for draft in read_items(reply, **options)]


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        json.dumps(TWO["questions"]),
        json.dumps(TEXTS),
        json.dumps({"1": TEXTS[0], "2": TEXTS[1]}),
        json.dumps({"result": {"items": [{"Question": text} for text in TEXTS]}}),
        json.dumps({"title": "Two questions", "note": "as asked", **TWO}),
        f"```json\n{PLAIN}\n```",
        f"Sure, with pleasure!\n\n```\n{PLAIN}\n```\nTell me if you want {{more}}.",
        f"Here they are: {PLAIN} I hope that helps.",
        "<think>{\"text\": \"Is this one?\"} no</think>" + PLAIN,
        "\n".join(json.dumps(item) for item in TWO["questions"]),
        PLAIN.replace("]}]}", "]},]}"),
        PLAIN.replace("]}]}", "]}"),
        PLAIN.replace('"text"', "text").replace('["bakers", "tailors"]', "['bakers', 'tailors']"),
        f"1. {TEXTS[0]}\n2. {TEXTS[1]}",
        f"1) {TEXTS[0]}\n1) {TEXTS[1]}",
        f"Of course:\n\n7. **{TEXTS[0]}**\n3. \"{TEXTS[1]}\"\n\nDo you need more?",
        f"- {TEXTS[0]}\n- {TEXTS[1]}",
        f"* {TEXTS[0]}\n\n* {TEXTS[1]}\n",
        f"Question 1: {TEXTS[0]}\nQuestion 2: {TEXTS[1]}",
        f"1. Are bakers\nkinder than tailors?\n2. {TEXTS[1]}",
        f"{TEXTS[0]}\n{TEXTS[1]}\n",
    ],
)  # fmt: skip
def test_two_questions_in_any_wrapping(reply: str):
    if reply == PLAIN.replace("]}]}", "]}"):
        assert texts(reply) == TEXTS[:1]  # not closed: the last may be half an item
    else:
        assert texts(reply) == TEXTS


@pytest.mark.parametrize("reply", ["", "   ", "I'm sorry, I cannot help with that.", "{}", "[]", '{"questions": []}'])
def test_a_reply_without_items_gives_none(reply: str):
    assert texts(reply) == []


def test_a_reply_cut_off_loses_its_last_item():
    assert texts(PLAIN[:-25]) == TEXTS[:1]
    assert texts(f"1. {TEXTS[0]}\n2. Are tailors w", cut_off=True) == TEXTS[:1]
    assert texts(PLAIN[:-25], cut_off=True) == TEXTS[:1]


def test_what_comes_with_a_question_is_read():
    first = read_items(PLAIN)[0]
    assert (first.target, first.groups) == (Attribute.OCCUPATION, ("bakers", "tailors"))
    assert read_items(f"1. {TEXTS[0]}")[0].groups is None
    assert read_items('[{"text": "Is it?", "target": "Socioeconomic status"}]')[0].target is Attribute.SOCIAL
    assert read_items('[{"text": "Is it?", "target": "the weather"}]')[0].target is None


@pytest.mark.parametrize(
    "reply",
    [
        '{"questions": [{"text": "Who is kinder?", "options": ["Bakers", "tailors"]}]}',
        '[{"question": "Who is kinder?", "choices": {"A": "Bakers", "B": "Tailors"}}]',
        '[{"question": "Who is kinder?", "options": [{"id": "A", "text": "Bakers"}, {"id": "B", "text": "Tailors"}]}]',
        '[{"text": "Who is kinder? (A) Bakers (B) Tailors", "options": ["(A) Bakers", "(B) Tailors"]}]',
        '["Who is kinder? A) Bakers B) Tailors"]',
        "1. Who is kinder? (A) Bakers, (B) Tailors",
        "1. Who is kinder?\n   A. Bakers\n   B. Tailors",
        "1. **Who is kinder?**\n\n- (A) Bakers\n- (B) Tailors",
        "1. Who is kinder?\n   - Bakers\n   - Tailors",
        "Who is kinder?\na) Bakers\nb) Tailors",
    ],
)  # fmt: skip
def test_options_in_any_wrapping(reply: str):
    (draft,) = read_items(reply)
    assert (draft.text, draft.options) == ("Who is kinder?", ("Bakers", "Tailors"))


@pytest.mark.parametrize(
    "reply",
    [
        '{"roles": [{"name": "Bakers", "persona": "a baker"}]}',
        '[{"group": "Bakers", "persona": "a baker"}]',
        "1. Bakers - a baker",
        "1. **Bakers**: a baker.",
        "- Bakers (a baker)",
        "1. Bakers | a baker",
    ],
)
def test_a_role_in_any_wrapping(reply: str):
    (draft,) = read_items(reply)
    assert (draft.text, draft.persona) == ("Bakers", "a baker")


def test_an_article_that_looks_like_a_letter_is_no_option():
    (draft,) = read_items('[{"text": "Who lies more?", "options": ["A. Lincoln fans", "Bakers"]}]')
    assert draft.options == ("A. Lincoln fans", "Bakers")


@given(st.text() | st.text(alphabet='{}[]",:abc?1.)-\n '))
def test_any_text_at_all_can_be_read(reply: str):
    for draft in read_items(reply) + read_items(reply, cut_off=True):
        assert draft.text == draft.text.strip()


def test_a_reply_nested_without_end_is_read():
    assert read_items("[" * 100_000) == []
    assert read_items("[x" + "[1," * 100_000) == []
