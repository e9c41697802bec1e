"""Services that score texts, as models: OpenAI's moderation endpoint and Google's Perspective API.

Asked with a text, they answer with a score for each category.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from biaslens.errors import AuthenticationError, ModelError, RejectedError, ReplyError
from biaslens.models import _http
from biaslens.models.base import Completion, Message, Params
from biaslens.models.openai import OpenAIModel
from biaslens.settings import Settings

_QUOTED = 300


class ModerationModel(OpenAIModel):
    """A moderation model of OpenAI: ``openai-moderation/omni-moderation-latest``.

    The last message is what gets moderated; the answer's text is the JSON object of its category scores, each in
    [0, 1]. Parameters are ignored. OpenAI makes no charge for it.
    """

    provider = "openai-moderation"

    async def _create(self, messages: Sequence[Message], params: Params) -> Any:  # noqa: ANN401
        del params
        return await self._client.moderations.create(model=self._model_id, input=messages[-1].content)

    def _read(self, reply: Any) -> Completion:  # noqa: ANN401 - the SDK builds its class from any JSON, without checks
        try:
            scores = reply.results[0].category_scores.model_dump(by_alias=True, exclude_none=True)
            text = json.dumps({name: float(score) for name, score in scores.items()})
        except (AttributeError, IndexError, TypeError, ValueError):
            quoted = str(reply)[:_QUOTED]
            raise ReplyError(f"{self._provider}: the reply holds no category scores: {quoted!r}") from None
        return Completion(text=text, finish_reason="stop", model=str(getattr(reply, "model", None) or ""))


class PerspectiveModel(_http.RemoteModel):
    """An attribute of the Perspective API: ``perspective/TOXICITY``.

    The last message is what gets scored; the answer's text is the JSON object of its summary scores by attribute, in
    [0, 1]. Parameters are ignored. Texts are not stored by the service (``doNotStore``), and it finds out their
    language by itself; one that it does not support is refused.

    Google announced that the API "will no longer be in service after 2026", and takes no new users.

    `model_id` is the attribute, in capitals: "TOXICITY", "IDENTITY_ATTACK", ...
    """

    provider = "perspective"
    sdk = f"httpx {httpx.__version__}"

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        self._client = httpx.AsyncClient(
            # As a header: a key in the address would end up in logs and messages.
            headers={"x-goog-api-key": self._key},
            timeout=httpx.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            limits=httpx.Limits(max_connections=_http.CONNECTIONS, max_keepalive_connections=_http.CONNECTIONS),
            event_hooks=_http.limited_bodies(httpx.AsyncByteStream),
            verify=_http.trusted(httpx),
        )

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        del params
        body = {
            "comment": {"text": messages[-1].content},
            "requestedAttributes": {self._model_id: {}},
            "doNotStore": True,
        }
        try:
            async with _http.time_limit(self._provider, self._timeout):
                reply = await self._client.post(f"{self._base_url}/comments:analyze", json=body)
        except httpx.HTTPError as error:
            raise _http.connection_error(self._provider, self._base_url, error) from error
        found = _http.json_or_text(reply.text)
        if reply.status_code != 200:
            raise self._refusal(reply.status_code, found, reply.headers)
        return self._read(found)

    def _read(self, found: Any) -> Completion:  # noqa: ANN401 - whatever JSON the service sends
        try:
            scores = {name: float(of["summaryScore"]["value"]) for name, of in found["attributeScores"].items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ReplyError(f"{self._provider}: the reply holds no scores: {str(found)[:_QUOTED]!r}") from None
        return Completion(text=json.dumps(scores), finish_reason="stop", model=self._model_id)

    def _refusal(self, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
        """Google answers 400 to a wrong key too: the reason inside tells it from a text it cannot score."""
        key = self._server.key_variable
        error = _http.status_error(self._provider, status, body, headers, key=key)
        if isinstance(error, RejectedError) and "API_KEY_INVALID" in json.dumps(body):
            return AuthenticationError(f"{error}; check {key} and what it may use", status=status)
        return error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
