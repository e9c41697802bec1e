"""Requests and answers as lines of files in OpenAI's batch format, which other providers take as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from biaslens.errors import InputError, ModelError, ReplyError, UnavailableError
from biaslens.models import catalogue
from biaslens.models._bodies import read_completion, read_response, request_body, responses_body
from biaslens.models._http import refused
from biaslens.models.base import Completion, Message, Params
from biaslens.models.endpoints import server_of
from biaslens.settings import Endpoint, Settings

_OTHER_PROTOCOLS = ("openai-moderation/", "perspective/")
_FORMS: dict[str, dict[str, Any]] = {
    "mistral": {"seed": "random_seed", "json_schema": "schema"},
    "together": {"seed": "seed", "json_schema": "schema"},
}
"""What providers with an SDK of their own call seed and JSON schema."""

URL = "/v1/chat/completions"
RESPONSES_URL = "/v1/responses"


def require_batchable(model: str, settings: Settings) -> Endpoint:
    """The server of a model that can be asked by batches or by files.

    InputError for another one, UnknownModelError for an endpoint that nobody has configured.
    """
    server = server_of(model, settings)
    if server is None or model.startswith(_OTHER_PROTOCOLS):
        why = "runs in this process" if model.startswith("local/") else "has no batches in OpenAI's format"
        raise InputError(f"{model}: {why}; leave the option out")
    return server


def batch_request(
    key: str, model: str, messages: Sequence[Message], params: Params, settings: Settings
) -> dict[str, Any]:
    """Make the line of a request; the model is not opened, so no key is needed. Errors are `require_batchable`'s."""
    server = require_batchable(model, settings)
    model_id = model.split("/", 2 if model.startswith("compatible/") else 1)[-1]
    known = catalogue.entry(model, settings)
    if known is not None and known.api == "responses":
        body = responses_body(model_id, messages, params, json_schema=server.json_schema)
        return {"custom_id": key, "method": "POST", "url": RESPONSES_URL, "body": body}
    form = {"max_tokens": server.tokens_parameter} | _FORMS.get(model.partition("/")[0], _form(server))
    return {"custom_id": key, "method": "POST", "url": URL, "body": request_body(model_id, messages, params, **form)}


def _form(server: Endpoint) -> dict[str, Any]:
    return {"seed": "seed" if server.send_seed else None, "json_schema": "schema" if server.json_schema else None}


def batch_answer(line: Mapping[str, Any], model: str) -> Completion | ModelError:
    """Read the line of an answer: a completion, or the error that says why there is none."""
    provider, _, model_id = model.partition("/")
    response, error = line.get("response"), line.get("error")
    try:
        if isinstance(response, Mapping):
            status, body = response.get("status_code", 200), response.get("body")
            if not isinstance(status, int):
                return ReplyError(f"{provider}: the answer has the status {status!r:.100}")
            if status != 200:
                return refused(provider, model_id, status, error if body is None else body, {})  # vLLM: in `error`
            if isinstance(body, Mapping) and body.get("object") == "response":
                return read_response(provider, body)
            return read_completion(provider, body, opened=catalogue.opens_thought(model))
        said = error if isinstance(error, Mapping) else {"message": error}
        reason = [str(said[name]) for name in ("code", "message") if said.get(name)]
        return UnavailableError(f"{provider}: not answered: {': '.join(reason) or 'no explanation'}")
    except ModelError as found:
        return found
