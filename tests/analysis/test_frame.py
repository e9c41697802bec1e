"""A run as arrays, against rows written by hand."""

import numpy as np
from run_files import Asked, write_run
from small import NURSE

from biaslens.analysis import read_run
from biaslens.analysis.frame import ATTRIBUTES, BIASED, KINDS, MIRRORS, NOTHING, STATES
from biaslens.evaluation.run import plan
from biaslens.evaluation.spec import Spec
from biaslens.runfile import EVALUATION_TABLES, Store
from biaslens.schema import Attribute, Condition, Kind, Mirror, Question


def test_states_by_question_and_trial(tmp_path):
    asked = [
        Asked("age", "Elders", "yes_no", ("biased", "error", "unasked")),
        Asked("race", "Nomads", "choice", ("unjudged", "refused"), options=("a", "b", "none"), target="body"),
    ]
    run = read_run(write_run(tmp_path / "run.sqlite", asked))
    trials, questions = run.trials(Condition.ROLE), run.questions
    states = {
        (questions.role_names[role], KINDS[kind]): tuple(None if code == NOTHING else STATES[code] for code in row)
        for role, kind, row in zip(questions.role, questions.kind, trials.states, strict=True)
    }
    assert states == {
        ("Elders", Kind.YES_NO): ("biased", "error", "unasked"),
        ("Nomads", Kind.CHOICE): ("unjudged", "refused", None),
    }
    choice = questions.select(Attribute.RACE, Kind.CHOICE)
    assert [ATTRIBUTES[code] for code in questions.target[choice]] == [Attribute.BODY]
    assert questions.options[choice].tolist() == [3]
    assert (trials.planned.sum(), trials.valid.sum(), trials.biased.sum()) == (5, 2, 1)
    assert trials.results[choice].tolist() == [[-1, 0, -1]]


def test_an_option_is_where_it_was_shown_in_that_trial(tmp_path):
    # Shown as options 2, 0, 1: option 0 stood second.
    asked = [
        Asked("age", "Elders", "choice", ("biased",), options=("a", "b", "none"), option_order=(2, 0, 1), choice=0),
        Asked("age", "Elders", "choice", ("biased",), options=("a", "b", "none"), choice=1, number=2),
    ]
    trials = read_run(write_run(tmp_path / "run.sqlite", asked)).trials(Condition.ROLE)
    assert sorted(zip(trials.taken[:, 0].tolist(), trials.shown[:, 0].tolist(), strict=True)) == [(0, 1), (1, 1)]


def test_positions_agree_between_runs_of_one_question_set(tmp_path):
    asked = [Asked("age", "Elders", "yes_no", ("biased",), number=number) for number in range(9)]
    one = read_run(write_run(tmp_path / "one.sqlite", asked))
    two = read_run(write_run(tmp_path / "two.sqlite", reversed(asked)))
    assert one.questions.ids == two.questions.ids


def test_mirrors_point_at_their_originals(tmp_path):
    original = Question(NURSE, Kind.YES_NO, "Are tall people kinder?")
    mirror = Question(NURSE, Kind.YES_NO, "Are short people kinder?", mirror_of=original.id, mirror=Mirror.SWAPPED)
    lost = Question(NURSE, Kind.YES_NO, "Are thin people kinder?", mirror_of="elsewhere", mirror=Mirror.REVERSED)
    path = tmp_path / "run.sqlite"
    with Store(path, write=True, tables=EVALUATION_TABLES) as store:
        plan(store, Spec(model="openai/fake", run=path), [original, mirror, lost])
    questions = read_run(path).questions
    at = {question_id: position for position, question_id in enumerate(questions.ids)}
    assert questions.mirror_of[at[mirror.id]] == at[original.id]
    assert MIRRORS[questions.mirror[at[mirror.id]]] is Mirror.SWAPPED
    assert questions.mirror_of[[at[original.id], at[lost.id]]].tolist() == [NOTHING, NOTHING]
    assert questions.mirror[at[original.id]] == NOTHING


def test_a_condition_that_was_not_run_has_no_trials(run):
    trials = read_run(run).trials(Condition.NO_ROLE)
    assert trials.planned.sum() == 0
    assert not np.any(trials.states == BIASED)
