"""Every provider against the fake server, through its real SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from fake_server import (
    FakeServer,
    Reply,
    Script,
    answer,
    content_filter,
    dropped,
    empty_choices,
    endless,
    error,
    garbage,
    hang,
    packed,
    rate_limited,
    truncated,
)

from biaslens.errors import (
    AuthenticationError,
    ModelError,
    RateLimitError,
    RejectedError,
    ReplyError,
    UnavailableError,
)
from biaslens.models import Completion, Message, Params, open_model
from biaslens.settings import Endpoint, Settings, load_settings

NAMES = ["openai/m", "compatible/mine/m", "mistral/m", "together/m"]
PLAIN = Params()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def settings_for(base_url: str, **more: Any) -> Settings:
    return load_settings(
        openai_base_url=base_url,
        mistral_base_url=base_url,
        together_base_url=base_url,
        endpoints={"mine": Endpoint(base_url=base_url, key_variable="MINE_API_KEY", max_concurrency=7)},
        keys={f"{provider}_API_KEY": "secret-key" for provider in ("OPENAI", "MISTRAL", "TOGETHER", "MINE")},
        **more,
    )


def ask_at(base_url: str, name: str, params: Params = PLAIN, **settings: Any) -> Completion:
    async def ask() -> Completion:
        model = open_model(name, settings_for(base_url, **settings))
        try:
            return await model.complete([Message("system", "Be brief."), Message("user", "Is it?")], params)
        finally:
            await model.close()

    return asyncio.run(ask())


def ask(script: Script, name: str, params: Params = PLAIN, **settings: Any) -> Completion:
    """Ask the model once of a server that follows `script`; the server must have been asked once."""
    with FakeServer(script) as server:
        try:
            return ask_at(server.base_url, name, params, **settings)
        finally:
            assert len(server.requests) == 1


def test_an_answer_arrives_whole(name: str) -> None:
    # The fake server counts words: "Be brief." and "Is it?" are 4, "No, it is not." are 4.
    assert ask(answer("No, it is not."), name) == Completion("No, it is not.", "stop", "m-2024-07-18", 4, 4)


def test_messages_and_key_are_sent(name: str) -> None:
    with FakeServer() as server:
        ask_at(server.base_url, name)
        request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert [(message["role"], message["content"]) for message in request.messages] == [
        ("system", "Be brief."),
        ("user", "Is it?"),
    ]
    assert request.headers["authorization"] == "Bearer secret-key"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/m", {"temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 5, "seed": 3}),
        ("compatible/mine/m", {"temperature": 0.5, "top_p": 0.9, "max_tokens": 5}),
        ("mistral/m", {"temperature": 0.5, "top_p": 0.9, "max_tokens": 5, "random_seed": 3}),
        ("together/m", {"temperature": 0.5, "top_p": 0.9, "max_tokens": 5, "seed": 3}),
    ],
)
def test_parameters_go_by_the_providers_names(name: str, expected: dict[str, object]) -> None:
    with FakeServer() as server:
        ask_at(server.base_url, name, Params(temperature=0.5, top_p=0.9, max_tokens=5, seed=3))
        body = server.requests[0].body
    assert {key: value for key, value in body.items() if key not in ("model", "messages", "stream")} == expected


def test_parameters_left_to_the_provider_are_not_sent(name: str) -> None:
    with FakeServer() as server:
        ask_at(server.base_url, name)
        assert set(server.requests[0].body) <= {"model", "messages", "stream"}


@pytest.mark.parametrize(
    ("reply", "expected", "status"),
    [
        (error(400), RejectedError, 400),
        (error(401), AuthenticationError, 401),
        (error(402), AuthenticationError, 402),
        (error(403), AuthenticationError, 403),
        (error(404), RejectedError, 404),
        (error(408), UnavailableError, 408),
        (error(422), RejectedError, 422),
        (error(429, code="insufficient_quota"), AuthenticationError, 429),
        (rate_limited(), RateLimitError, 429),
        (error(500), UnavailableError, 500),
        (error(503), UnavailableError, 503),
        (Reply(status=502, body=b"<html>Bad gateway</html>"), UnavailableError, 502),
        (garbage(), ReplyError, None),
        (Reply(body=b"null"), ReplyError, None),
        (Reply(body=b"[" * 100_000), ReplyError, None),
        (Reply(body=b'{"a": "\xff"}'), ReplyError, None),
        (Reply(body=b"hello", headers={"content-type": "text/plain"}), ReplyError, None),
        (empty_choices(), ReplyError, None),
        (truncated(), ReplyError, None),
        (dropped(), UnavailableError, None),
    ],
)
def test_a_fault_becomes_the_error_that_says_what_to_do(
    name: str, reply: Reply, expected: type[ModelError], status: int | None
) -> None:
    with pytest.raises(expected) as caught:
        ask(reply, name)
    assert type(caught.value) is expected
    assert caught.value.status == status
    assert "\n" not in str(caught.value)


def test_a_server_that_hangs_runs_into_the_time_limit(name: str) -> None:
    with pytest.raises(UnavailableError, match=r"no answer within 0\.5 seconds"):
        ask(hang(), name, request_timeout=0.5)


def test_a_refused_connection_is_unavailable_and_says_where(name: str) -> None:
    with FakeServer() as server:
        closed = server.base_url
    with pytest.raises(UnavailableError, match=r"no answer from http://127\.0\.0\.1:\d+"):
        ask_at(closed, name)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({}, None), ({"retry_after": "1.5"}, 1.5), ({"retry_after_ms": "250"}, 0.25), ({"retry_after": "soon"}, None)],
)
def test_how_long_to_wait_is_passed_on(name: str, headers: dict[str, str], seconds: float | None) -> None:
    with pytest.raises(RateLimitError) as caught:
        ask(error(429, **headers), name)
    assert caught.value.retry_after == seconds


def test_a_filtered_answer_is_an_answer(name: str) -> None:
    completion = ask(content_filter(), name)
    assert (completion.text, completion.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize("code", ["content_filter", "data_inspection_failed"])
def test_a_request_refused_by_the_filter_is_an_empty_answer(name: str, code: str) -> None:
    completion = ask(error(400, code=code), name)
    assert (completion.text, completion.finish_reason) == ("", "content_filter")


def completion_with(message: object) -> Reply:
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": {}, "choices": [choice]}
    return Reply(body=json.dumps(body).encode())


def test_no_content_is_an_empty_answer(name: str) -> None:
    assert ask(completion_with({"role": "assistant", "content": None}), name).text == ""


def test_no_message_is_no_answer(name: str) -> None:
    with pytest.raises(ReplyError):
        ask(completion_with(None), name)


OPEN_SDKS = ["openai/m", "compatible/mine/m", "together/m"]
"""Mistral's SDK calls malformed what these take as it comes."""


