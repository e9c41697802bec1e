"""OpenAI's Responses API, Azure OpenAI, and what a request may carry, over loopback with the real SDKs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fake_server import FakeServer, Reply, Script, answer, error

from biaslens.errors import InputError, RateLimitError, RejectedError, ReplyError, SettingsError, UnavailableError
from biaslens.models import Completion, Message, Params
from biaslens.models._batches import batch_answer, batch_request
from biaslens.models.base import ChatModel, StructuredParams
from biaslens.models.mistral import MistralModel
from biaslens.models.openai import AzureModel, CompatibleModel, OpenAIModel
from biaslens.settings import Endpoint, Settings, load_settings

KEYS = {f"{name}_API_KEY": "secret-key" for name in ("OPENAI", "AZURE_OPENAI", "MISTRAL", "MINE")}


def settings_at(base_url: str, **more: Any) -> Settings:
    return load_settings(
        **{
            "openai_base_url": base_url,
            "mistral_base_url": base_url,
            "azure_base_url": base_url.removesuffix("/v1"),
            "endpoints": {"mine": Endpoint(base_url=base_url, key_variable="MINE_API_KEY")},
            "keys": KEYS,
            **more,
        }
    )


def ask(script: Script, open_model: Any, model_id: str, params: Params | None = None, **settings: Any):
    """The completion and the one request that was sent."""

    async def complete(model: ChatModel) -> Completion:
        try:
            return await model.complete([Message("system", "Be brief."), Message("user", "Is it?")], params or Params())
        finally:
            await model.close()

    with FakeServer(script) as server:
        completion = asyncio.run(complete(open_model(model_id, settings_at(server.base_url, **settings))))
        (request,) = server.requests
    return completion, request


RESPONSES = {"models": {"openai/thinker": {"api": "responses"}}}
USAGE = {"input_tokens": 7, "output_tokens": 30, "total_tokens": 37, "output_tokens_details": {"reasoning_tokens": 25}}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "They ask. Yes or no?"}]}


def response(*output: dict, status: str = "completed", **more: Any) -> Reply:
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "thinker-1", "status": status,
            "output": list(output), "usage": USAGE, **more}  # fmt: skip
    return Reply(body=json.dumps(body).encode())


def said(text: str, kind: str = "output_text", name: str = "text") -> dict:
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed",
            "content": [{"type": kind, name: text, "annotations": []}]}  # fmt: skip


def completed(**message: Any) -> Reply:
    """A chat completion with such a message, in the shape that all SDKs take."""
    usage = message.pop("usage", {})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage, "choices": [choice]}
    return Reply(body=json.dumps(body).encode())


def test_a_response_is_an_answer_with_its_thought_apart():
    completion, request = ask(response(THOUGHT, said("No.")), OpenAIModel.open, "thinker", **RESPONSES)
    assert request.path == "/v1/responses"
    assert completion == Completion("No.", "stop", "thinker-1", 7, 30, "They ask. Yes or no?", 25)


def test_a_response_is_asked_for_by_its_own_names():
    params = StructuredParams(max_tokens=9, reasoning_effort="low", service_tier="flex", top_p=0.5, seed=3,
                              extra={"prompt_cache_key": "k"})  # fmt: skip
    _, request = ask(response(said("No.")), OpenAIModel.open, "thinker", params, **RESPONSES)
    assert request.body == {
        "model": "thinker",
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it?"}],
        "store": False,
        "max_output_tokens": 9,
        "top_p": 0.5,
        "service_tier": "flex",
        "reasoning": {"effort": "low", "summary": "auto"},
        "prompt_cache_key": "k",
    }


def test_no_summary_is_asked_of_a_model_that_is_not_to_think():
    params = Params(reasoning_effort="none")
    _, request = ask(response(said("No.")), OpenAIModel.open, "thinker", params, **RESPONSES)
    assert request.body["reasoning"] == {"effort": "none"}


@pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
def test_a_response_that_is_incomplete_says_why(reason: str, finish: str):
    script = response(THOUGHT, status="incomplete", incomplete_details={"reason": reason})
    completion, _ = ask(script, OpenAIModel.open, "thinker", **RESPONSES)
    assert (completion.text, completion.finish_reason) == ("", finish)


def test_a_refusal_in_a_response_is_the_provider_s():
    script = response(said("I can't help with that.", "refusal", "refusal"))
    completion, _ = ask(script, OpenAIModel.open, "thinker", **RESPONSES)
    assert (completion.text, completion.finish_reason) == ("I can't help with that.", "refusal")


def test_a_response_that_failed_on_policy_is_refused():
    failed = {"code": "invalid_prompt", "message": "Your prompt was flagged as potentially violating our usage policy."}
    completion, _ = ask(response(status="failed", error=failed), OpenAIModel.open, "thinker", **RESPONSES)
    assert (completion.text, completion.finish_reason) == ("", "content_filter")


@pytest.mark.parametrize(
    ("code", "expected"),
    [("server_error", UnavailableError), ("rate_limit_exceeded", RateLimitError), ("invalid_image", RejectedError)],
)
def test_a_response_that_failed_is_an_error(code: str, expected: type[Exception]):
    failed = {"code": code, "message": "made to fail"}
    with pytest.raises(expected):
        ask(response(status="failed", error=failed), OpenAIModel.open, "thinker", **RESPONSES)


@pytest.mark.parametrize("body", [{"output": "No."}, {"output": [{"type": "message", "content": "No."}]}, {}, []])
def test_what_is_no_response_is_no_answer(body: object):
    with pytest.raises(ReplyError):
        ask(Reply(body=json.dumps(body).encode()), OpenAIModel.open, "thinker", **RESPONSES)


def test_responses_are_asked_for_and_read_in_files_too():
    settings = settings_at("http://127.0.0.1:1/v1", **RESPONSES)
    line = batch_request("k", "openai/thinker", [Message("user", "Is it?")], Params(max_tokens=9), settings)
    assert (line["url"], line["body"]["max_output_tokens"]) == ("/v1/responses", 9)
    body = json.loads(response(THOUGHT, said("No.")).body or b"")
    found = batch_answer({"response": {"status_code": 200, "body": body}}, "openai/thinker")
    assert isinstance(found, Completion)
    assert (found.text, found.thought) == ("No.", "They ask. Yes or no?")


def test_azure_is_asked_at_the_resource_s_v1_api():
    completion, request = ask(answer("No."), AzureModel.open, "deployment")
    assert completion.text == "No."
    assert request.path == "/openai/v1/chat/completions"
    assert (request.body["model"], request.headers["authorization"]) == ("deployment", "Bearer secret-key")


def test_azure_is_asked_at_a_dated_api_where_that_is_set():
    _, request = ask(answer("No."), AzureModel.open, "deployment", azure_api_version="2024-10-21")
    assert request.path == "/openai/deployments/deployment/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == "secret-key"


def test_azure_s_filter_is_a_refusal():
    script = error(400, "The response was filtered due to the prompt", code="content_filter")
    completion, _ = ask(script, AzureModel.open, "deployment")
    assert (completion.text, completion.finish_reason) == ("", "content_filter")


def test_azure_without_an_address_says_what_to_set():
    with pytest.raises(SettingsError, match="AZURE_OPENAI_ENDPOINT is not set"):
        AzureModel.open("deployment", load_settings(keys=KEYS))


EVERYTHING = Params(
    max_tokens=9, top_k=40, stop=("\n\n",), reasoning_effort="low", service_tier="flex",
    extra={"chat_template_kwargs": {"enable_thinking": False}},
)  # fmt: skip


def test_every_parameter_reaches_an_endpoint():
    _, request = ask(answer("No."), CompatibleModel.open, "mine/m", EVERYTHING)
    body = {name: value for name, value in request.body.items() if name not in ("model", "messages")}
    assert body == {
        "max_tokens": 9,
        "top_k": 40,
        "stop": ["\n\n"],
        "reasoning_effort": "low",
        "service_tier": "flex",
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_mistral_is_sent_what_its_sdk_knows():
    _, request = ask(answer("No."), MistralModel.open, "m", Params(stop=(".",), reasoning_effort="high"))
    assert (request.body["stop"], request.body["reasoning_effort"]) == (["."], "high")


def test_what_mistral_s_sdk_does_not_know_is_refused_at_once():
    async def complete() -> None:
        model = MistralModel.open("m", settings_at("http://127.0.0.1:1/v1"))
        try:
            await model.complete([Message("user", "Is it?")], Params(extra={"odd": 1}))
        finally:
            await model.close()

    with pytest.raises(RejectedError, match="its SDK sends no 'odd'"):
        asyncio.run(complete())


@pytest.mark.parametrize("field", ["model", "messages", "stream", "n"])
def test_a_free_field_cannot_ask_something_else(field: str):
    with pytest.raises(InputError, match=field):
        Params(extra={field: 1})


def counted(prompt: int, completion: int, total: int, reasoning: int | None = None) -> dict:
    found: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return found if reasoning is None else found | {"completion_tokens_details": {"reasoning_tokens": reasoning}}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (counted(5, 30, 35), (5, 30, None)),
        (counted(5, 30, 35, reasoning=25), (5, 30, 25)),
        # xAI: 32 + 9 + 233 = 274; the thought is beside the completion.
        (counted(32, 9, 274, reasoning=233), (32, 242, 233)),
        # Gemini: the thought is in the total alone.
        (counted(5, 2, 107), (5, 102, 100)),
    ],
)
def test_the_tokens_of_a_thought_are_counted_with_the_answer_s(usage: dict, expected: tuple):
    found, _ = ask(completed(content="No.", usage=usage), CompatibleModel.open, "mine/m")
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == expected


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "thinking"])
def test_a_thought_in_a_field_of_its_own_comes_through_the_sdk(field: str):
    found, _ = ask(completed(content="No.", **{field: "Yes?"}), CompatibleModel.open, "mine/m")
    assert (found.text, found.thought) == ("No.", "Yes?")


def test_mistral_s_thoughts_come_through_its_sdk():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Yes?"}]}, {"type": "text", "text": "No."}]
    found, _ = ask(completed(content=parts), MistralModel.open, "m")
    assert (found.text, found.thought) == ("No.", "Yes?")
