"""Where the results of a run vary, and what to buy more of."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import made_run

from biaslens.analysis import variance
from biaslens.report.sections import lopsided
from biaslens.stats import DOUBLED, Estimand

SHARES = [f"share_{name}" for name in ("attribute", "role", "comparison", "both", "question", "trial")]


def test_shares_add_up_by_condition_and_kind():
    frame = variance(made_run(6))
    assert list(frame["kind"]) == ["all", "yes_no", "choice", "why"] * 2
    np.testing.assert_allclose(frame[SHARES].sum(axis=1), 1)


def test_more_of_anything_never_hurts_and_the_best_is_named():
    frame = variance(made_run(6))
    doubled = frame[[f"standard_error_twice_{name}" for name in DOUBLED]]
    assert (doubled.to_numpy() <= frame[["standard_error"]].to_numpy() + 1e-12).all()
    best = [DOUBLED[place] for place in doubled.to_numpy().argmin(axis=1)]
    assert frame["buy"].tolist() == best


def test_the_comparison_with_most_questions_is_named():
    run = made_run(7)
    comparison = np.where(np.arange(len(run.questions.ids)) % 5 < 2, 3, run.questions.comparison)
    row = variance(replace(run, questions=replace(run.questions, comparison=comparison))).iloc[0]
    assert row["largest_comparison"] == "group 3 / others"
    assert row["largest_share"] == pytest.approx(np.mean(comparison == 3), abs=0.02)


def test_these_questions_have_no_part_of_comparisons():
    row = variance(replace(made_run(6), estimand=Estimand.THESE)).iloc[0]
    assert np.isnan(row["share_comparison"])
    assert row["estimand"] == "these questions"


def test_an_empty_run_has_all_columns():
    run = made_run(1)
    empty = variance(replace(run, conditions={}))
    assert list(empty.columns) == list(variance(run).columns)


def test_a_lopsided_design_is_said_to_be_one():
    run = made_run(7)
    comparison = np.where(np.arange(len(run.questions.ids)) % 5 < 2, 3, run.questions.comparison)
    uneven = variance(replace(run, questions=replace(run.questions, comparison=comparison)))
    told = lopsided({"variance": uneven})
    assert len(told) == 2
    assert "of the questions compare group 3 / others" in told[0]
    assert lopsided({"variance": variance(run)}) == []
