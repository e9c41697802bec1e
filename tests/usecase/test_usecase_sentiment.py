"""Sentiment parity by hand and beside scipy; VADER's numbers beside the package's own."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from vaderSentiment import vaderSentiment

from biaslens.usecase.metrics._scores import _analyzer, _polarity, scsp, sentiment_sums, vader, wcsp

ORIGINAL = vaderSentiment.SentimentIntensityAnalyzer()

scores = st.lists(st.sampled_from([0, 0.1, 0.25, 0.5, 0.6, 0.75, 1]) | st.floats(0, 1), min_size=1, max_size=12)


def test_wasserstein_by_hand():
    # Sorted, .1 .5 .9 and .2 .5 .6: the i-th are .1, 0 and .3 apart, .4 / 3 in the mean.
    assert scsp([0.9, 0.1, 0.5], [0.5, 0.2, 0.6]) == pytest.approx(0.4 / 3, abs=1e-12)
    # All of one side at 0, the other half at 0 and half at 1: half the mass moves by 1.
    assert scsp([0], [0, 1]) == pytest.approx(0.5, abs=1e-12)
    assert scsp([0, 0, 0], [1]) == 1


@given(scores, scores)
def test_wasserstein_is_that_of_scipy(a, b):
    assert scsp(a, b) == pytest.approx(wasserstein_distance(a, b), abs=1e-12)
    assert scsp(a, b) == scsp(b, a)


@given(scores)
def test_equal_distributions_are_fair(a):
    assert scsp(a, a[::-1] * 3) == 0  # three times as many, but the same shares
    assert wcsp(a, a[::-1] * 3) == 0


def test_weak_parity_by_hand():
    # Above .5: 2 of 4 (.5 itself is not), 1 of 1: |.5 - 1|. Signed, -.5.
    a, b = [0.2, 0.5, 0.6, 0.9], [0.7]
    assert wcsp(a, b) == 0.5
    assert wcsp(a, b, variant="langfair") == -0.5
    assert wcsp(a, b, threshold=0.1) == 0  # rates of 1
    assert wcsp(a, b, threshold=0.95) == 0  # rates of 0


@pytest.mark.parametrize("metric", [scsp, wcsp])
@pytest.mark.parametrize(
    ("a", "b", "side"),
    [([], [0.5], "first"), ([0.5], [math.nan], "second"), ([], [], "first"), ([math.nan], [], "first")],
)
def test_a_side_without_scores_is_undefined(metric, a, b, side):
    value = metric(a, b)
    assert math.isnan(value)
    assert value.reason == f"no response of the {side} side has a sentiment score"


@pytest.mark.parametrize("metric", [scsp, wcsp])
def test_nan_scores_are_left_out_and_infinite_ones_are_an_error(metric):
    assert metric([0.2, math.nan, 0.9], [0.4]) == metric([0.2, 0.9], [0.4])
    with pytest.raises(ValueError, match="a sentiment score is infinite"):
        metric([math.inf], [0.4])


def units_of(a, b, count=4):
    return np.asarray(a, float), np.asarray(b, float), np.arange(len(a)) % count, np.arange(len(b)) % count, count


@pytest.mark.parametrize(("threshold", "metric"), [(None, scsp), (0.5, wcsp)])
def test_weights_are_repeats_and_exchanges_are_exchanges(threshold, metric):
    rng = np.random.default_rng(3)
    a, b = rng.random(11).round(2), rng.random(9).round(2)
    found = sentiment_sums(*units_of(a, b), threshold=threshold)
    weights = rng.integers(0, 3, (5, 4))
    expected = [metric(np.repeat(a, row[np.arange(11) % 4]), np.repeat(b, row[np.arange(9) % 4])) for row in weights]
    assert found.at(weights.astype(float)) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    masks = rng.random((6, 4)) < 0.5
    for mask, value in zip(masks, found.under(masks), strict=True):
        from_a, from_b = mask[np.arange(11) % 4], mask[np.arange(9) % 4]
        first, second = np.concatenate([a[~from_a], b[from_b]]), np.concatenate([b[~from_b], a[from_a]])
        assert value == pytest.approx(metric(first, second), abs=1e-12)
    assert found.merged(np.array([0, 0, 1, 1])).value() == pytest.approx(found.value(), abs=1e-12)


def test_no_scores_at_all_have_no_bootstrap_either():
    found = sentiment_sums(*units_of([], []))
    assert np.isnan(found.at(np.ones((2, 4)))).all()
    assert found.at(np.ones((0, 4))).shape == (0,)


def test_vader_by_hand():
    # "good" is 1.9 in the lexicon: 1.9 / sqrt(1.9^2 + 15) = .4404, and (1 + .4404) / 2. Its share: 2.9 of 2.9 + 1.
    assert vader(["good idea"]) == pytest.approx([(1 + 0.4404) / 2])
    assert vader(["good idea"], output="pos") == pytest.approx([0.744])
    assert vader(["good idea"], output="neg") == pytest.approx([0])


def test_vader_of_nothing_is_even():
    assert vader(["", "   ", "Das ist ein Haus.", "彼女は優しい", "..."]).tolist() == [0.5] * 5
    assert vader([]).shape == (0,)
    assert vader(["I love it 😀"])[0] > vader(["I love it"])[0] > 0.5


def random_text(draw):
    """Many words of the lexicon, and much of what its rules look at."""
    rules = "but BUT no nor or least at very never so this without doubt kind of Kind sort just enough I'm didn't LOL"
    pools = [
        list(_analyzer().lexicon),
        list(vaderSentiment.BOOSTER_DICT),
        vaderSentiment.NEGATE,
        [*" ".join(vaderSentiment.SPECIAL_CASES).split(), *rules.split()],
        [
            "the",
            "nurse",
            "café",
            "😀",
            "💋",
            "I'm",
            "!",
            "??",
            "...",
            ":)",
            "“good”",
            "naïve",
            "İ",
            "ß",
            "\u2003",
            "\n",
        ],
    ]
    words = [draw.choice(pools[draw.randrange(len(pools))]) for _ in range(draw.randrange(40))]
    words = [word.upper() if draw.random() < 0.1 else word for word in words]
    return draw.choice([" ", "  ", "\t"]).join(word + draw.choice(["", "", "", "!", "?", ".", ","]) for word in words)


def test_vader_is_the_package_on_thousands_of_texts():
    draw = random.Random(5)
    for _ in range(3_000):
        text = random_text(draw)
        assert _polarity(text) == ORIGINAL.polarity_scores(text), text


@given(st.text(max_size=60))
def test_vader_is_the_package_on_any_text(text):
    assert _polarity(text) == ORIGINAL.polarity_scores(text)


def test_vader_takes_a_megabyte():
    text = "She was not very happy, but he said a kind word and that was good. " * 15_000
    assert len(text) > 10**6
    assert 0.5 <= vader([text])[0] <= 1
