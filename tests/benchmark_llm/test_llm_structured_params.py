"""A JSON schema is sent to the providers that take one, and to nobody unless asked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fake_server import FakeServer, answer

from biaslens.models import JsonSchema, Message, Params, StructuredParams, open_model
from biaslens.models.local import find_embedded
from biaslens.settings import Endpoint, Settings, load_settings

FORM = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
STRUCTURED = StructuredParams(max_tokens=30, seed=1, schema=JsonSchema("colour", FORM))


def settings(base_url: str, *, json_schema: bool) -> Settings:
    return load_settings(
        openai_base_url=base_url,
        mistral_base_url=base_url,
        together_base_url=base_url,
        endpoints={"mine": Endpoint(base_url=base_url, json_schema=json_schema)},
        keys={f"{provider}_API_KEY": "k" for provider in ("OPENAI", "MISTRAL", "TOGETHER")},
    )


def sent(name: str, params: Params, *, json_schema: bool = True) -> Any:
    async def ask(base_url: str) -> None:
        model = open_model(name, settings(base_url, json_schema=json_schema))
        try:
            await model.complete([Message("user", "Which colour?")], params)
        finally:
            await model.close()

    with FakeServer(answer("{}")) as server:
        asyncio.run(ask(server.base_url))
        return server.requests[0].body.get("response_format")


@pytest.mark.parametrize("name", ["openai/m", "mistral/m", "together/m", "compatible/mine/m"])
def test_every_provider_gets_the_schema_in_its_own_words(name: str):
    form = sent(name, STRUCTURED)
    assert form["type"] == "json_schema"
    assert form["json_schema"] == {"name": "colour", "schema": FORM, "strict": True}


@pytest.mark.parametrize("name", ["openai/m", "mistral/m", "together/m", "compatible/mine/m"])
def test_nobody_gets_one_unless_asked(name: str):
    assert sent(name, Params(max_tokens=30)) is None
    assert sent(name, StructuredParams(max_tokens=30)) is None


def test_an_endpoint_that_takes_no_schema_gets_none():
    assert sent("compatible/mine/m", STRUCTURED, json_schema=False) is None


def test_the_parameters_of_an_evaluation_are_what_they_were():
    assert list(Params().record()) == ["temperature", "top_p", "max_tokens", "seed"]


@pytest.mark.skipif(find_embedded() is None, reason="the embedded model's weights are not installed")
def test_the_embedded_model_keeps_to_the_schema():
    async def ask() -> str:
        model = open_model("local/smollm2")
        try:
            return (await model.complete([Message("user", "Which colour is grass?")], STRUCTURED)).text
        finally:
            await model.close()

    assert json.loads(asyncio.run(ask()))["colour"] in ("red", "green")
