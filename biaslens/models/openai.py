"""OpenAI's models, and those of every server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import httpx2
import openai

from biaslens.errors import UnknownModelError
from biaslens.models._http import SdkModel, limited_bodies, request_body
from biaslens.models.base import Message, Params
from biaslens.models.endpoints import OPENAI, endpoint, key_for
from biaslens.settings import Endpoint, Settings


class OpenAIModel(SdkModel):
    """A model asked by OpenAI's chat completion protocol.

    Raises `SettingsError` when the server's key is not set, or may not go to its address.
    """

    def __init__(self, name: str, model_id: str, server: Endpoint, settings: Settings) -> None:
        client = openai.AsyncOpenAI(
            api_key=key_for(name, settings),
            base_url=server.base_url,
            timeout=openai.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            max_retries=0,
            # A redirect would take questions, and perhaps the key, to where nobody sent them.
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks=limited_bodies(httpx2.AsyncByteStream)
            ),
        )
        super().__init__(
            name,
            model_id,
            sdk=openai,
            any_error=openai.OpenAIError,
            client=client,
            base_url=server.base_url,
            key=server.key_variable,
            timeout=settings.request_timeout,
        )
        self.max_concurrency = server.max_concurrency
        self._server = server

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``openai/MODEL``, at ``OPENAI_BASE_URL`` where that is set."""
        return cls(f"openai/{model_id}", model_id, own_server(settings), settings)

    async def _create(self, messages: Sequence[Message], params: Params) -> Any:  # noqa: ANN401
        server = self._server
        body = request_body(
            self._model_id,
            messages,
            params,
            max_tokens=server.tokens_parameter,
            seed="seed" if server.send_seed else None,
            json_schema="schema" if server.json_schema else None,
        )
        return await self._client.chat.completions.create(**body)


def own_server(settings: Settings) -> Endpoint:
    """OpenAI's server, or the one at ``OPENAI_BASE_URL``."""
    own = settings.openai_base_url
    return OPENAI.model_copy(update={"base_url": own}) if own else OPENAI


class CompatibleModel(OpenAIModel):
    """A model of a named endpoint: ``compatible/deepseek/deepseek-chat``."""

    def __init__(self, name: str, model_id: str, server: Endpoint, settings: Settings) -> None:
        super().__init__(name, model_id, server, settings)
        # The SDK takes these from OPENAI_ORG_ID and OPENAI_PROJECT_ID; they are nobody else's business.
        self._client.organization = None
        self._client.project = None

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``compatible/ENDPOINT/MODEL``; `model_id` is "ENDPOINT/MODEL"."""
        name, _, model = model_id.partition("/")
        server = endpoint(name, settings)
        if not model:
            raise UnknownModelError(f"compatible/{model_id} names no model; the form is compatible/ENDPOINT/MODEL")
        return cls(f"compatible/{model_id}", model, server, settings)
