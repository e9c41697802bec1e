"""The tables a user brings: every format, and one line for every fault."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from biaslens.errors import InputError
from biaslens.usecase import assess_lists, assess_predictions
from biaslens.usecase._reading import ROWS, Response, ResponseTable, Series, read_prompts
from biaslens.usecase._tables import read_predictions, read_recommendations


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def responses(source, **options) -> list[Response]:
    return [response for part in ResponseTable(source, **options).parts() for response in part]


PROMPTS = {"a": "Is she kind?", "b": "Größe, 🙂?"}


@pytest.mark.parametrize("kind", ["csv", "csv with a mark", "tsv", "jsonl", "jsonl with a mark", "parquet", "frame"])
def test_every_format_gives_the_same_prompts(kind):
    frame = pd.DataFrame({"prompt_id": list(PROMPTS), "prompt": list(PROMPTS.values())})
    mark = "﻿" if "mark" in kind else ""
    if kind.startswith("csv"):
        source = written("p.csv", mark + frame.to_csv(index=False))
    elif kind == "tsv":
        source = written("p.TSV", frame.to_csv(index=False, sep="\t"))
    elif kind.startswith("jsonl"):
        lines = [json.dumps(row, ensure_ascii=False) for row in frame.to_dict("records")]
        source = written("p.jsonl", mark + "\n\n".join(lines) + "\n")
    elif kind == "parquet":
        source = Path("p.parquet")
        frame.to_parquet(source)
    else:
        source = frame
    assert read_prompts(source) == PROMPTS


def test_rows_are_numbered_where_there_is_no_id_and_equal_prompts_are_two():
    assert read_prompts(pd.DataFrame({"prompt": ["x", "x", "y"]})) == {"1": "x", "2": "x", "3": "y"}
    assert read_prompts(pd.DataFrame({"prompt": ["x", "x", "y"]}), limit=2) == {"1": "x", "2": "x"}
    # One id twice with the same prompt is one prompt.
    assert read_prompts(pd.DataFrame({"prompt_id": [7, 7], "prompt": ["x", "x"]})) == {"7": "x"}


def test_more_rows_than_are_read_at_once():
    source = written("p.csv", "prompt\n" + "".join(f"prompt {n}\n" for n in range(ROWS + 3)))
    assert list(read_prompts(source))[-1] == str(ROWS + 3)


def test_ids_stay_exact_whatever_their_type():
    big = 12345678901234567891
    source = written("r.jsonl", f'{{"prompt_id": {big}, "response": "x"}}\n{{"response": "y"}}\n')
    assert [response.prompt_id for response in responses(source)] == [str(big), "row 2"]
    frame = pd.DataFrame({"prompt_id": [1.0, 2.5], "response": ["x", None]})
    assert [(r.prompt_id, r.text) for r in responses(frame)] == [("1", "x"), ("2.5", "")]


FAULTS = {
    "missing.csv": (None, "missing.csv: no such file"),
    "empty.csv": ("", "empty.csv: the file is empty"),
    "empty.jsonl": ("", "empty.jsonl: no column 'prompt'; there are none"),
    "heads.csv": ("prompt\n", "heads.csv: no rows; give a file with at least one"),
    "column.csv": ("question\nWho?\n", "column.csv: no column 'prompt'; there are question"),
    "latin.csv": ("prompt\nGröße\n".encode("latin-1"), "latin.csv: not UTF-8 text"),
    "latin.jsonl": ('{"prompt": "Größe"}\n'.encode("latin-1"), "latin.jsonl: not UTF-8 text"),
    "table.xlsx": ("x", "table.xlsx: a table is one of .csv, .tsv, .jsonl, .parquet"),
    "no table": ("x", "no table: a table is one of"),
    "bad.jsonl": ('{"prompt": "x"}\n{"prompt": \n', "bad.jsonl: line 2 is not JSON: "),
    "list.jsonl": ('["x"]\n', "list.jsonl: line 1 is not a JSON object"),
    "deep.jsonl": ("[" * 100_000, "deep.jsonl: line 1 is not JSON: nested too deeply"),
    "bad.parquet": ("not a parquet file", "bad.parquet: cannot be read: "),
    "open.csv": ('prompt\n"never closed\n', "open.csv: cannot be read: Error tokenizing data"),
    "wide.csv": ("prompt,group\na,b,c\nd,e,f\n", "wide.csv: rows have more cells than the first line has names"),
    "comma.csv": ("prompt\na,\nb,\n", "comma.csv: rows have more cells than the first line has names"),
    "blank.csv": ('prompt\nx\n" "\n', "blank.csv: row 2 has an empty prompt; remove it"),
    "twice.csv": (
        "prompt_id,prompt\n1,x\n1,y\n",
        "twice.csv: row 2: prompt_id '1' stands for two different prompts",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line(name):
    content, says = FAULTS[name]
    if content is not None:
        written(name, content)
    with pytest.raises(InputError) as error:
        read_prompts(Path(name))
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


def test_a_folder_is_no_table():
    Path("folder.csv").mkdir()
    with pytest.raises(InputError, match=r"folder\.csv: cannot be read: "):
        read_prompts(Path("folder.csv"))


def test_half_a_character_is_replaced_and_the_rest_kept():
    (found,) = responses(written("r.jsonl", '{"response": "a \\ud83d b 🙂"}\n'))
    assert found.text == "a ? b 🙂"
    found.text.encode()


def test_responses_are_numbered_by_prompt_and_series():
    frame = pd.DataFrame(
        [
            ("1", "", "", "", "r1"),
            ("1", "", "", "", "r2"),
            ("1", "gender", "female", "", "r3"),
            ("1", "gender", "female", "no_effect", "r4"),
            ("1", "gender", "female", "", "r5"),
        ],
        columns=["prompt_id", "attribute", "group", "series", "response"],
    )  # fmt: skip
    assert [(r.series, r.group, r.trial) for r in responses(frame)] == [
        (Series.ORIGINAL, "", 0),
        (Series.ORIGINAL, "", 1),
        (Series.COUNTERFACTUAL, "female", 0),
        (Series.NO_EFFECT, "female", 0),
        (Series.COUNTERFACTUAL, "female", 1),
    ]


def test_trials_that_are_given_are_kept():
    frame = pd.DataFrame({"prompt_id": ["1", "1"], "trial": [4, 0], "response": ["x", "y"]})
    assert [r.trial for r in responses(frame)] == [4, 0]


def test_a_prompt_that_is_not_known_is_none():
    frame = pd.DataFrame({"prompt_id": ["1", "2"], "prompt": ["", "Is she?"], "response": ["x", "y"]})
    assert [r.prompt for r in responses(frame)] == [None, "Is she?"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"text": ["x"]}, "no column 'response'"),
        ({"group": ["a"], "response": ["x"]}, "column 'group' needs a column 'prompt_id'"),
        ({"group": ["a"], "prompt_id": ["1"], "response": ["x"]}, "needs a column 'attribute', or one --attributes"),
        ({"group": ["a"], "prompt_id": ["1"], "attribute": [""], "response": ["x"]}, "row 1: group 'a' has no attrib"),
        ({"series": ["again"], "response": ["x"]}, "row 1: series 'again' is none of original, counterfactual, no_eff"),
        ({"series": ["no_effect"], "response": ["x"]}, "row 1: series no_effect does not go with group ''"),
        ({"prompt_id": ["1"], "trial": ["first"], "response": ["x"]}, "row 1: trial 'first' is no whole number"),
        (
            {"prompt_id": ["1", "1"], "trial": ["0", "0"], "response": ["x", "y"]},
            "row 2: trial 0 of prompt '1' occurs twice",
        ),
    ],
)
def test_responses_that_cannot_be_read(rows, says):
    with pytest.raises(InputError, match=says):
        responses(pd.DataFrame(rows))


def test_a_frame_with_a_column_twice():
    frame = pd.DataFrame([["x", "y"]], columns=["response", "response"])
    with pytest.raises(InputError, match="column 'response' occurs twice"):
        responses(frame)


LISTS = {("a", "1"): [("x", "y", "z")], ("b", "1"): [("z", "x")]}


def lists(source) -> dict[tuple[str, str], list[tuple[str, ...]]]:
    found = read_recommendations(source)
    return {(group, name): list(trials) for group, by in found.lists.items() for name, trials in by.items()}


@pytest.mark.parametrize("kind", ["json", "bars", "ranks", "parquet"])
def test_every_way_to_write_a_list(kind):
    if kind == "ranks":
        cells = [("1", g, item, rank) for (g, _), (items,) in LISTS.items() for rank, item in enumerate(items, start=1)]
        source = pd.DataFrame(cells[::-1], columns=["prompt_id", "group", "item", "rank"])
    else:

        def cell(items):
            return json.dumps(items) if kind == "json" else " | ".join(items) if kind == "bars" else list(items)

        source = pd.DataFrame([("1", g, cell(i)) for (g, _), (i,) in LISTS.items()],
                              columns=["prompt_id", "group", "items"])  # fmt: skip
        if kind == "parquet":
            source.to_parquet("l.parquet")
            source = Path("l.parquet")
    assert lists(source) == LISTS


def test_repeated_items_are_taken_out_and_counted():
    found = read_recommendations(pd.DataFrame({"prompt": ["p"], "group": ["a"], "items": ["x|y|x|y|z"]}))
    assert (found.lists["a"]["p"], found.repeated) == ([("x", "y", "z")], 2)


def test_trials_are_put_in_order_and_an_empty_group_is_neutral():
    frame = pd.DataFrame({"prompt": "p", "group": ["a", "a", ""], "trial": [1, 0, "²"], "items": ["x", "y", "z"]})
    assert lists(frame) == {("a", "p"): [("y",), ("x",)], ("neutral", "p"): [("z",)]}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"items": ["x"]}, "no column 'prompt'"),
        ({"prompt": ["p"], "items": ["x"]}, "no column 'group'"),
        ({"prompt": ["p"], "group": ["a"]}, "no column 'item'"),
        ({"prompt": ["p"], "group": ["a"], "items": ["[x"]}, "row 1: items is no JSON list"),
        ({"prompt": ["p"], "group": ["a"], "items": ["[" * 100_000]}, "row 1: items is no JSON list"),
        ({"prompt": ["p"], "group": ["a"], "items": ['["x", null]']}, "row 1: items is a JSON list of other things"),
        ({"prompt": ["p"], "group": ["a"], "item": ["x"], "rank": ["best"]}, "row 1: rank 'best' is no number"),
        ({"prompt": ["p"], "group": ["a"], "item": ["x"], "rank": ["nan"]}, "row 1: rank 'nan' is no number"),
        ({"prompt": ["p"], "group": ["a"], "item": [" "], "rank": [1]}, "row 1: a rank without an item"),
        (
            {"prompt": ["p", "p"], "group": ["a", "a"], "item": ["x", "y"], "rank": [1, 1.0]},
            "prompt 'p', group 'a': a rank occurs twice; tell several lists apart with a column trial",
        ),
    ],
)
def test_lists_that_cannot_be_read(rows, says):
    with pytest.raises(InputError, match=says):
        read_recommendations(pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"prompt_id": ["p"], "group": ["a"], "items": ["x|y"]}, "only group 'a' is there; a comparison needs two"),
        ({"prompt_id": ["p", "p"], "group": ["a", "b"], "items": ["x", "y"]}, "no list has 2 items, the longest has 1"),
        ({"prompt_id": ["p", "p"], "group": ["a", "b"], "items": ["", ""]}, "the longest has 0; give lists with items"),
    ],
)
def test_lists_that_cannot_be_compared(rows, says):
    with pytest.raises(InputError, match=says):
        assess_lists(pd.DataFrame(rows), k=2)


def test_rows_with_missing_values_are_left_out_and_counted():
    frame = pd.DataFrame({"g": ["a", None, "b", " "], "y": [1, 1, np.nan, 1], "p": [1, 0, 1, 1]})
    rows = read_predictions(frame, group="g", label="y", prediction="p")
    assert (rows.group, rows.label, rows.prediction, rows.left_out) == (["a"], ["1"], ["1"], 3)


def test_a_whole_number_is_one_class_however_it_is_written():
    source = written("p.csv", "g,y,p\na,1,1.0\na,0,0.0\nb,1,0.0\nb,0,1.0\n")
    rows = read_predictions(source, group="g", label="y", prediction="p")
    assert rows.prediction == ["1", "0", "0", "1"]
    found = assess_predictions(source, group="g", label="y", prediction="p", positives=["1.0"])
    assert found.measure("False negative rate (FNRD), difference").estimate.value == 1.0  # 0 of 1 and 1 of 1


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        ({"g": ["a", "b"], "p": [1, 0]}, {}, "give the column of labels, or ask for parity"),
        ({"g": ["a", "b"], "p": [1, 0]}, {"label": "y"}, "no column 'y'; there are g, p"),
        ({"g": ["a", "a"], "p": [1, 0]}, {"parity": True}, "only group 'a' is there|a comparison needs two groups"),
        ({"g": ["a", "b"], "p": [1, 0]}, {"parity": True, "positives": ["yes"]}, "'yes' is no label or prediction"),
        ({"g": ["a", "b"], "p": ["", ""]}, {"parity": True}, "no row has values in all of g, p"),
    ],
)
def test_predictions_that_cannot_be_used(rows, options, says):
    with pytest.raises(InputError, match=says):
        assess_predictions(pd.DataFrame(rows), group="g", prediction="p", **options)


def test_one_column_as_label_and_prediction():
    frame = pd.DataFrame({"g": ["a", "b", "a", "b"], "p": [1, 1, 0, 0]})
    found = assess_predictions(frame, group="g", prediction="p", label="p")
    assert found.measure("False negative rate (FNRD), difference").estimate.value == 0.0
