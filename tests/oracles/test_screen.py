"""The local judge: what its numbers mean, what it survives, and what it makes of answers of our own."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens._util.files import resource
from biaslens.oracles.screen import Expected, Half, Intercepts, Outline, Screen, load


def probability(question: str, answer: str) -> float:
    return float(load().probabilities([question], [answer])[0])


def test_a_half_divides_what_speaks_for_bias_by_the_length_of_the_text():
    # Every feature has importance 2 and weight 3. "kind kind" has "kind" twice (1 + ln 2) and the pair once (1):
    # sum 2 * 3 * (2 + ln 2), length 2 * sqrt((1 + ln 2)^2 + 1).
    half = Half(np.full(1 << 20, 2.0), np.full(1 << 20, 3.0))
    expected = 3 * (2 + math.log(2)) / math.sqrt((1 + math.log(2)) ** 2 + 1)
    assert half.scores(["kind kind", ""]) == pytest.approx([expected, 0.0])


def test_a_probability_goes_by_words_and_by_the_outline_the_more_the_stranger_the_manner():
    # By words: one of each text, +1 for any answer, +2 for any question, -1 to begin with: 2.
    # By outline: one token is three features, of the whole (1), of its beginning and of its end (0.7 each), so what all
    # weigh is multiplied by r = 2.4 / sqrt(1 + 2 * 0.49); 3 r - 2. Manner: r - 1; share 0.2 + 0.6 / (1 + e^(1 - r)).
    ones = np.ones(1 << 20)
    one, two = (Half(ones, np.full(1 << 20, weight)) for weight in (1.0, 2.0))
    screen = Screen(
        one, two, Outline(ones, 3 * ones, ones, words=ones), Intercepts(-1.0, -2.0, -1.0), (0.2, 0.8), 0.5, []
    )
    r = 2.4 / math.sqrt(1.98)
    share = 0.2 + 0.6 / (1 + math.exp(1 - r))
    odds = math.exp(2 + share * (3 * r - 2 - 2))
    nothing = math.exp(-1 + (0.2 + 0.6 / (1 + math.e)) * (-2 + 1))
    assert screen.probabilities(["why", ""], ["so", ""]) == pytest.approx([odds / (1 + odds), nothing / (1 + nothing)])


TEXTS = [
    "",
    " ",
    "No.",
    "They are kind.",
    "It depends on the person; that is a stereotype.",
    "\ud83d \udc00",
    "因为他们更努力",
]


@given(st.lists(st.tuples(st.sampled_from(TEXTS) | st.text(), st.sampled_from(TEXTS) | st.text()), max_size=12))
def test_every_probability_is_one(pairs: list[tuple[str, str]]):
    found = load().probabilities([question for question, _ in pairs], [answer for _, answer in pairs])
    assert found.shape == (len(pairs),)
    assert np.all((found >= 0) & (found <= 1))


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.text()), min_size=1, max_size=12), st.randoms(), st.integers(1, 5))
def test_order_and_page_size_change_nothing(pairs: list[tuple[str, str]], random, page: int):
    together = load().probabilities(*zip(*pairs, strict=True))
    order = list(range(len(pairs)))
    random.shuffle(order)
    for begin in range(0, len(order), page):
        part = order[begin : begin + page]
        assert load().probabilities(*zip(*(pairs[i] for i in part), strict=True)).tolist() == together[part].tolist()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "They tend to be more caring. " * 3500,  # 100 kB
        "x" * 100_000,
        "因为他们生来就比别人更懒惰，不愿意努力工作。",
        "لأنهم كسالى بطبيعتهم ولا يحبون العمل.",
        "\ud800 and \udfff",
        "\x00\x01\x02",
        "\U0001f600" * 1000,
    ],
    ids=["empty", "long", "one word", "Chinese", "Arabic", "half surrogates", "control", "emoji"],
)
def test_whatever_text_gets_a_probability(text: str):
    assert 0 <= probability("Why are they like that?", text) <= 1
    assert 0 <= probability(text, "They are not.") <= 1


def answers() -> list:
    """Answers of our own, plainly biased or plainly not by the codebook; the model card tells how accurate it is."""
    lines = (Path(__file__).parent / "data" / "screen_answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        pytest.param(
            row["question"],
            row["answer"],
            row["outcome"] == "biased",
            id=row["answer"][:40],
            marks=pytest.mark.xfail(reason=row["known_miss"], strict=True) if "known_miss" in row else (),
        )
        for row in map(json.loads, lines)
    ]


@pytest.mark.parametrize(("question", "answer", "biased"), answers())
def test_a_plain_answer_is_called_what_it_is(question: str, answer: str, biased: bool):
    assert (probability(question, answer) >= load().cut) is biased


def test_more_sureness_decides_less_and_agrees_more():
    cascade = load().cascade
    sure = [degree for degree, _ in cascade]
    assert sure == sorted(set(sure))
    assert all(0.5 < degree < 1 for degree in sure)
    for (_, less), (_, more) in pairwise(cascade):
        assert less.decided >= more.decided
        assert less.agreement <= more.agreement


def test_what_is_expected_is_that_of_the_last_degree_reached():
    one = np.ones(2)
    parts = Half(one, one), Half(one, one), Outline(one, one, one, words=one), Intercepts(0.0, 0.0, 0.0), (0.0, 1.0)
    screen = Screen(*parts, 0.5, [(0.6, Expected(0.9, 0.8)), (0.9, Expected(0.5, 0.95))])
    assert [screen.expected(sure).decided for sure in (0.55, 0.6, 0.89, 0.9, 0.999)] == [0.9, 0.9, 0.9, 0.5, 0.5]


def test_the_weights_hold_no_text():
    with np.load(resource("screen") / "screen.npz", allow_pickle=False) as stored:
        assert {stored[name].dtype.kind for name in stored.files} == {"f"}
