"""`biaslens annotate` without its page: sheets out, labels in, and one line where it cannot be done."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command import Done, biaslens
from label_folder import key, write_label_folder, write_table

from biaslens.annotation.annotators import read_all
from biaslens.annotation.folder import Label
from biaslens.annotation.journal import Journal
from biaslens.schema import Outcome


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_label_folder(tmp_path / "labels", 4)


def annotate(folder: Path, name: str, *more: str | Path) -> Done:
    return biaslens("annotate", folder, "--as", name, *more)


def refusal(folder: Path, name: str, *more: str | Path) -> str:
    """The one line that says why it cannot be done."""
    done = annotate(folder, name, *more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    return done.stderr


def fill_in(path: Path, outcomes: dict[str, str]) -> None:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"outcome": outcomes.get(row["key"], "")} for row in rows)


def test_a_blank_sheet_is_filled_in_elsewhere_and_taken_over(folder, tmp_path):
    sheet = tmp_path / "sheet.csv"
    assert annotate(folder, "ann", "--export", sheet).stdout == f"{sheet}: 0 of 4 labelled\n"
    assert not (folder / "annotators").exists()
    fill_in(sheet, {key(1): "biased", key(3): "refused"})
    assert "2 labels imported, 2 in total" in annotate(folder, "ann", "--import", sheet).stdout
    assert "0 labels imported, 2 in total" in annotate(folder, "ann", "--import", sheet).stdout
    labels = read_all(folder)["ann"].labels
    assert {name: str(label.outcome) for name, label in labels.items()} == {key(1): "biased", key(3): "refused"}


def test_labels_are_exported_with_their_texts(folder, tmp_path):
    with Journal(folder, "ann") as journal:
        journal.record(Label(key(2), Outcome.INVALID, sure=False, comment="no answer"))
    annotate(folder, "ann", "--export", tmp_path / "sheet.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "sheet.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == [None, "invalid", None, None]
    assert (rows[1]["sure"], rows[1]["comment"], rows[1]["answer"]) == (False, "no answer", "Answer 2.")


def test_one_wrong_row_and_nothing_is_taken_over(folder, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"key,outcome\n{key(1)},biased\n{key(2)},fair\n")
    said = refusal(folder, "ann", "--import", sheet)
    assert f"sheet.csv, row 3, key {key(2)}: unknown outcome 'fair'" in said
    assert read_all(folder)["ann"].labels == {}


def test_adjudicating_in_a_sheet(folder, tmp_path):
    write_table(folder, "ann", {1: "biased", 2: "biased"})
    write_table(folder, "bob", {1: "biased", 2: "unbiased?"})
    sheet = tmp_path / "sheet.csv"
    assert "0 of 1 labelled" in annotate(folder, "zoe", "--adjudicate", "--export", sheet).stdout
    fill_in(sheet, {key(2): "refused"})
    annotate(folder, "zoe", "--adjudicate", "--import", sheet)
    assert read_all(folder)["zoe"].adjudicates


@pytest.mark.parametrize(
    ("tables", "name", "message"),
    [
        ({}, "zoe", "needs two people who differ; labels so far: none"),
        ({"ann": {1: "biased"}}, "zoe", "labels so far: ann"),
        ({"ann": {1: "biased"}, "bob": {1: "biased?", 2: "refused"}}, "zoe", "nothing to adjudicate: ann, bob agree"),
        ({"ann": {1: "biased"}, "bob": {1: "refused"}}, "bob", "bob has labelled"),
        ({}, "../zoe", "a name is"),
    ],
)
def test_nothing_to_adjudicate(folder, tables, name, message):
    for annotator, labels in tables.items():
        write_table(folder, annotator, labels)
    assert message in refusal(folder, name, "--adjudicate", "--no-browser")


def test_an_empty_sample(tmp_path):
    assert "empty" in refusal(write_label_folder(tmp_path / "labels", []), "ann", "--no-browser")


def test_import_and_export_exclude_each_other(folder):
    assert annotate(folder, "ann", "--import", "a.csv", "--export", "b.csv").returncode == 2
