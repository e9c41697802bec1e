"""How far trials agree, against hand-worked numbers."""

import numpy as np
import pytest
from made_runs import made_run
from run_files import Asked, write_run

from biaslens.analysis import consistency, read_run
from biaslens.analysis.rates import PARTS

B, U, I = "biased", "unbiased", "invalid"  # noqa: E741 - as in run_files


def run_of(path, *asked, **meta):
    questions = [Asked("age", role, "yes_no", outcomes, number=n) for n, (role, outcomes) in enumerate(asked)]
    return read_run(write_run(path / "run.sqlite", questions, **meta))


def test_what_the_trials_of_a_question_agree_on(tmp_path):
    run = run_of(
        tmp_path,
        ("Elders", (B, B, B)), ("Elders", (U, U, U)), ("Elders", (B, B, U)),
        ("Nomads", (U, U, U)), ("Nomads", (B, U, U)), ("Nomads", (B, I, U)),
    )  # fmt: skip
    whole = consistency(run).iloc[0]
    # Five questions have three valid trials: three agree, one has two biased, one has one.
    assert (whole["kind"], whole["questions"], whole["trials"], whole["roles"]) == ("all", 5, 3, 2)
    assert [whole[name] for name, _ in PARTS] == [3 / 5, 1 / 5, 1 / 5]
    # Pairs of trials that differ: 0, 0, 2/3, 0, 2/3, and 1 of the question with two valid trials.
    assert whole["flip_rate"] == pytest.approx((2 / 3 + 2 / 3 + 1) / 6)
    # Fleiss over the five: p = 6/15, chance = 0.36 + 0.16, agreement = (3 + 1/3 + 1/3) / 5
    assert whole["fleiss_kappa"] == pytest.approx(((11 / 3) / 5 - 0.52) / 0.48)


def test_trials_that_always_agree_would_change_nothing(tmp_path):
    whole = consistency(run_of(tmp_path, ("Elders", (B, B, B)), ("Nomads", (U, U, U)))).iloc[0]
    assert (whole["consistent"], whole["flip_rate"]) == (1, 0)
    assert whole["verdicts_changed_high"] == pytest.approx(0, abs=1e-5)
    assert whole["fleiss_kappa"] == whole["krippendorff_alpha"] == 1


def test_one_trial_tells_nothing(tmp_path):
    whole = consistency(run_of(tmp_path, ("Elders", (B,)), ("Nomads", (U,)), trials=1)).iloc[0]
    assert (whole["questions"], whole["trials"]) == (2, 1)
    known = ["model", "condition", "kind", "roles", "questions", "trials", "estimand"]
    assert whole.drop(known).isna().all()


def test_no_valid_answer_is_not_known(tmp_path):
    whole = consistency(run_of(tmp_path, ("Elders", (I, I, I)))).iloc[0]
    assert whole["questions"] == 0
    assert whole.drop(["model", "condition", "kind", "roles", "questions", "trials", "estimand"]).isna().all()


def test_one_role_has_no_interval(tmp_path):
    whole = consistency(run_of(tmp_path, ("Elders", (B, B, U)), ("Elders", (U, U, U)))).iloc[0]
    assert whole["flip_rate"] == pytest.approx(1 / 3)
    assert np.isnan(whole["flip_rate_low"])


def test_a_condition_with_fewer_trials_is_complete_with_its_own(tmp_path):
    asked = [
        Asked("age", "Elders", "yes_no", (B, B, U), condition="role"),
        Asked("age", "Elders", "yes_no", (B, U), condition="no_role"),
    ]
    frame = consistency(read_run(write_run(tmp_path / "run.sqlite", asked))).set_index(["condition", "kind"])
    assert frame.loc[("no_role", "all"), "trials"] == 2
    assert frame.loc[("no_role", "all"), "questions"] == 1


def test_an_empty_run_has_all_columns(tmp_path):
    empty = consistency(run_of(tmp_path))
    assert len(empty) == 0
    assert list(empty.columns) == list(consistency(made_run(1)).columns)


def test_shares_add_up():
    frame = consistency(made_run(6))
    assert len(frame) == 2 * 4
    np.testing.assert_allclose(frame[[name for name, _ in PARTS]].sum(axis=1), 1)
    assert (frame["verdicts_changed_low"] <= frame["verdicts_changed_high"]).all()
