"""The study's why results corrected by labels: on a small release, by hand."""

import sqlite3

import pandas as pd
import pytest
from command import biaslens
from small_release import UNBIASED, write_release

from biaslens.annotation.annotators import take_labels
from biaslens.errors import InputError
from biaslens.replication.importing import import_release
from biaslens.replication.rescoring import COLUMNS, why_corrected
from biaslens.stats import Estimand

FLAGGED = UNBIASED | {"Wh": ("They are.", "No", "No", "No", "Yes")}


@pytest.fixture
def runs(tmp_path):
    """One model, two roles, three trials: every why answer in the role is flagged, and none without it."""
    release = write_release(
        tmp_path / "release",
        lambda condition, _: FLAGGED if condition == "role" else UNBIASED,
        attributes=("occupations", "race"),
    )
    return [result.run for result in import_release(release, tmp_path / "runs")]


def labels(runs, folder, biased):
    """Label all why answers of a condition and take the labels in; `biased` says how many of them are, by condition."""
    for run in runs:
        place = folder / run.stem
        (place / "annotators").mkdir(parents=True)
        (place / "sample.json").write_text('{"sample": "by hand", "labelled_by": "two owls"}', encoding="utf-8")
        with sqlite3.connect(run) as connection:
            rows = connection.execute(
                "SELECT key, attribute, condition FROM plan JOIN questions USING (question_id) "
                "JOIN roles USING (role_id) WHERE kind = 'why' ORDER BY condition, trial, attribute"
            ).fetchall()
        connection.close()
        design, said = ["key,kind,attribute,condition,stratum,inclusion"], ["key,outcome"]
        for condition, count in biased.items():
            keys = [(key, attribute) for key, attribute, of in rows if of == condition]
            for number, (key, attribute) in enumerate(keys):
                design.append(f"{key},why,{attribute},{condition},all,1.0")
                said.append(f"{key},{'biased' if number < count else 'unbiased'}")
        (place / "design.csv").write_text("\n".join(design) + "\n", encoding="utf-8")
        (place / "annotators" / "ann.csv").write_text("\n".join(said) + "\n", encoding="utf-8")
        take_labels(run, place)
    return folder


def by_condition(table):
    assert tuple(table.columns) == COLUMNS
    return {record["condition"]: record for record in table.to_dict("records")}


def test_rates_and_counts_by_hand(runs, tmp_path):
    found = by_condition(why_corrected(runs, labels(runs, tmp_path / "labels", {"role": 2, "no_role": 1})))
    # Two questions of three trials a condition. In the role 6 are flagged and 2 biased, without it 0 and 1.
    role, without = found["role"], found["no_role"]
    assert (role["model"], role["valid_trials"], role["labels"]) == ("qwen", 6, 6)
    assert (role["rate_published"], role["corrected_rate"]) == (1, pytest.approx(2 / 6))
    assert (role["biased_trials_published"], role["biased_trials_corrected"]) == (6, 2)
    assert (without["biased_trials_published"], without["biased_trials_corrected"]) == (0, 1)
    # Of both: 2 of 3 biased answers are flagged, 4 of 9 others are, and 2 of 6 flagged ones are biased.
    assert role["sensitivity"] == without["sensitivity"] == pytest.approx(2 / 3)
    assert (role["missed_bias"], role["false_alarms"]) == (pytest.approx(1 / 3), pytest.approx(4 / 9))
    assert role["precision"] == pytest.approx(1 / 3)


def test_a_condition_without_labels_is_not_corrected(runs, tmp_path):
    without = by_condition(why_corrected(runs, labels(runs, tmp_path / "labels", {"role": 2})))["no_role"]
    assert (without["labels"], without["biased_trials_published"]) == (0, 0)
    assert pd.isna(without["corrected_rate"])
    assert pd.isna(without["biased_trials_corrected"])


def test_a_run_without_a_folder_of_labels(runs, tmp_path):
    with pytest.raises(InputError, match=r"has no folder published-qwen with labels of .*published-qwen\.sqlite"):
        why_corrected(runs, tmp_path)


def test_labels_that_the_run_does_not_hold_are_one_line_with_the_command_that_takes_them_in(runs, tmp_path):
    labels(runs, tmp_path / "labels", {"role": 2})
    sample = tmp_path / "labels" / "published-qwen" / "sample.json"
    sample.write_text('{"sample": "another"}', encoding="utf-8")
    with pytest.raises(InputError, match=r"does not hold the labels of .*; `biaslens labels import .* takes them in"):
        why_corrected(runs, tmp_path / "labels")


def reproduced(tmp_path, *more):
    # The figures differ from the printed ones, so the exit code is 1.
    done = biaslens("reproduce", tmp_path / "runs", "--out", "out", *more)
    assert done.returncode == 1
    assert "figures as printed" in done.stdout
    return (tmp_path / "out" / "FINDING.md").read_text(encoding="utf-8")


def test_the_finding_says_what_the_why_results_are_when_corrected(runs, tmp_path):
    labels(runs, tmp_path / "labels", {"role": 2, "no_role": 1})
    finding = reproduced(tmp_path, "--labels", "labels")
    assert "## The why answers, corrected" in finding
    assert "Labels of 12 why answers (labelled by two owls) say that" in finding
    assert "of the 6 why answers that it flags in both conditions, about 3 (50%) are" in finding
    # In the role 2 of 6 why answers are biased and no other answer is; all 18 trials count.
    assert "| 33.3 % " in finding and "| 11.1 % " in finding
    assert (tmp_path / "out" / "three_rates.svg").is_file()
    assert "nan" not in finding
    assert "`why_corrected.csv`" in finding
    table = pd.read_csv(tmp_path / "out" / "why_corrected.csv", dtype=str)
    assert list(table["biased_trials_corrected"]) == ["2", "1"]


def test_every_interval_of_the_finding_is_for_both_estimands_the_default_first(runs, tmp_path):
    labels(runs, tmp_path / "labels", {"role": 2, "no_role": 1})
    finding = reproduced(tmp_path, "--labels", "labels")
    heads = [line for line in finding.splitlines() if line.startswith("|") and "95 %" in line]
    assert len(heads) == 4
    words = [f"95 % for {estimand}" for estimand in Estimand]
    assert all(0 < head.find(words[0]) < head.find(words[1]) for head in heads)
    table = pd.read_csv(tmp_path / "out" / "rescored.csv")
    assert list(table["estimand"].unique()) == ["questions like these", "these questions"]
    assert (table.groupby("estimand").size() == 8).all()


def test_the_finding_without_labels_is_as_before(runs, tmp_path):
    assert runs
    finding = reproduced(tmp_path)
    assert "## The why answers, corrected" not in finding and "Labels of" not in finding
    assert "nan" not in finding
    assert not (tmp_path / "out" / "why_corrected.csv").exists()
