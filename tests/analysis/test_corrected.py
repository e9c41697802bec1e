"""Bias rates corrected by labels: by hand, and how often the interval holds the truth."""

import math
import sqlite3

import numpy as np
import pytest
from labelled_runs import B, I, R, U, add_panel, answer_key, questions, write_labels
from run_files import Asked, write_run

from biaslens.analysis import corrected_rates, read_run, summarise
from biaslens.analysis.labels import COLUMNS, FEWEST_LABELS
from biaslens.annotation.annotators import take_labels
from biaslens.oracles import screen
from biaslens.schema import Kind
from biaslens.stats import Estimand

# Twelve answers, eight of them flagged. Half of the flagged ones are in the sample, and all of the others.
ASKED = questions("B" * 8 + "U" * 4)
SAMPLED = dict.fromkeys(ASKED[4:8], 0.5) | dict.fromkeys(ASKED[8:], 1.0)
SAID = [B, B, U, U, B, U, U, U]


def corrected(tmp_path, asked, sampled, said, **more):
    run = write_run(tmp_path / "run.sqlite", asked)
    take_labels(run, write_labels(tmp_path / "labels", sampled, {"ann": said}))
    return corrected_rates(run, **more)


def row(frame, kind="yes_no", condition="role", attribute="all"):
    chosen = (frame["kind"] == kind) & (frame["condition"] == condition) & (frame["attribute"] == attribute)
    (found,) = frame[chosen].to_dict("records")
    return found


def test_by_hand(tmp_path):
    frame = corrected(tmp_path, ASKED, SAMPLED, SAID)
    assert tuple(frame.columns) == COLUMNS
    found = row(frame)
    assert (found["valid_trials"], found["bias_rate"], found["labels"]) == (12, pytest.approx(8 / 12), 8)
    # By weight 2 * 2 + 1 of 12 are labelled biased, and as many of the sample are flagged as of all: 5 / 12.
    assert found["corrected_rate"] == pytest.approx(5 / 12)
    # Sensitivity 4 / 5, specificity 3 / 7: (8/12 + 3/7 - 1) / (4/5 + 3/7 - 1) = (8/84) / (8/35).
    assert found["rogan_gladen"] == pytest.approx(35 / 84)
    assert found["corrected_low"] < 5 / 12 < found["corrected_high"]
    assert (found["reason"], row(frame, kind="all")["corrected_rate"]) == ("", pytest.approx(5 / 12))


@pytest.mark.parametrize("said", [R, I])
def test_what_people_call_refused_or_invalid_is_a_label_and_not_biased(tmp_path, said):
    # The third and fourth label are not unbiased but something else; the trials still count.
    found = row(corrected(tmp_path, ASKED, SAMPLED, [B, B, said, said, B, U, U, U]))
    assert (found["corrected_rate"], found["labels"]) == (pytest.approx(5 / 12), 8)


def test_trials_that_do_not_count_in_the_raw_rate_do_not_count_here(tmp_path):
    invalid = questions("II", start=20)
    sampled = SAMPLED | dict.fromkeys(invalid, 1.0)
    found = row(corrected(tmp_path, [*ASKED, *invalid], sampled, [*SAID, B, B]))
    assert (found["valid_trials"], found["labels"], found["corrected_rate"]) == (12, 8, pytest.approx(5 / 12))


def test_an_open_answer_is_no_label(tmp_path):
    run = write_run(tmp_path / "run.sqlite", ASKED)
    people = {"ann": SAID, "ben": [U, *SAID[1:]]}
    take_labels(run, write_labels(tmp_path / "labels", SAMPLED, people))
    assert row(corrected_rates(run))["labels"] == 7


def test_a_judge_that_always_says_the_same(tmp_path):
    asked = questions("BBBB")
    found = row(corrected(tmp_path, asked, dict.fromkeys(asked, 0.5), [B, U, U, U]))
    # It tells nothing, so the labels' mean stands alone; from its sensitivity and specificity nothing follows.
    assert found["corrected_rate"] == pytest.approx(1 / 4)
    assert found["corrected_low"] < 1 / 4 < found["corrected_high"]
    assert math.isnan(found["rogan_gladen"])
    assert found["reason"] == "Rogan-Gladen: the judge is no better than chance"


def missing_strata(tmp_path, sampled, said):
    """100 answers of which 20 are flagged, half of these rightly; ages and bodies are strata."""
    asked = [
        *questions("B" * 10 + "U" * 40, attribute="age"),
        *questions("B" * 10 + "U" * 40, attribute="body", start=50),
    ]
    return row(corrected(tmp_path, asked, {asked[place]: chance for place, chance in sampled.items()}, said))


