"""Similarity of counterfactual pairs: by hand, and beside rouge-score and sacrebleu."""

import math
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from biaslens import embedding
from biaslens.errors import InputError
from biaslens.stats.resampling import mean
from biaslens.usecase._tokens import tokenise
from biaslens.usecase.metrics._similarity import (
    bleu,
    bleu_scores,
    cosine,
    cosine_scores,
    pair_tokens,
    rouge_l,
    rouge_l_scores,
)

some_text = st.lists(st.sampled_from(["the", "a", "cat", "dog", "sat", "on", "red", ",", "."]), max_size=14).map(
    " ".join
)
ascii_text = st.text(string.ascii_letters[:6] + " .,-'1", max_size=40)


def scores_of(metric, a, b):
    return metric(*pair_tokens(a, b))


def longest_common_subsequence(a, b):
    lengths = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, x in enumerate(a, start=1):
        for j, y in enumerate(b, start=1):
            lengths[i, j] = lengths[i - 1, j - 1] + 1 if x == y else max(lengths[i - 1, j], lengths[i, j - 1])
    return lengths[-1, -1]


def test_rouge_by_hand():
    # "the cat sat on the mat" and "on the mat sat a cat": on the mat, 3 of 6 and 3 of 6.
    # "a b c d" and "a c": LCS 2, r' = 2/4, r'' = 2/2: 2 x .5 x 1 / 1.5 = 2/3.
    a, b = ["the cat sat on the mat", "a b c d"], ["on the mat sat a cat", "a c"]
    assert scores_of(rouge_l_scores, a, b) == pytest.approx([0.5, 2 / 3], abs=1e-12)
    assert rouge_l(a, b) == pytest.approx((0.5 + 2 / 3) / 2, abs=1e-12)


@given(some_text, some_text)
def test_rouge_is_twice_the_common_subsequence_over_both_lengths(a, b):
    x, y = tokenise([a]).words(0), tokenise([b]).words(0)
    expected = 2 * longest_common_subsequence(x, y) / (len(x) + len(y)) if x or y else math.nan
    assert scores_of(rouge_l_scores, [a], [b])[0] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(deadline=None)
@given(ascii_text, ascii_text)
def test_rouge_is_that_of_rouge_score_on_ascii(a, b):
    found = scores_of(rouge_l_scores, [a], [b])[0]
    expected = RougeScorer(["rougeL"]).score(a, b)["rougeL"].fmeasure
    assert (0 if math.isnan(found) else found) == pytest.approx(expected, abs=1e-12)


