"""OpenAI's models, and those of every server that speaks its protocol.

A chat completion goes over aiohttp, which does what OpenAI's SDK does for it in a tenth of the time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.helpers import get_env_proxy_for_url
from yarl import URL

from biaslens import __version__, errors
from biaslens.errors import ReplyError, SettingsError, UnknownModelError
from biaslens.models import _http
from biaslens.models._bodies import RESPONSES_ARGUMENTS, read_completion, request_body, responses_body, sdk_arguments
from biaslens.models.base import ChatModel, Completion, Message, Params
from biaslens.models.catalogue import entry
from biaslens.models.endpoints import endpoint
from biaslens.settings import Settings

if TYPE_CHECKING:
    import openai

    from biaslens.models._batches import OpenAIBatches


class OpenAIModel(_http.SdkModel):
    """A model asked by OpenAI's chat completion protocol, or its Responses API where the catalogue says so."""

    provider = "openai"

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        # Only here: the SDK takes longer to load than all else, and the lean transport goes without it.
        import openai

        self.sdk = f"openai {openai.__version__}"
        self._sdk, self._any_error = openai, openai.OpenAIError
        super().__init__(provider, model_id, settings)
        known = entry(self.name, settings)
        self._responses = known is not None and known.api == "responses"
        self._client = self._open_client(settings)

    def _open_client(self, settings: Settings) -> openai.AsyncOpenAI:
        import openai

        return openai.AsyncOpenAI(api_key=self._key, base_url=self._base_url, **_connection(settings))

    def batches(self) -> OpenAIBatches:
        """Batches of this server; their files are read without a limit on the size of a reply."""
        return _batches(self._provider, self._base_url, self._client)

    async def _create(self, messages: Sequence[Message], params: Params) -> Any:  # noqa: ANN401
        server = self._server
        if self._responses:
            body = responses_body(self._model_id, messages, params, json_schema=server.json_schema)
            return await self._client.responses.create(**sdk_arguments(body, RESPONSES_ARGUMENTS))
        body = request_body(
            self._model_id,
            messages,
            params,
            max_tokens=server.tokens_parameter,
            seed="seed" if server.send_seed else None,
            json_schema="schema" if server.json_schema else None,
        )
        return await self._client.chat.completions.create(**sdk_arguments(body))

    def _read(self, reply: Any) -> Completion:  # noqa: ANN401
        return self._read_response(reply) if self._responses else super()._read(reply)


def _batches(provider: str, base_url: str, client: openai.AsyncOpenAI) -> OpenAIBatches:
    import httpx2
    import openai

    from biaslens.models._batches import OpenAIBatches

    http = openai.DefaultAsyncHttpxClient(follow_redirects=False, verify=_http.trusted(httpx2))
    return OpenAIBatches(provider, base_url, client.copy(http_client=http), openai, openai.OpenAIError)


def _connection(settings: Settings) -> dict[str, Any]:
    """How clients connect: a redirect would take questions, and perhaps the key, to where nobody sent them."""
    import httpx2
    import openai

    hooks = _http.limited_bodies(httpx2.AsyncByteStream)
    return {
        "timeout": openai.Timeout(settings.request_timeout, connect=settings.connect_timeout),
        "max_retries": 0,
        "http_client": openai.DefaultAsyncHttpxClient(
            follow_redirects=False, event_hooks=hooks, verify=_http.trusted(httpx2)
        ),
    }


class AzureModel(OpenAIModel):
    """A deployment of Azure OpenAI, by its name there: ``azure/my-deployment``.

    The resource is that of the setting `azure_base_url` (``AZURE_OPENAI_ENDPOINT``), asked through its v1 API, or
    through a dated one where `azure_api_version` (``OPENAI_API_VERSION``) says which.
    """

    provider = "azure"

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        if settings.azure_base_url is None:
            raise SettingsError(
                f"{provider}/{model_id}: AZURE_OPENAI_ENDPOINT is not set; it is https://RESOURCE.openai.azure.com"
            )
        super().__init__(provider, model_id, settings)

    def _open_client(self, settings: Settings) -> openai.AsyncOpenAI:
        import openai

        connection = _connection(settings)
        if settings.azure_api_version is None:
            base_url = f"{self._base_url.removesuffix('/openai/v1')}/openai/v1"
            return openai.AsyncOpenAI(api_key=self._key, base_url=base_url, **connection)
        version = settings.azure_api_version
        return openai.AsyncAzureOpenAI(
            api_key=self._key, azure_endpoint=self._base_url, api_version=version, **connection
        )


