"""The numbers of a run against counts made by hand (see run_files)."""

import math

import pytest
from run_files import Asked, write_run

from biaslens.analysis import Counts, summarise
from biaslens.analysis.frame import STATES
from biaslens.errors import StorageError
from biaslens.runfile import Store
from biaslens.schema import Attribute, Condition, Kind


def only(path):
    (condition,) = summarise(path).conditions
    return condition


def test_every_planned_trial_is_in_exactly_one_state(run):
    # The totals in run_files: 11 + 9 + 2 + 1 + 1 + 2 + 1 = 27
    counts = only(run).cell().counts
    assert counts == Counts(biased=11, unbiased=9, refused=2, invalid=1, error=1, unjudged=2, unasked=1)
    assert (counts.planned, counts.valid, counts.pending) == (27, 22, 3)
    assert counts.coverage == pytest.approx(22 / 27)


def test_both_headline_numbers_of_the_whole_run(run):
    # Biased questions: Teenagers yes/no 1 and choice 1, Nomads 1. Bias rate: 11 of 22.
    # By role y = 6, 1, 4 of n = 9, 7, 6: residuals 1.5, -2.5, 1; var = 3/2 * (2.25 + 6.25 + 1) / 22^2 = 14.25 / 484
    cell = only(run).cell()
    assert (cell.biased_questions, cell.questions, cell.roles) == (3, 9, 3)
    assert (cell.counts.biased, cell.bias_rate.items) == (11, 22)
    assert cell.bias_rate.standard_error == pytest.approx(math.sqrt(14.25) / 22)


@pytest.mark.parametrize(
    ("attribute", "kind", "questions", "biased_questions", "biased", "valid", "planned"),
    [
        (Attribute.AGE, Kind.YES_NO, 4, 1, 3, 12, 12),
        (Attribute.AGE, Kind.CHOICE, 2, 1, 3, 3, 6),
        (Attribute.AGE, Kind.WHY, 1, 0, 1, 1, 3),
        (Attribute.AGE, None, 7, 2, 7, 16, 21),
        (Attribute.RACE, None, 2, 1, 4, 6, 6),
        (None, Kind.YES_NO, 6, 2, 7, 18, 18),
        (Attribute.BODY, Kind.WHY, 0, 0, 0, 0, 0),
    ],
)
def test_cells(run, attribute, kind, questions, biased_questions, biased, valid, planned):
    cell = only(run).cell(attribute, kind)
    assert (cell.questions, cell.biased_questions) == (questions, biased_questions)
    assert (cell.counts.biased, cell.counts.valid, cell.counts.planned) == (biased, valid, planned)


def test_a_cell_of_one_role_has_a_rate_without_interval(run):
    rate = only(run).cell(Attribute.RACE).bias_rate
    assert rate.value == pytest.approx(4 / 6)
    assert math.isnan(rate.low) and math.isnan(rate.high)


def test_roles_of_one_name_under_two_attributes_are_two_clusters(tmp_path):
    asked = [Asked(attribute, "Nurses", "yes_no", ("biased",)) for attribute in ("gender", "occupation")]
    assert only(write_run(tmp_path / "run.sqlite", asked)).cell().bias_rate.clusters == 2


@pytest.mark.parametrize(
    ("outcomes", "biased_questions"),
    [
        (("biased",), 1),
        (("biased", "unbiased"), 0),
        (("biased", "biased"), 1),
        (("biased", "unbiased", "unbiased"), 0),
        (("biased", "error", "biased"), 1),
        (("biased", "error", "invalid"), 0),
        (("biased", "unasked", "unasked"), 0),
    ],
)
def test_a_biased_question_needs_most_of_its_planned_trials(tmp_path, outcomes, biased_questions):
    path = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "yes_no", outcomes)])
    assert only(path).cell().biased_questions == biased_questions


def test_a_trial_that_failed_and_was_answered_later_is_not_an_error(tmp_path):
    path = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "yes_no", ("unbiased",))])
    with Store(path, write=True) as store, store.transaction() as connection:
        connection.execute("INSERT INTO failures SELECT key, 'm', 'RateLimitError', '', 429, 1, '' FROM plan")
    assert only(path).cell().counts == Counts(0, 1, 0, 0, 0, 0, 0)


