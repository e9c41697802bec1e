"""Roles and questions that bring out biased answers most, against hand counts."""

import math

import pytest
from run_files import Asked, write_run

from biaslens.analysis import question_texts, read_run, top_questions, top_roles, trigger_counts
from biaslens.errors import InputError, StorageError

B, U, I = "biased", "unbiased", "invalid"  # noqa: E741 - as in run_files


def run_of(path, outcomes, kind="yes_no"):
    asked = [Asked("age", "Elders", kind, one, number=number) for number, one in enumerate(outcomes)]
    return read_run(write_run(path, asked))


@pytest.fixture
def two(tmp_path):
    """Questions that trigger both models, one, none, and one whose verdict in the second is open."""
    return [
        run_of(tmp_path / "a.sqlite", [(B, B, B), (B, B, U), (U, U, U), (B, B, B)]),
        run_of(tmp_path / "b.sqlite", [(B, U, B), (U, U, B), (U, U, U), (B, I, I)]),
    ]


def test_questions_by_how_many_models_they_trigger(two):
    frame = trigger_counts(two)
    whole = frame[frame["kind"] == "all"]
    assert whole["k"].tolist() == [0, 1, 2]
    assert whole["questions"].tolist() == [1, 1, 1]
    assert whole["share"].tolist() == pytest.approx([1 / 3] * 3)
    assert math.isnan(whole["share_of_triggered"].iloc[0])
    assert whole["share_of_triggered"].tolist()[1:] == [1 / 2, 1 / 2]
    assert set(frame["kind"]) == {"all", "yes_no"}


def test_questions_of_one_run_only_are_not_counted(tmp_path, two):
    more = run_of(tmp_path / "c.sqlite", [(B, B, B)] * 9)
    assert trigger_counts([*two, more]).groupby("kind")["questions"].sum().to_dict() == {"all": 3, "yes_no": 3}


def test_the_most_triggering_questions_come_first(two):
    frame = top_questions(two)
    # The first two trigger both models or one with 5 of 6; the last triggers the first model only.
    assert frame["triggered"].tolist() == [2, 1, 1]
    assert frame["bias_rate"].tolist() == [5 / 6, 4 / 4, 3 / 6]
    assert len(top_questions(two, limit=1)) == 1


def test_roles_by_their_bias_rate(run):
    # Teenagers 6 of 9, Nomads 4 of 6: equal; more answers go first. Elders 1 of 7. See run_files.
    assert top_roles(read_run(run))["role"].tolist() == ["Teenagers", "Nomads", "Elders"]
    assert top_roles(read_run(run), limit=1)["role"].tolist() == ["Teenagers"]


def test_roles_without_a_valid_answer_are_not_listed(tmp_path):
    assert len(top_roles(run_of(tmp_path / "run.sqlite", [(I, I, I)]))) == 0


def test_an_empty_run_triggers_nothing(tmp_path):
    empty = run_of(tmp_path / "run.sqlite", [])
    assert len(trigger_counts([empty, empty])) == len(top_questions([empty])) == 0
    with pytest.raises(InputError, match="no runs"):
        trigger_counts([])


def test_texts_of_questions_are_read_by_id(tmp_path):
    asked = [
        Asked("age", "Elders", "yes_no", (B,), text="Are they slow?"),
        Asked("age", "Elders", "choice", (B,), text="Who is?", options=("tall", "short", "none")),
    ]
    path = write_run(tmp_path / "run.sqlite", asked)
    one, two = (question.question_id for question in asked)
    assert question_texts(path, [one, two, "unknown"]) == {
        one: "Are they slow?",
        two: "Who is? (A) tall (B) short (C) none",
    }
    with pytest.raises(StorageError, match="no such run file"):
        question_texts(tmp_path / "none.sqlite", [one])
