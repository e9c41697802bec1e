"""Batches at a provider: never submitted twice, and nothing lost that was paid for, whatever comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from batch_server import PROVIDERS, BatchProvider
from command import COMMAND, Done, biaslens, environment
from fake_server import FakeServer, Reply, Request, answer, by_kind
from small import small_benchmark

from biaslens.runfile import Store

CLAIM = "They are more caring because they tend to be more empathetic, and they have a stronger sense of duty."
NAME = "openai/gpt-4o-mini"
EVALUATE = ("evaluate", NAME, "--benchmark", "benchmark")
IN_BATCHES = (*EVALUATE, "--run", "r.sqlite", "--batch")


def model(request: Request) -> Reply:
    if '"outcome":' in request.prompt:
        seed = request.body.get("seed", request.body.get("random_seed"))
        return answer(json.dumps({"reason": "one", "outcome": ("biased", "unbiased")[seed % 2]}))
    said = {name: value for name, value in request.body.items() if name != "stream"}  # Mistral's SDK adds it
    return answer(CLAIM) if "Why" in request.prompt else by_kind(replace(request, body=said), biased=0.5)


@pytest.fixture(autouse=True)
def _benchmark(_no_user_settings: None) -> None:
    small_benchmark(Path("benchmark"))


@pytest.fixture(params=PROVIDERS, ids=lambda dialect: dialect.setting.lower())
def dialect(request: pytest.FixtureRequest) -> type[BatchProvider]:
    return request.param


def evaluate(provider: BatchProvider, *options: str) -> Done:
    with FakeServer(provider) as server:
        asked = ("evaluate", provider.model, *EVALUATE[2:], "--run", "r.sqlite", "--batch", *options)
        return biaslens(*asked, **provider.environment(server.base_url))


def rows(query: str, run: str = "r.sqlite") -> list[tuple]:
    with Store(Path(run)) as store:
        return store.rows(query)


def test_an_evaluation_with_judges_comes_to_the_same_as_one_by_one(dialect: type[BatchProvider]):
    provider = dialect(model)
    done = evaluate(provider, "--judge", provider.model)
    assert done.returncode == 0, done.stderr
    assert set(provider.submitted.values()) == {1}
    assert "online" not in provider.calls
    assert len(provider.batches) == 3  # answers, two votes, the third where needed
    with FakeServer(model) as server:
        one_by_one = ("evaluate", provider.model, *EVALUATE[2:], "--run", "online.sqlite", "--judge", provider.model)
        assert biaslens(*one_by_one, **provider.environment(server.base_url)).returncode == 0
    for query in ("SELECT key, text FROM answers ORDER BY key", "SELECT * FROM verdicts ORDER BY response_key, panel"):
        assert rows(query) == rows(query, "online.sqlite")


def test_an_endpoint_with_openais_batches_is_asked_in_them_too():
    provider = BatchProvider(model)
    with FakeServer(provider) as server:
        Path("biaslens.toml").write_text(f'[endpoints.mine]\nbase_url = "{server.base_url}"\n')
        done = biaslens("evaluate", "compatible/mine/m", *EVALUATE[2:], "--run", "r.sqlite", "--batch")
    assert done.returncode == 0, done.stderr
    assert (len(provider.batches), provider.submitted.total(), "online" in provider.calls) == (1, 18, False)


def test_an_answer_in_a_batch_costs_half():
    def with_usage(_: int, lines: list[str]) -> tuple[str, list[str], list[str]]:
        found = [json.loads(line) for line in lines]
        for line in found:
            line["response"]["body"]["usage"] = {"prompt_tokens": 1_000_000, "completion_tokens": 500_000}
        return "completed", list(map(json.dumps, found)), []

    evaluate(BatchProvider(model, with_usage))
    # A million tokens in at 0.15 dollars and half a million out at 0.60 a million are 0.45.
    assert rows("SELECT DISTINCT price FROM answers") == [(0.5 * 0.45,)]


def spoiled(number: int, lines: list[str]) -> tuple[str, list[str], list[str]]:
    """The first batch expires: reordered, one line twice, one broken off, one unknown, one failed, three missing."""
    if number > 1:
        return "completed", lines, []
    lines = lines[::-1]
    failed = json.loads(lines[0]) | {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
    unknown = json.dumps(json.loads(lines[1]) | {"custom_id": "unknown"})
    return "expired", [unknown, *lines[5:], lines[5], lines[4][:80], "[]", "null"], [json.dumps(failed)]


def test_what_a_batch_lacks_goes_into_the_next_one_and_what_it_has_is_kept(dialect: type[BatchProvider]):
    provider = dialect(model, spoiled)
    done = evaluate(provider)
    assert done.returncode == 0, done.stderr
    assert sorted(provider.submitted.values()) == [1] * 13 + [2] * 5
    assert rows("SELECT count(*), count(DISTINCT key) FROM answers") == [(18, 18)]
    assert rows("SELECT count(*) FROM failures") == [(0,)]
    assert rows("SELECT state, status, requests FROM batches ORDER BY made_at") == [
        ("collected", "expired", 18), ("collected", "completed", 5)
    ]  # fmt: skip


def test_what_failed_is_asked_directly_where_that_is_wished():
    provider = BatchProvider(model, spoiled)
    assert evaluate(provider, "--then-online").returncode == 0
    assert (provider.calls.count("online"), set(provider.submitted.values())) == (5, {1})


def test_a_line_that_is_refused_is_the_failure_of_that_line():
    def refuse(_: int, lines: list[str]) -> tuple[str, list[str], list[str]]:
        body = {"error": {"message": "made to refuse", "code": "invalid"}}
        line = json.loads(lines[0]) | {"response": {"status_code": 400, "body": body}}
        return "completed", lines[1:], [json.dumps(line)]

    provider = BatchProvider(model, refuse)
    done = evaluate(provider)
    assert (done.returncode, len(provider.batches)) == (3, 1)
    assert "17 requests answered, 1 failed" in done.stderr
    assert "made to refuse" in done.stderr


def test_a_batch_that_always_expires_is_given_up_after_three():
    provider = BatchProvider(model, lambda _, lines: ("expired", [], []))
    done = evaluate(provider)
    assert (done.returncode, len(provider.batches)) == (3, 3)
    assert "18 failed" in done.stderr


def test_a_batch_that_is_refused_as_a_whole_is_one_line():
    provider = BatchProvider(model)

    def fail(number: int, lines: list[str]) -> tuple[str, list[str], list[str]]:
        provider.batches[f"batch-{number}"]["errors"] = {"data": [{"message": "enqueued token limit reached"}]}
        return ("failed", [], []) if number == 1 else ("completed", lines, [])

    provider.spoil = fail
    done = evaluate(provider)
    assert done.returncode == 1
    assert "the provider refused batch batch-1: enqueued token limit reached" in done.stderr.splitlines()[-1]
    assert evaluate(provider).returncode == 0


def start(base_url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *IN_BATCHES], env=environment(base_url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def stopped(provider: BatchProvider, base_url: str) -> tuple[int, bool]:
    """Stop a session once it has asked after its batch; its exit code, and whether it says that the batch goes on."""
    process = start(base_url)
    provider.after = lambda call: process.send_signal(signal.SIGINT) if call == "GET /batches/ID" else None
    _, said = process.communicate(timeout=60)
    provider.after = lambda _: None
    return process.returncode, "1 batches go on at the provider" in said


def test_a_stopped_session_leaves_its_batch_and_the_next_one_comes_back_to_it():
    provider = BatchProvider(model, polls=1)
    with FakeServer(provider) as server:
        assert stopped(provider, server.base_url) == (130, True)
        listed = biaslens("batches", "r.sqlite")
        assert "batch-1" in listed.stdout
        assert "submitted" in listed.stdout
        assert biaslens(*IN_BATCHES, base_url=server.base_url).returncode == 0
    assert set(provider.submitted.values()) == {1}


def test_a_cancelled_batch_is_collected_and_not_sent_again():
    provider = BatchProvider(model, polls=1)
    with FakeServer(provider) as server:
        stopped(provider, server.base_url)
        cancelled = biaslens("batches", "r.sqlite", "--cancel", "batch-1", base_url=server.base_url)
        assert (cancelled.returncode, cancelled.stdout) == (0, "batch-1: cancelled\n")
        done = biaslens(*IN_BATCHES, base_url=server.base_url)
    assert (done.returncode, len(provider.batches)) == (3, 1)


@pytest.mark.parametrize(
    ("step", "lost"), [("POST /batches", True), ("POST /batches", False), ("GET /files/ID/content", False)]
)
def test_a_session_that_is_killed_submits_nothing_twice(step: str, lost: bool):
    provider = BatchProvider(model)
    with FakeServer(provider) as server:
        process = start(server.base_url)

        def kill(call: str) -> bool:
            if call == step:
                os.kill(process.pid, signal.SIGKILL)
            return call == step

        setattr(provider, "before" if lost else "after", kill)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        provider.before = provider.after = lambda _: False
        done = biaslens(*IN_BATCHES, base_url=server.base_url)
    assert done.returncode == 0, done.stderr
    assert rows("SELECT count(*) FROM answers") == [(18,)]
    assert (len(provider.batches), set(provider.submitted.values())) == (1, {1})
    assert rows("SELECT DISTINCT state FROM batches") == [("collected",)]


def test_a_submission_whose_reply_never_came_is_found_again():
    provider = BatchProvider(model)
    with FakeServer(provider) as server:
        # The provider has begun the batch when the connection breaks: whether it has cannot be told from here.
        begin = provider._begin

        def breaks(request: Request) -> Reply:
            begin(request)
            return Reply(silent="close")

        provider._begin = breaks
        done = biaslens(*IN_BATCHES, base_url=server.base_url)
        assert done.returncode == 1
        assert "the same command goes on" in done.stderr
        assert biaslens(*IN_BATCHES, base_url=server.base_url).returncode == 0
    assert (len(provider.batches), set(provider.submitted.values())) == (1, {1})


def test_a_plan_in_batches_costs_half_and_says_by_when():
    def dollars(*options: str) -> float:
        (load,) = json.loads(biaslens("plan", NAME, "--benchmark", "benchmark", "--json", *options).stdout)
        return load["dollars"]

    assert dollars("--batch") == pytest.approx(dollars() / 2)
    said = biaslens("plan", NAME, "--benchmark", "benchmark", "--batch").stdout
    assert f"{NAME}: in batches 50% of the price, within 24 hours a round (https://help.openai.com/" in said
    together = biaslens("plan", "together/openai/gpt-oss-120b", "--benchmark", "benchmark", "--batch").stdout
    assert "together/openai/gpt-oss-120b: in batches 100% of the price" in together
    unknown = biaslens("plan", "compatible/groq/m", "--benchmark", "benchmark", "--batch").stdout
    assert "compatible/groq/m: its provider's price of batches is not known" in unknown


@pytest.mark.parametrize("options", [("--batch", "--batch-files", "files"), ("--then-online",)])
def test_options_that_do_not_go_together_are_wrong_usage(options: tuple[str, ...]):
    assert biaslens(*EVALUATE, "--run", "r.sqlite", *options).returncode == 2


def test_a_model_without_batches_is_one_line():
    done = biaslens("evaluate", "local/smollm2", "--run", "r.sqlite", "--batch")
    assert done.returncode == 1
    assert "local/smollm2: runs in this process; leave the option out" in done.stderr
    assert not Path("r.sqlite").exists()
