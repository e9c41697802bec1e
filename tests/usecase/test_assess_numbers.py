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
from biaslens.usecase._scoring import open_scorer
from biaslens.usecase._spec import Intervention
from biaslens.usecase.metrics._association import cobs, stereotypical_associations
from biaslens.usecase.metrics._scores import exceedance_fraction, exceedance_probability, expected_maximum, scsp, wcsp
from biaslens.usecase.metrics._similarity import bleu, cosine, rouge_l

GENDER = {"female": ["she", "her", "woman"], "male": ["he", "him", "man"]}
A, B = "female", "male"
CF, NE = "counterfactual", "no_effect"


def value(found: Assessment, metric: str, *groups: str) -> float:
    return float(found.measure(metric, *groups).estimate.value)


def swapped(metric: Callable[[Sequence[bool]], float], units: int) -> float:
    """p-value by brute force: the share of all ways to exchange whose metric is as large as the one seen."""
    seen = metric([False] * units)
    return float(np.mean([metric(mask) >= seen - 1e-12 for mask in product([False, True], repeat=units)]))


# Of each prompt: the first group, the second, the first once more, the second once more. ROUGE-L by hand, mean of two
# pairs each: within the groups; beside (first to second, again to again); across (first to second's again, and vice
# versa).
#   2 of 4 and 4 words: 4 / 8 = 0.5; within equal:         1,    0.5,  0.5
#   equal, or 1 of 2 and 2: 2 / 4 = 0.5:                   0.5,  1,    0.5
#   nothing in common; 2 of 3 and 2: 4 / 5 = 0.8, equal:   0.9,  0,    0
FOURS = [
    ("one two three four", "one two five six", "one two three four", "one two five six"),
    ("red blue", "red blue", "red green", "red green"),
    ("sun moon star", "rain", "sun moon", "rain"),
]
PAIRED = [(1.0, 0.5, 0.5), (0.5, 1.0, 0.5), (0.9, 0.0, 0.0)]


def with_no_effect(fours: Sequence[tuple[str, str, str, str]], a: str = A, b: str = B) -> list[tuple[str, ...]]:
    return [
        (str(number), *row)
        for number, (one, two, *again) in enumerate(fours)
        for row in ((a, CF, one), (b, CF, two), (a, NE, again[0]), (b, NE, again[1]))
    ]


def test_rouge_l_its_baseline_and_its_p_value_by_hand():
    measure = assess(with_no_effect(FOURS), families=["counterfactual"]).measure("ROUGE-L")
    assert measure.estimate.value == pytest.approx(1.5 / 3)
    assert measure.baseline is not None
    assert measure.baseline.value == pytest.approx(2.4 / 3)
    # Within less the mean of the others: 0.5, -0.25 and 0.9, in all 1.15. Of the 27 ways to pair the four responses of
    # each prompt 5 give as much.
    assert measure.p == pytest.approx(5 / 27)
    ways = product(*([pair[way] - (sum(pair) - pair[way]) / 2 for way in range(3)] for pair in PAIRED))
    assert measure.p == pytest.approx(np.mean([sum(way) >= 1.15 - 1e-12 for way in ways]))
    assert measure.units == 3


def test_the_test_is_the_same_whichever_group_comes_first():
    # The second group's responses differ among one another, the first one's do not.
    rng = np.random.default_rng(1)
    fours = [
        ("a b c d", " ".join(rng.permutation(list("abcdefgh"))), "a b c d", " ".join(rng.permutation(list("abcdefgh"))))
        for _ in range(12)
    ]
    turned = [(b, a, b_again, a_again) for a, b, a_again, b_again in fours]
    found, back = (
        assess(with_no_effect(of), families=["counterfactual"]).measure("ROUGE-L") for of in (fours, turned[::-1])
    )
    assert found.p < 0.05
    assert abs(found.p - back.p) < 0.01  # other random exchanges: the prompts come in another order
    assert (found.estimate.value, found.baseline.value) == pytest.approx((back.estimate.value, back.baseline.value))


def test_without_no_effect_responses_the_trials_are_halved():
    rows = [
        (str(number), *row)
        for number, (one, two, *again) in enumerate(FOURS)
        for row in ((A, CF, one), (A, CF, again[0]), (B, CF, two), (B, CF, again[1]))
    ]
    measure = assess(rows, families=["counterfactual"]).measure("ROUGE-L")
    assert measure.baseline is not None
    assert measure.baseline.value == pytest.approx(2.4 / 3)
    assert measure.p == pytest.approx(5 / 27)


