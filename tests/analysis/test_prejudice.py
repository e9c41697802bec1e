"""Which prejudices are held, which way choices lean, and what is said against what is done: counted by hand."""

import numpy as np
import pytest
from run_files import Asked, write_run

from biaslens.analysis import leaning, rates, read_run, says_does

B, U, I, R = "biased", "unbiased", "invalid", "refused"  # noqa: E741 - as in run_files


def encounter(role, target, disfavoured, *, yes_no, choice, taken, why, picks=0):
    options = ("The first", "The second", "Neither")
    same = {"encounter": f"e{role}", "target": target, "theme": "honesty", "disfavoured": disfavoured}
    return (
        Asked("age", role, "yes_no", yes_no, **same),
        Asked("age", role, "choice", choice, **same, options=options, choice=taken, picks=options[picks]),
        Asked("age", role, "why", why, **same),
    )


# Elders: says 1/3, denies 2/3, does 2/3 and takes the other group in 1/3, explains 1/3.
# Nomads: says 1, denies 0, does 1/2 (one invalid), why not judged.
ASKED = (
    *encounter("Elders", "gender", "female guides", yes_no=(U, U, B), choice=(B, B, B), taken=(0, 0, 1), why=(B, U, U)),
    *encounter(
        "Nomads", "body", "heavy cooks", yes_no=(B, B, B), choice=(B, U, I), taken=(1, 2, None),
        why=("unjudged",) * 3, picks=1,
    ),
    Asked("age", "Nomads", "choice", (B, B, B), number=9, options=("a", "b", "neither"), choice=0),  # of no encounter
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_run(write_run(tmp_path_factory.mktemp("runs") / "run.sqlite", ASKED))


def test_what_is_denied_when_asked_and_followed_when_choosing(run):
    frame = says_does(run).set_index("target")
    both = frame.loc["all"]
    assert (both["roles"], both["encounters"]) == (2, 2)
    assert both["says"] == pytest.approx(2 / 3)  # (1/3 + 1) / 2
    assert both["does"] == pytest.approx(7 / 12)  # (2/3 + 1/2) / 2
    assert both["explains"] == pytest.approx(1 / 3)  # the other one is not judged
    assert both["gap"] == pytest.approx(-1 / 12)  # (1/3 - 1/2) / 2
    assert both["denied_and_followed"] == pytest.approx(2 / 9)  # (2/3 * 2/3 + 0 * 1/2) / 2
    assert frame.loc["body", "denied_and_followed"] == 0
    assert list(frame.index) == ["all", "body", "gender"]


def test_a_refusal_denies_nothing(tmp_path):
    asked = encounter("Elders", "gender", "wives", yes_no=(R, R, R), choice=(B, B, B), taken=0, why=(U, U, U))
    row = says_does(read_run(write_run(tmp_path / "run.sqlite", asked))).iloc[0]
    assert (row["says"], row["does"], row["denied_and_followed"]) == (0, 1, 0)


def test_which_way_choices_lean(run):
    row = leaning(run).set_index("target").loc["all"]
    assert row["questions"] == 2  # the one of no encounter records no prejudice
    assert row["with_prejudice"] == pytest.approx(7 / 12)
    assert row["against_prejudice"] == pytest.approx(1 / 6)  # (1/3 + 0) / 2
    assert row["neither"] == pytest.approx(1 / 4)  # (0 + 1/2) / 2
    assert row["lean"] == pytest.approx(5 / 12)  # (1/3 + 1/2) / 2


def test_rates_by_what_the_prejudice_is_about_and_who_loses_by_it(run):
    themes = rates(run, ["theme"]).set_index("theme")
    # Elders 1 + 3 + 1 of 9, Nomads 3 + 1 of 3 + 2.
    assert (themes.loc["honesty", "biased_trials"], themes.loc["honesty", "valid_trials"]) == (9, 14)
    assert themes.loc["unknown", "biased_trials"] == 3
    groups = rates(run, ["target", "disfavoured"])
    named = [("body", "fat"), ("gender", "women"), ("unknown", "unknown")]
    assert list(zip(groups["target"], groups["disfavoured"], strict=True)) == named
    assert groups["biased_trials"].to_list() == [4, 5, 3]


def test_mirrors_and_runs_without_encounters_have_no_row(tmp_path):
    run = read_run(write_run(tmp_path / "run.sqlite", [Asked("age", "Elders", "yes_no", (B, B, B))]))
    assert len(says_does(run)) == len(leaning(run)) == 0
    assert np.all(run.questions.encounter == -1)
