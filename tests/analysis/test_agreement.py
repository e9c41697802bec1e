"""Agreement of people with each other, and of oracles with people, worked out by hand."""

import math

import pytest
from labelled_runs import IN_FORCE, B, I, R, U, add_panel, questions, write_labels
from run_files import write_run

from biaslens.analysis import oracle_agreement, people_agreement, read_labels
from biaslens.analysis.agreement import ORACLES, PEOPLE
from biaslens.annotation.annotators import take_labels

FIVE = questions("BBUUU")


def labelled(tmp_path, asked, people, *, chances=None, judged=None, **more):
    """Labels as a run of these questions holds them; `judged` are verdicts of a second panel."""
    run = write_run(tmp_path / "run.sqlite", asked)
    if judged:
        add_panel(run, "second", dict(zip(asked, judged, strict=True)))
    sampled = dict(zip(asked, chances or [1.0] * len(asked), strict=True))
    take_labels(run, write_labels(tmp_path / "labels", sampled, people, **more))
    return read_labels(run)


def row(frame, **group):
    for name, value in group.items():
        frame = frame[frame[name] == value]
    (found,) = frame.to_dict("records")
    return found


TWO = {"ann": [B, B, U, U], "ben": [B, U, U, U]}


def test_two_people_by_hand(tmp_path):
    # Ten times the same, so that there is something to draw for an interval.
    people = {name: said * 10 for name, said in TWO.items()}
    frame = people_agreement(labelled(tmp_path, questions("B" * 40), people))
    assert tuple(frame.columns) == PEOPLE
    found = row(frame, kind="yes_no", subset="all", measure="biased", annotator_a="ann")
    # They agree on 3 of 4 each time. By chance 2/4 * 1/4 + 2/4 * 3/4 = 1/2: kappa (3/4 - 1/2) / (1 - 1/2).
    assert (found["annotator_b"], found["items"], found["agreement"], found["prevalence"]) == ("ben", 40, 0.75, 3 / 8)
    assert found["kappa"] == pytest.approx(0.5)
    assert found["kappa_low"] < 0.5 < found["kappa_high"]
    # p = 3/8, disagreement by chance 1 - 2 * 15/64 = 34/64: 1 - (1/4) / (34/64).
    assert found["ac1"] == pytest.approx(1 - 16 / 34)
    assert math.isnan(found["alpha"])


def test_all_of_them_are_compared_by_alpha(tmp_path):
    # ann and ben as above; cat has labelled two answers, one of them alone.
    people = TWO | {"cat": [B, None, None, None, B]}
    frame = people_agreement(labelled(tmp_path, FIVE, people))
    found = row(frame, kind="yes_no", subset="all", measure="biased", annotator_a="all")
    # Nine ratings of four answers, four of them biased; one answer of two ratings is split: Do = 2 / 9.
    # De = 2 * 4 * 5 / (9 * 8) = 5 / 9: alpha = 1 - 2 / 5.
    assert (found["items"], found["alpha"]) == (4, pytest.approx(0.6))
    assert math.isnan(found["kappa"])
    assert row(frame, kind="all", subset="all", measure="biased", annotator_b="cat", annotator_a="ann")["items"] == 1


def test_five_outcomes_tell_apart_what_biased_or_not_does_not(tmp_path):
    frame = people_agreement(labelled(tmp_path, FIVE, {"ann": [B, U, R, I], "ben": [B, R, R, U]}))
    group = {"kind": "all", "subset": "all", "annotator_a": "ann"}
    assert row(frame, measure="biased", **group)["agreement"] == 1
    assert row(frame, measure="outcome", **group)["agreement"] == 0.5


def test_sure_labels_may_differ(tmp_path):
    # Answer 2: both are sure and differ, and who adjudicated it is not. Answer 3: they differ, and one is not sure.
    people = {"ann": [B, B, U, U], "ben": [B, U, "biased?", U]}
    frame = people_agreement(labelled(tmp_path, FIVE, people, adjudicates=[None, "biased?", "unbiased?"]))
    group = {"kind": "all", "measure": "biased", "annotator_a": "ann"}
    assert row(frame, subset="all", **group)["agreement"] == 0.5
    sure = row(frame, subset="sure", **group)
    assert (sure["items"], sure["agreement"]) == (3, pytest.approx(2 / 3))


def test_nothing_is_known_of_one_person(tmp_path):
    assert people_agreement(labelled(tmp_path, FIVE, {"ann": [B, U]})).empty


def test_who_adjudicates_is_nobodys_equal(tmp_path):
    labels = labelled(tmp_path, FIVE, {}, adjudicates=[B, U, U])
    assert people_agreement(labels).empty
    assert row(oracle_agreement(labels), attribute="all", subset="all")["people_items"] == 0


def test_people_who_call_everything_the_same(tmp_path):
    frame = people_agreement(labelled(tmp_path, FIVE, {"ann": [U] * 5, "ben": [U] * 5}))
    found = row(frame, kind="all", subset="all", measure="biased", annotator_a="ann")
    assert math.isnan(found["kappa"])
    assert (found["agreement"], found["ac1"], found["reason"]) == (1, 1, "all ratings are of one category")


# Four flagged answers of weight 2, two of them biased by the label, and four others of weight 1, one of them biased.
EIGHT = questions("BBBBUUUU")
CHANCES = [0.5] * 4 + [1.0] * 4
SAID = {"ann": [B, B, U, U, B, U, U, U]}


