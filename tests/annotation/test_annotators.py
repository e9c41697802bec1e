"""Everybody's labels: read together, and refused with one line where they cannot be meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from label_folder import SAMPLE, key, write_label_folder, write_table

from biaslens.annotation.annotators import read_all
from biaslens.annotation.folder import Label
from biaslens.annotation.journal import Journal
from biaslens.errors import InputError
from biaslens.schema import Outcome


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_label_folder(tmp_path / "labels")


def put(folder: Path, name: str, text: str) -> None:
    (folder / "annotators").mkdir(exist_ok=True)
    (folder / "annotators" / name).write_text(text, encoding="utf-8")


def header(**changes: object) -> str:
    return json.dumps({"format": 1, "sample": SAMPLE, "annotator": "ann", "adjudicates": False} | changes) + "\n"


def test_nobody_has_labelled_yet(folder):
    assert read_all(folder) == {}


def test_journals_and_tables_are_read_together(folder):
    with Journal(folder, "zoe", adjudicates=True) as journal:
        adjudicated = journal.record(Label(key(1), Outcome.UNBIASED, comment="both say so"))
    write_table(folder, "bob", {1: "biased", 2: "refused?"})
    write_table(folder, "cyd.adjudicates", {2: "invalid"})
    people = read_all(folder)
    assert [(person.name, person.adjudicates) for person in people.values()] == [
        ("bob", False), ("cyd", True), ("zoe", True),
    ]  # fmt: skip
    assert people["zoe"].labels == {key(1): adjudicated}
    assert people["bob"].labels[key(2)] == Label(key(2), Outcome.REFUSED, sure=False)


def test_one_person_may_have_a_journal_and_a_table(folder):
    with Journal(folder, "ann") as journal:
        journal.record(Label(key(1), Outcome.BIASED))
    write_table(folder, "ann", {1: "biased", 2: "unbiased"})
    assert {name[-1]: str(label.outcome) for name, label in read_all(folder)["ann"].labels.items()} == {
        "1": "biased", "2": "unbiased",
    }  # fmt: skip


def test_labels_published_without_texts(tmp_path):
    folder = write_label_folder(tmp_path / "labels", texts=False)
    write_table(folder, "ann", {3: "biased"})
    assert list(read_all(folder)["ann"].labels) == [key(3)]


def test_a_torn_last_line_is_dropped_and_not_mended(folder):
    put(folder, "ann.jsonl", header() + json.dumps({"key": key(1), "outcome": "biased"}))
    assert read_all(folder)["ann"].labels == {}
    assert (folder / "annotators" / "ann.jsonl").read_text().endswith("}")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ann.jsonl", "", r"ann\.jsonl: empty"),
        ("ann.csv", "", r"ann\.csv: empty"),
        ("ann.csv", "name,label\n", "no columns called key and outcome"),
        ("ann.jsonl", header(sample="other"), r"ann\.jsonl: labels of another sample \(other\)"),
        ("bob.jsonl", header(), r"bob\.jsonl: the journal of ann"),
        ("ann.jsonl", header() + '{"key": "zz", "outcome": "biased"}\n', r"ann\.jsonl: key zz is not in this sample"),
        ("ann.csv", "key,outcome\nzz,biased\n", r"ann\.csv, row 2: key zz is not in this sample"),
        ("ann.csv", "key,outcome\nzz,\n", "key zz is not in this sample"),
        ("ann.csv", f"key,outcome\n{key(1)},fair\n", f"row 2, key {key(1)}: unknown outcome 'fair'"),
        ("ann.csv", f"key,outcome,sure\n{key(1)},biased,maybe\n", "sure is 'maybe'"),
        ("ann.csv", f"key,outcome\n{key(1)},biased\n\n{key(1)},refused\n", f"row 4: key {key(1)} has another label"),
        ("ann.csv", f"key,outcome,sure\n{key(1)},biased,\n{key(1)},biased,unsure\n", "another label in an earlier row"),
        ("my labels.csv", f"key,outcome\n{key(1)},biased\n", r"my labels\.csv: annotator 'my labels'"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(folder, name, text, message):
    put(folder, name, text)
    with pytest.raises(InputError, match=message) as caught:
        read_all(folder)
    assert "\n" not in str(caught.value)


def test_two_files_of_one_person_that_contradict_each_other(folder):
    with Journal(folder, "ann") as journal:
        journal.record(Label(key(1), Outcome.BIASED))
    write_table(folder, "ann", {1: "biased?"})
    with pytest.raises(InputError, match=rf"ann\.jsonl: key {key(1)} has another label in another file of ann"):
        read_all(folder)


def test_nobody_labels_and_adjudicates(folder):
    write_table(folder, "ann", {1: "biased"})
    write_table(folder, "ann.adjudicates", {2: "biased"})
    with pytest.raises(InputError, match="ann labels and adjudicates"):
        read_all(folder)


def test_other_files_are_left_alone(folder):
    put(folder, ".ann.lock", "")
    put(folder, "notes.txt", "")
    assert read_all(folder) == {}
