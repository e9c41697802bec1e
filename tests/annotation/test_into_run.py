"""Labels are taken into the run they are of, and into no other."""

import json
import sqlite3

import pytest
from labelled_runs import B, R, U, answer_key, questions, write_labels
from run_files import write_run

from biaslens.annotation.annotators import take_labels
from biaslens.annotation.folder import answers_hash
from biaslens.errors import InputError, StorageError

ASKED = questions("BBUU")
ALL = dict.fromkeys(ASKED, 0.5)


@pytest.fixture
def four(tmp_path):
    return write_run(tmp_path / "four.sqlite", ASKED)


def held(run, table="sampled"):
    with sqlite3.connect(run) as connection:
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
    connection.close()
    return rows


def test_labels_design_and_what_people_adjudicated(four, tmp_path):
    folder = write_labels(
        tmp_path / "labels", ALL, {"ann": [B, B, U], "ben": [B, U, None]}, adjudicates=[None, "refused?"]
    )
    taken = take_labels(four, folder)
    assert (taken.sampled, taken.annotators, taken.final, taken.open) == (4, {"ann": 3, "ben": 2, "judge": 1}, 3, 0)
    found = {key: rest for key, *rest in held(four)}
    assert [found[answer_key(asked)] for asked in ASKED] == [
        ["one sample", "yes_no/biased", 0.5, B, 1, "agreed"],
        ["one sample", "yes_no/biased", 0.5, R, 0, "adjudicated"],
        ["one sample", "yes_no/unbiased", 0.5, U, 1, "single"],
        ["one sample", "yes_no/unbiased", 0.5, None, 0, "unlabelled"],
    ]
    assert (answer_key(ASKED[1]), "judge", R, 0, "", 1) in held(four, "labels")
    assert len(held(four, "labels")) == 6


def test_people_who_differ_leave_an_answer_open(four, tmp_path):
    taken = take_labels(four, write_labels(tmp_path / "labels", ALL, {"ann": [B, B], "ben": [U, B]}))
    assert (taken.final, taken.open) == (1, 1)


def test_taking_twice_is_taking_once(four, tmp_path):
    folder = write_labels(tmp_path / "labels", ALL, {"ann": [B, U, U, U]})
    before = (take_labels(four, folder), held(four), held(four, "labels"))
    assert (take_labels(four, folder), held(four), held(four, "labels")) == before


def test_a_label_that_is_gone_from_the_folder_goes_from_the_run(four, tmp_path):
    take_labels(four, write_labels(tmp_path / "labels", ALL, {"ann": [B, U, U, U]}))
    take_labels(four, write_labels(tmp_path / "labels", ALL, {"ann": [None, B]}))
    assert [(row[0], row[2]) for row in held(four, "labels")] == [(answer_key(ASKED[1]), B)]


def test_samples_without_a_common_answer_stand_side_by_side(four, tmp_path):
    for number, asked in enumerate(ASKED[:2]):
        folder = write_labels(tmp_path / str(number), {asked: 1.0}, {"ann": [B]}, sample=f"sample {number}")
        assert take_labels(four, folder).replaced == ()
    assert len(held(four, "labels")) == 2


def test_a_sample_with_a_common_answer_is_replaced_as_a_whole(four, tmp_path):
    take_labels(four, write_labels(tmp_path / "small", dict.fromkeys(ASKED[:2], 0.1), {"ann": [B, B]}, sample="small"))
    large = write_labels(tmp_path / "large", dict.fromkeys(ASKED[1:], 0.2), {"ann": [U, U, U]}, sample="large")
    assert take_labels(four, large).replaced == ("small",)
    assert {row[1] for row in held(four)} == {"large"}
    assert len(held(four, "labels")) == 3


def test_labels_of_other_answers_are_of_another_run(four, tmp_path):
    strangers = dict.fromkeys([*ASKED, *questions("BU", attribute="race")], 0.5)
    folder = write_labels(tmp_path / "labels", strangers, {"ann": [B] * 6})
    with pytest.raises(InputError, match=r"2 of 6 sampled answers are not in .*the labels are of another run"):
        take_labels(four, folder)
    assert held(four) == held(four, "labels") == []


def test_labels_of_another_run_of_the_same_model(four, tmp_path):
    # The same questions and so the same keys, but other words.
    own = answers_hash((answer_key(asked), asked.answer) for asked in ASKED)
    other = answers_hash((answer_key(asked), "Something else.") for asked in ASKED)
    take_labels(four, write_labels(tmp_path / "own", ALL, {"ann": [B]}, answers_hash=own))
    before = held(four)
    with pytest.raises(InputError, match="not the ones that were labelled; the labels are of another run"):
        take_labels(four, write_labels(tmp_path / "other", ALL, {"ann": [U]}, answers_hash=other))
    assert held(four) == before


@pytest.mark.parametrize(
    ("row", "message"),
    [("abc,biased,sure", "abc"), (f"{answer_key(ASKED[0])},unbiased,sure", f"{answer_key(ASKED[0])}.*")],
)
def test_unknown_answers_and_two_labels_of_one_person(four, tmp_path, row, message):
    folder = write_labels(tmp_path / "labels", ALL, {"ann": [B]})
    with (folder / "annotators" / "ann.csv").open("a", encoding="utf-8") as file:
        file.write(row + "\n")
    with pytest.raises(InputError, match=message):
        take_labels(four, folder)
    assert held(four) == []


def test_a_label_of_an_answer_that_the_design_lacks(four, tmp_path):
    folder = write_labels(tmp_path / "labels", dict.fromkeys(ASKED[:1], 0.5), {"ann": [B]})
    item = {
        "key": answer_key(ASKED[1]), "kind": "yes_no", "attribute": "age", "role": "r", "persona": "p",
        "condition": "role", "question": "q", "options": [], "answer": "a",
    }  # fmt: skip
    (folder / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    (folder / "annotators" / "ann.csv").write_text(f"key,outcome\n{item['key']},biased\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"design\.csv: has no answer {item['key']}, which ann has labelled"):
        take_labels(four, folder)


def test_a_folder_that_nobody_has_labelled(four, tmp_path):
    with pytest.raises(InputError, match=r"nobody has labelled anything yet; `biaslens annotate"):
        take_labels(four, write_labels(tmp_path / "labels", ALL, {}))


def test_a_run_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match="no such run file"):
        take_labels(tmp_path / "none.sqlite", write_labels(tmp_path / "labels", ALL, {"ann": [B]}))
    assert not (tmp_path / "none.sqlite").exists()
