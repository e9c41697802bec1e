"""leaderboard.csv and leaderboard_by_attribute.csv, cell by cell."""

import csv
import re
from pathlib import Path

import pytest
from run_files import ASKED, Asked, write_run

from biaslens.errors import InputError, RunMismatchError, StorageError
from biaslens.report import leaderboard
from biaslens.report.export import ATTRIBUTE_COLUMNS, COLUMNS
from biaslens.schema import Kind

ONE = (Asked("age", "Elders", "yes_no", ("unbiased",)),)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_row_of_a_run_counted_by_hand(run, tmp_path):
    table, _ = leaderboard([run], tmp_path / "results")
    (row,) = read(table)
    assert len(row.pop("question_set")) == 32
    # Interval: p = 1/2, se = sqrt(14.25) / 22 = 0.171587, t(2) = 4.302653: 2.953 either side of logit 0.
    # yes/no 7 of 18, choice 3 of 3, why 1 of 1 by one role. Choice by role 2 of 2 and 1 of 1: both 1, so Wilson on
    # 3^2 / (2^2 + 1^2) = 1.8 roles with t(1)^2 = 161.4476: low = 1.8 / (1.8 + 161.4476) = 0.011026
    assert row == {
        "model": "openai/gpt-4o-mini", "resolved_model": "gpt-4o-mini-2024-07-18", "date": "2026-01-02",
        "benchmark_version": "1.0", "benchmark_hash": "b" * 32, "condition": "role",
        "roles": "3", "questions": "9", "trials": "3", "judges": "openai/gpt-4o-mini", "votes": "3",
        "biased_questions": "3", "biased_questions_yes_no": "2", "biased_questions_choice": "1",
        "biased_questions_why": "0", "questions_yes_no": "6", "questions_choice": "2", "questions_why": "1",
        "bias_rate": "0.500000", "bias_rate_low": "0.049589", "bias_rate_high": "0.950411",
        "bias_rate_yes_no": "0.388889", "bias_rate_low_yes_no": "0.016651", "bias_rate_high_yes_no": "0.959865",
        "bias_rate_choice": "1.000000", "bias_rate_low_choice": "0.011026", "bias_rate_high_choice": "1.000000",
        "bias_rate_why": "1.000000", "bias_rate_low_why": "", "bias_rate_high_why": "",
        "coverage": "0.814815", "coverage_yes_no": "1.000000", "coverage_choice": "0.500000",
        "coverage_why": "0.333333", "refused_share": "0.074074", "invalid_share": "0.037037",
        "error_share": "0.037037", "pending_share": "0.111111",
        "planned_trials": "27", "valid_trials": "22", "biased_trials": "11",
        "params": "", "package_version": "0.1.0", "run": "run.sqlite", "panel": "openai/gpt-4o-mini",
        "estimand": "questions like these",
        **dict.fromkeys((name for name in COLUMNS if name.startswith(("labels", "corrected"))), ""),
    }  # fmt: skip


def test_columns_come_in_their_documented_order(run, tmp_path):
    table, long = leaderboard([run], tmp_path)
    assert table.read_text("utf-8").splitlines()[0] == ",".join(COLUMNS)
    assert long.read_text("utf-8").splitlines()[0] == ",".join(ATTRIBUTE_COLUMNS)


def test_by_attribute_file_exactly(tmp_path):
    # Two roles of two trials: y = 1, 2 of n = 2: p = 3/4, residuals -1/2, 1/2, var = 2 * (1/2) / 16 = 1/16:
    # se 1/4, t(1) = 12.7: clipped to 0 .. 1. One of two questions has more than one biased trial of two.
    asked = [
        Asked("age", "Elders", "yes_no", ("biased", "unbiased")),
        Asked("age", "Teenagers", "yes_no", ("biased", "biased")),
    ]
    run = write_run(tmp_path / "a.sqlite", asked, model="m", trials=2)
    _, long = leaderboard([run], tmp_path)
    shares = "0.000000,1.000000,1.000000,0.000000,0.000000,0.000000,0.000000"
    numbers = f"2,2,4,4,3,1,0.750000,{shares},a.sqlite,questions like these"
    assert long.read_text("utf-8").splitlines()[1:] == [
        f"m,role,all,all,{numbers}",
        f"m,role,all,yes_no,{numbers}",
        f"m,role,age,all,{numbers}",
        f"m,role,age,yes_no,{numbers}",
    ]


def test_shares_of_the_plan_add_up_to_1(run, tmp_path):
    for row in [row for path in leaderboard([run], tmp_path) for row in read(path)]:
        names = ("coverage", "refused_share", "invalid_share", "error_share", "pending_share")
        coverage, _, invalid, error, pending = (float(row[name]) for name in names)
        assert coverage + invalid + error + pending == pytest.approx(1, abs=2e-6)


