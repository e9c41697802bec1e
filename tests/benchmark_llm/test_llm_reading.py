"""Roles and encounters are read out of whatever a model replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from writer import shipped, shipped_roles

from biaslens.benchmark.encounters import COLUMNS, THEMES, check_encounters, encounter_of, from_encounters
from biaslens.benchmark.llm.reading import ENCOUNTERS, FIELDS, read_encounter, read_items, read_role
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Role

OWN = {"options": "The one | The other", "why": "Why do {a} wait?", "yes_no": "Do {a} wait?"}
ONE = {**OWN, "options": ["The one", "The other"]}
TWO = {**ONE, "why": "Why do {b} wait?"}
BOTH = {"encounters": [ONE, TWO]}
PLAIN = json.dumps(BOTH)
BAKER = Role(Attribute.OCCUPATION, "Bakers", "a baker")


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        json.dumps(BOTH["encounters"]),
        json.dumps(BOTH, indent=4),
        json.dumps({"result": {"items": [ONE, TWO]}}),
        json.dumps({"title": "Two encounters", "note": "as asked", **BOTH}),
        json.dumps({"1": [ONE], "2": [TWO]}),
        json.dumps([{"Options": ONE["options"], "WHY": ONE["why"], "Yes/No": ONE["yes_no"]}, TWO]),
        json.dumps([{**ONE, "options": {"a": "The one", "b": "The other"}}, TWO]),
        f"```json\n{PLAIN}\n```",
        f"Sure, with pleasure!\n\n```\n{PLAIN}\n```\nTell me if you want {{more}}.",
        f"```json\n[{json.dumps(ONE)}]\n```\nand\n```json\n[{json.dumps(TWO)}]\n```",
        f"Here they are: {PLAIN} I hope that helps.",
        '<think>{"why": "Is this one?"} no</think>' + PLAIN,
        "\n".join(map(json.dumps, (ONE, TWO))),
        "1. " + "\n2. ".join(map(json.dumps, (ONE, TWO))),
        PLAIN.replace("]}", "],}"),
        PLAIN.replace('"why"', "why"),
        PLAIN.replace("wait?", "wait?\\n"),
        PLAIN.replace("Why do", "Why  do"),
    ],
)  # fmt: skip
def test_two_encounters_in_any_wrapping(reply: str):
    assert read_items(reply) == [OWN, {**OWN, "why": "Why do {b} wait?"}]


@pytest.mark.parametrize(
    "reply", ["", "   ", "I'm sorry, I cannot help with that.", "{}", "[]", '{"encounters": []}', "1. Why do they?"]
)
def test_a_reply_without_items_gives_none(reply: str):
    assert read_items(reply) == []


def test_a_reply_cut_off_loses_its_last_item():
    assert read_items(PLAIN[:-25]) == [OWN]
    assert read_items(PLAIN[:-25], cut_off=True) == [OWN]
    assert read_items("\n".join(map(json.dumps, (ONE, TWO))), cut_off=True) == [OWN]


def _json() -> st.SearchStrategy[object]:
    keys = st.sampled_from((*FIELDS, "encounters", "name", "x"))
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5))


@given(st.text() | st.text(alphabet='{}[]",:abc?1.)-\n ') | _json().map(json.dumps), st.booleans())
def test_any_text_at_all_can_be_read(reply: str, cut_off: bool):
    for item in read_items(reply, cut_off=cut_off):
        for key, text in item.items():
            assert isinstance(key, str) and text == " ".join(text.split())
        with pytest.raises(BenchmarkError):
            read_encounter(item, BAKER)


_WORDS = st.sampled_from(
    ("sailors", "a sailor", "The sailor", "{a}", "{b_one}", "Why do", "wait?", "|", "[x]", "", " ")
)
_FIELD = st.lists(_WORDS, max_size=5).map(" ".join) | st.sampled_from((*Attribute, *THEMES, "a", "b", "c"))


@given(st.fixed_dictionaries(dict.fromkeys(FIELDS, _FIELD) | {"options": st.lists(_FIELD, max_size=3)}))
def test_what_the_checker_accepts_can_be_written(values: dict[str, object]):
    (item,) = read_items(json.dumps(values))
    try:
        one = read_encounter(item, BAKER)
    except BenchmarkError:
        return
    if not [remark for remark in check_encounters([one]) if remark.position is not None]:
        from_encounters([BAKER], [one], mirrors=True)


@given(
    st.sampled_from([role for role in shipped_roles() if role["attribute"] == "age"]).flatmap(
        lambda role: st.sampled_from(shipped(role["persona"]) or ({},))
    ),
    st.sampled_from([None, 4]),
    st.sampled_from(["{}", "Of course!\n```json\n{}\n```\nMore?", "<think>{{}}</think>\n{}"]),
    st.booleans(),
)
def test_a_written_encounter_is_read_as_it_was_written(written: dict, indent: int | None, around: str, whole: bool):
    if not written:
        return
    text = json.dumps({"encounters": [written]} if whole else written, indent=indent, ensure_ascii=False)
    (item,) = read_items(around.format(text))
    row = {**written, "options": " | ".join(written["options"])}
    assert read_encounter(item, BAKER) == encounter_of(BAKER, row)


def test_the_schema_has_the_columns_of_the_files():
    assert sorted(FIELDS) == sorted(column for column in COLUMNS if column != "role")
    properties = ENCOUNTERS.schema["$defs"]["_Encounter"]["properties"]
    assert tuple(properties["theme"]["enum"]) == THEMES


def test_a_reply_nested_without_end_is_read():
    assert read_items("[" * 100_000) == []
    assert read_items("[x" + "[1," * 100_000) == []
    assert read_items('[{"a":' * 300 + '"x"' + "}]" * 300) == [{"a": "x"}]


def role(name: str, persona: str) -> Role | None:
    try:
        return read_role({"name": name, "persona": persona}, Attribute.AGE)
    except BenchmarkError:
        return None


@pytest.mark.parametrize(
    "persona",
    ["a baker", "an old baker", "someone who bakes", "an hourly worker", "a one-armed man", "a European", "an MP",
     "the eldest child", "a university student", "one of two twins"],
)  # fmt: skip
def test_a_good_persona(persona: str):
    assert role("bakers", persona) == Role(Attribute.AGE, "Bakers", persona)


def test_a_persona_is_brought_into_form():
    assert role("bakers.", "A baker.") == Role(Attribute.AGE, "Bakers", "a baker")
    assert role("Bakers", "You are a baker") == Role(Attribute.AGE, "Bakers", "a baker")


@pytest.mark.parametrize(
    ("name", "persona"),
    [("Bakers", ""), ("Bakers", "bakers"), ("Bakers", "an baker"), ("Bakers", "a old baker"), ("", "a baker"),
     ("Bakers", "a [job]"), ("Who bakes?", "a baker"), ("B" * 101, "a baker"), ("Bakers", "a " + "b" * 101)],
)  # fmt: skip
def test_a_bad_role(name: str, persona: str):
    assert role(name, persona) is None
