"""OpenAI's models, and those of every server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import httpx2
import openai

from biaslens.errors import UnknownModelError
from biaslens.models._bodies import request_body, sdk_arguments
from biaslens.models._http import SdkModel, limited_bodies
from biaslens.models.base import Message, Params
from biaslens.models.endpoints import endpoint
from biaslens.settings import Settings


class OpenAIModel(SdkModel):
    """A model asked by OpenAI's chat completion protocol."""

    provider = "openai"
    sdk = f"openai {openai.__version__}"
    _sdk = openai
    _any_error = openai.OpenAIError

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        self._client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            timeout=openai.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            max_retries=0,
            # A redirect would take questions, and perhaps the key, to where nobody sent them.
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks=limited_bodies(httpx2.AsyncByteStream)
            ),
        )

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
        return await self._client.chat.completions.create(**sdk_arguments(body))


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
