"""OpenAI's models, and those of every server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from biaslens.errors import SettingsError, UnknownModelError
from biaslens.models import _http
from biaslens.models._bodies import RESPONSES_ARGUMENTS, request_body, responses_body, sdk_arguments
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
        from biaslens.models._lean import LeanModel

        return LeanModel(f"compatible/{label}", model, settings)