@pytest.mark.parametrize("asked_again", [(), (A,), (B,)])
def test_with_a_group_asked_once_there_is_no_baseline_and_no_p_value(asked_again):
    rows = [row for row in with_no_effect(FOURS) if row[2] == CF or row[1] in asked_again]
    measure = assess(rows, families=["counterfactual"]).measure("ROUGE-L")
    assert measure.baseline is not None
    assert isnan(measure.baseline.value) and isnan(measure.p)
    assert measure.baseline.reason.startswith("not each group's prompts were asked twice")


FEELINGS = [
    ("What a wonderful answer!", "That is horrible.", "Good.", "Sad."),
    ("Fine.", "Terrible and sad.", "I love it.", "Bad."),
    ("It rains.", "It rains.", "Awful.", "Nice."),
    ("Great.", "Nothing to say.", "Bad.", "Good."),
]


def test_sentiment_and_its_p_values_by_brute_force():
    found = assess(with_no_effect(FEELINGS), families=["counterfactual"])
    a, b, a_again, b_again = open_scorer("sentiment", "vader", load_settings()).score(
        [text for side in zip(*FEELINGS, strict=True) for text in side]
    ).reshape(4, 4)  # fmt: skip
    for name, metric in (("Sentiment, strict (SCSP)", scsp), ("Sentiment, weak (WCSP)", wcsp)):

        def gap(mask, metric=metric):
            return float(metric(np.where(mask, b, a), np.where(mask, a, b)))

        measure = found.measure(name)
        assert measure.baseline is not None
        assert measure.estimate.value == pytest.approx(metric(a, b))
        assert measure.baseline.value == pytest.approx((metric(a, a_again) + metric(b, b_again)) / 2)
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
    # The two lists of group a: 3 of 12; of group b, which have w and y for the other: 1 of 12.
    assert measure.baseline.value == pytest.approx((3 / 12 + 1 / 12) / 2)
    assert measure.note == (
        "equal lists give 0.250; 1 of 3 pairs left out: a list is too short; "
        "1 lists left out because the other group has none to stand opposite"
    )
    assert measure.units == 1
    assert found.counts == {"lists": 7, "groups": 2, "repeated items taken out": 1}


def test_lists_p_value_by_brute_force():
    lists = {
        "1": ("x|y", "z|w", "x|y", "z|w"),
        "2": ("x|y", "x|w", "y|x", "x|y"),
        "3": ("x|y", "x|y", "x|w", "x|y"),
    }
    rows = [
        (name, group, items)
        for name, (a, b, again, b_again) in lists.items()
        for group, items in (("a", a), ("a", again), ("b", b), ("b", b_again))
    ]
    found = assess_lists(pd.DataFrame(rows, columns=["prompt_id", "group", "items"]), k=2, resampling=QUICK)
    # Jaccard within the groups; of first to first and second to second; of first to second. Prompt 2: x|y and y|x are
    # equal, x|w and x|y share 1 of 3.
    pairs = np.array(
        [
            (1, 0, 0),
            ((1 + 1 / 3) / 2, (1 / 3 + 1) / 2, (1 + 1 / 3) / 2),
            ((1 / 3 + 1) / 2, (1 + 1 / 3) / 2, (1 + 1 / 3) / 2),
        ]
    )
    gaps = 1.5 * pairs - pairs.sum(axis=1, keepdims=True) / 2
    measure = found.measure("Jaccard-2")
    # Every pair of a trial: 0 twice, 1/3 and 1, 1 and 1/3.
    assert measure.estimate.value == pytest.approx((0 + 0 + 1 / 3 + 1 + 1 + 1 / 3) / 6)
    assert measure.p == pytest.approx(np.mean([sum(way) >= gaps[:, 0].sum() - 1e-12 for way in product(*gaps)]))


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
    found = assess(with_no_effect(FOURS), families=["counterfactual"])
    one = found.measure("ROUGE-L")
    several = replace(found, measures=[replace(one, groups=groups) for groups in (("a", "b"), ("a", "c"))])
    with pytest.raises(InputError, match=r"is measured for 2 pairs of groups; .* measure\('ROUGE-L', 'a', 'b'\)"):
        several.measure("ROUGE-L")
    with pytest.raises(InputError, match="'SARI' is not measured here; measured: ROUGE-L"):
        several.measure("SARI")


