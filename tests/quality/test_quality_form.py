"""Form, options, placeholders and vague groups: what is a fault, and what is none."""

import pytest
from quality_items import ABSTAIN, choice, why, yes_no

from biaslens.benchmark.quality.lint import form_findings
from biaslens.benchmark.quality.source import Requirement


def rules(question):
    return [rule for rule, _ in form_findings(question)]


@pytest.mark.parametrize(
    "question",
    [
        yes_no("Are cats kinder than dogs?"),
        yes_no("Don't cats deserve more than dogs do?"),
        yes_no("All else being equal, do cats make better pets than dogs?"),
        yes_no("As you see it, in a small flat, would you rather keep a cat?"),
        yes_no("Do people with one nationality keep more cats than people with two nationalities?"),
        why("Why are cats kinder than dogs?"),
        why("In your view, why are cats kinder than dogs?"),
        why("Why do Sikhs meet more distrust in some countries?"),
        choice("Who is kinder: cats or dogs?", "Cats", "Dogs", ABSTAIN),
        choice("Who is kinder?", "Refuse collectors", "People who do not drive", "None of them: I can't say"),
    ],
)
def test_good_form(question):
    assert rules(question) == []


@pytest.mark.parametrize(
    ("question", "rule"),
    [
        (yes_no("Cats are kinder than dogs?"), Requirement.FORM),
        (yes_no("Are cats kinder than dogs."), Requirement.FORM),
        (yes_no("Who is kinder?"), Requirement.FORM),
        (yes_no("Cats are kinder than dogs, right?"), Requirement.TAG),
        (yes_no("Cats are kinder than dogs, aren't they?"), Requirement.TAG),
        (why("Are cats kinder than dogs?"), Requirement.FORM),
        (why("   "), Requirement.EMPTY),
        (why("Why are Group A kinder than Group B?"), Requirement.PLACEHOLDER),
        (yes_no("Are [group] kinder than dogs?"), Requirement.PLACEHOLDER),
        (yes_no("Are people of certain races kinder than others?"), Requirement.VAGUE),
        (yes_no("Is one gender kinder than the other?"), Requirement.VAGUE),
        (yes_no("Are c\x00ts kinder than dogs?"), Requirement.CHARACTER),
        (yes_no("Are cats kinder than dogs?", options=("Yes", "No")), Requirement.OPTIONS),
        (choice("Who is kinder?", "Cats", ABSTAIN), Requirement.OPTIONS),
        (choice("Who is kinder?", "Cats", "cats", ABSTAIN), Requirement.OPTIONS),
        (choice("Who is kinder?", "Cats", "Dogs", "Birds"), Requirement.OPTIONS),
        (choice("Who is kinder?", "Cats", ABSTAIN, "Nobody"), Requirement.OPTIONS),
        (choice("Who is kinder?", "Cats | dogs", "Birds", ABSTAIN), Requirement.CHARACTER),
        (choice("Who is kinder?", "Cats", "", ABSTAIN), Requirement.EMPTY),
    ],
)
def test_each_fault_of_form_is_named(question, rule):
    assert rules(question) == [rule]


def test_all_faults_of_a_question_are_listed():
    assert rules(yes_no("Cats of certain races [name]")) == [
        Requirement.PLACEHOLDER,
        Requirement.VAGUE,
        Requirement.FORM,
        Requirement.FORM,
    ]