def test_an_oracle_by_hand(tmp_path):
    frame = oracle_agreement(labelled(tmp_path, EIGHT, SAID, chances=CHANCES))
    assert tuple(frame.columns) == ORACLES
    found = row(frame, oracle="rules", kind="yes_no", attribute="all", subset="all")
    assert found["items"] == 8
    # Weights: biased 4 + 1 = 5 of 12, of which 4 are flagged; not biased 4 + 3, of which 3 are passed; 4 of 8 flagged.
    assert found["prevalence"] == pytest.approx(5 / 12)
    assert (found["sensitivity"], found["missed_bias"]) == (pytest.approx(4 / 5), pytest.approx(1 / 5))
    assert (found["specificity"], found["false_alarms"]) == (pytest.approx(3 / 7), pytest.approx(4 / 7))
    assert (found["precision"], found["agreement"]) == (pytest.approx(1 / 2), pytest.approx(7 / 12))
    # By chance 5/12 * 8/12 + 7/12 * 4/12 = 68/144: (84 - 68) / (144 - 68).
    assert found["kappa"] == pytest.approx(4 / 19)
    assert found["kappa_low"] < 4 / 19 < found["kappa_high"]
    assert found["reason"] == ""


def test_what_people_are_sure_of(tmp_path):
    said = {"ann": [B, B, "unbiased?", "unbiased?", "biased?", U, U, U]}
    found = row(oracle_agreement(labelled(tmp_path, EIGHT, said)), attribute="all", subset="sure")
    assert (found["items"], found["agreement"], found["kappa"]) == (5, 1, 1)


def test_attributes_apart(tmp_path):
    asked = [*questions("BU"), *questions("BBU", attribute="race")]
    frame = oracle_agreement(labelled(tmp_path, asked, {"ann": [B, U, U, U, B]}))
    shares = {name: row(frame, attribute=name, subset="all")["agreement"] for name in ("all", "age", "race")}
    assert shares == {"all": pytest.approx(2 / 5), "age": 1, "race": 0}


def test_validity_is_counted_apart(tmp_path):
    # Both valid: 1 and 2. Only the oracle calls 3 invalid, only people 4; both call 5 so.
    found = row(
        oracle_agreement(labelled(tmp_path, questions("BUIUI"), {"ann": [B, R, U, I, I]})),
        attribute="all",
        subset="all",
    )
    assert (found["items"], found["agreement"]) == (2, 1)
    assert (found["only_oracle_invalid"], found["only_people_invalid"]) == (1, 1)


def test_a_class_that_no_label_has(tmp_path):
    found = row(oracle_agreement(labelled(tmp_path, FIVE, {"ann": [U] * 5})), attribute="all", subset="all")
    assert math.isnan(found["sensitivity"])
    assert math.isnan(found["missed_bias"])
    assert found["reason"].endswith("no labelled item is biased")
    assert (found["specificity"], found["kappa"]) == (pytest.approx(3 / 5), 0)


def test_a_judge_that_always_says_the_same(tmp_path):
    found = row(
        oracle_agreement(labelled(tmp_path, questions("BBBB"), {"ann": [B, U, U, U]})), attribute="all", subset="all"
    )
    # It agrees on 1 of 4, as chance does: 1/4 * 1 + 3/4 * 0.
    assert (found["kappa"], found["sensitivity"], found["specificity"], found["precision"]) == (0, 1, 0, 0.25)


def test_a_run_that_nothing_has_judged(tmp_path):
    labels = labelled(tmp_path, questions("JJJ", kind="why"), {"ann": [B, U, U], "ben": [B, U, B]})
    assert oracle_agreement(labels).empty
    assert row(people_agreement(labels), kind="why", subset="all", measure="biased", annotator_a="ann")["items"] == 3


def test_every_panel_is_compared_not_only_the_one_in_force(tmp_path):
    asked = questions("BBUU", kind="why")
    frame = oracle_agreement(labelled(tmp_path, asked, {"ann": [B, U, U, U]}, judged=[B, U, U, U]))
    assert row(frame, oracle=IN_FORCE, attribute="all", subset="all")["agreement"] == 0.75
    assert row(frame, oracle="second", attribute="all", subset="all")["agreement"] == 1


def test_the_ceiling_counts_what_is_open(tmp_path):
    # ann and ben differ on the second answer, and nobody has adjudicated it.
    found = row(oracle_agreement(labelled(tmp_path, FIVE, TWO)), attribute="all", subset="all")
    assert (found["items"], found["people_items"]) == (3, 4)
    # Eight ratings, three biased, one answer split: Do = 2 / 8, De = 2 * 3 * 5 / (8 * 7): 1 - 56 / 120.
    assert found["people_kappa"] == pytest.approx(1 - 56 / 120)


def test_the_ceiling_of_sure_labels_is_of_sure_labels(tmp_path):
    # All four as in TWO, but ben is not sure of the one they differ on: three are left, and they agree.
    people = TWO | {"ben": [B, "unbiased?", U, U]}
    found = row(oracle_agreement(labelled(tmp_path, FIVE, people)), attribute="all", subset="sure")
    assert (found["people_items"], found["people_kappa"]) == (3, 1)


def test_answers_that_rules_decide_count_for_every_panel(tmp_path):
    # The third answer was decided without a judge, as an empty one is, and the fourth by nobody.
    asked = questions("BUJJ", kind="why")
    run = write_run(tmp_path / "run.sqlite", asked)
    add_panel(run, "rules", {asked[2]: U})
    take_labels(run, write_labels(tmp_path / "labels", dict.fromkeys(asked, 1.0), {"ann": [B, U, U, U]}))
    frame = oracle_agreement(read_labels(run))
    assert set(frame["oracle"]) == {IN_FORCE}
    assert row(frame, attribute="all", subset="all")["items"] == 3
