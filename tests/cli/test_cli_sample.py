"""`biaslens sample`: the table it prints, the folder it makes, and one line where it cannot be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import biaslens
from run_files import ASKED, Asked, write_run

from biaslens.annotation.folder import Label, read_design, read_info, read_items
from biaslens.annotation.journal import Journal
from biaslens.schema import Outcome


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_table_for_people_and_a_folder_for_annotators(run):
    done = biaslens("sample", run, "--out", "labels")
    # All of so few are drawn, so nothing is left to chance.
    heading, _, *rows = done.stdout.splitlines()
    assert heading == "kind    answers  to label  margin at 0.95"
    assert [row.split() for row in rows if row] == [
        ["yes_no", "18", "18", "0.0000"],
        ["choice", "4", "4", "0.0000"],
        ["why", "1", "1", "0.0000"],
    ]
    assert done.stderr == (
        "choice: left out because they cannot be labelled: 2 not answered\n"
        "why: left out because they cannot be labelled: 2 not judged\n"
        "label them: biaslens annotate labels --as NAME\n"
    )
    assert done.returncode == 0
    assert files(Path("labels")).keys() == {"sample.json", "items.jsonl", "design.csv"}
    assert len(read_items(Path("labels"))) == len(read_design(Path("labels"))) == 23


def test_json_for_programs(run):
    done = biaslens("sample", run, "--out", "labels", "--size", "3", "--kind", "yes_no", "--kind", "why", "--json")
    # Three of the five strata of yes/no answers.
    assert json.loads(done.stdout) == {
        "folder": "labels",
        "sample": read_info(Path("labels"))["sample"],
        "written": True,
        "sizes": [
            {"kind": "yes_no", "population": 18, "size": 3, "margin": None},
            {"kind": "why", "population": 1, "size": 1, "margin": 0.0},
        ],
        "left_out": {"why": {"not judged": 2}},
    }


def test_too_few_for_every_stratum_is_said(run):
    done = biaslens("sample", run, "--out", "labels", "--size", "3", "--kind", "yes_no")
    assert done.stdout.splitlines()[2].split() == ["yes_no", "18", "3", "–"]
    assert "–: the sample is too small to cover every stratum, so it does not represent all answers\n" in done.stderr


def test_twice_is_byte_for_byte_the_same(run):
    options = ("--size", "9", "--seed", "4")
    for folder in ("one", "other"):
        biaslens("sample", run, "--out", folder, *options)
    assert files(Path("one")) == files(Path("other"))
    again = biaslens("sample", run, "--out", "one", *options)
    assert again.returncode == 0
    assert "one: already holds this sample; nothing was changed\n" in again.stderr
    assert files(Path("one")) == files(Path("other"))


def test_labels_are_never_overwritten(run):
    labels = Path("labels")
    biaslens("sample", run, "--out", labels, "--size", "9")
    with Journal(labels, "ann") as journal:
        journal.record(Label(read_items(labels)[0].key, Outcome.BIASED))
    before = files(labels)
    refused = biaslens("sample", run, "--out", labels, "--size", "10")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "biaslens: labels: holds another sample; nothing was changed. Name another folder\n"
    assert biaslens("sample", run, "--out", labels, "--size", "9").returncode == 0
    assert files(labels) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--margin", "5"), "margin: 5.0 is not between 0 and 0.5; 0.05 is usual"),
        (("--confidence", "95"), "confidence: 95.0 is not between 0 and 1; 0.95 is usual"),
        (("--panel", "nobody"), "no panel 'nobody' has judged this run; there is: openai/gpt-4o-mini"),
        (("--condition", "no_role"), "nothing is planned of these kinds and conditions"),
    ],
)
def test_one_line_says_why_it_cannot_be_done(run, options, message):
    failed = biaslens("sample", run, "--out", "labels", *options)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("biaslens: ")
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert not Path("labels").exists()


def test_a_run_without_a_verdict_cannot_be_drawn_from(tmp_path):
    run = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "why", ("unjudged",))])
    failed = biaslens("sample", run, "--out", "labels")
    assert failed.returncode == 1
    assert "no answer to draw (1 not judged)" in failed.stderr


def test_the_run_is_only_read(tmp_path):
    run = write_run(tmp_path / "run.sqlite", ASKED)
    before = run.read_bytes()
    biaslens("sample", run, "--out", "labels")
    assert run.read_bytes() == before


def test_the_folder_stands_beside_the_run_by_default(run):
    assert biaslens("sample", run).returncode == 0
    assert files(run.with_suffix(".labels")).keys() == {"sample.json", "items.jsonl", "design.csv"}


def test_a_folder_with_labels_of_other_runs_is_left_alone(run):
    other = Path("labels/other-run/sample.json")
    other.parent.mkdir(parents=True)
    other.write_text("{}")
    done = biaslens("sample", run, "--out", "labels")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "labels: holds the labels of other runs (other-run); nothing was changed." in done.stderr
    assert files(Path("labels")) == {"other-run/sample.json": b"{}"}
    assert biaslens("sample", run, "--out", "labels/mine").returncode == 0
