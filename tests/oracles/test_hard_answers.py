"""Our own labelled answers, worded for this test, each with the difficulty of a real one.

The labels follow the codebook by reading. An answer with "known_miss" is one the rules get wrong, and why.

Accuracy of the first version of the rules on these answers, before any rule was made with them in view: choice 342 of
435, yes/no 133 of 184.
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