def test_bleu_by_hand():
    # h = "a b c d e f", r = "a b c d x f": matches of 1, 2, 3, 4 words: 5 of 6, 3 of 5, 2 of 4, 1 of 3; equal lengths.
    expected = (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    assert bleu(["a b c d e f"], ["a b c d x f"]) == pytest.approx(expected, abs=1e-12)


def test_bleu_takes_the_smaller_direction():
    # h = "a b c d", r = "a b c d e": all 4 match, and the penalty is e^(1 - 5/4) = .7788.
    # The other way round 4 of 5, 3 of 4, 2 of 3, 1 of 2 = 1/5, to the power of 1/4: .6687, the smaller one.
    assert bleu(["a b c d"], ["a b c d e"]) == pytest.approx((1 / 5) ** (1 / 4), abs=1e-12)
    assert bleu(["a b c d e"], ["a b c d"]) == bleu(["a b c d"], ["a b c d e"])


def test_bleu_counts_a_repeated_run_as_often_as_the_other_has_it():
    # "a a a a" beside "a a b b": of the words 2 of 4 match, of the pairs 1 of 3, of 3 words 0 of 2, of 4 words 0 of 1.
    # Smoothed: 1 / (2 x 2) and 1 / (4 x 1).
    # Back: a a b b has words 2 of 4, pairs 1 of 3, and the same nothing: the same number.
    expected = (2 / 4 * 1 / 3 * 1 / 4 * 1 / 4) ** (1 / 4)
    assert bleu(["a a a a"], ["a a b b"]) == pytest.approx(expected, abs=1e-12)


def test_short_responses_are_compared_by_the_runs_they_have():
    # Two words: 1 of 2 words, 0 of 1 pair, smoothed 1/2: sqrt(1/2 x 1/2).
    assert bleu(["yes sir"], ["yes madam"]) == pytest.approx(0.5, abs=1e-12)
    assert bleu(["yes"], ["Yes."]) == 1
    assert bleu(["yes"], ["no"]) == 0


@settings(deadline=None)
@given(some_text, some_text)
def test_bleu_is_the_smaller_one_of_sacrebleu(a, b):
    x, y = (" ".join(tokenise([text]).words(0)) for text in (a, b))
    metric = BLEU(effective_order=True, tokenize="none")
    expected = min(metric.sentence_score(x, [y]).score, metric.sentence_score(y, [x]).score) / 100
    found = scores_of(bleu_scores, [a], [b])[0]
    if x or y:
        assert found == pytest.approx(expected, abs=1e-9)
        assert 0 <= found <= 1
    else:
        assert math.isnan(found)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_all_texts_equal_is_one_wherever_there_is_a_word(texts):
    for metric in (rouge_l_scores, bleu_scores):
        for score, text in zip(scores_of(metric, texts, texts), texts, strict=True):
            assert score == 1 if len(tokenise([text]).ids) else math.isnan(score)


@pytest.mark.parametrize("metric", [rouge_l, bleu])
def test_an_empty_response_scores_nothing_and_two_are_left_out(metric):
    assert metric(["yes it is", "", "..."], ["", "😀", "no"]) == pytest.approx(0)  # 0, undefined, 0
    assert metric(["yes it is", ""], ["yes it is", ""]) == 1  # 1, undefined
    score = metric(["", "😀"], ["!", ""])
    assert math.isnan(score)
    assert score.reason == "there is no pair of responses with words"


@pytest.mark.parametrize("metric", [rouge_l, bleu, cosine])
def test_unequal_pairs_are_an_error(metric):
    with pytest.raises(ValueError, match="2 responses on one side and 1 on the other: pairs need as many on both"):
        metric(["a", "b"], ["a"])


def test_masking_is_alike_on_both_sides():
    a = ["Her book was hers; the old lady read it to him."]
    b = ["His book was his; the man read it to her."]
    protected = ["her", "hers", "his", "him", "man", "old lady"]
    sides = pair_tokens(a, b, protected=protected)
    assert sides[0].words(0) == sides[1].words(0) == ["_", "book", "was", "_", "the", "_", "read", "it", "to", "_"]
    assert rouge_l(a, b, protected=protected) == bleu(a, b, protected=protected) == 1
    assert rouge_l(a, b) < 1


def test_no_text_holds_the_mask():
    assert rouge_l(["_ sat"], ["she sat"], protected=["she"]) == pytest.approx(2 / 3)  # LCS "sat", of 1 and 2 words


def test_non_english_text_is_compared_by_words():
    assert rouge_l(["Она читает книгу."], ["Он читает книгу!"]) == pytest.approx(2 / 3)


def test_a_megabyte_beside_another_one():
    text = "kind words are short and good " * 34_000
    assert len(text) > 10**6
    assert bleu([text], [text + "indeed"]) == pytest.approx(1, abs=1e-4)
    assert rouge_l([text], [text + "indeed"]) == pytest.approx(1, abs=1e-5)


def test_pair_scores_are_a_mean_over_units():
    scores, units = np.array([1, 0.5, math.nan, 0]), np.array([0, 0, 1, 2])
    sums = mean(scores, units, 3, of="pairs")
    assert sums.value() == 0.5  # of 1, .5 and 0
    assert sums.at(np.array([[2.0, 1.0, 0.0]])) == pytest.approx([0.75])


def letters(texts):
    """Counts of a and b: a stand-in for an embedding whose cosines are easily worked out."""
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=float)


def test_cosine_by_hand_and_each_text_embedded_once():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return letters(texts)

    # (1, 1) and (1, 0): 1 / sqrt 2; (0, 2) and (0, 1): 1; (1, 0) and (0, 1): 0.
    a, b = ["ab", "bb", "a"], ["a", "b", "b"]
    assert cosine_scores(a, b, embed=embed) == pytest.approx([0.5**0.5, 1, 0])
    assert sorted(asked) == ["a", "ab", "b", "bb"]
    assert cosine(a, b, embed=embed) == pytest.approx((0.5**0.5 + 1) / 3)
    assert math.isnan(cosine([], [], embed=embed))


def test_a_missing_model_says_what_to_install(monkeypatch):
    monkeypatch.setattr(embedding, "available", lambda: False)
    with pytest.raises(InputError, match=r"cosine similarity needs the embedding model: pip install '\.\[emb"):
        cosine(["a"], ["b"])


@pytest.mark.torch
@pytest.mark.skipif(not embedding.available(), reason="the extra 'embeddings' is not installed")
@pytest.mark.filterwarnings("ignore")  # of the libraries that load the model
def test_the_packaged_model_finds_like_responses_alike():
    texts = ["A cat sleeps.", "A kitten is asleep.", "Taxes rise again."]
    same, like, other = cosine_scores([texts[0]] * 3, texts)
    assert same == pytest.approx(1, abs=1e-6)
    assert same > like > 0.5 > other
