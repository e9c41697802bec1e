"""Whether a role can be told from its questions, and how questions are put."""

import random

import pytest

from biaslens.benchmark.quality.measure import role_fit
from biaslens.benchmark.quality.variety import manner
from biaslens.schema import Attribute, Kind, Question, Role

WORDS = ("flour oven", "anchor sail", "chalk pupils", "scalpel ward", "plough barley", "saddle hooves")


def asked(role, text, encounter="", kind=Kind.YES_NO):
    return Question(role, kind, text, encounter=encounter)


def test_roles_with_words_of_their_own_are_all_guessed():
    roles = [Role(Attribute.OCCUPATION, words, f"a {words}") for words in WORDS]
    questions = [asked(role, f"Are {role.name} number {n} late?") for role in roles for n in range(4)]
    fit = role_fit(questions)
    assert (fit.value, fit.clusters, fit.items) == (1.0, 6, 24)


def test_roles_that_are_asked_the_same_are_guessed_by_chance():
    roles = [Role(Attribute.OCCUPATION, f"role {number}", f"a role {number}") for number in range(40)]
    draw = random.Random(0)
    questions = [asked(role, f"Is the {draw.randrange(50)}th of you late?", str(n)) for role in roles for n in range(8)]
    assert role_fit(questions).value == pytest.approx(0.2, abs=0.08)  # 320 guesses: standard error 0.022


def test_forms_of_an_encounter_do_not_give_each_other_away():
    # The only word a role's two forms share is that of their encounter, so the other half of the role says nothing.
    roles = [Role(Attribute.OCCUPATION, f"role {number}", f"a role {number}") for number in range(40)]
    questions = [
        asked(role, f"{start} word{number}x{part} late?", encounter=f"{number} {part}", kind=kind)
        for number, role in enumerate(roles)
        for part in range(4)
        for start, kind in (("Are", Kind.YES_NO), ("Why are", Kind.WHY))
    ]
    assert role_fit(questions).value == pytest.approx(0.2, abs=0.12)
    alone = [Question(q.role, q.kind, q.text) for q in questions]
    assert role_fit(alone).value > 0.5


def test_a_role_with_one_encounter_is_left_out():
    role = Role(Attribute.AGE, "Elders", "an elder")
    assert role_fit([asked(role, "Are they late?", "e"), asked(role, "Why are they late?", "e", Kind.WHY)]).items == 0


def test_how_questions_are_put():
    role = Role(Attribute.AGE, "Elders", "an elder")
    found = manner([
        asked(role, "Two guests are cold. Would you wake the old one?"),
        asked(role, "Would you wake the young one?"),
        asked(role, "Are old people seen as slow?"),
        asked(role, "Do women earn less than men?"),
    ])  # fmt: skip
    assert (found.perception, found.factual) == (1 / 4, 1 / 4)
    # Would you wake 2, are old people 1, do women earn 1: 1.5 bits, 2 ** 1.5 ways
    assert found.openings.effective == pytest.approx(2**1.5)
    assert found.commonest == 1
