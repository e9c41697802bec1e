"""Known numbers through the whole assessment, and the same numbers as the pure functions give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import isnan

import numpy as np
import pandas as pd
import pytest
from assessed import QUICK, assess
from hypothesis import given, settings
from hypothesis import strategies as st

from biaslens import embedding
from biaslens.errors import InputError
from biaslens.settings import load_settings
from biaslens.usecase import assess_lists, assess_predictions
from biaslens.usecase._result import Assessment
from biaslens.usecase._spec import Intervention
from biaslens.usecase.metrics._association import cobs, stereotypical_associations
from biaslens.usecase.metrics._scores import exceedance_fraction, exceedance_probability, expected_maximum, scsp, wcsp
from biaslens.usecase.metrics._similarity import bleu, cosine, rouge_l
from biaslens.usecase.scorers._scoring import open_scorer

GENDER = {"female": ["she", "her", "woman"], "male": ["he", "him", "man"]}
A, B = "female", "male"
CF, NE = "counterfactual", "no_effect"


def value(found: Assessment, metric: str, *groups: str) -> float:
    return float(found.measure(metric, *groups).estimate.value)


def swapped(metric: Callable[[Sequence[bool]], float], units: int) -> float:
    """p-value by brute force: the share of all ways to exchange whose metric is as large as the one seen."""
    seen = metric([False] * units)
    return float(np.mean([metric(mask) >= seen - 1e-12 for mask in product([False, True], repeat=units)]))


# ROUGE-L by hand, to the second group and once more to the first:
#   2 of 4 and 4 words: 4 / 8 = 0.5;  equal: 1
#   equal: 1;                         1 of 2 and 2: 2 / 4 = 0.5
#   nothing in common: 0;             2 of 3 and 2: 4 / 5 = 0.8
TRIPLES = [
    ("one two three four", "one two five six", "one two three four"),
    ("red blue", "red blue", "red green"),
    ("sun moon star", "rain", "sun moon"),
]
ACROSS, WITHIN = [0.5, 1.0, 0.0], [1.0, 0.5, 0.8]


def with_no_effect(triples: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str, str]]:
    return [
        row
        for number, (a, b, again) in enumerate(triples)
        for row in ((str(number), A, CF, a), (str(number), B, CF, b), (str(number), A, NE, again))
    ]


def test_rouge_l_its_baseline_and_its_p_value_by_hand():
    measure = assess(with_no_effect(TRIPLES), families=["counterfactual"]).measure("ROUGE-L")
    assert measure.estimate.value == pytest.approx(1.5 / 3)
    assert measure.baseline is not None
    assert measure.baseline.value == pytest.approx(2.3 / 3)
    # Gaps of 0.5, -0.5 and 0.8 add up to 0.8. Of the 8 ways to turn signs 3 give as much: as it is, the second turned
    # (1.8), and the first two turned (0.8).
    assert measure.p == pytest.approx(3 / 8)
    gaps = np.subtract(WITHIN, ACROSS)
    assert measure.p == swapped(lambda mask: float(np.where(mask, -gaps, gaps).sum()), 3)
    assert measure.units == 3


def test_without_no_effect_responses_the_trials_are_halved():
    rows = [
        row
        for number, (a, b, again) in enumerate(TRIPLES)
        for row in ((str(number), A, CF, a), (str(number), A, CF, again), (str(number), B, CF, b))
    ]
    measure = assess(rows, families=["counterfactual"]).measure("ROUGE-L")
    assert measure.baseline is not None
    assert (measure.estimate.value, measure.baseline.value) == pytest.approx((1.5 / 3, 2.3 / 3))
    assert measure.p == pytest.approx(3 / 8)
    assert measure.note == "3 responses left out because the other side is missing"


def test_asked_once_there_is_no_baseline_and_no_p_value():
    rows = [row for row in with_no_effect(TRIPLES) if row[2] == CF]
    measure = assess(rows, families=["counterfactual"]).measure("ROUGE-L")
    assert measure.baseline is not None
    assert isnan(measure.baseline.value) and isnan(measure.p)
    assert measure.baseline.reason.startswith("each prompt was asked once a group")


FEELINGS = [
    ("What a wonderful answer!", "That is horrible.", "Good."),
    ("Fine.", "Terrible and sad.", "I love it."),
    ("It rains.", "It rains.", "Awful."),
    ("Great.", "Nothing to say.", "Bad."),
]


def test_sentiment_and_its_p_values_by_brute_force():
    found = assess(with_no_effect(FEELINGS), families=["counterfactual"])
    a, b, again = open_scorer("sentiment", "vader", load_settings()).score(
        [text for side in zip(*FEELINGS, strict=True) for text in side]
    ).reshape(3, 4)  # fmt: skip
    for name, metric in (("Sentiment, strict (SCSP)", scsp), ("Sentiment, weak (WCSP)", wcsp)):

        def gap(mask, metric=metric):
            return float(metric(a, np.where(mask, again, b)) - metric(a, np.where(mask, b, again)))

        measure = found.measure(name)
        assert measure.baseline is not None
        assert measure.estimate.value == pytest.approx(metric(a, b))
        assert measure.baseline.value == pytest.approx(metric(a, again))
        assert measure.p == pytest.approx(swapped(gap, 4))


def test_every_p_value_is_corrected_for_all_of_the_assessment():
    own = [(str(n), "", "original", text) for n, (text, *_) in enumerate(FEELINGS)]
    own += [("9", "", "original", "She is a kind nurse."), ("8", "", "original", "He is a kind, strong doctor.")]
    found = assess([*own, *with_no_effect(FEELINGS)])
    measures = [measure for measure in found.measures if not isnan(measure.p)]
    assert {measure.family for measure in measures} == {"stereotype", "counterfactual"}
    ordered = sorted(measures, key=lambda measure: measure.p)
    largest = 0.0
    for place, measure in enumerate(ordered):  # Holm by its definition
        largest = max(largest, min(1.0, (len(ordered) - place) * measure.p))
        assert measure.p_holm == pytest.approx(largest)


def test_association_by_hand():
    rows = [
        ("1", "", "", "She is a nurse and she likes it."),
        ("2", "", "", "Her nurse met him."),
        ("3", "", "", "He sleeps."),
    ]
    found = assess(rows, families=["stereotype"], targets=["nurse"])
    # With "nurse" come three words of women and one of men: (|3/4 - 1/2| + |1/4 - 1/2|) / 2.
    assert value(found, "SA") == pytest.approx(0.25)
    assert found.measure("SA").note == "3 words of female, 2 words of male"
    # Prompt 3 says nothing about nurses.
    assert found.measure("SA").units == 2
    found = assess([("1", "", "", "She kind"), ("2", "", "", "he tall kind")], families=["stereotype"],
                   targets=["kind"])  # fmt: skip
    # All words near "she" are "kind", of those near "he" 0.95² of 0.95² + 0.95: log(1 / (0.95 / 1.95)).
    assert value(found, "COBS") == pytest.approx(np.log(1.95 / 0.95))


# Rows of group a: predicted 1, 1, 1, 0; of group b: 1, 0, 0. Labels: 1, 0, 1, 1 and 1, 1, 0.
ROWS = pd.DataFrame({"g": list("aaaabbb"), "p": [1, 1, 1, 0, 1, 0, 0], "y": [1, 0, 1, 1, 1, 1, 0]})


def test_parity_by_hand_and_its_p_value_by_brute_force():
    found = assess_predictions(ROWS, group="g", prediction="p", parity=True, resampling=QUICK)
    measure = found.measure("Demographic parity (DP), difference")
    assert measure.estimate.value == pytest.approx(3 / 4 - 1 / 3)
    assert value(found, "Demographic parity (DP), ratio") == pytest.approx((1 / 3) / (3 / 4))
    # 4 of 7 rows are group a's: each way to draw them is equally likely.
    p = ROWS["p"].to_numpy()
    gaps = [
        abs(p[list(ones)].mean() - np.delete(p, list(ones)).mean()) for ones in combinations(range(7), 4)
    ]  # fmt: skip
    assert measure.p == pytest.approx(np.mean([gap >= 5 / 12 - 1e-9 for gap in gaps]))
    assert (measure.units, measure.note) == (7, "a: 3 of 4; b: 1 of 3")


def test_rates_rest_on_the_rows_they_are_taken_of():
    found = assess_predictions(ROWS, group="g", prediction="p", label="y", resampling=QUICK)
    # Positives: 3 of group a, of which 1 is missed; 2 of group b, of which 1.
    measure = found.measure("False negative rate (FNRD), difference")
    assert (measure.estimate.value, measure.units) == (pytest.approx(1 / 2 - 1 / 3), 5)
    # Predicted negative: 1 of group a, a positive; 2 of group b, of which 1.
    assert value(found, "False omission rate (FORD), difference") == pytest.approx(1 - 1 / 2)
    # Negatives: 1 of group a, flagged; 1 of group b, not. Predicted positive: 3, 1 wrongly; 1, rightly.
    assert value(found, "False positive rate (FPRD), difference") == 1
    measure = found.measure("False discovery rate (FDRD), difference")
    assert (measure.estimate.value, measure.units) == (pytest.approx(1 / 3), 4)
    # Of the 4 ways to say which row is group b's, 3 give a gap of 1/3 and one of 1 (the wrong one): all are as large.
    assert measure.p == 1
    assert all(measure.few for measure in found.measures)
    adjusted = sorted(m.p for m in found.measures if m.test)
    assert min(m.p_holm for m in found.measures if m.test) == pytest.approx(min(1.0, 4 * adjusted[0]))


def test_each_of_several_classes_against_the_rest():
    frame = pd.DataFrame({"g": list("aabb"), "p": ["hire", "wait", "hire", "no"]})
    found = assess_predictions(frame, group="g", prediction="p", parity=True, positives=["hire", "wait"])
    assert value(found, "Demographic parity (DP), hire, difference") == 0
    assert value(found, "Demographic parity (DP), wait, difference") == 0.5


def test_clusters_are_the_unit():
    frame = pd.DataFrame({"g": list("aabb") * 4, "p": [1, 1, 0, 0] * 4, "who": [n // 2 for n in range(16)]})
    found = assess_predictions(frame, group="g", prediction="p", parity=True, cluster="who", resampling=QUICK)
    measure = found.measure("Demographic parity (DP), difference")
    assert (measure.units, measure.unit, measure.estimate.value) == (8, "clusters", 1.0)
    # With 99 exchanges, p is one of 0.01, 0.02 ...: the exchanges of the options are used.
    assert measure.p * 100 == pytest.approx(round(measure.p * 100))


def test_intervention_chooses_the_rates():
    for intervention, names in ((Intervention.ASSISTIVE, "FNRD FORD"), (Intervention.PUNITIVE, "FPRD FDRD")):
        found = assess_predictions(ROWS, group="g", prediction="p", label="y", intervention=intervention)
        assert [m.metric.split("(")[1][:4] for m in found.measures[::2]] == names.split()


def test_lists_by_hand():
    rows = [
        ("1", "a", 0, "x|x|y|z"),  # x y z: the second x is taken out
        ("1", "a", 1, "x|y|z"),
        ("1", "b", 0, "z|w|x"),
        ("1", "b", 1, "x|y|z"),
        ("2", "a", 0, "x|y"),  # too short for 3
        ("2", "b", 0, "x|y"),
        ("3", "a", 0, "x|y|z"),  # no list of group b
    ]
    found = assess_lists(pd.DataFrame(rows, columns=["prompt_id", "group", "trial", "items"]), k=3, resampling=QUICK)
    # Prompt 1, first trial: 2 of 4 items; weights 3, 2, 1: from both sides 4 of 6; one pair in one order, over 12.
    # Second trial: equal, which is 1, 1 and 3 pairs of 12.
    assert value(found, "Jaccard-3") == pytest.approx((0.5 + 1) / 2)
    assert value(found, "SERP-3") == pytest.approx((4 / 6 + 1) / 2)
    assert value(found, "PRAG-3") == pytest.approx((1 / 12 + 3 / 12) / 2)
    measure = found.measure("PRAG-3")
    assert measure.baseline is not None
    assert measure.baseline.value == pytest.approx(3 / 12)  # the two lists of group a
    assert measure.note == (
        "equal lists give 0.250; 1 of 3 pairs left out: a list is too short; "
        "1 lists left out because the other group has none to stand opposite"
    )
    assert measure.units == 1
    assert found.counts == {"lists": 7, "groups": 2, "repeated items taken out": 1}


def test_lists_p_value_by_brute_force():
    lists = {
        "1": ("x|y", "z|w", "x|y"),
        "2": ("x|y", "x|w", "y|x"),
        "3": ("x|y", "x|y", "x|w"),
    }
    rows = [
        (name, group, items)
        for name, (a, b, again) in lists.items()
        for group, items in (("a", a), ("a", again), ("b", b))
    ]
    found = assess_lists(pd.DataFrame(rows, columns=["prompt_id", "group", "items"]), k=2, resampling=QUICK)
    # Jaccard with group b 0, 1/3 and 1; with the second list of group a 1, 1 and 1/3.
    gaps = np.array([1 - 0, 1 - 1 / 3, 1 / 3 - 1])
    measure = found.measure("Jaccard-2")
    assert measure.estimate.value == pytest.approx((0 + 1 / 3 + 1) / 3)
    assert measure.p == pytest.approx(swapped(lambda mask: float(np.where(mask, -gaps, gaps).sum()), 3))


TEXTS = [
    "",
    "You are a stupid idiot and I hate you.",
    "She is a kind nurse.",
    "He is a strong engineer, and the woman knew him.",
    "All women are bad drivers.",
    "The old doctor was kind to her. What a lovely day!",
    "The man is a brilliant, caring nurse.",
    "Das ist schlimm 🙂",
]
CELLS = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "3"]), st.sampled_from(["", A, B]), st.just(""), st.sampled_from(TEXTS)
    ),
    min_size=1, max_size=14,
).filter(lambda rows: any(text for *_, text in rows))  # fmt: skip
SCORERS = {kind: open_scorer(kind, name, load_settings()) for kind, name in
           (("toxicity", "offline"), ("stereotype", "offline"), ("sentiment", "vader"))}  # fmt: skip


def same(found: float, expected: float) -> bool:
    return (isnan(found) and isnan(expected)) or found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)
@given(CELLS)
def test_the_same_numbers_as_the_pure_functions(rows):
    found = assess(rows, attributes=["gender"])
    own = [row for row in rows if not row[1]] or rows
    by_prompt: dict[str, list[str]] = {}
    for name, _, _, text in own:
        by_prompt.setdefault(name, []).append(text)
    texts = [text for _, _, _, text in own]
    for kind, short in (("toxicity", "T"), ("stereotype", "S")):
        scores = [SCORERS[kind].score(texts) for texts in by_prompt.values()]
        assert same(value(found, f"Expected maximum (EM{short})"), expected_maximum(scores))
        assert same(value(found, f"Probability ({short}P)"), exceedance_probability(scores))
        assert same(value(found, f"Fraction ({short}F)"), exceedance_fraction(scores))
    assert same(value(found, "COBS"), cobs(texts, GENDER[A] + ["women"], GENDER[B]))
    assert same(value(found, "SA"), stereotypical_associations(texts, {A: GENDER[A] + ["women"], B: GENDER[B]}))
    sides = {group: [(name, text) for name, of, _, text in rows if of == group] for group in (A, B)}
    pairs = []
    for name in ("1", "2", "3"):
        one, two = ([text for of, text in sides[group] if of == name] for group in (A, B))
        pairs += list(zip(one, two, strict=False))
    if not all(sides.values()):
        assert all(measure.family != "counterfactual" for measure in found.measures)
        return
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    protected = [*GENDER[A], *GENDER[B], "women"]
    assert same(value(found, "ROUGE-L"), rouge_l(first, second, protected=protected))
    assert same(value(found, "BLEU"), bleu(first, second, protected=protected))
    feelings = [SCORERS["sentiment"].score(side) for side in (first, second)]
    assert same(value(found, "Sentiment, strict (SCSP)"), scsp(*feelings))
    assert same(value(found, "Sentiment, weak (WCSP)"), wcsp(*feelings))


@pytest.mark.torch
@pytest.mark.skipif(not embedding.available(), reason="the embedding model is not installed")
def test_cosine_is_that_of_the_texts_with_protected_words_replaced():
    found = assess([("1", A, "", "She likes the town."), ("1", B, "", "He hates the old town.")])
    measure = found.measure("Cosine")
    assert measure.estimate.value == pytest.approx(
        cosine(["someone likes the town."], ["someone hates the old town."]), abs=1e-6
    )
    assert measure.note == 'protected words read "someone" in both texts'


def test_the_variant_of_the_toolkit():
    rows = [("1", A, "", "She is good."), ("1", B, "", "He is bad."), ("2", A, "", "Bad."), ("2", B, "", "Bad.")]
    found = assess(rows, families=["counterfactual"], variant="langfair")
    measure = found.measure("Sentiment, weak (WCSP)")
    assert (measure.estimate.value, measure.direction, measure.bounds) == (0.5, "0 is fair", (-1.0, 1.0))
    found = assess(rows[::-1], families=["counterfactual"], variant="langfair", compare={"gender": ["male", "female"]})
    assert found.measure("Sentiment, weak (WCSP)").estimate.value == -0.5


def test_a_measure_that_is_not_unique_is_one_short_line():
    found = assess(with_no_effect(TRIPLES), families=["counterfactual"])
    one = found.measure("ROUGE-L")
    several = replace(found, measures=[replace(one, groups=groups) for groups in (("a", "b"), ("a", "c"))])
    with pytest.raises(InputError, match=r"is measured for 2 pairs of groups; .* measure\('ROUGE-L', 'a', 'b'\)"):
        several.measure("ROUGE-L")
    with pytest.raises(InputError, match="'SARI' is not measured here; measured: ROUGE-L"):
        several.measure("SARI")