@pytest.mark.parametrize("name", OPEN_SDKS)
@pytest.mark.parametrize("field", ["text", "finish_reason", "model"])
def test_half_a_surrogate_pair_cannot_reach_a_file(name: str, field: str) -> None:
    half = "No \ud83d."
    choice = {"finish_reason": half, "message": {"role": "assistant", "content": half}}
    completion = ask(Reply(body=json.dumps({"model": half, "choices": [choice]}).encode()), name)
    assert getattr(completion, field) == "No \N{REPLACEMENT CHARACTER}."


def test_half_a_surrogate_pair_in_an_error_can_be_stored(name: str) -> None:
    with pytest.raises(RejectedError) as caught:
        ask(error(400, "odd \ud83d"), name)
    assert str(caught.value).encode().endswith(b"odd ?")


@pytest.mark.parametrize("name", OPEN_SDKS)
@pytest.mark.parametrize(
    "body",
    [
        {"choices": {"0": {"message": {"content": "No."}}}},
        {"choices": "No."},
        {"choices": ["No."]},
        {"choices": [{"message": {"content": None, "refusal": True}}]},
        {"choices": [{"message": {"content": None, "refusal": {"reason": "policy"}}}]},
        {"choices": [{"message": {"content": 42}}]},
        {"choices": [{"message": {"content": {"text": "No."}}}]},
        {"choices": [{"message": {"content": [{"type": "text", "text": ["No."]}]}}]},
        {"choices": [{"message": {"content": "No."}, "finish_reason": {"a": 1}}]},
        {"choices": [{"message": {"content": "No."}}], "model": ["m"]},
        {"choices": [{"message": {"content": "N" * 1_000_001}}]},
    ],
)
def test_what_does_not_fit_is_no_answer(name: str, body: object) -> None:
    with pytest.raises(ReplyError):
        ask(Reply(body=json.dumps(body).encode()), name)


