"""OpenAI's models, and those of every server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import httpx2
import openai

from biaslens.errors import SettingsError, UnknownModelError
from biaslens.models._batches import OpenAIBatches
from biaslens.models._bodies import RESPONSES_ARGUMENTS, read_response, request_body, responses_body, sdk_arguments
from biaslens.models._http import SdkModel, limited_bodies, trusted
from biaslens.models.base import Completion, Message, Params
from biaslens.models.catalogue import entry
from biaslens.models.endpoints import endpoint
from biaslens.settings import Settings


class OpenAIModel(SdkModel):
    """A model asked by OpenAI's chat completion protocol, or its Responses API where the catalogue says so."""

    provider = "openai"
    sdk = f"openai {openai.__version__}"
    _sdk = openai
    _any_error = openai.OpenAIError

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        known = entry(self.name, settings)
        self._responses = known is not None and known.api == "responses"
        self._client = self._open_client(settings)

    def _open_client(self, settings: Settings) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(api_key=self._key, base_url=self._base_url, **_connection(settings))

    def batches(self) -> OpenAIBatches:
        """Batches of this server; their files are read without a limit on the size of a reply."""
        http = openai.DefaultAsyncHttpxClient(follow_redirects=False, verify=trusted(httpx2))
        client = self._client.copy(http_client=http)
        return OpenAIBatches(self._provider, self._base_url, client, openai, openai.OpenAIError)

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
        if not self._responses:
            return super()._read(reply)
        error = getattr(reply, "error", None)
        if error is not None:  # told in a reply that is otherwise well
            status = {"server_error": 500, "rate_limit_exceeded": 429}.get(error.code, 400)
            return self._refused(status, {"code": error.code, "message": error.message}, {})
        return read_response(self._provider, reply)


def _connection(settings: Settings) -> dict[str, Any]:
    """How clients connect: a redirect would take questions, and perhaps the key, to where nobody sent them."""
    hooks = limited_bodies(httpx2.AsyncByteStream)
    return {
        "timeout": openai.Timeout(settings.request_timeout, connect=settings.connect_timeout),
        "max_retries": 0,
        "http_client": openai.DefaultAsyncHttpxClient(
            follow_redirects=False, event_hooks=hooks, verify=trusted(httpx2)
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
        connection = _connection(settings)
        if settings.azure_api_version is None:
            base_url = f"{self._base_url.removesuffix('/openai/v1')}/openai/v1"
            return openai.AsyncOpenAI(api_key=self._key, base_url=base_url, **connection)
        version = settings.azure_api_version
        return openai.AsyncAzureOpenAI(
            api_key=self._key, azure_endpoint=self._base_url, api_version=version, **connection
        )


class CompatibleModel(OpenAIModel):
    """A model of a named endpoint: ``compatible/deepseek/deepseek-chat``."""

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        # The SDK takes these from OPENAI_ORG_ID and OPENAI_PROJECT_ID; they are nobody else's business.
        self._client.organization = None
        self._client.project = None

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``compatible/ENDPOINT/MODEL``; `model_id` is "ENDPOINT/MODEL"."""
        label, _, model = model_id.partition("/")
        endpoint(label, settings)
        if not model:
            raise UnknownModelError(f"compatible/{model_id} names no model; the form is compatible/ENDPOINT/MODEL")
        return cls(f"compatible/{label}", model, settings)
