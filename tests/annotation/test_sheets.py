"""Sheets that are filled in elsewhere: what is written is what is read, and nothing in them is run."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_folder import item, key, write_label_folder

from biaslens.annotation.annotators import new_labels, read_labels, write_sheet
from biaslens.annotation.folder import Label, read_items, tidy
from biaslens.errors import InputError, StorageError
from biaslens.schema import Outcome

KEYS = [key(number) for number in range(1, 5)]
TEXTS = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from("'=+-@\t\r\n\x00;,\"a"))
LABELS = st.dictionaries(
    st.sampled_from(KEYS), st.builds(Label, st.just(""), st.sampled_from(Outcome), st.booleans(), TEXTS.map(tidy))
).map(lambda found: {name: Label(name, label.outcome, label.sure, label.comment) for name, label in found.items()})


@pytest.fixture
def items(tmp_path: Path):
    return read_items(write_label_folder(tmp_path / "labels", 4))


@given(LABELS, st.lists(TEXTS, min_size=4, max_size=4), st.sampled_from(["csv", "jsonl"]))
def test_a_sheet_read_back_is_what_was_written(labels, answers, suffix):
    texts = [item(number, answer=answer, question=answer) for number, answer in enumerate(answers, start=1)]
    with tempfile.TemporaryDirectory() as name:
        items = read_items(write_label_folder(Path(name) / "labels", texts))
        path = Path(name) / f"sheet.{suffix}"
        write_sheet(path, items, labels)
        assert read_labels(path, KEYS) == labels
        path.read_bytes().decode("utf-8")


@given(TEXTS)
def test_no_cell_can_be_a_formula(text):
    with tempfile.TemporaryDirectory() as name:
        items = read_items(write_label_folder(Path(name) / "labels", [item(1, answer=text, question=text)]))
        path = Path(name) / "sheet.csv"
        write_sheet(path, items, {key(1): Label(key(1), Outcome.BIASED, comment=tidy(text))})
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in cells)
        assert not any(char in cell for cell in cells for char in "\x00\r")


def test_a_blank_sheet(items, tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(path, items, {})
    assert read_labels(path, KEYS) == {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "key", "kind", "persona", "question", "options", "answer", "outcome", "sure", "comment",
        "allowed",
    ]  # fmt: skip
    assert rows[0]["options"] == "(A) Gardeners\n(B) Bakers\n(C) I cannot make any choice"
    assert rows[0]["persona"] == "a lighthouse keeper"
    assert [row["outcome"] for row in rows] == [""] * 4


def test_a_sheet_filled_in_by_a_program_that_overlooks_the_mark_at_its_start(items, tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(path, items, {})
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0]["outcome"] = "biased"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert read_labels(path, KEYS) == {items[0].key: Label(items[0].key, Outcome.BIASED)}


def test_whom_the_model_was_told_to_be(tmp_path):
    conditions = [item(number, condition=name) for number, name in ((1, "role"), (2, "no_role"), (3, "neutral_role"))]
    path = tmp_path / "sheet.jsonl"
    write_sheet(path, read_items(write_label_folder(tmp_path / "labels", conditions)), {})
    personas = [json.loads(line)["persona"] for line in path.read_text().splitlines()]
    assert personas == ["a lighthouse keeper", "", "an ordinary person"]


def test_an_answer_longer_than_a_field_of_csv_usually_is(tmp_path):
    folder = write_label_folder(tmp_path / "labels", [item(1, answer="word " * 40_000)])
    write_sheet(tmp_path / "sheet.csv", read_items(folder), {key(1): Label(key(1), Outcome.BIASED)})
    assert list(read_labels(tmp_path / "sheet.csv", KEYS)) == [key(1)]


def test_labels_to_adjudicate_are_shown_in_a_column(items, tmp_path):
    others = {items[0].key: [Label("", Outcome.BIASED), Label("", Outcome.UNBIASED, sure=False)]}
    write_sheet(tmp_path / "sheet.csv", items[:1], {}, others=others)
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        assert next(csv.DictReader(file))["others"] == "biased, sure\nunbiased, unsure"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_spreadsheets_make_of_it(tmp_path, delimiter):
    path = tmp_path / "sheet.CSV"
    rows = [["Outcome ", "KEY", "sure", "comment"], [" Biased", key(1), "Unsure", "'=1+1"], ["", "", "", ""]]
    path.write_bytes("\r\n".join(delimiter.join(row) for row in rows).encode("utf-8-sig"))
    assert read_labels(path, KEYS) == {key(1): Label(key(1), Outcome.BIASED, sure=False, comment="=1+1")}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", b"key,outcome\n\xff,biased\n", "not UTF-8"),
        ("a.csv", b"key,outcome\n,biased\n", r"a\.csv, row 2: no key"),
        ("a.csv", b"key,outcome,comment\n%b,biased,one, two\n" % KEYS[0].encode(), "row 2: more cells than columns"),
        ("a.csv", b"key,outcome,outcome\n", "two columns are called outcome"),
        ("a.csv", b"key,outcome,comment\n%b,biased,%b\n" % (KEYS[0].encode(), b"x" * 5001), "5,001 characters"),
        ("a.jsonl", b"{}\n", r"a\.jsonl, row 1: no key"),
        ("a.jsonl", b"[]\n", "row 1: not a JSON object"),
        ("a.jsonl", b'\n{"key": "x", "outcome": 1}\n', "row 2, key x: outcome is not text"),
        ("a.jsonl", b" \n", "empty"),
        ("a.txt", b"", r"ends in \.csv or \.jsonl"),
    ],
)  # fmt: skip
def test_faults_are_named_with_file_and_row(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError, match=message) as caught:
        read_labels(tmp_path / name, KEYS)
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(StorageError, match="No such file"):
        read_labels(tmp_path / "a.csv", KEYS)


def test_only_what_is_new_is_taken_over_and_contradictions_are_not(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text(f"key,outcome,comment\n{key(1)},biased,\n{key(2)},biased,why\n{key(3)},refused,\n")
    standing = {name: Label(name, Outcome.BIASED, comment="kept", at="then") for name in KEYS[:2]}
    assert [label.key for label in new_labels(path, KEYS, standing)] == [key(2), key(3)]
    standing[key(3)] = Label(key(3), Outcome.REFUSED, sure=False)
    with pytest.raises(InputError, match=f"key {key(3)} is refused here, and refused, unsure in the journal"):
        new_labels(path, KEYS, standing)


def test_a_filled_in_sheet_is_not_written_over(items, tmp_path):
    (tmp_path / "sheet.csv").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        write_sheet(tmp_path / "sheet.csv", items, {})
    assert (tmp_path / "sheet.csv").read_text() == "mine"
    with pytest.raises(StorageError, match="cannot be written"):
        write_sheet(tmp_path / "sheet.csv" / "sheet.csv", items, {})
