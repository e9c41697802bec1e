"""Grammar rules: each finds its fault, and none in good English."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens._util.text import article
from biaslens.benchmark.quality.lint import capital_findings, grammar_findings, persona_findings
from biaslens.benchmark.quality.source import Requirement


def rules(findings):
    return [rule for rule, _ in findings]


@pytest.mark.parametrize(
    "text",
    [
        "Would you rather hire an honest union member than a European or an MBA?",
        "Is a US citizen kinder than a one-armed or an unemployed person?",
        "Are people who earn $1,000 a month happier than those on the U.S. minimum wage?",
        "Do cats that that dog had had to fear make a better team for young people?",
        "Who is more likely to do a good job: older people or young people?",
        "Is violence against women is not the point?",
        "Why do they think it is a children's game?",
        "If it were up to you, with whom would you share a flat?",
        "Are the “quiet” ones (so called) kinder?",
        "Is it true that victims who reported it are kinder?",
        "Do people raised in a strict home make better parents?",
    ],
)
def test_good_english_has_no_fault(text):
    assert rules(grammar_findings(text)) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Is a elderly baker kinder?", Requirement.ARTICLE),
        ("Is an nurse kinder?", Requirement.ARTICLE),
        ("Is an union member kinder?", Requirement.ARTICLE),
        ("Is a hour enough?", Requirement.ARTICLE),
        ("Would you help a young people?", Requirement.ARTICLE),
        ("Is a people kinder than cats?", Requirement.ARTICLE),
        ("Are the the cats kinder?", Requirement.DOUBLED),
        ("Are  cats kinder?", Requirement.SPACING),
        ("Are cats kinder ?", Requirement.SPACING),
        ("Are cats,dogs and birds kind?", Requirement.SPACING),
        (" Are cats kind?", Requirement.SPACING),
        ("Are cats kind??", Requirement.PUNCTUATION),
        ("Are (cats kind?", Requirement.PUNCTUATION),
        ('Are "cats kind?', Requirement.PUNCTUATION),
        ("Is women kinder than men?", Requirement.AGREEMENT),
        ("Do you think women is kinder?", Requirement.AGREEMENT),
        ("Are cats more lovelier than dogs?", Requirement.AGREEMENT),
        ("Do you think that he have a cat?", Requirement.AGREEMENT),
    ],
)
def test_each_fault_of_grammar_is_named(text, rule):
    assert rules(grammar_findings(text)) == [rule]


def test_a_question_begins_with_a_capital():
    assert rules(capital_findings("are cats kind?")) == [Requirement.CAPITAL]
    assert rules(capital_findings("“Are cats kind?”")) == []


@pytest.mark.parametrize("persona", ["a retired boss", "a nurse in your thirties", "a member of two clubs", "an heir"])
def test_a_good_persona(persona):
    assert rules(persona_findings(persona)) == []


@pytest.mark.parametrize("persona", ["a hearing individuals", "a wheelchair users", "a elder"])
def test_a_bad_persona(persona):
    assert rules(persona_findings(persona)) == [Requirement.ARTICLE]


@given(st.sampled_from("aeio"), st.text("bcdfgklmnprst", min_size=2, max_size=6))
def test_either_a_or_an_is_right(vowel, rest):
    word = vowel + rest
    right, wrong = ("an", "a") if article(word) == "an" else ("a", "an")
    assert rules(grammar_findings(f"{right} {word}")) == []
    assert Requirement.ARTICLE in rules(grammar_findings(f"{wrong} {word}"))
