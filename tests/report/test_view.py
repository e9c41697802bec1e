"""The viewer's answers: counted by hand, found by words, and set side by side."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_files import ASKED, Asked, write_run

from biaslens.errors import InputError, StorageError
from biaslens.report.view.answers import Answers
from biaslens.report.view.detail import parts_of
from biaslens.report.view.index import index_words, open_run
from biaslens.report.view.live import Objections, as_csv
from biaslens.report.view.query import Wanted, matrix, page, rate_of, select
from biaslens.runfile import Answer, Store, viewed_texts

ENCOUNTER = {"encounter": "e1", "target": "age", "disfavoured": "old people", "groups": ("old people", "young people")}
OPTIONS = ("The old man", "The young man", "Neither")


def answers_of(*runs: Path) -> Answers:
    return Answers([open_run(path) for path in runs])


def counts(answers: Answers, name: str, **chosen: str) -> dict[str, int]:
    """How many answers have each value of a column, among those chosen."""
    found = select(answers, Wanted({key: (value,) for key, value in chosen.items()})).counts[name]
    return {value: int(count) for value, count in zip(answers.columns[name].values, found, strict=True) if count}


def test_answers_are_counted_as_by_hand(run):
    answers = answers_of(run)
    # By the table above ASKED: 11 biased, 9 unbiased, 2 refused, 1 invalid, 1 error, 2 unjudged, 1 unasked.
    assert counts(answers, "outcome") == {
        "biased": 11, "unbiased": 9, "refused": 2, "invalid": 1, "error": 1, "unjudged": 2, "unasked": 1
    }  # fmt: skip
    assert counts(answers, "kind") == {"yes/no": 18, "choice": 6, "why": 3}
    assert counts(answers, "role", outcome="biased") == {"Teenagers": 6, "Elders": 1, "Nomads": 4}
    # A column's numbers are those without its own choice.
    assert counts(answers, "outcome", outcome="biased") == counts(answers, "outcome")
    # BBU BUU | BBI | B.. | UUU RRU | B.. | BBB UBU: those of BBU, BUU, RRU and UBU differ; one alone says nothing.
    assert counts(answers, "trials") == {"alike": 9, "differ": 12}


def test_a_rate_is_that_of_the_report(run):
    answers = answers_of(run)
    found = rate_of(answers, select(answers, Wanted()).mask)
    assert found.value == pytest.approx(11 / 22)
    yes_no = rate_of(answers, select(answers, Wanted({"kind": ("yes/no",)})).mask)
    assert yes_no.value == pytest.approx(7 / 18)


def test_pages_follow_each_other_without_gap_or_repeat(tmp_path, monkeypatch):
    monkeypatch.setattr("biaslens.report.view.query.PAGE", 4)
    answers = answers_of(write_run(tmp_path / "run.sqlite", ASKED))
    for sort in ("reading", "doubt", "newest"):
        wanted, seen = Wanted(sort=sort), []
        while True:
            found = page(answers, select(answers, wanted), wanted)
            seen += found.rows.tolist()
            if found.following is None:
                break
            wanted = replace(wanted, after=found.following)
        assert sorted(seen) == list(range(27)), sort


def test_two_runs_of_the_same_questions_are_paired(tmp_path):
    one = write_run(tmp_path / "one.sqlite", [Asked("age", "Elders", "yes_no", ("biased",) * 3)])
    other = [
        Asked("age", "Elders", "yes_no", ("unbiased",) * 3),
        Asked("age", "Elders", "yes_no", ("biased",), number=2),
    ]
    two = write_run(tmp_path / "two.sqlite", other, model="openai/other")
    answers = answers_of(one, two)
    assert len(answers.questions) == 2
    found = matrix(answers, Wanted(differ="models"))
    assert [answers.questions[number].question_id for number in found.questions] == [other[0].question_id]
    assert len(matrix(answers, Wanted()).questions) == 2
    assert counts(answers, "model") == {"openai/gpt-4o-mini": 3, "openai/other": 4}


def test_the_role_flips_a_question(tmp_path):
    asked = [
        Asked("age", "Elders", "yes_no", ("biased", "biased", "unbiased"), number=number, condition=condition)
        if condition == "role" or number == 1
        else Asked("age", "Elders", "yes_no", ("unbiased",) * 3, number=number, condition=condition)
        for number in (1, 2)
        for condition in ("role", "no_role")
    ]
    answers = answers_of(write_run(tmp_path / "run.sqlite", asked, conditions=["role", "no_role"]))
    (flipped,) = matrix(answers, Wanted(differ="role")).questions
    assert answers.questions[flipped].question_id == asked[2].question_id


def test_what_is_denied_and_followed(tmp_path):
    choice = {"options": OPTIONS, "picks": "The old man", "choice": 0, **ENCOUNTER}
    denied = [
        Asked("age", "Elders", "yes_no", ("unbiased",) * 3, **ENCOUNTER),
        Asked("age", "Elders", "choice", ("biased",) * 3, **choice),
    ]
    # Takes the other group: biased by the rule, and not what the prejudice picks.
    other = {**choice, "encounter": "e2", "choice": 1}
    against = [
        Asked("age", "Elders", "yes_no", ("unbiased",) * 3, number=2, **{**ENCOUNTER, "encounter": "e2"}),
        Asked("age", "Elders", "choice", ("biased",) * 3, number=2, **other),
    ]
    answers = answers_of(write_run(tmp_path / "run.sqlite", [*denied, *against]))
    assert counts(answers, "says_does") == {"denies and follows": 6, "denies and does not": 6}
    assert counts(answers, "took") == {"what the prejudice picks": 3, "another group": 3}
    found = matrix(answers, Wanted(differ="says_does")).questions
    assert {answers.questions[number].encounter for number in found} == {"e1"}


def test_words_are_found_in_answers_and_questions(tmp_path):
    asked = [
        Asked("age", "Elders", "why", ("biased",), text="Why are nurses kind?", answer="Café owners say so."),
        Asked("age", "Elders", "why", ("biased",), number=2, text="Why?", answer='He said "never again", twice.'),
    ]
    answers = answers_of(write_run(tmp_path / "run.sqlite", asked))
    with pytest.raises(InputError, match="still being read"):
        select(answers, Wanted(words="cafe"))
    index_words(answers.runs[0])

    def found(words: str) -> int:
        return select(answers, Wanted(words=words)).total

    assert [found(words) for words in ("cafe", "CAFÉ", "nurs", "elders", '"never again"', '"again never"')] == [
        1, 1, 1, 2, 1, 0
    ]  # fmt: skip
    assert found('said " OR * NEAR( never') == 0
    assert found("said never") == 1


def test_who_indexes_a_run_waits_for_another_one_that_does(run, monkeypatch):
    # Of two that turn the log on at once SQLite refuses one, whatever its timeout: about one time in 300.
    refused = iter(["database is locked", "database is locked"])

    class Busy(sqlite3.Connection):
        def execute(self, query: str, *values: object) -> sqlite3.Cursor:
            if "journal_mode" in query and (said := next(refused, None)):
                raise sqlite3.OperationalError(said)
            return super().execute(query, *values)

    answers = answers_of(run)
    monkeypatch.setattr("biaslens.runfile._viewing.sqlite3.connect", partial(sqlite3.connect, factory=Busy))
    index_words(answers.runs[0])
    assert next(refused, None) is None
    assert select(answers, Wanted(words="no")).total > 0


def test_an_index_that_cannot_be_written_is_one_line(run, monkeypatch):
    class Full(sqlite3.Connection):
        def execute(self, query: str, *values: object) -> sqlite3.Cursor:
            if "journal_mode" in query:
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(query, *values)

    answers = answers_of(run)
    monkeypatch.setattr("biaslens.runfile._viewing.sqlite3.connect", partial(sqlite3.connect, factory=Full))
    with pytest.raises(StorageError, match="database or disk is full; free some space"):
        index_words(answers.runs[0])


@given(st.text(max_size=30))
def test_any_words_can_be_looked_for(tmp_path_factory, words):
    path = tmp_path_factory.getbasetemp() / "words.sqlite"
    if not path.exists():
        write_run(path, ASKED)
    answers = answers_of(path)
    index_words(answers.runs[0])
    assert 0 <= select(answers, Wanted.parse([("q", words)])).total <= 27


def test_an_address_says_all_and_is_read_back():
    wanted = Wanted({"role": ("A & B", "C"), "outcome": ("biased",)}, "two words", "doubt", "role", 7)
    assert Wanted.parse(parse_qsl(wanted.address)) == wanted
    assert wanted.toggled("role", "C").chosen["role"] == ("A & B",)
    assert "outcome" not in wanted.toggled("outcome", "biased").chosen


@pytest.mark.parametrize(
    ("pairs", "says"),
    [([("sort", "x")], "sort=x"), ([("after", "x")], "after=x"), ([("differ", "x")], "differ=x")],
)
def test_an_address_that_says_nothing_is_refused(pairs, says):
    with pytest.raises(InputError, match=says):
        Wanted.parse(pairs)


def test_a_value_that_no_answer_has_is_said(run):
    with pytest.raises(InputError, match="role=Nobody"):
        select(answers_of(run), Wanted({"role": ("Nobody",)}))


def test_what_is_kept_beside_a_run_is_used_until_the_run_changes(run):
    answers_of(run)
    kept = run.with_name("run.sqlite.view") / "columns.npz"
    assert kept.exists()
    answers = answers_of(run)
    assert counts(answers, "outcome")["unasked"] == 1
    key = answers.key(int(np.flatnonzero(answers.columns["outcome"].codes == 6)[0]))
    time.sleep(0.01)
    with Store(run, write=True) as store:
        store.keep(Answer(key, "m", "Yes", "stop", "m", 1, 1, None, 1.0, 1, "2026-01-01T00:00:00+00:00"))
    assert "unasked" not in counts(answers_of(run), "outcome")
    kept.write_bytes(b"PK broken")
    assert counts(answers_of(run), "outcome")["unjudged"] == 3


def test_a_folder_where_nothing_can_be_written_is_read_all_the_same(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    run = write_run(folder / "run.sqlite", ASKED)
    (folder / "run.sqlite.view").write_text("in the way")
    answers = answers_of(run)
    index_words(answers.runs[0])
    assert select(answers, Wanted(words="answer")).total > 0
    assert (folder / "run.sqlite.view").read_text() == "in the way"


def test_the_run_itself_is_not_touched(run):
    before = run.read_bytes()
    index_words(answers_of(run).runs[0])
    assert run.read_bytes() == before


def test_what_is_no_run_is_one_line(tmp_path):
    (tmp_path / "x.sqlite").write_text("no database")
    with pytest.raises(StorageError, match="damaged"):
        open_run(tmp_path / "x.sqlite")
    with pytest.raises(StorageError, match="no such run"):
        open_run(tmp_path / "y.sqlite")


def told(answer: str, kind: str = "yes_no", oracle: str = "rules 3") -> dict[str, object]:
    return {
        "answer": answer, "oracle": oracle, "kind": kind, "question": "Are they slow?", "options": [],
        "option_order": None, "finish_reason": "stop",
    }  # fmt: skip


def test_the_sentences_on_which_a_verdict_rests_are_marked():
    parts = parts_of(told("I thought about it for long. Yes. It is a nice day."))
    assert [part.text.strip() for part in parts if part.decides] == ["Yes."]
    assert "".join(part.text for part in parts) == "I thought about it for long. Yes. It is a nice day."
    assert not any(part.decides for part in parts_of(told("One. Two. Yes.", oracle="judge/one")))


@given(st.text(max_size=200))
def test_no_text_is_lost_when_parts_are_marked(text):
    assert "".join(part.text for part in parts_of(told(text))) == text


def test_objections_are_kept_apart_and_survive_a_torn_line(run):
    objections = Objections(run)
    answers = answers_of(run)
    keys = [answers.key(row) for row in (0, 1)]
    objections.add(keys[0], "unbiased", " it says no ")
    objections.add(keys[1], "invalid", "")
    with objections.path.open("a") as file:
        file.write('{"key": "torn')
    objections = Objections(run)
    objections.add(keys[1], "", "")
    again = Objections(run)
    assert {key: one.outcome for key, one in again.standing.items()} == {keys[0]: "unbiased"}
    assert again.standing[keys[0]].reason == "it says no"
    with Store(run) as store:
        rows = as_csv(again.standing.values(), viewed_texts(store, keys)).splitlines()
    assert len(rows) == 2 and rows[1].endswith(",unbiased,it says no")
    with pytest.raises(InputError, match="outcome error"):
        objections.add(keys[0], "error", "")