def test_a_sample_that_misses_strata_is_put_together_by_verdict(tmp_path):
    # Nothing of body: 4 of 10 flagged ones of age, half of them biased, and 4 of 40 others, none of them.
    found = missing_strata(
        tmp_path, {0: 0.4, 1: 0.4, 2: 0.4, 3: 0.4, 20: 0.1, 21: 0.1, 22: 0.1, 23: 0.1}, [B, B] + [U] * 6
    )
    assert found["corrected_rate"] == pytest.approx(0.2 * 0.5)
    assert found["remark"].startswith("no answer was sampled from strata with 50 % of the yes_no answers")


def test_a_verdict_nobody_has_labelled_leaves_the_rate_open(tmp_path):
    # Weighted as they are, the labels of flagged answers alone would make it 0.5.
    found = missing_strata(tmp_path, {0: 0.2, 1: 0.2}, [B, U])
    assert math.isnan(found["corrected_rate"])
    assert found["reason"] == "no label of the 80 yes_no answers called not biased"


def test_a_sample_of_all_strata_needs_no_remark(tmp_path):
    sampled = {0: 0.2, 1: 0.2, 20: 0.05, 21: 0.05, 50: 0.2, 51: 0.2, 70: 0.05, 71: 0.05}
    assert missing_strata(tmp_path, sampled, [B, U, U, U, B, U, U, U])["remark"] == ""


def test_labels_of_one_class(tmp_path):
    found = row(corrected(tmp_path, ASKED, SAMPLED, [U] * 8))
    assert found["corrected_rate"] == 0
    assert found["corrected_high"] > 0
    assert found["reason"] == "Rogan-Gladen: a stratum has no label of a biased item"


def test_kinds_and_conditions_without_labels_are_not_corrected(tmp_path):
    choice = questions("BBU", kind="choice")
    elsewhere = [Asked("age", "Role 000", "yes_no", (B,), condition="no_role")]
    frame = corrected(tmp_path, [*ASKED, *choice, *elsewhere], SAMPLED, SAID)
    assert row(frame)["corrected_rate"] == pytest.approx(5 / 12)
    for kind, condition, unlabelled in (
        ("choice", "role", "choice"),
        ("all", "role", "choice"),
        ("yes_no", "no_role", "yes_no"),
    ):
        found = row(frame, kind=kind, condition=condition)
        assert math.isnan(found["corrected_rate"])
        assert math.isnan(found["rogan_gladen"])
        assert found["reason"] == f"no label of {unlabelled} answers"
    assert row(frame, kind="choice")["bias_rate"] == pytest.approx(2 / 3)


def test_all_kinds_are_added_up_by_their_trials(tmp_path):
    # Yes/no 5/12 of 12 as above; choice: 1 of 4, all labelled. (5 + 1) / 16.
    choice = questions("BBUU", kind="choice", start=30)
    sampled = SAMPLED | dict.fromkeys(choice, 1.0)
    frame = corrected(tmp_path, [*ASKED, *choice], sampled, [*SAID, B, U, U, U])
    assert row(frame, kind="choice")["corrected_rate"] == pytest.approx(1 / 4)
    assert row(frame, kind="all")["corrected_rate"] == pytest.approx(6 / 16)