TOPICS = ["nurses"] * 3 + ["drivers"] * 3
SAID = [
    "She is a kind nurse.",
    "She is kind.",
    "He is tall.",
    "He drives.",
    "He is a tall, strong driver.",
    "She is tall.",
]


def of_topics(**more: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({"prompt_id": list("123456"), "response": SAID, "topic": TOPICS} | more)


def test_prompts_of_a_topic_are_drawn_and_exchanged_together():
    options = {"families": ["stereotype", "toxicity"], "attributes": ["gender"], "targets": ["kind", "tall"]}
    alone, together = assess(of_topics(), **options), assess(of_topics(), cluster="topic", **options)
    for metric in ("SA", "COBS", "Fraction (TF)"):
        one, two = alone.measure(metric), together.measure(metric)
        assert one.estimate.value == two.estimate.value
        assert (one.unit, two.unit, two.units) == ("prompts", "clusters", 2)
    # Two topics: none, one, the other or both exchanged. All or none leave SA as it is, and so do single ones.
    assert together.measure("SA").p in {0.5, 1.0}
    assert together.measure("SA").test.endswith("cluster by cluster")
    assert together.record["cluster"] == "topic"


def test_pairs_of_a_topic_are_drawn_together():
    rows = [(*row[:3], row[3], str(int(row[0]) // 2)) for row in with_no_effect([*FOURS, *FOURS])]
    table = pd.DataFrame(rows, columns=["prompt_id", "group", "series", "response", "topic"]).assign(attribute="gender")
    found = assess(table, families=["counterfactual"], cluster="topic").measure("ROUGE-L")
    assert (found.units, found.unit, found.estimate.value) == (3, "clusters", pytest.approx(0.5))
    # Responses to one prompt can be exchanged whatever the topic: the test stays that of 6 prompts.
    assert found.p == assess(table, families=["counterfactual"]).measure("ROUGE-L").p


def test_lists_of_a_topic_are_drawn_together():
    rows = [(str(n), group, "x|y|z", str(n // 2)) for n in range(8) for group in "ab"]
    table = pd.DataFrame(rows, columns=["prompt_id", "group", "items", "topic"])
    assert assess_lists(table, k=3, cluster="topic", resampling=QUICK).measure("Jaccard-3").units == 4


def test_the_words_of_three_groups_are_exchanged_by_brute_force():
    words = {"christian": "Christian", "jewish": "Jew", "muslim": "Muslim"}
    said = [("christian", "kind"), ("christian", "kind"), ("jewish", "tall"), ("muslim", "tall")]
    rows = [(str(n), "", "", f"The {words[group]} is {target}.") for n, (group, target) in enumerate(said)]
    found = assess(rows, families=["stereotype"], attributes=["religion"], targets=["kind", "tall"],
                   compare={"religion": list(words)}).measure("SA")  # fmt: skip

    def metric(turns: Sequence[int]) -> float:
        turned = [
            list(words)[(list(words).index(group) + turn) % 3] for (group, _), turn in zip(said, turns, strict=True)
        ]
        texts = [f"{words[group]} {target}" for group, (_, target) in zip(turned, said, strict=True)]
        return float(stereotypical_associations(texts, {g: [word] for g, word in words.items()}, ["kind", "tall"]))

    seen = metric([0] * 4)
    assert found.estimate.value == pytest.approx(seen)
    assert found.p == pytest.approx(np.mean([metric(t) >= seen - 1e-12 for t in product(range(3), repeat=4)]))
    assert found.baseline is not None and found.baseline.value > 0


@pytest.mark.parametrize(
    ("topics", "says"),
    [
        (["a", "a", "", "b", "b", "b"], "row 3: column 'topic' is empty"),
        (["a", "b", "b", "b", "b", "b"], "row 2: prompt '1' is in two clusters, 'a' and 'b'"),
    ],
)
def test_a_cluster_that_cannot_be_is_one_line(topics, says):
    with pytest.raises(InputError, match=says):
        assess(of_topics(topic=topics, prompt_id=list("112345")), cluster="topic")
    with pytest.raises(InputError, match="no column 'theme'"):
        assess(of_topics(), cluster="theme")
