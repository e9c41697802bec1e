"""Mistral AI's models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import httpx2
from mistralai.client import Mistral, errors
from mistralai.client._version import __version__ as sdk_version

from biaslens._util.text import redacted, shown_address
from biaslens.errors import ReplyError
from biaslens.models.base import Completion, Message, Params, limited_bodies, read_completion, request_body
from biaslens.models.endpoints import ADDRESSES, KEY_VARIABLES, key_for
from biaslens.models.faults import CONNECTIONS, connection_error, json_or_text, refused, server_root, time_limit
from biaslens.settings import Settings

_PROVIDER = "mistral"


class MistralModel:
    """A model asked through Mistral's SDK: ``mistral/open-mistral-7b``.

    The seed is sent as ``random_seed``, which Mistral documents as making answers deterministic.

    Parameters
    ----------
    model_id
        The model as Mistral calls it.
    settings
        Keys, time limits and perhaps another base URL.

    Raises
    ------
    SettingsError
        When ``MISTRAL_API_KEY`` is not set, or may not go to the address.
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
        except errors.ResponseValidationError as error:
            raise ReplyError(
                f"{_PROVIDER}: the reply is not a chat completion: {redacted(error.body)[:300]!r}"
            ) from error
        except errors.MistralError as error:
            return self._refused(error)
        except (httpx2.HTTPError, errors.NoResponseError) as error:
            raise connection_error(_PROVIDER, self._base_url, error) from error
        return read_completion(_PROVIDER, reply)

    def _refused(self, error: errors.MistralError) -> Completion:
        body = json_or_text(error.body)
        if error.status_code < 300:
            raise ReplyError(
                f"{_PROVIDER}: the reply is not a chat completion: {redacted(error.body)[:300]!r}"
            ) from error
        return refused(_PROVIDER, self._model_id, error.status_code, body, error.headers, key=KEY_VARIABLES[_PROVIDER])

    async def close(self) -> None:
        """Close the connections."""
        self._sync_http.close()
        await self._http.aclose()
