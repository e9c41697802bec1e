"""Word lists: reading them, and finding their words in texts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslens.errors import InputError
from biaslens.usecase._lexicon import ATTRIBUTES, Lexicon, load_words, phrase
from biaslens.usecase._tokens import WORD, tokenise, words_of


@given(st.text(max_size=40) | st.text(st.characters(max_codepoint=127), max_size=40))
def test_ascii_texts_have_the_words_that_the_pattern_finds(text):
    assert words_of(text) == WORD.findall(text.lower())


@given(st.lists(st.text("ab é.", max_size=8), max_size=5))
def test_numbers_give_back_the_words(texts):
    tokens = tokenise(texts)
    assert len(tokens) == len(texts)
    assert [tokens.words(index) for index in range(len(texts))] == [words_of(text) for text in texts]
    assert tokens.text_of.tolist() == [index for index, text in enumerate(texts) for _ in words_of(text)]


LEXICON = load_words()


def found(text: str, lexicon: Lexicon = LEXICON) -> list[tuple[str, str, str]]:
    return [(one.text, one.attribute, one.group) for one in lexicon.find(text)]


def test_eight_attributes_in_order() -> None:
    assert tuple(LEXICON.attributes) == ATTRIBUTES
    assert LEXICON.attributes["gender"].compared == ("female", "male")
    assert LEXICON.attributes["gender"].neutral == "neutral"
    for words in LEXICON.attributes.values():
        assert words.source
        assert 2 <= len(words.compared) <= 4
        assert all(words.words_by_group[group] for group in words.groups)


def test_every_row_writes_a_form_for_the_compared_groups_or_says_so() -> None:
    for words in LEXICON.attributes.values():
        for row in words.rows:
            assert set(row.written) <= set(words.groups)
            assert set(row.recognised) <= set(words.groups)
            assert any(row.recognised.values()), (words.name, row)


def test_no_word_of_an_attribute_belongs_to_two_groups() -> None:
    for words in LEXICON.attributes.values():
        groups = defaultdict(set)
        for row in words.rows:
            for group, forms in row.recognised.items():
                for form in forms:
                    groups[phrase(form)].add(group)
        assert {form: of for form, of in groups.items() if len(of) > 1} == {}, words.name


def test_contexts_name_words_that_exist() -> None:
    for words in LEXICON.attributes.values():
        known = {phrase(form) for row in words.rows for forms in row.recognised.values() for form in forms}
        assert set(words.context) <= known, (words.name, set(words.context) - known)


@pytest.mark.parametrize(
    "text",
    [
        "I drink black coffee on white paper.",
        "The black and white photos show a black box.",
        "a white lie told in the White House on the black market",
        "Draw a straight line and go straight home.",
        "Let me be straight with you.",
        "My old car and an old recipe are poor quality.",
        "How old is the building? It is 25 years old.",
        "a 20-year-old whisky aged 18 years",
        "Poor customer service and poor results.",
        "The soil is rich in iron, with a rich history.",
        "A blind spot, a blind date and a double-blind study.",
        "The appeal fell on deaf ears.",
        "The account was disabled by an admin.",
        "We sailed the Indian Ocean and ate at an Indian restaurant.",
        "French wine, Turkish coffee and Polish the table.",
        "Translate the German into English.",
        "We trade with China, and the flight from Germany is late.",
        "manmade, womanizer and shear are one word each.",
        "I miss London.",
        "They lent a book.",
        "The senior engineer wrote a man page.",
        "",
        "🙂🙃 … — !!!",
        "今日は良い天気ですね。",
        "Здравствуйте, как дела?",
    ],
)
def test_other_meanings_do_not_count(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A black woman", [("black", "race", "black"), ("woman", "gender", "female")]),
        ("a poor black student", [("poor", "socioeconomic_status", "low"), ("black", "race", "black")]),
        ("Are the applicants white?", [("white", "race", "white")]),
        ("He's straight.", [("He", "gender", "male"), ("straight", "sexual_orientation", "heterosexual")]),
        ("women's rights", [("women", "gender", "female")]),
        ("African-American voters", [("African-American", "race", "black")]),
        ("an American voter", [("American", "nationality", "american")]),
        ("a middle-aged nurse", [("middle-aged", "age", "middle_aged")]),
        ("people with disabilities", [("with disabilities", "disability", "disabled")]),
        ("the elderly and the poor", [("elderly", "age", "old"), ("poor", "socioeconomic_status", "low")]),
        ("An Indian applied.", [("Indian", "nationality", "indian")]),
        ("in her 60s", [("her", "gender", "female"), ("60s", "age", "middle_aged")]),
        ("Nurse, aged 70", [("70", "age", "old")]),
        ("SHE", [("SHE", "gender", "female")]),
        ("İ am a woman", [("woman", "gender", "female")]),
    ],
)
def test_people_count(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert found(text) == expected


def test_mentions_are_indices_into_the_tokens() -> None:
    lexicon = load_words(["gender", "disability"])
    tokens = tokenise(["A man", "no word", "a woman with a disability"])
    mentions = lexicon.match(tokens)
    # Words: a man | no word | a woman with a disability: man is 1, woman 5, "with a disability" 6 to 8.
    assert mentions.token.tolist() == [1, 5, 6]
    assert mentions.length.tolist() == [1, 1, 3]
    assert mentions.attribute.tolist() == [0, 0, 1]
    assert mentions.group.tolist() == [1, 0, 1]


WORDS = [
    *[
        "she",
        "he",
        "her",
        "his",
        "man",
        "woman",
        "old",
        "young",
        "black",
        "white",
        "poor",
        "rich",
        "straight",
        "blind",
        "deaf",
        "German",
        "Indian",
        "Jew",
        "Muslim",
        "gay",
    ],
    *[
        "a",
        "the",
        "an",
        "and",
        "or",
        "is",
        "are",
        "with",
        "disability",
        "people",
        "student",
        "students",
        "car",
        "coffee",
        "very",
        "not",
        "who",
        "from",
        "in",
        "25",
        "year",
        "years",
    ],
    *[
        "middle-aged",
        "African-American",
        "aged",
        "70",
        "60s",
        "İ",
        "ß",
        "ΑΣ",
        "🙂",
        "women's",
        ",",
        ".",
        "Ocean",
        "twenty-five",
        "US",
    ],
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=20), max_size=4))
def test_find_and_match_agree(texts: list[str]) -> None:
    tokens = tokenise(texts)
    mentions = LEXICON.match(tokens)
    names = list(LEXICON.attributes)
    matched = [
        (
            " ".join(tokens.vocabulary[n] for n in tokens.ids[token : token + length]),
            names[attribute],
            LEXICON.attributes[names[attribute]].groups[group],
        )
        for token, length, attribute, group in zip(
            mentions.token, mentions.length, mentions.attribute, mentions.group, strict=True
        )
    ]
    alone = [(phrase(one.text), one.attribute, one.group) for text in texts for one in LEXICON.find(text)]
    assert [(of, group) for _, of, group in matched] == [(of, group) for _, of, group in alone]
    assert [words for words, _, _ in matched if words.isascii()] == [words for words, _, _ in alone if words.isascii()]
    ends = mentions.token + mentions.length
    assert (ends[:-1] <= mentions.token[1:]).all()


def test_matching_a_corpus() -> None:
    text = "She told the old man that a black student from India likes black coffee and poor jokes of his friend. " * 3
    tokens = tokenise([f"{text} {number}" for number in range(2_000)])
    mentions = LEXICON.match(tokens)
    assert len(mentions) > 10_000


def test_unknown_attribute() -> None:
    with pytest.raises(InputError, match="no word list for attribute 'sex'; there are: gender, race"):
        load_words(["sex"])
    with pytest.raises(InputError, match="no attribute given"):
        load_words([])


OWN = """
attribute = "caste"
groups = ["upper", "lower"]
source = "Our own."
[words]
adjective = [{ upper = "Brahmin", lower = ["Dalit", "=Dalit"] }]
[context]
dalit = { not_before = ["literature"] }
"""


def test_own_attribute(tmp_path: Path) -> None:
    path = tmp_path / "caste.toml"
    path.write_text(OWN, encoding="utf-8")
    lexicon = load_words(own=[path])
    assert list(lexicon.attributes) == [*ATTRIBUTES, "caste"]
    assert found("A Dalit lawyer read Dalit literature.", lexicon) == [("Dalit", "caste", "lower")]
    assert list(load_words(["caste"], own=[path]).attributes) == ["caste"]
    assert lexicon.attributes["caste"].compared == ("upper", "lower")


def test_own_words_for_a_shipped_attribute(tmp_path: Path) -> None:
    path = tmp_path / "more.toml"
    path.write_text(
        'attribute = "gender"\ngroups = ["female", "male"]\n'
        '[words]\nnoun = [{ female = "comtesse", male = "comte" }]\n',
        encoding="utf-8",
    )
    lexicon = load_words(["gender"], own=[path])
    assert found("The comtesse and her son", lexicon)[0] == ("comtesse", "gender", "female")
    assert lexicon.attributes["gender"].groups == ("female", "male", "neutral")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("attribute = ", "not a TOML file"),
        ('groups = ["a"]', "needs attribute"),
        ('attribute = "x"', "needs groups"),
        ('attribute = "x"\ngroups = ["a", "a"]', "different names"),
        ('attribute = "x"\ngroups = ["a"]\ncompared = ["b"]', "compared has to be"),
        ('attribute = "x"\ngroups = ["a"]\nneutral = "b"', "neutral has to be"),
        ('attribute = "x"\ngroups = ["a"]', r"needs a \[words\] table"),
        ('attribute = "x"\ngroups = ["a"]\nword = 1', "unknown entry 'word'"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\nnoun = "b"', "list of rows"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\nnoun = [{ b = "c" }]', "'b' has to be one of the groups"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\nnoun = [{ a = "!" }]', "has no letters"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\nnoun = [{ a = "b", needs = "c" }]', "unknown rule 'c'"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\n[context]\nb = { needs = "c" }', "unknown rule 'c'"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\n[context]\nb = { not_before = "c" }', "has to be a list of words"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\n[context]\nb = { near = [] }', "has to be a table"),
        ('attribute = "x"\ngroups = ["a"]\n[words]\n[ages]\na = { from = 1 }', "from, to, write and decade"),
    ],
)
def test_malformed_own_file(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_words(own=[path])


def test_missing_own_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_words(own=[tmp_path / "none.toml"])


def test_names_only_when_asked_for() -> None:
    assert found("Mary met Jamal.") == []
    lexicon = load_words(names=True)
    assert found("Mary met Jamal.", lexicon) == [("Mary", "gender", "female"), ("Jamal", "race", "black")]
    # Emily is in both lists: the first attribute counts, unless another one is preferred.
    assert found("Emily", lexicon) == [("Emily", "gender", "female")]
    assert [one.attribute for one in lexicon.find("Emily", prefer="race")] == ["race"]
