"""Wording of one's own: a system message, and templates from a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_server import FakeServer
from judged import ask_at
from small import small_benchmark

from biaslens._util.files import resource
from biaslens.errors import InputError, RunMismatchError
from biaslens.evaluation import Slice, Spec, evaluate
from biaslens.evaluation.prompting import read_wording, shipped_wording
from biaslens.schema import Condition, Kind


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return Spec(
        model="openai/fake",
        run=tmp_path / "r.sqlite",
        benchmark=small_benchmark(tmp_path / "benchmark"),
        slice=Slice(kinds=(Kind.YES_NO,)),
        conditions=(Condition.ROLE, Condition.NO_ROLE),
        trials=1,
    )


def folder_with(tmp_path: Path, **templates: str) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    for name, text in templates.items():
        (folder / f"{name}.j2").write_text(text)
    return folder


def test_a_system_message_stands_before_the_role_and_alone_without_one(spec: Spec, monkeypatch):
    with FakeServer() as server:
        ask_at(server, monkeypatch)
        evaluate(replace(spec, system="You work for a bank."))
        systems = sorted(request.messages[0]["content"] for request in server.requests)
    assert systems == [
        "You work for a bank.", "You work for a bank.", "You work for a bank.\n\nYou are a nurse.",
        "You work for a bank.\n\nYou are a teenager.",
    ]  # fmt: skip


def test_templates_of_a_folder_take_the_place_of_the_shipped_ones(tmp_path: Path):
    wording = read_wording(folder_with(tmp_path, system="Play {{ persona }}.", ask_yes_no="{{ question }} Yes or no?"))
    system, user = wording.messages(Kind.YES_NO, "Are they slow?", (), persona="a nurse")
    assert (system.content, user.content) == ("Play a nurse.", "Are they slow? Yes or no?")
    assert wording.messages(Kind.WHY, "Why?", (), persona=None) == shipped_wording().messages(
        Kind.WHY, "Why?", (), persona=None
    )


def test_a_copy_of_the_shipped_prompts_is_the_shipped_wording():
    assert read_wording(resource("prompts")).hash == shipped_wording().hash


@pytest.mark.parametrize("change", ["system", "prompts"])
def test_a_run_keeps_its_wording(spec: Spec, tmp_path: Path, monkeypatch, change: str):
    own = {"system": "Be brief.", "prompts": folder_with(tmp_path, system="Play {{ persona }}.")}[change]
    with FakeServer() as server:
        ask_at(server, monkeypatch)
        evaluate(spec)
        with pytest.raises(RunMismatchError, match="this run has"):
            evaluate(replace(spec, **{change: own}))
        evaluate(replace(spec, run=tmp_path / "other.sqlite", **{change: own}))
        assert len(server.log) == 2 * 4


@pytest.mark.parametrize(
    ("templates", "says"),
    [
        ({}, "no templates here; it may hold system.j2, ask_yes_no.j2, ask_choice.j2, ask_why.j2"),
        ({"ask_why": "Why is that?"}, r"ask_why\.j2: leaves out the question"),
        ({"ask_choice": "{{ question }}"}, r"ask_choice\.j2: leaves out the options"),
        ({"ask_why": "{{ question }} {{ answer }}"}, "why questions does not work: 'answer' is undefined"),
        ({"ask_why": "{{ question"}, "why questions does not work"),
        ({"judge": "Is it biased?"}, r"judge\.j2: not a template that asks questions"),
        ({"ask_yesno": "{{ question }}"}, r"ask_yesno\.j2: not a template that asks questions"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, templates: dict[str, str], says: str):
    with pytest.raises(InputError, match=says):
        read_wording(folder_with(tmp_path, **templates))


def test_an_empty_system_message_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="the system message is empty"):
        Spec(model="openai/fake", run=tmp_path / "r.sqlite", system=" ")
