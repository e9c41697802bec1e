"""Pairs of prompts, and the pairs without an effect beside them."""

from __future__ import annotations

import pytest

from biaslens.errors import InputError
from biaslens.usecase._counterfactual import PAIR_COLUMNS, make_pairs, pair_rows
from biaslens.usecase._lexicon import load_words

LEXICON = load_words()
GENDER = LEXICON.attributes["gender"]


def test_each_pair_has_one_without_an_effect_beside_it() -> None:
    pairs = make_pairs(["Did he lose his keys?", "Hello", "black coffee"], GENDER, None, LEXICON)
    assert [(pair.number, pair.kind) for pair in pairs] == [(0, "counterfactual"), (0, "no_effect")]
    first, second = pairs
    assert (first.text_a, first.text_b) == ("Did she lose her keys?", "Did he lose his keys?")
    assert (first.swapped_a, first.swapped_b) == ("he -> she; his -> her", "")
    assert (first.original_a, first.original_b) == (False, True)
    assert (second.text_a, second.text_b) == ("Did she lose her keys?", "Did she lose her keys?")
    assert (second.group_a, second.group_b) == ("female", "female")
    assert pairs.without == 2
    assert pairs.counterfactual == (first,)


def test_every_pair_of_groups() -> None:
    pairs = make_pairs(["An Asian nurse"], LEXICON.attributes["race"], ["white", "black", "asian"], LEXICON)
    made = [(pair.group_a, pair.group_b, pair.text_a, pair.text_b) for pair in pairs.counterfactual]
    assert made == [
        ("white", "black", "A white nurse", "A black nurse"),
        ("white", "asian", "A white nurse", "An Asian nurse"),
        ("black", "asian", "A black nurse", "An Asian nurse"),
    ]


def test_pairs_that_came_out_equal_are_left_out_and_counted() -> None:
    pairs = make_pairs(["Her disability"], LEXICON.attributes["disability"], None, LEXICON)
    assert (len(pairs), pairs.without, pairs.same) == (0, 0, 1)


def test_notes_of_both_sides() -> None:
    pairs = make_pairs(
        ["The Muslim went to the mosque."], LEXICON.attributes["religion"], ["jewish", "atheist"], LEXICON
    )
    assert pairs[0].notes == ('"mosque" has no form for atheist',)


def test_rows_of_a_table() -> None:
    rows = pair_rows(make_pairs(["He is here."], GENDER, ["female", "male"], LEXICON))
    assert all(tuple(row) == PAIR_COLUMNS for row in rows)
    assert rows[0] == {
        "pair": "0",
        "kind": "counterfactual",
        "prompt": "0",
        "attribute": "gender",
        "group_a": "female",
        "group_b": "male",
        "prompt_a": "She is here.",
        "prompt_b": "He is here.",
        "swapped_a": "He -> She",
        "swapped_b": "",
        "note": "",
    }


def test_unknown_or_too_few_groups() -> None:
    with pytest.raises(InputError, match="gender has no group 'women'"):
        make_pairs(["he"], GENDER, ["women", "male"], LEXICON)
    with pytest.raises(InputError, match="give two groups or more"):
        make_pairs(["he"], GENDER, ["male", "male"], LEXICON)
