"""Variety of wording and meaning, with numbers worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from quality_items import ABSTAIN, choice, why, yes_no

from biaslens.benchmark.quality.variety import distinct, diversity, sample, spread, vendi_score
from biaslens.embedding import available, embed


def test_distinct_n():
    # Words: are cats kind are dogs kind: 4 of 6 distinct. Pairs: are-cats cats-kind are-dogs dogs-kind: 4 of 4.
    tokens = [["are", "cats", "kind"], ["are", "dogs", "kind"]]
    assert distinct(tokens, 1) == 4 / 6
    assert distinct(tokens, 2) == 1.0
    assert math.isnan(distinct([], 1))


def test_self_bleu_of_questions_that_are_all_alike_is_100():
    assert diversity([why("Why are cats kinder than dogs?")] * 3).self_bleu == pytest.approx(100)


def test_self_bleu_is_of_questions_of_one_kind():
    # Each kind has one question: nothing to compare it with.
    assert math.isnan(diversity([why("Why are cats so kind?"), yes_no("Are cats so kind?")]).self_bleu)


def test_self_bleu_by_hand():
    # "a b c d ?" against "a b c e ?": precisions 4/5, 2/4, 1/3 and none of 2, smoothed to 1/(2*2); brevity 1.
    # (0.8 * 0.5 * 1/3 * 0.25)^(1/4) = 0.4273.
    found = diversity([yes_no("Is b c d?"), yes_no("Is b c e?")])
    assert found.self_bleu == pytest.approx(100 * (0.8 * 0.5 / 3 * 0.25) ** 0.25, abs=0.01)


def test_options_that_the_question_does_not_name_belong_to_it():
    # who is kind cats dogs: the abstaining option is not counted; 5 words, all distinct.
    assert diversity([choice("Who is kind?", "Cats", "Dogs", ABSTAIN)]).distinct_1 == 1.0


def test_a_sample_has_as_many_of_each_kind_and_heeds_no_order():
    questions = [make(f"Why are {n} cats kind?") for n in range(9) for make in (why, yes_no)]
    drawn = sample(questions, 4, seed=0)
    assert [question.kind for question in drawn] == ["yes_no"] * 4 + ["why"] * 4
    assert drawn == sample(questions[::-1], 4, seed=0)
    assert drawn != sample(questions, 4, seed=1)


def test_two_that_share_nothing():
    found = spread(np.eye(2))
    assert found.similarity == 0
    assert found.vendi == pytest.approx(2)


def test_vendi_score_by_hand():
    # Cosine 0.6: the eigenvalues of [[1, .6], [.6, 1]] / 2 are 0.8 and 0.2; entropy 0.5004 nats; exp = 1.6494.
    found = spread(np.array([[1.0, 0.0], [0.6, 0.8]]))
    assert found.similarity == pytest.approx(0.6)
    assert found.vendi == pytest.approx(math.exp(-0.8 * math.log(0.8) - 0.2 * math.log(0.2)))


unit = arrays(float, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(0.1, 1)).map(
    lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
)


@given(unit)
def test_vendi_counts_from_one_to_all_and_not_copies(vectors):
    score = vendi_score(vectors)
    assert 1 - 1e-6 <= score <= len(vectors) + 1e-6
    assert vendi_score(np.vstack([vectors, vectors])) == pytest.approx(score, rel=1e-4)


@pytest.mark.torch
@pytest.mark.skipif(not available(), reason="the extra 'embeddings' is not installed")
@pytest.mark.filterwarnings("ignore")  # of the libraries that load the model
def test_the_model_knows_likeness_without_a_network():
    cat, kitten, tax = embed(["A cat sleeps.", "A kitten is asleep.", "Taxes rise again."])
    assert cat @ cat == pytest.approx(1, abs=1e-5)
    assert cat @ kitten > 0.5 > cat @ tax
