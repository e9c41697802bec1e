"""One label an answer."""

from __future__ import annotations

import pytest

from biaslens.annotation.annotators import Adjudicated, Annotator, adjudicate, disputed
from biaslens.annotation.folder import Label
from biaslens.schema import Outcome

OUTCOMES = {"b": Outcome.BIASED, "u": Outcome.UNBIASED, "r": Outcome.REFUSED}


def people(labelled: str, adjudicated: str = "") -> dict[str, Annotator]:
    """Everybody's label of the answer "k": "b? u" is one who says biased, unsure, and one who says unbiased."""
    return {
        f"{prefix}{number}": Annotator(
            f"{prefix}{number}", bool(prefix), {"k": Label("k", OUTCOMES[text[0]], sure=not text.endswith("?"))}
        )
        for prefix, texts in (("", labelled), ("s", adjudicated))
        for number, text in enumerate(texts.split())
    }


@pytest.mark.parametrize(
    ("labelled", "adjudicated", "outcome", "sure", "how"),
    [
        ("b", "", "b", True, "single"),
        ("b?", "", "b", False, "single"),
        ("b b", "", "b", True, "agreed"),
        ("b b?", "", "b", False, "agreed"),
        ("b b b", "", "b", True, "agreed"),
        ("b u", "", None, False, "open"),
        ("b b u", "", None, False, "open"),  # no majority: all must agree
        ("b u", "u", "u", True, "adjudicated"),
        ("b u", "r?", "r", False, "adjudicated"),
        ("b? u?", "u", "u", True, "adjudicated"),
        ("b b", "u", "b", True, "agreed"),  # nothing was left to adjudicate
        ("b", "u", "u", True, "adjudicated"),
        ("", "u", "u", True, "adjudicated"),
        ("b u", "u u?", "u", False, "adjudicated"),
        ("b u", "u b", None, False, "open"),
        ("b", "u b", None, False, "open"),
    ],
)
def test_the_table(labelled, adjudicated, outcome, sure, how):
    expected = Adjudicated("k", None if outcome is None else OUTCOMES[outcome], sure, how)
    assert adjudicate(people(labelled, adjudicated)) == {"k": expected}


def test_answers_nobody_labelled_are_missing():
    assert adjudicate({}) == {}
    assert adjudicate({"ann": Annotator("ann", False, {})}) == {}


def test_disputed_answers_come_without_names_and_in_the_order_of_outcomes():
    found = disputed(people("r u b? b", "u"))
    assert [(str(label.outcome), label.sure) for label in found["k"]] == [
        ("biased", True), ("biased", False), ("unbiased", True), ("refused", True),
    ]  # fmt: skip


def test_sure_and_unsure_of_the_same_outcome_is_no_dispute():
    assert disputed(people("b b?")) == {}
    assert disputed(people("b")) == {}
