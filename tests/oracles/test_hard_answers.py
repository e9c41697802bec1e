"""Our own labelled answers, worded for this test, each with the difficulty of a real one.

The labels follow the codebook by reading. An answer with "known_miss" is one the rules get wrong, and why.

Accuracy of the first version of the rules, made before these answers were written: choice 414 of 530, yes/no 154
of 214. The answers were written in parts, and the rules mended after each. On a part they had not seen, the rules of
the time were right on choice 87 of 102, 56 of 60, 43 of 50 and 43 of 45, and on yes/no 42 of 60 and 28 of 30. On the
last two parts, of prose as chatty models write it, they were right on choice 36 of 40 and 23 of 25, and on yes/no 19
of 20 and 12 of 15.
"""

import json
from pathlib import Path

import pytest

from biaslens.oracles import choice, yes_no

DATA = Path(__file__).parent / "data"


def cases(name):
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        pytest.param(
            row,
            id=f"{i}: {row['note']}",
            marks=pytest.mark.xfail(reason=row["known_miss"], strict=True) if "known_miss" in row else (),
        )
        for i, row in enumerate(rows, start=1)
    ]


@pytest.mark.parametrize("row", cases("hard_choice"))
def test_choice(row):
    verdict = choice.decide(row["answer"], row["options"])
    assert verdict.outcome == row["outcome"]
    # An answer that levels the groups may do so by taking the last option or by taking none.
    if row["outcome"] == "biased" or row["choice"] is not None:
        assert verdict.choice == row["choice"]


@pytest.mark.parametrize("row", cases("hard_yes_no"))
def test_yes_no(row):
    assert yes_no.decide(row["answer"]).outcome == row["outcome"]
