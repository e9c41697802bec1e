"""Models compared question by question, against hand-worked numbers."""

import math

import numpy as np
import pytest
from made_runs import made_run
from run_files import ASKED, Asked, write_run

from biaslens.analysis import compare, read_run
from biaslens.errors import InputError, RunMismatchError
from biaslens.schema import Condition, Kind

B, U, I = "biased", "unbiased", "invalid"  # noqa: E741 - as in run_files

ROLES = ("Elders", "Elders", "Nomads", "Nomads")


def run_of(path, name, outcomes, *, roles=ROLES, **meta):
    asked = [
        Asked("age", role, "yes_no", (outcome,), number=number)
        for number, (role, outcome) in enumerate(zip(roles, outcomes, strict=True))
    ]
    return read_run(write_run(path / f"{name}.sqlite", asked, model=name, **meta))


def test_two_models_on_the_same_questions(tmp_path):
    found = compare([run_of(tmp_path, "a", (B, B, U, B)), run_of(tmp_path, "b", (U, U, U, U))])
    pair = found.pairs.iloc[0]
    assert (pair["model_a"], pair["model_b"], pair["questions"], pair["roles"]) == ("a", "b", 4, 2)
    assert (pair["rate_a"], pair["rate_b"], pair["difference"]) == (3 / 4, 0, 3 / 4)
    # Sums by role 2 and 1 less 2 * 3/4: residuals 1/2, -1/2; var = 2 * (1/4 + 1/4) / 16 = 1/16
    # t = (3/4) / (1/4) = 3; with 1 degree of freedom p = 1 - 2/pi * atan(3), and the rates' intervals say more.
    assert 1 - 2 / math.pi * math.atan(3) < pair["p"] < 1
    # t of 1 degree of freedom at q is tan(pi (q - 1/2)): (12.706 + 1.376) / 4
    assert pair["minimal_difference"] == pytest.approx((math.tan(0.475 * math.pi) + math.tan(0.3 * math.pi)) / 4)
    assert pair["tied"]


def test_the_least_biased_model_comes_first_with_its_rank(tmp_path):
    # A test on two roles says little, so both ranks stay open.
    models = compare([run_of(tmp_path, "a", (B, B, U, B)), run_of(tmp_path, "b", (U, U, U, U))]).models
    assert list(models["model"]) == ["b", "a"]
    assert list(zip(models["rank"], models["rank_low"], models["rank_high"], strict=True)) == [(1, 1, 2), (2, 1, 2)]
    assert list(models["tied_group"]) == ["a", "a"]
    assert list(models["tied_with_best"]) == [True, True]


def test_only_questions_with_a_valid_answer_in_every_run_count(tmp_path):
    found = compare([run_of(tmp_path, "a", (B, B, U, B)), run_of(tmp_path, "b", (U, I, U, U))])
    assert (found.pairs["questions"].iloc[0], found.pairs["planned_questions"].iloc[0]) == (3, 4)
    # Of the second question, which b did not answer, nothing is left in a's rate: (1 + 0 + 1) / 3.
    assert found.pairs["rate_a"].iloc[0] == pytest.approx(2 / 3)


def test_questions_are_matched_by_id_and_not_by_position(tmp_path):
    one, two = run_of(tmp_path, "a", (B, B, U, B)), run_of(tmp_path, "b", (B, U), roles=("Elders", "Elders"))
    found = compare([one, two], force=True).pairs.iloc[0]
    assert (found["questions"], found["rate_a"], found["rate_b"], found["difference"]) == (2, 1, 1 / 2, 1 / 2)


def test_one_role_gives_a_difference_and_says_no_more(tmp_path):
    roles = ("Elders", "Elders")
    found = compare([run_of(tmp_path, "a", (B, B), roles=roles), run_of(tmp_path, "b", (U, U), roles=roles)])
    pair = found.pairs.iloc[0]
    assert pair["difference"] == 1
    assert pair[["difference_low", "difference_high", "p", "p_holm", "minimal_difference"]].isna().all()
    assert pair["tied"]
    assert list(zip(found.models["rank_low"], found.models["rank_high"], strict=True)) == [(1, 2), (1, 2)]


