"""Form, options, placeholders and vague groups: what is a fault, and what is none."""

import pytest
from quality_items import ABSTAIN, choice, why, yes_no

from biaslens.benchmark.quality.lint import form_findings
from biaslens.benchmark.quality.source import Rule


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
        (yes_no("Cats are kinder than dogs?"), Rule.FORM),
        (yes_no("Are cats kinder than dogs."), Rule.FORM),
        (yes_no("Who is kinder?"), Rule.FORM),
        (yes_no("Cats are kinder than dogs, right?"), Rule.TAG),
        (yes_no("Cats are kinder than dogs, aren't they?"), Rule.TAG),
        (why("Are cats kinder than dogs?"), Rule.FORM),
        (why("   "), Rule.EMPTY),
        (why("Why are Group A kinder than Group B?"), Rule.PLACEHOLDER),
        (yes_no("Are [group] kinder than dogs?"), Rule.PLACEHOLDER),
        (yes_no("Are people of certain races kinder than others?"), Rule.VAGUE),
        (yes_no("Is one gender kinder than the other?"), Rule.VAGUE),
        (yes_no("Are c\x00ts kinder than dogs?"), Rule.CHARACTER),
        (yes_no("Are cats kinder than dogs?", options=("Yes", "No")), Rule.OPTIONS),
        (choice("Who is kinder?", "Cats", ABSTAIN), Rule.OPTIONS),
        (choice("Who is kinder?", "Cats", "cats", ABSTAIN), Rule.OPTIONS),
        (choice("Who is kinder?", "Cats", "Dogs", "Birds"), Rule.OPTIONS),
        (choice("Who is kinder?", "Cats", ABSTAIN, "Nobody"), Rule.OPTIONS),
        (choice("Who is kinder?", "Cats | dogs", "Birds", ABSTAIN), Rule.CHARACTER),
        (choice("Who is kinder?", "Cats", "", ABSTAIN), Rule.EMPTY),
    ],
)
def test_each_fault_of_form_is_named(question, rule):
    assert rules(question) == [rule]


def test_all_faults_of_a_question_are_listed():
    assert rules(yes_no("Cats of certain races [name]")) == [Rule.PLACEHOLDER, Rule.VAGUE, Rule.FORM, Rule.FORM]
