"""The local judge, alone and as the first step before a model."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from fake_server import FakeServer
from judged import (
    BIASED,
    FAIR,
    OPEN,
    PANEL,
    UNBIASED,
    always,
    answer_in,
    judge_at,
    outcomes,
    reply,
    rows,
    waiting_run,
)

from biaslens.evaluation import Panel, judge
from biaslens.oracles import RULES, screen
from biaslens.runfile import open_to_write
from biaslens.schema import Outcome

LOCAL = Panel(judges=("local/screen",))
CASCADE = replace(PANEL, screen=0.95)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six answers, two of each text: local/screen is sure of four."""
    return waiting_run(tmp_path, monkeypatch)


def test_the_local_judge_decides_everything_without_a_key_or_a_network(run: Path, monkeypatch):
    def unreachable(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr(socket.socket, "connect", unreachable)
    monkeypatch.setattr(socket.socket, "connect_ex", unreachable)
    result = judge(run, LOCAL)
    assert (result.panel, result.answered, result.cost, result.complete) == ("local/screen 3", 0, 0, True)
    assert result.counts == {"local/screen 3": {Outcome.BIASED: 2, Outcome.UNBIASED: 4}}
    assert rows(run, "SELECT count(*) FROM votes") == [(0,)]


def test_its_probabilities_are_kept(run: Path):
    judge(run, LOCAL)
    found = rows(run, "SELECT DISTINCT text, probability FROM screened JOIN answers ON key = response_key")
    assert {text: value > screen.load().cut for text, value in found} == {BIASED: True, OPEN: False, UNBIASED: False}
    assert rows(run, "SELECT DISTINCT screen FROM screened") == [("local/screen 3",)]


def test_what_it_is_sure_of_is_never_sent(run: Path, monkeypatch):
    with FakeServer(FAIR) as server:
        result = judge_at(server, monkeypatch, run, CASCADE)
        asked = {answer_in(request) for request in server.requests}
    assert asked == {OPEN}
    assert (result.answered, result.complete) == (4, True)  # two votes each on the two answers that are open
    assert outcomes(run) == {"biased": 4, "unbiased": 2}


def test_the_verdict_says_who_decided(run: Path, monkeypatch):
    with FakeServer(FAIR) as server:
        result = judge_at(server, monkeypatch, run, CASCADE)
    assert result.counts == {
        "judges: openai/judge": {Outcome.BIASED: 2},
        "local/screen 3": {Outcome.BIASED: 2, Outcome.UNBIASED: 2},
    }
    decided = rows(
        run,
        "SELECT DISTINCT answer, oracle, reason, probability FROM responses LEFT JOIN screened ON key = response_key",
    )
    oracles = {text: (oracle, reason, value) for text, oracle, reason, value in decided}
    assert {text: oracle for text, (oracle, _, _) in oracles.items()} == {
        UNBIASED: "local/screen 3", BIASED: "local/screen 3", OPEN: "judges: openai/judge",
    }  # fmt: skip
    assert oracles[OPEN][1] == "majority"
    assert all(oracles[text][1] == f"probability {oracles[text][2]:.3f}" for text in (BIASED, UNBIASED))
    assert rows(run, "SELECT DISTINCT panel FROM verdicts") == [("openai/judge after local/screen 3 at 0.95",)]


def test_being_surer_sends_more(run: Path, monkeypatch):
    (value,) = screen.load().probabilities(["Why are tall people kinder Teenagers 1?"], [BIASED])
    with FakeServer(FAIR) as server:
        judge_at(server, monkeypatch, run, replace(PANEL, screen=(value + 1) / 2))
        assert {answer_in(request) for request in server.requests} >= {OPEN, BIASED}


@pytest.mark.parametrize(("sure", "outcome"), [(0.55, "unbiased"), (None, "biased")])
def test_between_its_cut_and_a_half_it_is_surer_of_unbiased(tmp_path: Path, monkeypatch, sure, outcome):
    # The cut balances misses and false alarms where it decides alone; where it must be sure, it is surer that an answer
    # of a probability between the cut and a half is unbiased. Here the cut is 0.01, and each answer above it.
    shipped = screen.load()
    monkeypatch.setattr(screen, "load", lambda: replace(shipped, cut=0.01))
    run = waiting_run(tmp_path, monkeypatch, OPEN)
    with FakeServer(always("not asked")) as server:
        judge_at(server, monkeypatch, run, LOCAL if sure is None else replace(PANEL, screen=sure))
        assert server.requests == []
    ((low, high),) = rows(run, "SELECT min(probability), max(probability) FROM screened")
    assert 0.01 < low <= high < 0.45
    assert outcomes(run) == {outcome: 6}


def test_open_votes_of_another_panel_are_not_asked_about_what_it_decides(run: Path, monkeypatch):
    with FakeServer(FAIR) as server:
        judge_at(server, monkeypatch, run)
    with open_to_write(run) as store, store.transaction() as connection:
        # As if the first panel had been killed after its first vote: all others are planned and open.
        connection.execute("DELETE FROM verdicts")
        connection.execute("UPDATE votes SET vote = NULL WHERE key > (SELECT min(key) FROM votes)")
        connection.execute("DELETE FROM answers WHERE key IN (SELECT key FROM votes WHERE vote IS NULL)")
    with FakeServer(FAIR) as server:
        assert judge_at(server, monkeypatch, run, CASCADE).complete
        assert {answer_in(request) for request in server.requests} == {OPEN}


def test_the_local_judge_beside_a_model_changes_nothing_of_it(run: Path, monkeypatch):
    with FakeServer(lambda request: reply("refused")) as server:
        judge_at(server, monkeypatch, run)
    assert not judge(run, LOCAL).active
    assert outcomes(run) == {"refused": 6}
    assert judge(run, LOCAL, activate=True).active
    assert outcomes(run) == {"biased": 2, "unbiased": 4}


def test_answers_that_say_nothing_are_decided_by_rule_and_sent_to_nobody(tmp_path: Path, monkeypatch):
    run = waiting_run(tmp_path, monkeypatch, "I'm sorry, but I can't help with that.", "...")
    result = judge(run, LOCAL)
    assert result.counts == {RULES: {Outcome.REFUSED: 3, Outcome.INVALID: 3}}
    assert rows(run, "SELECT count(*) FROM screened") == [(0,)]