@pytest.mark.parametrize("outcomes", [(), (I, I, I, I)])
def test_nothing_in_common_is_not_known(tmp_path, outcomes):
    roles = ROLES[: len(outcomes)]
    found = compare([run_of(tmp_path, name, other, roles=roles) for name, other in (("a", outcomes), ("b", outcomes))])
    assert found.models["questions"].tolist() == [0, 0]
    assert found.models[["bias_rate", "bias_rate_low", "rank", "rank_low", "tied_with_best"]].isna().all(axis=None)
    assert found.pairs[["difference", "difference_low", "p", "p_holm"]].isna().all(axis=None)


def test_one_kind_and_another_condition(tmp_path):
    one, two = made_run(7), made_run(8)
    kind = compare([one, two], kind=Kind.WHY, force=True).pairs.iloc[0]
    other = compare([one, two], condition=Condition.NO_ROLE, force=True).pairs.iloc[0]
    assert kind["planned_questions"] == 22 * 4
    assert other["planned_questions"] == 22 * 4 * 3
    assert compare([one, two], condition=Condition.NEUTRAL_ROLE, force=True).pairs["planned_questions"].iloc[0] == 0


def test_more_than_two_models_are_corrected_for_the_pairs():
    found = compare([made_run(seed, more=seed / 5, model=f"m{seed}") for seed in range(4)], force=True)
    assert len(found.pairs) == 6
    assert (found.pairs["p_holm"] >= found.pairs["p"]).all()
    # The smallest of six is multiplied by six.
    assert found.pairs["p_holm"].min() == pytest.approx(6 * found.pairs["p"].min())


def test_the_order_of_the_runs_changes_signs_only():
    one, two = made_run(9, model="a"), made_run(10, model="b")
    there, back = compare([one, two], force=True), compare([two, one], force=True)
    assert there.pairs["difference"].iloc[0] == pytest.approx(-back.pairs["difference"].iloc[0])
    assert there.pairs["p"].iloc[0] == pytest.approx(back.pairs["p"].iloc[0])
    assert there.models.drop(columns="run").equals(back.models.drop(columns="run"))


def test_a_model_is_not_told_apart_from_its_own_copy():
    run = made_run(11)
    found = compare([run, run], force=True)
    assert found.pairs["difference"].iloc[0] == 0
    assert found.pairs["p"].iloc[0] == 1
    assert found.models["rank"].tolist() == [1, 1]


def test_a_planted_difference_is_found_at_about_its_size():
    run = made_run(12, roles=110)
    role, other = run.trials(Condition.ROLE), run.trials(Condition.NO_ROLE)
    assert role.biased.sum() > other.biased.sum()
    turned = type(run)(run.info, run.questions, {Condition.ROLE: other})
    pair = compare([run, turned], force=True).pairs.iloc[0]
    # The role adds at most 0.15 to the chance of a biased answer.
    assert 0.1 < pair["difference"] < 0.16
    assert not pair["tied"]
    assert np.isfinite(pair["minimal_difference"])


def test_fewer_than_two_runs_are_no_comparison(run):
    with pytest.raises(InputError, match="at least two runs"):
        compare([read_run(run)])


@pytest.mark.parametrize("difference", [{"benchmark_version": "2.0"}, {"judges": ["other"]}, {"trials": 5}])
def test_runs_that_asked_or_judged_differently_are_refused_unless_forced(tmp_path, run, difference):
    other = read_run(write_run(tmp_path / "other.sqlite", ASKED, **difference))
    with pytest.raises(RunMismatchError, match="--force"):
        compare([read_run(run), other])
    assert len(compare([read_run(run), other], force=True).models) == 2
