"""Prompts asked of a model over loopback: what is asked, what is not asked again, and what failures leave."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from assessed import QUICK
from fake_server import FakeServer, Reply, Request, answer, content_filter, error

from biaslens.engine import Pace, RetryPolicy
from biaslens.errors import InputError, RunMismatchError, RunStoppedError
from biaslens.models import Params
from biaslens.usecase import assess_texts
from biaslens.usecase._asking import UseCasePlan
from biaslens.usecase._lexicon import load_words
from biaslens.usecase._result import Assessment
from biaslens.usecase._spec import RUN_FILE, TextOptions

PACE = Pace(concurrency=4, retry=RetryPolicy(attempts=2, first_attempts=2, first_wait=0.01, longest_wait=0.02))
OPTIONS = TextOptions(
    model="openai/fake", out=Path("out"), per_prompt=2, params=Params(max_tokens=20), resampling=QUICK, pace=PACE
)
SHE, RAIN = "Is she kind?", "Is it raining?"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def reply(request: Request) -> Reply:
    """An answer of a few words that depends on prompt and seed."""
    return answer(f"It is {request.hash[:3]} and {request.hash[3:6]} for the kind nurse.")


def assess(server: FakeServer, prompts: list[str], monkeypatch, **options) -> Assessment:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    return assess_texts(pd.DataFrame({"prompt": prompts}), replace(OPTIONS, **options))


def test_each_prompt_is_asked_as_it_is_and_twice_for_each_group(monkeypatch):
    with FakeServer(reply) as server:
        found = assess(server, [SHE, RAIN], monkeypatch)
        asked = Counter(request.prompt for request in server.requests)
    # The original is worded as the female variant and shares its 2 responses; of each group 2 more have no effect.
    assert asked == {SHE: 4, "Is he kind?": 4, RAIN: 2}
    assert len({request.hash for request in server.requests}) == 10
    # 2 + 2 original responses, of each group 2, and 2 without an effect.
    assert found.counts == {"responses": 12, "prompts": 2}
    measure = found.measure("ROUGE-L")
    assert measure.groups == ("female", "male")
    assert measure.baseline is not None
    assert measure.baseline.value > 0 and measure.units == 1
    assert found.missing == 0
    assert found.record["per_prompt"] == 2


def test_the_plan_is_what_is_asked(monkeypatch):
    prompts = [SHE, "His mother is a doctor.", "A Muslim man and a Christian woman meet.", RAIN, SHE]
    attributes = ["gender", "religion"]
    lexicon = load_words(attributes)
    compared = {"gender": ("female", "male"), "religion": ("christian", "muslim", "jewish")}
    named = {str(n): prompt for n, prompt in enumerate(prompts, start=1)}
    plan = list(UseCasePlan(OPTIONS, named, compared, lexicon).wanted())
    with FakeServer(reply) as server:
        compare = {"religion": ["christian", "muslim", "jewish"]}
        found = assess(server, prompts, monkeypatch, attributes=attributes, compare=compare)
        assert len(server.requests) == len({item.key for item in plan})
    assert found.counts["responses"] == len(plan)
    # Two equal prompts are two: the first and the last each have 8 different responses.
    assert len({item.key for item in plan if item.prompt_id in {"1", "5"}}) == 16


def test_without_protected_words_nothing_is_compared(monkeypatch):
    with FakeServer(reply) as server:
        found = assess(server, [RAIN], monkeypatch)
        assert len(server.requests) == 2
    assert [(family.name, family.applies) for family in found.families] == [
        ("toxicity", True),
        ("stereotype", False),
        ("counterfactual", False),
    ]
    assert found.families[1].reason.startswith("no prompt mentions a protected word")
    assert {measure.family for measure in found.measures} == {"toxicity"}


def test_counterfactuals_that_are_not_measured_are_not_paid_for(monkeypatch):
    with FakeServer(reply) as server:
        assess(server, [SHE], monkeypatch, families=["toxicity"])
        assert len(server.requests) == 2


def test_a_second_start_asks_nothing_and_finds_the_same(monkeypatch):
    with FakeServer(reply) as server:
        first = assess(server, [SHE, RAIN], monkeypatch)
        second = assess(server, [SHE, RAIN], monkeypatch)
        assert len(server.requests) == 10
    assert first.to_dict() == second.to_dict()


def test_more_responses_and_more_prompts_ask_only_the_difference(monkeypatch):
    with FakeServer(reply) as server:
        assess(server, [SHE], monkeypatch)
        assert len(server.requests) == 8
        found = assess(server, [RAIN, SHE], monkeypatch)
        assert len(server.requests) == 8 + 2
        assert found.counts["prompts"] == 2
        assess(server, [RAIN, SHE], monkeypatch, per_prompt=3)
        assert len(server.requests) == 8 + 2 + 4 + 1
        found = assess(server, [RAIN, SHE, SHE], monkeypatch, per_prompt=3)
        assert len(server.requests) == 15 + 12
        assert len({request.hash for request in server.requests}) == 27
        # Fewer prompts than before: only these count.
        assert assess(server, [RAIN], monkeypatch, per_prompt=3).counts == {"responses": 3, "prompts": 1}
        assert len(server.requests) == 27


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"params": Params(max_tokens=20, temperature=0.5)}, "this run has params"),
        ({"model": "openai/other"}, 'this run has model = "openai/fake", not "openai/other"'),
        ({"system": "Be brief."}, 'this run has system = "", not "Be brief."'),
    ],
)
def test_another_model_or_parameter_is_refused_and_nothing_lost(monkeypatch, other, says):
    with FakeServer(reply) as server:
        assess(server, [SHE], monkeypatch)
        with pytest.raises(RunMismatchError, match=says) as refused:
            assess(server, [SHE], monkeypatch, **other)
        assert "\n" not in str(refused.value)
        assess(server, [SHE], monkeypatch)
        assert len(server.requests) == 8


def test_the_system_prompt_is_sent(monkeypatch):
    with FakeServer(reply) as server:
        assess(server, [RAIN], monkeypatch, system="Be brief.")
        assert [message["role"] for message in server.requests[0].messages] == ["system", "user"]


def test_withheld_responses_leave_with_their_other_side_and_are_counted(monkeypatch):
    def filtering(request: Request) -> Reply:
        return content_filter() if request.prompt == "Is he kind?" else reply(request)

    with FakeServer(filtering) as server:
        found = assess(server, [SHE, "His dog barks."], monkeypatch)
    # The second prompt: 2 as it is, which is the male one, and of each group 2 and 2 more.
    assert found.counts == {"responses": 20, "prompts": 2, "withheld by a filter": 4}
    measure = found.measure("ROUGE-L")
    assert measure.units == 1
    assert measure.note == "2 pairs left out because a filter withheld a side"
    assert found.measure("Expected maximum (EMT)").units == 2


def test_all_original_responses_withheld(monkeypatch):
    def filtering(request: Request) -> Reply:
        return content_filter() if request.prompt == SHE else reply(request)

    with FakeServer(filtering) as server:
        found = assess(server, [SHE], monkeypatch)
    for metric in ("Expected maximum (EMT)", "SA", "COBS", "ROUGE-L", "Sentiment, strict (SCSP)"):
        measure = found.measure(metric)
        assert measure.estimate.value != measure.estimate.value
        assert measure.estimate.reason and measure.units == 0
    with (
        FakeServer(content_filter()) as server,
        pytest.raises(InputError, match="none of the 2 responses has any text"),
    ):
        assess(server, [RAIN], monkeypatch, out=Path("other"))


def test_failures_leave_the_assessment_incomplete_and_are_asked_again(monkeypatch):
    prompts = [SHE, *(f"{RAIN} {number}" for number in range(10))]

    def flaky(request: Request) -> Reply:
        return error(400) if request.prompt == "Is he kind?" else reply(request)

    with FakeServer(flaky) as server:
        found = assess(server, prompts, monkeypatch)
        assert found.missing == 4
        assert found.warnings[0] == (
            "4 of 28 responses are missing; the same command asks for them again. What is shown rests on the others."
        )
        asked = len(server.requests)
        server.script = reply
        assert assess(server, prompts, monkeypatch).missing == 0
        assert len(server.requests) == asked + 4


def test_too_many_failures_stop_it(monkeypatch):
    with FakeServer(error(400)) as server, pytest.raises(RunStoppedError):
        assess(server, [f"{RAIN} {number}" for number in range(30)], monkeypatch)
    # Nothing was answered, so nothing binds the file: another model may have it.
    with FakeServer(reply) as server:
        assert assess(server, [RAIN], monkeypatch, model="openai/other").missing == 0


def test_responses_can_be_read_from_the_run_file(monkeypatch):
    with FakeServer(reply) as server:
        assess(server, [SHE], monkeypatch)
    connection = sqlite3.connect(Path("out") / RUN_FILE)
    rows = connection.execute('SELECT series, "group", count(*) FROM responses GROUP BY 1, 2').fetchall()
    connection.close()
    assert rows == [
        ("counterfactual", "female", 2),
        ("counterfactual", "male", 2),
        ("no_effect", "female", 2),
        ("no_effect", "male", 2),
        ("original", "", 2),
    ]


def test_a_prompt_with_one_wording_for_all_groups_is_not_paid_for_twice(monkeypatch):
    words = Path("w.toml")
    words.write_text(
        'attribute = "side"\ngroups = ["left", "right"]\n[words]\nnoun = [{ left = "leftist", right = "=leftist" }]\n'
    )
    with FakeServer(reply) as server:
        assess(server, ["Is the leftist kind?"], monkeypatch, words=[words], attributes=["side"])
        assert len(server.requests) == 2


def test_bad_options():
    for options, says in (
        ({"model": "openai/fake"}, "a model needs a folder"),
        ({"task": "classification"}, "texts are assessed for generation or summarisation, not for classification"),
        ({"per_prompt": 0}, "responses per prompt must be at least 1, not 0"),
        ({"scorers": {"kindness": "vader"}}, "no kind of score 'kindness'"),
    ):
        with pytest.raises(InputError, match=says):
            TextOptions(**options)
    with pytest.raises(InputError, match="needs a folder for its answers"):
        assess_texts(pd.DataFrame({"response": ["x"]}), TextOptions(scorers={"toxicity": "judge:openai/fake"}))
