"""The same questions with the role and without it, against hand-worked numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from made_runs import BIASED, UNBIASED, made_run
from run_files import Asked, write_run

from biaslens.analysis import ablation, ablation_by_role, read_run
from biaslens.schema import Condition
from biaslens.stats import Estimand, holm

B, U, I = "biased", "unbiased", "invalid"  # noqa: E741 - as in run_files

# Elders:    2/3 with the role, 0 without; 1 with, 1/3 without
# Teenagers: 0 with, 1/3 without; 0 with, 0 without; nothing valid with the role: left out
PAIRS = (
    ("Elders", (B, B, U), (U, U, U)),
    ("Elders", (B, B, B), (B, U, U)),
    ("Teenagers", (U, U, U), (B, U, U)),
    ("Teenagers", (U, U, U), (U, U, U)),
    ("Teenagers", (I, I, I), (B, B, B)),
)


def paired(path, pairs, against="no_role"):
    asked = [
        Asked("age", role, "yes_no", outcomes, condition=condition, number=number)
        for number, (role, *both) in enumerate(pairs)
        for condition, outcomes in zip(("role", against), both, strict=True)
    ]
    return read_run(write_run(path / "run.sqlite", asked))


def test_the_difference_is_a_mean_over_questions_clustered_by_role(tmp_path):
    whole = ablation(paired(tmp_path, PAIRS)).iloc[0]
    assert (whole["attribute"], whole["kind"], whole["roles"], whole["questions"]) == ("all", "all", 2, 4)
    # (2/3 + 1 + 0 + 0) / 4 and (0 + 1/3 + 1/3 + 0) / 4
    assert (whole["rate_role"], whole["rate_against"]) == (pytest.approx(5 / 12), pytest.approx(1 / 6))
    # Sums by role 4/3 and -1/3, less 2 * 1/4: residuals 5/6, -5/6; var = 2 * (25/36 + 25/36) / 16 = (10/24)^2
    # t with 1 degree of freedom at 0.975: 12.7062; the interval is cut off at -1 and 1.
    assert whole["difference"] == pytest.approx(1 / 4)
    assert (whole["difference_low"], whole["difference_high"]) == (-1, 1)
    # t = (1/4) / (10/24) = 0.6; with 1 degree of freedom p = 1 - 2/pi * atan(0.6), and the rates' intervals say more.
    assert 1 - 2 / math.pi * math.atan(0.6) < whole["p"] < 1


def test_verdicts_that_changed_are_counted_both_ways(tmp_path):
    pairs = [*PAIRS, ("Teenagers", (U, U, U), (B, B, U))]
    whole = ablation(paired(tmp_path, pairs)).iloc[0]
    # Biased with the role only: both of Elders; without it only: the new one.
    assert (whole["verdicts"], whole["biased_only_role"], whole["biased_only_against"]) == (5, 2, 1)
    assert whole["odds_ratio"] == 2.0


def test_a_verdict_that_missing_trials_could_turn_is_not_compared(tmp_path):
    # One biased of three with two missing: the rate is known, the verdict is not.
    pairs = [("Elders", (B, I, I), (U, U, U)), ("Teenagers", (B, B, I), (U, U, I))]
    whole = ablation(paired(tmp_path, pairs)).iloc[0]
    assert (whole["questions"], whole["verdicts"], whole["biased_only_role"]) == (2, 1, 1)


def test_roles_are_sorted_by_how_much_they_move(tmp_path):
    pairs = [("Elders", (U, U, B), (U, U, U)), *[("Teenagers", (U, U, U), (B, B, U))] * 2]
    frame = ablation_by_role(paired(tmp_path, [*pairs, ("Nomads", (I, I, I), (U, U, U))]))
    assert list(frame["role"]) == ["Teenagers", "Elders"]
    assert list(frame["difference"]) == pytest.approx([-2 / 3, 1 / 3])
    # One question of Elders: how other questions would differ is not known.
    assert list(frame["difference_low"].isna()) == [False, True]


def test_the_neutral_role_is_compared_too(tmp_path):
    frame = ablation(paired(tmp_path, PAIRS, "neutral_role"), against=Condition.NEUTRAL_ROLE)
    assert set(frame["against"]) == {"neutral_role"}
    assert frame["difference"].iloc[0] == pytest.approx(1 / 4)


def test_one_role_gives_a_difference_without_an_interval(tmp_path):
    whole = ablation(paired(tmp_path, PAIRS[:2])).iloc[0]
    assert whole["difference"] == pytest.approx(2 / 3)
    assert whole[["difference_low", "p", "p_holm", "odds_ratio_low", "p_mcnemar"]].isna().all()


def test_one_condition_or_nothing_valid_gives_no_rows_but_all_columns(tmp_path, run):
    none = paired(tmp_path / "none", [("Elders", (I, I), (U, U))])
    full = paired(tmp_path / "full", PAIRS)
    for function in (ablation, ablation_by_role):
        for other in (none, read_run(run)):
            assert len(function(other)) == 0
            assert list(function(other).columns) == list(function(full).columns)


def test_p_values_are_corrected_within_cells_and_within_each_kind_of_total():
    frame = ablation(made_run(3))
    total_attribute, total_kind = frame["attribute"] == "all", frame["kind"] == "all"
    for family, size in (
        (~total_attribute & ~total_kind, 33),
        (~total_attribute & total_kind, 11),
        (total_attribute & ~total_kind, 3),
        (total_attribute & total_kind, 1),
    ):
        rows = frame[family]
        assert len(rows) == size
        for test in ("p", "p_mcnemar"):
            np.testing.assert_array_equal(rows[f"{test}_holm"], holm(rows[test].to_numpy()))


def test_it_is_the_cluster_robust_regression_on_a_constant():
    run = replace(made_run(4, attributes=1), estimand=Estimand.THESE)
    role, other = run.trials(Condition.ROLE), run.trials(Condition.NO_ROLE)
    known = (role.valid > 0) & (other.valid > 0)
    difference = role.biased[known] / role.valid[known] - other.biased[known] / other.valid[known]
    fit = sm.OLS(difference, np.ones(len(difference))).fit(
        cov_type="cluster", cov_kwds={"groups": run.questions.role[known]}, use_t=True
    )
    whole = ablation(run).iloc[0]
    assert whole["difference"] == pytest.approx(fit.params[0])
    # With fewer degrees of freedom, as some roles make up more of the variance than others, and nowhere within it: the
    # rates' own intervals reach farther, as they are on the scale of the logit.
    low, high = fit.conf_int()[0]
    assert low - 0.05 * (high - low) < whole["difference_low"] <= low < high <= whole["difference_high"]
    assert whole["difference_high"] < high + 0.05 * (high - low)
    assert fit.pvalues[0] <= whole["p"] < 1e-4
    assert whole["estimand"] == "these questions"


def test_other_comparisons_are_a_sample_unless_said_otherwise():
    run = made_run(4)
    # What the role adds differs between the comparisons.
    role = run.trials(Condition.ROLE)
    moved = (run.questions.comparison < 4)[:, None] & (role.states == BIASED)
    run.conditions[Condition.ROLE] = replace(role, states=np.where(moved, UNBIASED, role.states))
    like_these, these = (ablation(replace(run, estimand=estimand)).iloc[0] for estimand in Estimand)
    assert like_these["difference"] == these["difference"]
    assert like_these["difference_high"] - like_these["difference_low"] > 1.5 * (
        these["difference_high"] - these["difference_low"]
    )
    assert like_these["estimand"] == "questions like these"


def test_exchanging_the_conditions_turns_every_sign():
    run = made_run(5)
    role, other = run.conditions.values()
    turned = replace(run, conditions={Condition.ROLE: other, Condition.NO_ROLE: role})
    one, two = ablation(run), ablation(turned)
    np.testing.assert_allclose(one["difference"], -two["difference"])
    np.testing.assert_allclose(one["difference_low"], -two["difference_high"])
    np.testing.assert_allclose(one["p"], two["p"])
    np.testing.assert_array_equal(one["biased_only_role"], two["biased_only_against"])