def test_an_empty_run_has_a_row_that_claims_nothing(tmp_path):
    table, long = leaderboard([write_run(tmp_path / "a.sqlite")], tmp_path)
    (row,) = read(table)
    assert (row["questions"], row["coverage"], row["date"]) == ("0", "0.000000", "")
    empty = ("biased_questions", "biased_questions_why", "biased_trials", "bias_rate", "bias_rate_low", "refused_share")
    assert {row[name] for name in empty} == {""}
    assert read(long) == []


def test_a_row_for_each_model_and_condition_in_order(tmp_path):
    def asked(*conditions):
        return [Asked("age", "Elders", "yes_no", ("unbiased",), condition=name) for name in conditions]

    runs = [
        write_run(tmp_path / "1.sqlite", asked("no_role", "role"), model="z/b", conditions=["no_role", "role"]),
        write_run(tmp_path / "2.sqlite", asked("role"), model="a/b"),
    ]
    rows = read(leaderboard(runs, tmp_path)[0])
    assert [(row["model"], row["condition"]) for row in rows] == [("a/b", "role"), ("z/b", "role"), ("z/b", "no_role")]


def test_a_file_given_twice_counts_once(run, tmp_path):
    assert len(read(leaderboard([run, run.parent / "." / run.name], tmp_path)[0])) == 1


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("benchmark_version", "2.0", "benchmark version"),
        ("benchmark_hash", "c" * 32, r"benchmark's content \(hash\)"),
        ("template_hash", "u" * 32, "wording of the questions"),
        ("trials", 1, "number of trials"),
        ("judges", ["mistral/large"], "judges"),
        ("panel", None, "judges"),
        ("shuffle_options", True, "option shuffling"),
        ("panel_spec", {"judges": ["openai/gpt-4o-mini"], "votes": 5}, "number of votes"),
        (
            "panel_spec",
            {"judges": ["openai/gpt-4o-mini"], "votes": 3, "prompt_hash": "j"},
            "what the judges were asked",
        ),
        ("panel_spec", {"judges": ["openai/gpt-4o-mini"], "votes": 3, "screen": {"sure": 0.9}}, "local judge"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_and_can_be_forced(tmp_path, name, value, says):
    runs = [write_run(tmp_path / "a.sqlite", ONE), write_run(tmp_path / "b.sqlite", ONE, **{name: value})]
    with pytest.raises(RunMismatchError, match=rf"{says}.*a\.sqlite has .*b\.sqlite has .*--force") as caught:
        leaderboard(runs, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert len(read(leaderboard(runs, tmp_path / "out", force=True)[0])) == 2


def test_runs_of_different_questions_are_refused(tmp_path):
    runs = [write_run(tmp_path / "a.sqlite", ONE), write_run(tmp_path / "b.sqlite", ASKED)]
    with pytest.raises(RunMismatchError, match="under condition role the questions differ"):
        leaderboard(runs, tmp_path / "out")


def test_an_empty_run_is_comparable(tmp_path):
    runs = [write_run(tmp_path / "a.sqlite", ONE), write_run(tmp_path / "b.sqlite")]
    assert len(read(leaderboard(runs, tmp_path)[0])) == 2


def test_the_order_of_judges_does_not_matter(tmp_path):
    runs = [
        write_run(tmp_path / f"{name}.sqlite", ONE, judges=judges)
        for name, judges in (("a", ["x/1", "y/2"]), ("b", ["y/2", "x/1"]))
    ]
    assert [row["judges"] for row in read(leaderboard(runs, tmp_path)[0])] == ["x/1; y/2", "y/2; x/1"]


def test_no_run_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one run file"):
        leaderboard([], tmp_path)


def test_a_hostile_model_name_stays_one_cell(tmp_path):
    name = 'local/a, "b"\n=cmd|x 🙂'
    table, _ = leaderboard([write_run(tmp_path / "a.sqlite", ONE, model=name)], tmp_path)
    assert [row["model"] for row in read(table)] == [name]


def test_a_folder_that_cannot_be_made_is_named(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"leaderboard\.csv: cannot be written"):
        leaderboard([run], tmp_path / "file")


def test_nothing_but_the_two_files_is_left_behind(run, tmp_path):
    leaderboard([run], tmp_path / "out")
    leaderboard([run], tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "leaderboard.csv",
        "leaderboard_by_attribute.csv",
    ]


def test_every_column_is_documented():
    readme = (Path(__file__).parents[2] / "results" / "README.md").read_text("utf-8")
    documented = set(re.findall(r"`([a-z_]+)`", readme))
    kinds = [f"_{kind}" for kind in Kind]
    undocumented = {
        name
        for name in (*COLUMNS, *ATTRIBUTE_COLUMNS)
        if name not in documented
        and not any(name.endswith(kind) and {name.removesuffix(kind), kind} <= documented for kind in kinds)
    }
    assert undocumented == set()
