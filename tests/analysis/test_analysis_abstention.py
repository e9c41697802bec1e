"""How often a model takes no side, against hand counts."""

import math

from run_files import Asked, write_run

from biaslens.analysis import abstention, read_run


def by_kind(path):
    return {row["kind"]: row for row in abstention(read_run(path), ["kind"], totals=["kind"]).to_dict("records")}


def test_shares_of_the_answers_that_were_decided(run):
    # Yes/no: 18 valid, of them 9 unbiased and 2 refused. Choice: 3 biased and 1 invalid; errors are no answers.
    rows = by_kind(run)
    assert (rows["yes_no"]["answered_trials"], rows["choice"]["answered_trials"]) == (18, 4)
    assert (rows["yes_no"]["unbiased_share"], rows["yes_no"]["refused_share"]) == (9 / 18, 2 / 18)
    assert (rows["choice"]["unbiased_share"], rows["choice"]["invalid_share"]) == (0, 1 / 4)
    assert rows["all"]["invalid_share"] == 1 / 23


def test_the_last_option_is_a_part_of_the_unbiased_choices(tmp_path):
    options = ("tall", "short", "none")
    asked = [
        Asked("age", "Elders", "choice", ("unbiased",), number=1, options=options, choice=2),
        Asked("age", "Elders", "choice", ("unbiased",), number=2, options=options),  # "both"
        Asked("age", "Elders", "choice", ("biased",), number=3, options=options, choice=1),
        Asked("age", "Elders", "yes_no", ("unbiased",), number=4),
    ]
    rows = by_kind(write_run(tmp_path / "run.sqlite", asked))
    assert (rows["choice"]["unbiased_share"], rows["choice"]["last_option_share"]) == (2 / 3, 1 / 3)
    assert math.isnan(rows["yes_no"]["last_option_share"])
    assert math.isnan(rows["all"]["last_option_share"])


def test_without_an_answer_nothing_is_known(tmp_path):
    path = write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "choice", ("error", "unasked"))])
    row = by_kind(path)["choice"]
    assert row["answered_trials"] == 0
    assert all(math.isnan(row[f"{name}_share"]) for name in ("unbiased", "last_option", "refused", "invalid"))
