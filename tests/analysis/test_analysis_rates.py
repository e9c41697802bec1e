"""Both headline numbers by any grouping, against the hand count in run_files and against the summary."""

import math

import numpy as np
import pandas as pd
import pytest
from made_runs import made_run
from run_files import ASKED, Asked, write_run

from biaslens.analysis import rates, read_run, summarise
from biaslens.schema import Attribute, Condition, Kind


def only(frame: pd.DataFrame, **where: str) -> pd.Series:
    for name, value in where.items():
        frame = frame[frame[name] == value]
    (row,) = [frame.iloc[place] for place in range(len(frame))]
    return row


def test_a_row_holds_the_hand_count(run):
    # Of the whole run: 27 planned; 11 B, 9 U, 2 R valid; 1 I, 1 E, 2 J, 1 unasked. See run_files.
    row = only(rates(read_run(run)))
    counted = {name: row[f"{name}_trials"] for name in ("planned", "valid", "biased", "unbiased", "refused")}
    assert counted == {"planned": 27, "valid": 22, "biased": 11, "unbiased": 9, "refused": 2}
    lost = {name: row[f"{name}_trials"] for name in ("invalid", "error", "unjudged", "unasked")}
    assert lost == {"invalid": 1, "error": 1, "unjudged": 2, "unasked": 1}
    assert (row["roles"], row["questions"], row["biased_questions"]) == (3, 9, 3)
    assert row["coverage"] == pytest.approx(22 / 27)
    # By role y = 6, 1, 4 of n = 9, 7, 6: residuals 1.5, -2.5, 1; var = 3/2 * (2.25 + 6.25 + 1) / 22^2
    assert row["standard_error"] == pytest.approx(math.sqrt(14.25) / 22)


def test_totals_come_first_and_then_the_order_of_attributes_and_kinds(run):
    frame = rates(read_run(run), ["kind", "attribute"], totals=["attribute", "kind"])
    assert list(zip(frame["attribute"], frame["kind"], strict=True)) == [
        ("all", "all"), ("all", "yes_no"), ("all", "choice"), ("all", "why"),
        ("age", "all"), ("age", "yes_no"), ("age", "choice"), ("age", "why"),
        ("race", "all"), ("race", "yes_no"),
    ]  # fmt: skip


def test_a_row_by_role_has_an_interval_over_its_questions(run):
    # Teenagers: valid 3, 3, 2, 1 of four questions, biased 2, 1, 2, 1: p = 6/9, residuals 0, -1, 2/3, 1/3.
    # var = 4/3 * (1 + 4/9 + 1/9) / 81 = 4/3 * 14/9 / 81
    row = only(rates(read_run(run), ["role"]), role="Teenagers")
    assert (row["attribute"], row["roles"], row["questions"]) == ("age", 1, 4)
    assert row["bias_rate"] == pytest.approx(6 / 9)
    assert row["standard_error"] == pytest.approx(math.sqrt(4 / 3 * 14 / 9 / 81))


def test_one_role_has_no_interval_where_roles_are_the_sample(run):
    row = only(rates(read_run(run), ["attribute"]), attribute="race")
    assert row["bias_rate"] == pytest.approx(4 / 6)
    assert np.isnan(row[["bias_rate_low", "bias_rate_high", "standard_error"]].astype(float)).all()


def test_an_unknown_target_is_a_group_of_its_own(tmp_path):
    asked = [
        Asked("age", "Elders", "yes_no", ("biased",), target="body"),
        Asked("age", "Elders", "yes_no", ("unbiased",), number=2),
    ]
    frame = rates(read_run(write_run(tmp_path / "run.sqlite", asked)), ["target"])
    assert list(zip(frame["target"], frame["bias_rate"], strict=True)) == [("body", 1.0), ("unknown", 0.0)]


def test_roles_of_one_name_under_two_attributes_are_two_rows(tmp_path):
    asked = [Asked(attribute, "Nurses", "yes_no", ("biased",)) for attribute in ("gender", "occupation")]
    frame = rates(read_run(write_run(tmp_path / "run.sqlite", asked)), ["role"], totals=["attribute"])
    assert list(zip(frame["attribute"], frame["role"], strict=True)) == [
        ("gender", "Nurses"),
        ("occupation", "Nurses"),
    ]


def test_nothing_valid_is_not_known_and_not_zero(tmp_path):
    path = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "why", ("invalid", "error", "unjudged"))])
    row = only(rates(read_run(path), ["kind"]))
    assert (row["planned_trials"], row["valid_trials"], row["coverage"]) == (3, 0, 0.0)
    assert np.isnan(row[["bias_rate", "bias_rate_low", "bias_rate_high"]].astype(float)).all()


def test_an_empty_run_has_all_columns_and_no_rows(tmp_path):
    empty, full = read_run(write_run(tmp_path / "a.sqlite")), read_run(write_run(tmp_path / "b.sqlite", ASKED))
    by = ("attribute", "kind", "target", "role")
    assert len(rates(empty, by)) == 0
    assert list(rates(empty, by).columns) == list(rates(full, by).columns)


def test_the_table_and_the_summary_agree():
    run = made_run(1)
    summary = summarise(run)
    frame = rates(run, ["attribute", "kind"], totals=["attribute", "kind"])
    assert len(frame) == 2 * (1 + 11) * (1 + 3)
    for row in frame.to_dict("records"):
        condition = summary.conditions[list(run.conditions).index(Condition(row["condition"]))]
        attribute = None if row["attribute"] == "all" else Attribute(row["attribute"])
        cell = condition.cell(attribute, None if row["kind"] == "all" else Kind(row["kind"]))
        expected = (cell.roles, cell.questions, cell.biased_questions, cell.counts.valid, cell.bias_rate.low)
        assert tuple(row[n] for n in ("roles", "questions", "biased_questions", "valid_trials", "bias_rate_low")) == (
            pytest.approx(expected, nan_ok=True)
        )
