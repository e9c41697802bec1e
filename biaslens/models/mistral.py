"""Mistral AI's models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import httpx2
from mistralai.client import Mistral, errors
from mistralai.client._version import __version__ as sdk_version

from biaslens._util.text import redacted, shown_address
from biaslens.errors import ReplyError
from biaslens.models._http import (
    CONNECTIONS,
    connection_error,
    json_or_text,
    limited_bodies,
    read_completion,
    refused,
    request_body,
    server_root,
    time_limit,
)
from biaslens.models.base import Completion, Message, Params
from biaslens.models.endpoints import ADDRESSES, KEY_VARIABLES, key_for
from biaslens.settings import Settings

_PROVIDER = "mistral"


class MistralModel:
    """A model asked through Mistral's SDK: ``mistral/open-mistral-7b``.

    The seed is sent as ``random_seed``, which Mistral documents as making answers deterministic.

    Raises `SettingsError` when ``MISTRAL_API_KEY`` is not set, or may not go to the address.
    """

    max_concurrency: int | None = None

    def __init__(self, model_id: str, settings: Settings) -> None:
        self.name = f"{_PROVIDER}/{model_id}"
        self._base_url = server_root(settings.mistral_base_url or ADDRESSES[_PROVIDER])
        self.runtime: Mapping[str, str] = {"base_url": shown_address(self._base_url), "sdk": f"mistralai {sdk_version}"}
        self._model_id = model_id
        self._timeout = settings.request_timeout
        connect_timeout = settings.connect_timeout

        async def limit_connecting(request: httpx2.Request) -> None:
            # The SDK knows one time limit only and gives it to every phase of a request.
            request.extensions["timeout"] = {**request.extensions["timeout"], "connect": connect_timeout}

        hooks = limited_bodies(httpx2.AsyncByteStream)
        hooks["request"].append(limit_connecting)
        self._http = httpx2.AsyncClient(
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            event_hooks=hooks,
        )
        self._sync_http = httpx2.Client()
        self._client = Mistral(
            api_key=key_for(self.name, settings),
            server_url=self._base_url,
            client=self._sync_http,
            async_client=self._http,
            timeout_ms=round(1000 * settings.request_timeout),
        )

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``mistral/MODEL``, at ``MISTRAL_BASE_URL`` where that is set."""
        return cls(model_id, settings)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        body = request_body(self._model_id, messages, params, seed="random_seed", json_schema="schema_definition")
        try:
            async with time_limit(_PROVIDER, self._timeout):
                reply = await self._client.chat.complete_async(**body)
        except errors.MistralError as error:
            if isinstance(error, errors.ResponseValidationError) or error.status_code < 300:
                quoted = redacted(error.body)[:300]
                raise ReplyError(f"{_PROVIDER}: the reply is not a chat completion: {quoted!r}") from error
            said, key = json_or_text(error.body), KEY_VARIABLES[_PROVIDER]
            return refused(_PROVIDER, self._model_id, error.status_code, said, error.headers, key=key)
        except (httpx2.HTTPError, errors.NoResponseError) as error:
            raise connection_error(_PROVIDER, self._base_url, error) from error
        return read_completion(_PROVIDER, reply)

    async def close(self) -> None:
        """Close the connections."""
        self._sync_http.close()
        await self._http.aclose()
