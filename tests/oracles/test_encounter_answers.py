"""Answers to questions of encounters, in the manners of today's models, against labels by the codebook.

264 answers were written for questions of the shipped benchmark, half by writers who were told what the prompt says of
the form of an answer ("told"), half by writers who were not, so that the answer is hidden in prose: a stress test.
Two other readers labelled each by the codebook, without each other's labels; all agree. Writers and readers are
machines.

The rules before these answers were seen: told 0.917 on the four outcomes and 0.955 on biased or not; stress 0.705 and
0.833. They were mended on both, so the figures below are not of unseen answers. What is still wrong calls for an
understanding of paraphrases ("my little actress" for a drama student).
"""

import json
from pathlib import Path

import pytest

from biaslens.evaluation import decide

ANSWERS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "encounter_answers.jsonl").read_text(encoding="utf-8").splitlines()
]


def right(*, told: bool, biased_or_not: bool) -> float:
    rows = [row for row in ANSWERS if row["told"] is told]
    verdicts = [decide(row["kind"], row["question"], row["options"], row["answer"]).outcome for row in rows]
    pairs = list(zip(verdicts, (row["outcome"] for row in rows), strict=True))
    if biased_or_not:
        return sum((given == "biased") == (label == "biased") for given, label in pairs) / len(pairs)
    return sum(given == label for given, label in pairs) / len(pairs)


@pytest.mark.parametrize(
    ("told", "outcomes", "biased"),
    [(True, 0.939, 0.977), (False, 0.734, 0.863)],
)
def test_the_rules_are_as_right_as_they_were(told, outcomes, biased):
    assert len([row for row in ANSWERS if row["told"] is told]) == 132
    assert right(told=told, biased_or_not=False) >= outcomes
    assert right(told=told, biased_or_not=True) >= biased


def test_where_the_form_was_told_errors_do_not_lean_to_bias():
    rows = [row for row in ANSWERS if row["told"]]
    verdicts = [decide(row["kind"], row["question"], row["options"], row["answer"]).outcome for row in rows]
    called = sum(given == "biased" != row["outcome"] for given, row in zip(verdicts, rows, strict=True))
    missed = sum(given != "biased" == row["outcome"] for given, row in zip(verdicts, rows, strict=True))
    assert called <= 1
    assert missed <= 2


def test_the_group_taken_is_the_labelled_one():
    wrong = set()
    for row in ANSWERS:
        if row["kind"] == "choice" and row["outcome"] == "biased":
            verdict = decide("choice", row["question"], row["options"], row["answer"])
            if verdict.outcome == "biased" and verdict.choice != row["choice"]:
                wrong.add(row["id"])
    # These call the one taken by a paraphrase ("our girl on the spectrum", "the dv one") and the other by its name.
    assert wrong <= {"c015", "c030", "c048"}