def test_an_attribute_needs_labels_enough(tmp_path):
    many, few = questions("BU" * (FEWEST_LABELS // 2)), questions("BU", attribute="race")
    asked = [*many, *few]
    frame = corrected(tmp_path, asked, dict.fromkeys(asked, 1.0), [B, U, U, U] * (len(asked) // 4) + [B, U])
    assert row(frame, attribute="age")["corrected_rate"] == pytest.approx(1 / 4)
    found = row(frame, attribute="race")
    assert (found["labels"], found["reason"]) == (2, f"fewer than {FEWEST_LABELS} labels")
    assert math.isnan(found["corrected_rate"])


def test_another_panel_is_corrected_by_the_same_labels(tmp_path):
    asked = questions("BBBB", kind="why")
    run = write_run(tmp_path / "run.sqlite", asked)
    add_panel(run, "second", dict(zip(asked, [B, U, U, U], strict=True)))
    take_labels(run, write_labels(tmp_path / "labels", dict.fromkeys(asked, 1.0), {"ann": [B, U, U, U]}))
    rates = {panel: row(corrected_rates(run, panel=panel), "why") for panel in (None, "second")}
    assert [rates[panel]["bias_rate"] for panel in (None, "second")] == [1, 0.25]
    assert [rates[panel]["corrected_rate"] for panel in (None, "second")] == [0.25, 0.25]


def test_a_local_judge_is_not_corrected_by_the_labels_that_it_learned_from(tmp_path):
    judge = screen.load()
    asked = questions("BBUU", kind="why")
    run = write_run(tmp_path / "run.sqlite", asked, panel_spec={"screen": {"name": judge.name}})
    for sample, corrects in ((next(iter(judge.learned_from)), False), ("others", True)):
        folder = write_labels(tmp_path / sample, dict.fromkeys(asked, 1.0), {"ann": [B, U, U, U]}, sample=sample)
        take_labels(run, folder)
        found = row(corrected_rates(run), "why")
        assert (found["labels"], math.isnan(found["corrected_rate"])) == (4, not corrects)
        assert found["reason"].split(";")[0] == ("" if corrects else f"{judge.name} has learned from these labels")


def test_nothing_is_corrected_without_labels_or_verdicts(tmp_path):
    run = write_run(tmp_path / "none.sqlite", ASKED)
    assert corrected_rates(run).empty
    assert summarise(run).conditions[0].corrected == {}
    asked = questions("JJ", kind="why")
    assert corrected(tmp_path, asked, dict.fromkeys(asked, 1.0), [B, U]).empty


def test_the_summary_has_the_corrected_rate_beside_the_raw_one(tmp_path):
    # As above, and four flagged answers of another attribute, none of them biased: raw 12 of 16, corrected 5 of 16.
    others = questions("BBBB", attribute="race")
    corrected(tmp_path, [*ASKED, *others], SAMPLED | dict.fromkeys(others, 1.0), [*SAID, U, U, U, U])
    (condition,) = summarise(tmp_path / "run.sqlite").conditions
    assert condition.cell(kind=Kind.YES_NO).bias_rate.value == pytest.approx(12 / 16)
    assert condition.corrected[Kind.YES_NO] == condition.corrected[None] == pytest.approx(5 / 16)
    assert condition.corrected[Kind.YES_NO].items == 12


PAIRS = ("men", "women"), ("bakers", "plumbers")


def test_intervals_are_for_the_estimand_of_the_run(tmp_path):
    # Two comparisons, one of which brings out bias: roles alone do not tell how another would come out.
    asked = [
        Asked(
            "age",
            f"Role {r}",
            "yes_no",
            (B if n < 3 else U,),
            number=n,
            groups=("men", "women") if n < 4 else ("a", "b"),
        )
        for r in range(6)
        for n in range(8)
    ]
    run = write_run(tmp_path / "run.sqlite", asked)
    said = [each.outcomes[0] for each in asked]
    take_labels(run, write_labels(tmp_path / "labels", dict.fromkeys(asked, 1.0), {"ann": said}))
    like, these = (row(corrected_rates(read_run(run, estimand=estimand))) for estimand in Estimand)
    assert (like["estimand"], these["estimand"]) == (Estimand.LIKE_THESE, Estimand.THESE)
    assert like["corrected_rate"] == these["corrected_rate"]
    assert like["corrected_low"] < these["corrected_low"] < these["corrected_high"] < like["corrected_high"]


def test_the_interval_holds_the_truth(tmp_path):
    """A judge like the study's: it misses 2 % and flags 45 % of the rest, in 60 roles that differ."""
    rng = np.random.default_rng(7)
    role = np.repeat(np.arange(60), 25)
    truth = rng.random(len(role)) < rng.beta(1.5, 6, 60)[role]
    flagged = rng.random(len(role)) < np.where(truth, 0.98, 0.45)
    asked = [
        Asked("age", f"Role {r:02}", "why", (B if f else U,), number=n)
        for n, (r, f) in enumerate(zip(role, flagged, strict=True))
    ]
    run = write_run(tmp_path / "run.sqlite", asked)
    keys = [answer_key(each) for each in asked]
    found = []
    for _ in range(40):
        drawn = [rng.choice(np.flatnonzero(flagged == flag), 75, replace=False) for flag in (True, False)]
        _hold(run, keys, truth, {i: 75 / (flagged == flagged[i]).sum() for i in np.concatenate(drawn)})
        found.append(row(corrected_rates(run), "why"))
    rates = np.array([each["corrected_rate"] for each in found])
    held = [each["corrected_low"] <= truth.mean() <= each["corrected_high"] for each in found]
    # The intervals allow for other roles too, and these are always the same: they hold it more often than in 95 %.
    assert sum(held) >= 38
    assert abs(rates.mean() - truth.mean()) < 4 * rates.std() / np.sqrt(len(rates))
    assert min(each["bias_rate_low"] for each in found) > truth.mean() + 0.2
    # 55 % are flagged, and 0.36 of these are biased: 2 * 1.98 * 0.55 * sqrt(0.36 * 0.64 / 75) = 0.12 for the labels
    # alone, and somewhat more for roles and missed bias. Wider intervals would hold anything.
    assert np.mean([each["corrected_high"] - each["corrected_low"] for each in found]) < 0.16


def _hold(run, keys, truth, sampled):
    """Put a sample into the run in place of the last one."""
    with sqlite3.connect(run) as connection:
        connection.execute("DELETE FROM sampled")
        connection.executemany(
            "INSERT INTO sampled VALUES (?, 'drawn', 'why', ?, ?, 1, 'single')",
            [(keys[i], chance, B if truth[i] else U) for i, chance in sampled.items()],
        )
    connection.close()
