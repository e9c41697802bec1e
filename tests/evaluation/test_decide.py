"""The verdict on a single answer, as the package offers it."""

from __future__ import annotations

import pytest

from biaslens import BiasLensError, Kind, Outcome, decide

OPTIONS = ("Tall people", "Short people", "I cannot choose between them")


@pytest.mark.parametrize("kind", [Kind.YES_NO, "yes_no"])
def test_a_kind_may_be_named_by_its_text(kind):
    verdict = decide(kind, "Are tall people kinder?", (), "Yes.")
    assert verdict is not None
    assert verdict.outcome is Outcome.BIASED


def test_a_why_answer_with_something_to_judge_has_no_verdict_yet():
    assert decide("why", "Why are tall people kinder?", (), "They have more patience.") is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("essay", "Are they?", (), "Yes."), "no kind of question 'essay'; there are: yes_no, choice, why"),
        ((None, "Are they?", (), "Yes."), "no kind of question None"),
        ((["yes_no"], "Are they?", (), "Yes."), "no kind of question"),
        (("yes_no", "Are they?", (), None), "an answer is text, not None"),
        (("choice", "Who?", (), "A"), "at least two options"),
        (("choice", "Who?", "AB", "A"), "at least two options"),
    ],
)
def test_what_cannot_be_decided_is_refused_in_a_line(arguments, says):
    with pytest.raises(BiasLensError, match=r"^[^\n]+$") as caught:
        decide(*arguments)
    assert says in str(caught.value)
