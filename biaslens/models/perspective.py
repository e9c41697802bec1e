"""Google's Perspective API as a model: asked with a text, it answers with its scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx

from biaslens._util.text import shown_address
from biaslens.errors import AuthenticationError, ModelError, RejectedError, ReplyError
from biaslens.models._http import (
    CONNECTIONS,
    connection_error,
    json_or_text,
    limited_bodies,
    status_error,
    time_limit,
)
from biaslens.models.base import Completion, Message, Params
from biaslens.models.endpoints import ADDRESSES, KEY_VARIABLES, key_for
from biaslens.settings import Settings

_PROVIDER = "perspective"
_KEY = KEY_VARIABLES[_PROVIDER]
_QUOTED = 300


class PerspectiveModel:
    """An attribute of the Perspective API: ``perspective/TOXICITY``.

    The last message is what gets scored; the answer's text is the JSON object of its summary scores by attribute, in
    [0, 1]. Parameters are ignored. Texts are not stored by the service (``doNotStore``), and it finds out their
    language by itself; one that it does not support is refused.

    Google announced that the API "will no longer be in service after 2026", and takes no new users.

    `model_id` is the attribute, in capitals: "TOXICITY", "IDENTITY_ATTACK", ...

    Raises `SettingsError` when ``PERSPECTIVE_API_KEY`` is not set, or may not go to the address.
    """

    max_concurrency: int | None = None

    def __init__(self, model_id: str, settings: Settings) -> None:
        self.name = f"{_PROVIDER}/{model_id}"
        self._attribute = model_id
        self._base_url = (settings.perspective_base_url or ADDRESSES[_PROVIDER]).rstrip("/")
        self._timeout = settings.request_timeout
        self.runtime: Mapping[str, str] = {
            "base_url": shown_address(self._base_url),
            "sdk": f"httpx {httpx.__version__}",
        }
        self._client = httpx.AsyncClient(
            # As a header: a key in the address would end up in logs and messages.
            headers={"x-goog-api-key": key_for(self.name, settings)},
            timeout=httpx.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            event_hooks=limited_bodies(httpx.AsyncByteStream),
        )

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``perspective/ATTRIBUTE``, at ``PERSPECTIVE_BASE_URL`` where that is set."""
        return cls(model_id, settings)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        del params
        body = {
            "comment": {"text": messages[-1].content},
            "requestedAttributes": {self._attribute: {}},
            "doNotStore": True,
        }
        try:
            async with time_limit(_PROVIDER, self._timeout):
                reply = await self._client.post(f"{self._base_url}/comments:analyze", json=body)
        except httpx.HTTPError as error:
            raise connection_error(_PROVIDER, self._base_url, error) from error
        found = json_or_text(reply.text)
        if reply.status_code != 200:
            raise _refusal(reply.status_code, found, reply.headers)
        return self._read(found)

    def _read(self, found: Any) -> Completion:  # noqa: ANN401 - whatever JSON the service sends
        try:
            scores = {name: float(of["summaryScore"]["value"]) for name, of in found["attributeScores"].items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ReplyError(f"{_PROVIDER}: the reply holds no scores: {str(found)[:_QUOTED]!r}") from None
        return Completion(text=json.dumps(scores), finish_reason="stop", model=self._attribute)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _refusal(status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """Google answers 400 to a wrong key too: the reason inside tells it from a text it cannot score."""
    error = status_error(_PROVIDER, status, body, headers, key=_KEY)
    if isinstance(error, RejectedError) and "API_KEY_INVALID" in json.dumps(body):
        return AuthenticationError(f"{error}; check {_KEY} and what it may use", status=status)
    return error
