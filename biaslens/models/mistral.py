"""Mistral AI's models."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import httpx2
import pydantic
from mistralai.client import Mistral, errors
from mistralai.client._version import __version__ as sdk_version
from mistralai.client.chat import Chat

from biaslens._util.text import redacted
from biaslens.errors import RejectedError, ReplyError
from biaslens.models import _bodies, _http
from biaslens.models.base import Completion, Message, Params
from biaslens.settings import Settings

_KNOWN = inspect.signature(Chat.complete_async).parameters.keys()


class MistralModel(_http.RemoteModel):
    """A model asked through Mistral's SDK: ``mistral/open-mistral-7b``.

    The seed is sent as ``random_seed``, which Mistral documents as making answers deterministic.
    """

    provider = "mistral"
    sdk = f"mistralai {sdk_version}"
    version_in_path = True

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        connect_timeout = settings.connect_timeout

        async def limit_connecting(request: httpx2.Request) -> None:
            # The SDK knows one time limit only and gives it to every phase of a request.
            request.extensions["timeout"] = {**request.extensions["timeout"], "connect": connect_timeout}

        hooks = _http.limited_bodies(httpx2.AsyncByteStream)
        hooks["request"].append(limit_connecting)
        self._http = httpx2.AsyncClient(
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=_http.CONNECTIONS, max_keepalive_connections=_http.CONNECTIONS),
            event_hooks=hooks,
        )
        self._sync_http = httpx2.Client()
        self._client = Mistral(
            api_key=self._key,
            server_url=self._base_url,
            client=self._sync_http,
            async_client=self._http,
            timeout_ms=round(1000 * settings.request_timeout),
        )

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        body = _bodies.request_body(
            self._model_id, messages, params, seed="random_seed", json_schema="schema_definition"
        )
        unknown = sorted(body.keys() - _KNOWN)
        if unknown:
            raise RejectedError(f"{self._provider}: its SDK sends no {unknown[0]!r}; leave it out")
        try:
            async with _http.time_limit(self._provider, self._timeout):
                reply = await self._client.chat.complete_async(**body)
        except errors.MistralError as error:
            if isinstance(error, errors.ResponseValidationError) or error.status_code < 300:
                quoted = redacted(error.body)[:300]
                raise ReplyError(f"{self._provider}: the reply is not a chat completion: {quoted!r}") from error
            return self._refused(error.status_code, _http.json_or_text(error.body), error.headers)
        except pydantic.ValidationError as error:
            raise RejectedError(f"{self._provider}: its SDK does not take this request ({error})") from error
        except (httpx2.HTTPError, errors.NoResponseError) as error:
            raise _http.connection_error(self._provider, self._base_url, error) from error
        return _bodies.read_completion(self._provider, reply, opened=self._opened)

    async def close(self) -> None:
        """Close the connections."""
        self._sync_http.close()
        await self._http.aclose()