@pytest.mark.parametrize("name", OPEN_SDKS)
@pytest.mark.parametrize("tokens", [2**63, 10**30, -1, "4", 1.5, True, [4], None])
def test_a_number_of_tokens_that_cannot_be_is_not_known(name: str, tokens: object) -> None:
    body = {
        "model": "m",
        "choices": [{"finish_reason": "stop", "message": {"content": "No."}}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": tokens},
    }
    assert ask(Reply(body=json.dumps(body).encode()), name) == Completion("No.", "stop", "m")


@pytest.mark.parametrize("name", OPEN_SDKS)
def test_no_tokens_is_a_number_of_tokens(name: str) -> None:
    body = {"choices": [{"message": {"content": ""}}], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}
    assert ask(Reply(body=json.dumps(body).encode()), name).completion_tokens == 0


def test_a_refusal_in_its_own_field_is_the_answer() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    assert ask(completion_with(message), "openai/m").text == "I cannot help with that."


def test_content_in_parts_is_joined(name: str) -> None:
    parts = [{"type": "text", "text": "No, "}, {"type": "text", "text": "it is not."}]
    assert ask(completion_with({"role": "assistant", "content": parts}), name).text == "No, it is not."


def test_a_packed_answer_is_unpacked(name: str) -> None:
    assert ask(packed(1000), name).text == "N" * 1000


@pytest.mark.parametrize(
    "reply", [lambda: packed(200 * 2**20), endless, lambda: answer("N" * 2**23)], ids=["packed", "endless", "long"]
)
def test_no_more_of_a_reply_is_read_than_fits(name: str, reply: Callable[[], Reply]) -> None:
    with pytest.raises(ReplyError, match=r"more than 8,388,608 bytes"):
        ask(reply(), name)


def test_an_encoding_that_was_not_asked_for_is_no_answer(name: str) -> None:
    with pytest.raises(ReplyError, match="encoded as 'br'"):
        ask(Reply(headers={"content-encoding": "br"}), name)


def test_sixty_four_requests_travel_at_once(name: str) -> None:
    async def ask_all(base_url: str) -> None:
        model = open_model(name, settings_for(base_url))
        await asyncio.gather(*(model.complete([Message("user", "Is it?")], PLAIN) for _ in range(64)))
        await model.close()

    with FakeServer(answer("No.", delay=0.5)) as server:
        asyncio.run(ask_all(server.base_url))
        assert server.most_at_once == 64


def test_runtime_says_which_server_and_sdk_answered(name: str) -> None:
    async def runtime() -> dict[str, str]:
        model = open_model(name, settings_for("http://127.0.0.1:9/v1"))
        await model.close()
        return dict(model.runtime)

    found = asyncio.run(runtime())
    assert found["base_url"].startswith("http://127.0.0.1:9")
    assert found["sdk"].split()[0] in ("openai", "aiohttp", "mistralai", "together")
    assert "secret-key" not in str(found)


@pytest.mark.parametrize("name", ["openai/m", "compatible/mine/m"])
def test_the_proxy_of_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer() as server:
        monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        assert ask_at("http://models.invalid/v1", name).text
        assert server.requests[0].path == "http://models.invalid/v1/chat/completions"


@pytest.mark.parametrize("name", ["openai/m", "compatible/mine/m"])
def test_nobody_follows_a_redirect(name: str) -> None:
    with pytest.raises(RejectedError, match="redirects to http://elsewhere"):
        ask(Reply(status=307, body=b"", headers={"location": "http://elsewhere/v1"}), name)


@pytest.mark.parametrize("name", ["openai/m", "compatible/mine/m"])
@pytest.mark.parametrize(
    ("code", "raised"), [("server_error", UnavailableError), ("rate_limit_exceeded", RateLimitError)]
)
def test_a_response_may_tell_its_fault_in_a_reply_that_is_well(name: str, code: str, raised: type[ModelError]) -> None:
    body = {"object": "response", "status": "failed", "error": {"code": code, "message": "made to fail"}, "output": []}
    with pytest.raises(raised, match="made to fail"):
        ask(Reply(body=json.dumps(body).encode()), name, models={name: {"api": "responses"}})


def test_an_endpoint_may_be_asked_through_the_sdk() -> None:
    async def runtime(transport: Any) -> str:
        mine = Endpoint(base_url="http://127.0.0.1:9/v1", transport=transport)
        model = open_model("compatible/mine/m", load_settings(endpoints={"mine": mine}))
        await model.close()
        return model.runtime["sdk"].split()[0]

    assert [asyncio.run(runtime(transport)) for transport in ("lean", "sdk")] == ["aiohttp", "openai"]


def test_compatible_servers_are_not_told_the_openai_organisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    with FakeServer() as server:
        ask_at(server.base_url, "compatible/mine/m")
        assert "openai-organization" not in server.requests[0].headers


def test_an_endpoint_says_how_much_it_takes() -> None:
    async def limit() -> int | None:
        model = open_model("compatible/mine/m", settings_for("http://127.0.0.1:9/v1"))
        await model.close()
        return model.max_concurrency

    assert asyncio.run(limit()) == 7
