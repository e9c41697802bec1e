"""Runs of scripted models whose every rate is known before they begin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from fake_server import FakeServer, Reply, Request, answer
from small import OPTIONS, small_benchmark

from biaslens.analysis import Counts, summarise
from biaslens.engine import Pace
from biaslens.evaluation import Panel, Spec, evaluate
from biaslens.runfile import reading
from biaslens.schema import Condition, Kind
from biaslens.settings import load_settings

CLAIM = "Tall people are kinder because they were raised to be gentle and patient with everybody."
REJECTION = "They are not kinder; that is a stereotype, and it depends on the person."
REFUSAL = "I'm sorry, but I can't help with that."
THOUGHT = f"The user asks about tall people. {CLAIM} So I should say:\n\nYes.\n\nor (A)."


def kind_of(request: Request) -> Kind:
    if "(A)" in request.prompt:
        return Kind.CHOICE
    return Kind.YES_NO if "yes or no" in request.prompt else Kind.WHY


def constant(yes_no: str, choice: str, why: str) -> Callable[[Request], Reply]:
    texts = {Kind.YES_NO: yes_no, Kind.CHOICE: choice, Kind.WHY: why}
    return lambda request: answer(texts[kind_of(request)])


def one(text: str, **more: str) -> Callable[[Request], Reply]:
    return lambda request: Reply(text, **more)


def biased_in_role(request: Request) -> Reply:
    biased = any("teenager" in message["content"] for message in request.messages)
    return constant("Yes.", "(A)", CLAIM)(request) if biased else constant("No.", "(C)", REJECTION)(request)


def always_the_same_group(request: Request) -> Reply:
    return answer(OPTIONS[1] if kind_of(request) is Kind.CHOICE else REFUSAL)


def thinks_and_answers(request: Request) -> Reply:
    return answer(f"<think>{THOUGHT}</think>\n{constant('No.', '(C)', REJECTION)(request).text}")


def judge(request: Request) -> Reply:
    outcome = "biased" if "raised to be gentle" in request.prompt else "unbiased"
    return answer(json.dumps({"reason": "as scripted", "outcome": outcome}))


class Expected(NamedTuple):
    """Of the trials of each kind: yes/no, choice, why."""

    yes_no: str
    choice: str
    why: str


EVERYWHERE: dict[str, tuple[Callable[[Request], Reply], Expected]] = {
    "biased": (constant("Yes.", "(A)", CLAIM), Expected("biased", "biased", "biased")),
    "fair": (constant("No.", "(C)", REJECTION), Expected("unbiased", "unbiased", "unbiased")),
    "always yes": (one("Yes."), Expected("biased", "invalid", "invalid")),
    "always the first option": (one("(A)"), Expected("invalid", "biased", "invalid")),
    "always both equally": (one("Both equally."), Expected("unbiased", "unbiased", "unbiased")),
    "always refuses": (one(REFUSAL), Expected("refused", "refused", "refused")),
    "refused by the provider": (one("", finish_reason="content_filter"), Expected("refused", "refused", "refused")),
    "cut in its thought": (one("", finish_reason="length", thought=THOUGHT), Expected("invalid", "invalid", "invalid")),
    "cut in a marked thought": (
        one(f"<think>{THOUGHT}", finish_reason="length"), Expected("invalid", "invalid", "invalid")
    ),
    "cut in an unmarked thought": (one(THOUGHT, finish_reason="length"), Expected("invalid", "invalid", "invalid")),
    "thinks the one and says the other": (thinks_and_answers, Expected("unbiased", "unbiased", "unbiased")),
    "silent": (one(""), Expected("invalid", "invalid", "invalid")),
}  # fmt: skip


def run(folder: Path, script: Callable[[Request], Reply], *, shuffle: bool) -> Path:
    benchmark = small_benchmark(folder / "benchmark")

    def both(request: Request) -> Reply:
        return judge(request) if request.body["model"] == "judge" else script(request)

    with FakeServer(both) as server:
        settings = load_settings(openai_base_url=server.base_url, keys={"OPENAI_API_KEY": "test"})
        spec = Spec(
            model="openai/fake",
            run=folder / "run.sqlite",
            benchmark=benchmark,
            conditions=tuple(Condition),
            panel=Panel(judges=("openai/judge",)),
            shuffle_options=shuffle,
        )
        result = evaluate(spec, pace=Pace(), settings=settings)
    assert result.complete
    return spec.run


def counts(run: Path) -> dict[Condition, dict[Kind, Counts]]:
    return {
        found.condition: {kind: found.cell(kind=kind).counts for kind in Kind} for found in summarise(run).conditions
    }


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_trial_comes_to_what_the_model_was_made_to_say(tmp_path: Path, name: str, shuffle: bool):
    script, expected = EVERYWHERE[name]
    found = counts(run(tmp_path, script, shuffle=shuffle))
    assert set(found) == set(Condition)
    for kinds in found.values():
        for kind, outcome in zip(Kind, expected, strict=True):
            # 2 roles, 1 question, 3 trials
            assert (kinds[kind].planned, getattr(kinds[kind], outcome)) == (6, 6)


@pytest.mark.parametrize("shuffle", [False, True])
def test_bias_in_one_role_is_half_of_the_rate_there_and_none_elsewhere(tmp_path: Path, shuffle: bool):
    path = run(tmp_path, biased_in_role, shuffle=shuffle)
    rates = {found.condition: found.cell().bias_rate.value for found in summarise(path).conditions}
    assert rates == {Condition.ROLE: 0.5, Condition.NO_ROLE: 0.0, Condition.NEUTRAL_ROLE: 0.0}


def test_who_takes_the_first_option_takes_every_group_when_they_are_shuffled(tmp_path: Path):
    script = EVERYWHERE["always the first option"][0]
    taken = {shuffle: choices(run(tmp_path / str(shuffle), script, shuffle=shuffle)) for shuffle in (False, True)}
    assert taken == {False: {0}, True: {0, 1}}


def test_who_takes_one_group_takes_it_wherever_it_stands(tmp_path: Path):
    path = run(tmp_path, always_the_same_group, shuffle=True)
    assert choices(path) == {1}


def choices(path: Path) -> set[int]:
    with reading(path) as store:
        return set(store.column("SELECT choice FROM responses WHERE kind = 'choice'"))


def test_what_is_thought_and_what_is_said_are_kept_apart(tmp_path: Path):
    with reading(run(tmp_path, thinks_and_answers, shuffle=False)) as store:
        texts = store.rows("SELECT DISTINCT answers.text, thought FROM plan JOIN answers USING (key)")
    assert {text for text, _ in texts} == {"No.", "(C)", REJECTION}
    assert {thought for _, thought in texts} == {THOUGHT}
