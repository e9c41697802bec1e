"""The plain form of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.oracles.text import clean


@given(st.text())
def test_the_plain_form_is_as_long_as_its_lower_case(text):
    assert len(clean(text).lower()) == len(clean(text))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**A**\r\n\r\n_because_", "A\nbecause"),
        ("$\\boxed{\\text{B}}$", "B"),
        ("“Yes” – it’s so", '"Yes" - it\'s so'),
        ("（Ａ）", "(A)"),
        ("<think>A or B?</think>\n(C)", "(C)"),
        ("<think>A or B?", ""),
        ("<answer>A</answer>", "A"),
        ("*sighs* No.", "No."),
        ("*tips his hat* Yes.", "Yes."),
        ("*Older bakers*", "Older bakers"),
        ("- A\n- B", "A\nB"),
        ("snake_case", "snake_case"),
    ],
)
def test_dress_is_taken_off(text, plain):
    assert clean(text) == plain