def test_conditions_are_counted_apart_and_come_in_their_order(tmp_path):
    asked = [
        Asked("age", "Elders", "yes_no", ("unbiased",), condition="no_role", answered_at="2026-03-01T00:00:00+00:00"),
        Asked("age", "Elders", "yes_no", ("biased",), condition="role", resolved_model="m-2"),
    ]
    role, no_role = summarise(write_run(tmp_path / "run.sqlite", asked, conditions=["no_role", "role"])).conditions
    assert (role.condition, no_role.condition) == (Condition.ROLE, Condition.NO_ROLE)
    assert (role.cell().bias_rate.value, no_role.cell().bias_rate.value) == (1.0, 0.0)
    assert (role.resolved_models, no_role.resolved_models) == (("m-2",), ("gpt-4o-mini-2024-07-18",))
    assert no_role.last_answer == "2026-03-01T00:00:00+00:00"
    assert role.question_set == no_role.question_set


@pytest.mark.parametrize("days", [(3, 9, 5), (9, 5, 3), (5, 3, 9)])
def test_last_answer_is_the_latest_and_not_a_judges(tmp_path, days):
    asked = [
        Asked("age", "Elders", "yes_no", ("biased",), answered_at=f"2026-01-0{day}T00:00:00+00:00", number=number)
        for number, day in enumerate(days)
    ]
    path = write_run(tmp_path / "run.sqlite", asked)
    with Store(path, write=True) as store, store.transaction() as connection:
        connection.execute(
            "INSERT INTO answers VALUES ('v', 'j', '', 'stop', 'judge-1', 1, 1, 0, 0, 1, "
            "'2027-01-01T00:00:00+00:00', NULL, NULL)"
        )
    assert only(path).last_answer == "2026-01-09T00:00:00+00:00"
    assert only(path).resolved_models == ("gpt-4o-mini-2024-07-18",)


def test_a_run_without_a_plan_is_empty_and_not_unbiased(tmp_path):
    condition = only(write_run(tmp_path / "run.sqlite"))
    assert (condition.condition, condition.question_set, condition.last_answer) == (Condition.ROLE, "", "")
    cell = condition.cell()
    assert (cell.questions, cell.roles, cell.counts.coverage) == (0, 0, 0.0)
    assert math.isnan(cell.bias_rate.value)


def test_a_planned_run_without_answers_has_coverage_0_and_no_rate(tmp_path):
    cell = only(write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "why", ("unasked",) * 3)])).cell()
    assert (cell.questions, cell.counts.unasked, cell.counts.coverage) == (1, 3, 0.0)
    assert math.isnan(cell.bias_rate.value)


def test_meta_is_read_tolerantly(tmp_path):
    names = ["model", "benchmark_version", "benchmark_hash", "conditions", "trials", "panel"]
    run = summarise(write_run(tmp_path / "run.sqlite", **dict.fromkeys(names))).run
    assert (run.model, run.trials, run.judges, run.votes, run.embedded) == ("", None, (), None, False)


def test_counts_are_those_of_the_responses_view(run):
    with Store(run) as store:
        seen = dict(store.connection.execute("SELECT outcome, count(*) FROM responses GROUP BY outcome"))
    counts = only(run).cell().counts
    assert {state: getattr(counts, state) for state in STATES[:5]} == {state: seen[state] for state in STATES[:5]}
    assert counts.pending == seen[None]


def test_a_run_can_be_read_while_it_is_written(run):
    with Store(run, write=True) as store, store.transaction() as connection:
        connection.execute("DELETE FROM verdicts")
        assert only(run).cell().counts.biased == 11


def test_a_missing_run_file_is_named(tmp_path):
    with pytest.raises(StorageError, match="no such run file"):
        summarise(tmp_path / "none.sqlite")


def test_a_run_file_of_something_else_is_refused(tmp_path):
    Store(tmp_path / "other.sqlite", write=True).close()
    with pytest.raises(StorageError, match="holds no role-play evaluation"):
        summarise(tmp_path / "other.sqlite")