class CompatibleModel(OpenAIModel):
    """A model of a named endpoint, ``compatible/deepseek/deepseek-chat``, asked through OpenAI's SDK."""

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        # The SDK takes these from OPENAI_ORG_ID and OPENAI_PROJECT_ID; they are nobody else's business.
        self._client.organization = None
        self._client.project = None

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> ChatModel:  # type: ignore[override]
        """Open ``compatible/ENDPOINT/MODEL``, by the endpoint's transport; `model_id` is "ENDPOINT/MODEL"."""
        label, _, model = model_id.partition("/")
        server = endpoint(label, settings)
        if not model:
            raise UnknownModelError(f"compatible/{model_id} names no model; the form is compatible/ENDPOINT/MODEL")
        if server.transport == "sdk":
            return cls(f"compatible/{label}", model, settings)
        return LeanModel(f"compatible/{label}", model, settings)


class LeanModel(_http.RemoteModel):
    """A model of a server that speaks OpenAI's protocol, its Responses API where the catalogue says so.

    Nothing is tried again, no redirect is followed, and proxies are those of the environment.
    """

    sdk = f"aiohttp {aiohttp.__version__}"

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        known = entry(self.name, settings)
        self._responses = known is not None and known.api == "responses"
        self._settings = settings
        self._url = URL(f"{self._base_url}/{'responses' if self._responses else 'chat/completions'}")
        self._headers = {
            "authorization": f"Bearer {self._key}",
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "gzip, deflate",
            "user-agent": f"biaslens/{__version__}",
        }
        self._session: aiohttp.ClientSession | None = None
        self._options: dict[str, Any] = {}

    def batches(self) -> OpenAIBatches:
        """Batches of this server, through OpenAI's SDK."""
        return CompatibleModel(self._provider, self._model_id, self._settings).batches()

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        try:
            async with _http.time_limit(self._provider, self._timeout):
                status, headers, data = await self._post(self._body(messages, params))
        except aiohttp.ClientPayloadError as error:
            raise ReplyError(f"{self._provider}: the reply broke off ({error})") from error
        except ReplyError as error:
            raise ReplyError(f"{self._provider}: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _http.connection_error(self._provider, self._base_url, error) from error
        if not 200 <= status < 300:
            return self._refused(status, _http.json_or_text(data.decode("utf-8", "replace")), headers)
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ReplyError(f"{self._provider}: the reply is not JSON ({error})") from error
        if self._responses:
            return self._read_response(reply)
        return read_completion(self._provider, reply, opened=self._opened)

    def _body(self, messages: Sequence[Message], params: Params) -> bytes:
        server = self._server
        if self._responses:
            body = responses_body(self._model_id, messages, params, json_schema=server.json_schema)
        else:
            body = request_body(
                self._model_id,
                messages,
                params,
                max_tokens=server.tokens_parameter,
                seed="seed" if server.send_seed else None,
                json_schema="schema" if server.json_schema else None,
            )
        try:
            return json.dumps(body, allow_nan=False).encode()
        except ValueError as error:
            raise errors.RejectedError(f"{self._provider}: the request is no JSON ({error})") from error

    async def _post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the reply; its errors are aiohttp's, but for a body that is not to be read."""
        session = self._session or self._open_session()
        async with session.post(self._url, data=body, **self._options) as response:
            encoding = response.headers.get("content-encoding", "identity").strip().lower()
            if encoding == "identity" and (response.content_length or _http.MAX_BODY) < _http.MAX_BODY:
                return response.status, response.headers, await response.read()
            parts = [part async for part in _http.Limited(response.content.iter_any(), encoding)]
            return response.status, response.headers, b"".join(parts)

    def _open_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=0, ssl=self._trusted())
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._settings.connect_timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        self._options = {"allow_redirects": False}
        try:
            proxy, login = get_env_proxy_for_url(self._url)
        except LookupError:
            return self._session
        self._options |= {"proxy": proxy, "proxy_auth": login}
        return self._session

    def _trusted(self) -> Any:  # noqa: ANN401 - as aiohttp has it
        if self._url.scheme != "https":
            return True
        import httpx2

        return _http.trusted(httpx2)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            if self._url.scheme == "https":
                await asyncio.sleep(0)  # aiohttp closes TLS a step later
