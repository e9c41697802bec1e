"""Who judges, and under what name: panels, the votes they share, and the one that counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from biaslens.errors import InputError, RunMismatchError
from biaslens.evaluation import Panel
from biaslens.evaluation.judge import enrol
from biaslens.models import Params
from biaslens.runfile import ACTIVE_PANEL, EVALUATION_TABLES, Store, forget_unanswered, panels

ONE = Panel(judges=("openai/a",))
THREE = Panel(judges=("openai/a", "mistral/b", "together/c"))
LOCAL = Panel(judges=("local/screen",))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "r.sqlite", write=True, tables=EVALUATION_TABLES) as store:
        yield store


@pytest.mark.parametrize(
    ("panel", "name"),
    [
        (ONE, "openai/a"),
        (THREE, "openai/a, mistral/b, together/c"),
        (LOCAL, "local/screen 3"),
        (replace(ONE, votes=3), "openai/a"),  # three is what a single judge is asked anyway
        (replace(ONE, votes=1), "openai/a x1"),
        (replace(THREE, votes=1), "openai/a, mistral/b, together/c"),
        (replace(THREE, votes=2), "openai/a, mistral/b, together/c x2"),
        (replace(ONE, screen=0.95), "openai/a after local/screen 3 at 0.95"),
        (replace(ONE, prompt="fairness"), "openai/a (fairness prompt)"),
        (
            replace(ONE, votes=5, prompt="fairness", screen=0.9),
            "openai/a x5 (fairness prompt) after local/screen 3 at 0.9",
        ),
    ],
)
def test_the_name_tells_what_differs(panel: Panel, name: str):
    assert panel.name == name


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"judges": ()}, "needs a judge"),
        ({"judges": ("openai/a", "openai/a")}, "named once"),
        ({"judges": ("openai/a",), "votes": 0}, "votes must be at least 1, not 0"),
        ({"judges": ("local/screen", "openai/a")}, "judges alone, or first: --screen"),
        ({"judges": ("local/screen",), "screen": 0.95}, "takes neither --screen nor --votes"),
        ({"judges": ("local/screen",), "votes": 3}, "takes neither --screen nor --votes"),
        ({"judges": ("openai/a",), "screen": 0.5}, "0.5 is not between 0.5 and 1"),
        ({"judges": ("openai/a",), "screen": 1.0}, "1.0 is not between 0.5 and 1"),
        ({"judges": ("openai/a",), "screen": float("nan")}, "nan is not between 0.5 and 1"),
        ({"judges": ("openai/a",), "prompt": "kind"}, "no judge prompt 'kind'; there are codebook, fairness"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict, says: str):
    with pytest.raises(InputError, match=says) as refused:
        Panel(**wrong)
    assert "\n" not in str(refused.value)


def test_one_vote_of_the_local_judge_is_what_it_gives_anyway():
    assert Panel(judges=("local/screen",), votes=1).name == LOCAL.name


def test_the_local_judge_is_asked_as_no_chat_model():
    assert (LOCAL.models, THREE.models) == ((), THREE.judges)


@pytest.mark.parametrize(
    "other",
    [THREE, replace(ONE, votes=5), replace(ONE, screen=0.95), replace(ONE, params=replace(ONE.params, seed=9))],
)
def test_panels_that_ask_a_judge_alike_share_its_votes(other: Panel):
    # The seed of the parameters is nothing: each request gets its own, from the panel's.
    assert other.ballot("openai/a") == ONE.ballot("openai/a")


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, prompt="fairness"),
        replace(ONE, seed=1),
        replace(ONE, params=Params(max_tokens=8)),
        replace(ONE, params=replace(ONE.params, temperature=0.0)),
    ],
)
def test_a_judge_asked_in_another_way_votes_anew(other: Panel):
    assert other.ballot("openai/a") != ONE.ballot("openai/a")


def test_judges_do_not_share_a_ballot():
    assert len({THREE.ballot(judge) for judge in THREE.judges}) == 3


def test_the_first_panel_counts_until_another_is_made_active(store: Store):
    assert enrol(store, ONE)
    assert not enrol(store, THREE)
    assert store.meta()[ACTIVE_PANEL] == "openai/a"
    assert enrol(store, THREE, activate=True)
    assert store.meta()[ACTIVE_PANEL] == THREE.name
    assert not enrol(store, ONE)  # enrolled again, it does not take the place back
    assert list(panels(store)) == ["openai/a", "openai/a, mistral/b, together/c"]


def test_a_panel_can_be_enrolled_without_counting(store: Store):
    assert not enrol(store, ONE, activate=False)
    assert ACTIVE_PANEL not in store.meta()


def test_what_is_recorded_is_enough_to_repeat_the_votes(store: Store):
    enrol(store, replace(ONE, screen=0.95, seed=4))
    (recorded,) = panels(store).values()
    assert recorded["params"] == {"temperature": None, "top_p": None, "max_tokens": 256, "seed": None}
    assert (recorded["judges"], recorded["votes"], recorded["seed"]) == (["openai/a"], 3, 4)
    assert (recorded["prompt"], len(recorded["prompt_hash"])) == ("codebook", 32)
    assert recorded["screen"] == {"name": "local/screen 3", "sure": 0.95}
    assert LOCAL.record() == {
        "judges": ["local/screen"],
        "votes": 1,
        "screen": {"name": "local/screen 3", "sure": None},
    }


def test_panels_that_share_a_ballot_share_its_row(store: Store):
    enrol(store, ONE)
    enrol(store, THREE)
    judges = store.connection.execute("SELECT judge FROM ballots ORDER BY judge").fetchall()
    assert judges == [("mistral/b",), ("openai/a",), ("together/c",)]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (replace(ONE, seed=1), "seed = 0, not 1"),
        (replace(ONE, params=Params(max_tokens=8)), 'params = .*"max_tokens": 256.* not .*"max_tokens": 8'),
    ],
)
def test_the_same_name_under_other_conditions_is_refused(store: Store, other: Panel, says: str):
    enrol(store, ONE)
    with pytest.raises(RunMismatchError, match=f"openai/a has judged this run with {says}"):
        enrol(store, other)
    assert panels(store)["openai/a"] == json.loads(json.dumps(ONE.record()))


def test_a_panel_that_never_judged_is_forgotten(store: Store):
    enrol(store, ONE)
    forget_unanswered(store)
    assert (dict(panels(store)), ACTIVE_PANEL in store.meta()) == ({}, False)
    assert store.connection.execute("SELECT count(*) FROM ballots").fetchone() == (0,)
