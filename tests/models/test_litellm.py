"""LiteLLM's library over loopback."""

from __future__ import annotations

import asyncio

import pytest
from fake_server import FakeServer, Reply, Script, answer, error

from biaslens.errors import AuthenticationError, ModelError, RateLimitError, RejectedError, UnavailableError
from biaslens.models import Completion, Message, Params
from biaslens.settings import load_settings

pytest.importorskip("litellm", reason="the extra litellm is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM's own


def ask(script: Script, monkeypatch: pytest.MonkeyPatch, params: Params | None = None):
    from biaslens.models.litellm import LiteLLMModel

    async def complete() -> Completion:
        model = LiteLLMModel.open("openai/m", load_settings())
        try:
            return await model.complete([Message("user", "Is it?")], params or Params(max_tokens=9))
        finally:
            await model.close()

    with FakeServer(script) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        completion = asyncio.run(complete())
        (request,) = server.requests
    return completion, request


def test_an_answer_comes_with_its_thought(monkeypatch: pytest.MonkeyPatch):
    found, request = ask(Reply("No.", thought="Yes, or no?"), monkeypatch)
    assert (found.text, found.thought, found.finish_reason) == ("No.", "Yes, or no?", "stop")
    assert request.headers["authorization"] == "Bearer secret-key"


def test_parameters_are_passed_on(monkeypatch: pytest.MonkeyPatch):
    _, request = ask(answer("No."), monkeypatch, Params(max_tokens=9, temperature=0.5, stop=(".",)))
    assert (request.body["temperature"], request.body["stop"]) == (0.5, ["."])


def test_the_provider_s_filter_is_a_refusal(monkeypatch: pytest.MonkeyPatch):
    found, _ = ask(error(400, "Your request was rejected", code="content_policy_violation"), monkeypatch)
    assert (found.text, found.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(400), RejectedError),
        (error(401), AuthenticationError),
        (error(404), RejectedError),
        (error(429), RateLimitError),
        (error(500), UnavailableError),
        (error(503), UnavailableError),
    ],
)
def test_a_fault_is_the_error_that_says_what_to_do(
    reply: Reply, expected: type[ModelError], monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(expected):
        ask(reply, monkeypatch)
