"""The journal: what it says is kept is kept, whatever happens to its last line."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from label_folder import SAMPLE, key, write_label_folder, write_table

from biaslens.annotation.folder import Label, tidy
from biaslens.annotation.journal import Journal
from biaslens.errors import InputError, RunLockedError, StorageError
from biaslens.schema import Outcome

AT = "2026-01-01T00:00:00.000+00:00"
LABELS = st.builds(
    Label,
    key=st.sampled_from("abc"),
    outcome=st.sampled_from(Outcome),
    sure=st.booleans(),
    comment=st.text(st.characters(exclude_categories=())).map(tidy),
    at=st.just(AT),
)
EVENTS = st.lists(st.none() | LABELS, max_size=8)  # None: undo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_label_folder(tmp_path / "labels")


def states(events: list[Label | None]) -> list[dict[str, Label]]:
    """Labels that stand after each event that changes anything, in the order given; at first none."""
    known: list[dict[str, Label]] = [{}]
    for event in events:
        labels = dict(known[-1])
        if event is None:
            if not labels:
                continue
            labels.popitem()
        else:
            labels.pop(event.key, None)
            labels[event.key] = event
        known.append(labels)
    return known


def play(folder: Path, events: list[Label | None]) -> list[tuple[str, Label]]:
    with Journal(folder, "ann") as journal:
        for event in events:
            if event is None:
                journal.undo()
            else:
                journal.record(event)
        return list(journal.labels.items())


def reopened(folder: Path) -> list[tuple[str, Label]]:
    return play(folder, [])


@given(EVENTS, EVENTS, st.data())
def test_whatever_is_cut_off_the_last_line_only_its_event_is_lost(events, further, data):
    with tempfile.TemporaryDirectory() as name:
        folder = write_label_folder(Path(name) / "labels")
        known = states(events)
        assert play(folder, events) == reopened(folder) == list(known[-1].items())
        path = folder / "annotators" / "ann.jsonl"
        content = path.read_bytes()
        last = len(content) - (content.rfind(b"\n", 0, -1) + 1)
        path.write_bytes(content[: len(content) - data.draw(st.integers(1, last))])
        before = known[-2] if len(known) > 1 else {}
        assert reopened(folder) == list(before.items())
        # What follows takes the place of the torn line.
        after = states([*before.values(), *further])[-1]
        assert play(folder, further) == reopened(folder) == list(after.items())
        assert all(isinstance(json.loads(line), dict) for line in path.read_bytes().split(b"\n")[:-1])


def test_nothing_of_a_torn_line_stays_behind_a_shorter_one(folder):
    play(folder, [Label("a", Outcome.BIASED, comment="long " * 100, at=AT)])
    path = folder / "annotators" / "ann.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    play(folder, [Label("b", Outcome.BIASED, at=AT)])
    header, event, rest = path.read_text("ascii").split("\n")
    assert (json.loads(header)["annotator"], json.loads(event)["key"], rest) == ("ann", "b", "")


def test_the_format(folder):
    with Journal(folder, "ann") as journal:
        journal.record(Label("k", Outcome.BIASED, sure=False, comment="\u202e é", at=AT))
        journal.undo()
    first, label, withdrawn = map(json.loads, (folder / "annotators" / "ann.jsonl").read_text("ascii").splitlines())
    assert first == {"format": 1, "sample": SAMPLE, "annotator": "ann", "adjudicates": False}
    assert label == {"key": "k", "outcome": "biased", "sure": False, "comment": "\u202e é", "at": AT}
    assert (withdrawn["key"], withdrawn["outcome"]) == ("k", None)


def test_a_changed_label_is_the_latest(folder):
    one, two = Label("a", Outcome.BIASED, at=AT), Label("b", Outcome.BIASED, at=AT)
    changed = Label("a", Outcome.UNBIASED, at=AT)
    with Journal(folder, "ann") as journal:
        journal.extend([one, two])
        journal.record(changed)
        assert journal.undo() == changed
        assert journal.labels == {"b": two}
        assert journal.undo() == two
        assert journal.undo() is None


def test_the_time_is_filled_in_and_the_comment_tidied(folder):
    with Journal(folder, "ann") as journal:
        label = journal.record(Label("a", Outcome.BIASED, comment=" one\r\ntwo\x00\ud800 "))
    assert label.comment == "one\ntwo?"
    assert label.at.endswith("+00:00")


def test_a_second_writer_is_refused_and_another_annotator_is_not(folder):
    with (
        Journal(folder, "ann"),
        Journal(folder, "bob"),
        pytest.raises(RunLockedError, match=r"ann\.jsonl: another process"),
    ):
        Journal(folder, "ann")
    with Journal(folder, "ann"):
        pass


def test_a_failed_write_changes_nothing_and_can_be_tried_again(folder, monkeypatch):
    with Journal(folder, "ann") as journal:
        journal.record(Label("a", Outcome.BIASED, at=AT))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            for change in (lambda: journal.record(Label("b", Outcome.BIASED)), journal.undo):
                with pytest.raises(StorageError, match="No space left"):
                    change()
        assert list(journal.labels) == ["a"]
        journal.record(Label("c", Outcome.REFUSED, at=AT))
    assert [name for name, _ in reopened(folder)] == ["a", "c"]


def test_several_labels_replace_the_file_in_one_step(folder, monkeypatch):
    with Journal(folder, "ann") as journal:
        journal.record(Label("a", Outcome.BIASED, at=AT))
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        with pytest.raises(StorageError, match="Input/output"):
            journal.extend([Label("b", Outcome.BIASED), Label("c", Outcome.BIASED)])
    monkeypatch.undo()
    assert [name for name, _ in reopened(folder)] == ["a"]
    assert [path.name for path in (folder / "annotators").iterdir() if path.suffix == ".tmp"] == []


def test_a_journal_removed_meanwhile_is_an_error(folder):
    with Journal(folder, "ann") as journal:
        journal.path.unlink()
        with pytest.raises(StorageError, match="No such file"):
            journal.record(Label("a", Outcome.BIASED))


@pytest.mark.parametrize("name", ["", "../ann", "a b", "ann.adjudicates", "Jos\u00e9", "-x", "x" * 41, "a\n"])
def test_names_that_are_no_file_names_are_refused(folder, name):
    with pytest.raises(InputError, match="a name is"):
        Journal(folder, name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 1, "sample": "other", "annotator": "ann", "adjudicates": false}\n', "another sample"),
        ('{"format": 1, "sample": "5a3b1e", "annotator": "bob", "adjudicates": false}\n', "journal of bob"),
        ('{"format": 1, "sample": "5a3b1e", "annotator": "ann", "adjudicates": true}\n', "ann adjudicates"),
        ('{"format": 2, "sample": "5a3b1e", "annotator": "ann", "adjudicates": false}\n', "format 1"),
        ('{"key": "a", "outcome": "biased"}\n', "not a journal"),
        ("my notes", "not a journal"),
        ('{"format": 1, "sample": "5a3b1e", "annotator": "ann", "adjudicates": false}\n\x00\n', "row 2: not a line"),
        (
            '{"format": 1, "sample": "5a3b1e", "annotator": "ann", "adjudicates": false}\n'
            '{"key": "a", "outcome": "odd"}\n',
            "row 2, key a: unknown outcome 'odd'",
        ),
    ],
)
def test_a_file_that_is_not_this_journal_is_refused_and_left_alone(folder, content, message):
    path = folder / "annotators" / "ann.jsonl"
    path.parent.mkdir()
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Journal(folder, "ann")
    assert path.read_text(encoding="utf-8") == content
    path.unlink()
    Journal(folder, "ann").close()  # the lock was let go


def test_whoever_labels_cannot_adjudicate(folder):
    Journal(folder, "ann").close()
    with pytest.raises(InputError, match="ann has labelled"):
        Journal(folder, "ann", adjudicates=True)


@pytest.mark.parametrize(("table", "message"), [("ann", "--import"), ("Ann", "almost this name exists; use Ann")])
def test_labels_in_a_table_of_the_same_name_are_not_doubled(folder, table, message):
    write_table(folder, table, {1: "biased"})
    with pytest.raises(InputError, match=message):
        Journal(folder, "ann")
    assert not (folder / "annotators" / "ann.jsonl").exists()
    assert key(1) in write_table(folder, table, {1: "biased"}).read_text()
