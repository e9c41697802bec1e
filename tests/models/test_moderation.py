"""OpenAI's moderation and Google's Perspective as models, over loopback."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fake_server import (
    FakeServer,
    Reply,
    Script,
    by_kind,
    dropped,
    error,
    garbage,
    google_error,
    hang,
    moderation,
    perspective,
    rate_limited,
    truncated,
)

from biaslens.errors import (
    AuthenticationError,
    ModelError,
    RateLimitError,
    RejectedError,
    ReplyError,
    SettingsError,
    UnavailableError,
)
from biaslens.models import Completion, Message, Params, open_model
from biaslens.models.endpoints import key_variable, rate_limits
from biaslens.settings import Settings, load_settings

NAMES = ["openai-moderation/omni-moderation-latest", "perspective/TOXICITY"]
MODERATION, PERSPECTIVE = NAMES


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def settings_for(base_url: str, **more: Any) -> Settings:
    keys = {"OPENAI_API_KEY": "secret-key", "PERSPECTIVE_API_KEY": "secret-key"}
    return load_settings(openai_base_url=base_url, perspective_base_url=base_url, keys=keys, **more)


def ask_at(base_url: str, name: str, text: str = "Is it?", **settings: Any) -> Completion:
    async def ask() -> Completion:
        model = open_model(name, settings_for(base_url, **settings))
        try:
            return await model.complete([Message("system", "ignored"), Message("user", text)], Params(temperature=0))
        finally:
            await model.close()

    return asyncio.run(ask())


def ask(script: Script, name: str, **settings: Any) -> Completion:
    with FakeServer(script) as server:
        try:
            return ask_at(server.base_url, name, **settings)
        finally:
            assert len(server.requests) == 1


def test_moderation_answers_with_every_category() -> None:
    found = ask(moderation(harassment=0.75, hate_threatening=0.5, self_harm_intent=0.25), MODERATION)
    scores = json.loads(found.text)
    assert len(scores) == 13
    assert {name: score for name, score in scores.items() if score} == {
        "harassment": 0.75,
        "hate/threatening": 0.5,
        "self-harm/intent": 0.25,
    }
    assert (found.finish_reason, found.model) == ("stop", "omni-moderation-2024-09-26")


def test_perspective_answers_with_its_summary_scores() -> None:
    assert ask(perspective(TOXICITY=0.625), PERSPECTIVE) == Completion('{"TOXICITY": 0.625}', "stop", "TOXICITY")


def test_the_last_message_is_what_is_moderated() -> None:
    with FakeServer(by_kind) as server:
        ask_at(server.base_url, MODERATION, "A text.")
        request = server.requests[0]
    assert request.path == "/v1/moderations"
    assert request.body == {"model": "omni-moderation-latest", "input": "A text."}
    assert request.headers["authorization"] == "Bearer secret-key"


def test_perspective_keeps_nothing_and_the_key_is_not_in_the_address() -> None:
    with FakeServer(by_kind) as server:
        ask_at(server.base_url, PERSPECTIVE, "A text.")
        request = server.requests[0]
    assert request.path == "/v1/comments:analyze"
    assert request.body == {
        "comment": {"text": "A text."},
        "requestedAttributes": {"TOXICITY": {}},
        "doNotStore": True,
    }
    assert request.headers["x-goog-api-key"] == "secret-key"


@pytest.mark.parametrize(
    ("reply", "expected", "status"),
    [
        (error(400), RejectedError, 400),
        (error(401), AuthenticationError, 401),
        (error(403), AuthenticationError, 403),
        (error(404), RejectedError, 404),
        (rate_limited(), RateLimitError, 429),
        (error(500), UnavailableError, 500),
        (error(503), UnavailableError, 503),
        (Reply(status=502, body=b"<html>Bad gateway</html>"), UnavailableError, 502),
        (garbage(), ReplyError, None),
        (Reply(body=b"null"), ReplyError, None),
        (Reply(body=b'{"results": [], "attributeScores": []}'), ReplyError, None),
        (Reply(body=b"[" * 100_000), ReplyError, None),
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
    assert "secret-key" not in str(caught.value)


def test_a_language_that_perspective_lacks_is_refused_for_good() -> None:
    reply = google_error(
        400,
        "Attribute TOXICITY does not support request languages: fi",
        errorType="LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE",
    )
    with pytest.raises(RejectedError, match="does not support request languages: fi") as caught:
        ask(reply, PERSPECTIVE)
    assert caught.value.status == 400


def test_googles_400_for_a_wrong_key_stops_the_run() -> None:
    reply = google_error(400, "API key not valid. Please pass a valid API key.", reason="API_KEY_INVALID")
    with pytest.raises(AuthenticationError, match="check PERSPECTIVE_API_KEY"):
        ask(reply, PERSPECTIVE)


def test_how_long_to_wait_is_passed_on(name: str) -> None:
    with pytest.raises(RateLimitError) as caught:
        ask(rate_limited("1.5"), name)
    assert caught.value.retry_after == 1.5


def test_a_server_that_hangs_runs_into_the_time_limit(name: str) -> None:
    with pytest.raises(UnavailableError, match=r"no answer within 0\.2 seconds"):
        ask(hang(), name, request_timeout=0.2)


def test_a_refused_connection_is_unavailable_and_says_where(name: str) -> None:
    with FakeServer() as server:
        closed = server.base_url
    with pytest.raises(UnavailableError, match=r"no answer from http://127\.0\.0\.1:\d+"):
        ask_at(closed, name)


@pytest.mark.parametrize(("name", "variable"), [(MODERATION, "OPENAI_API_KEY"), (PERSPECTIVE, "PERSPECTIVE_API_KEY")])
def test_a_missing_key_is_named(name: str, variable: str) -> None:
    assert key_variable(name, load_settings()) == variable
    with pytest.raises(SettingsError, match=f"{variable} is not set"):
        open_model(name, load_settings())


def test_perspective_is_asked_once_a_second_unless_told_otherwise() -> None:
    assert rate_limits(PERSPECTIVE, load_settings()) == (60.0, None)
    assert rate_limits(MODERATION, load_settings()) == (None, None)
