"""OpenAI's models, and those of every server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import httpx2
import openai

from biaslens._util.text import shown_address
from biaslens.errors import ReplyError, UnknownModelError
from biaslens.models.base import Completion, Message, Params, limited_bodies, read_completion, request_body
from biaslens.models.endpoints import OPENAI, endpoint, key_for
from biaslens.models.faults import connection_error, refused, time_limit
from biaslens.settings import Endpoint, Settings


class OpenAIModel:
    """A model asked by OpenAI's chat completion protocol.

    Parameters
    ----------
    name
        Full name: "openai/gpt-4o-mini".
    model_id
        The model as the server calls it.
    server
        Where it is and what it understands.
    settings
        Keys and time limits.

    Raises
    ------
    SettingsError
        When the server's key is not set, or may not go to its address.
    """

    def __init__(self, name: str, model_id: str, server: Endpoint, settings: Settings) -> None:
        self.name = name
        self.max_concurrency = server.max_concurrency
        self.runtime: Mapping[str, str] = {
            "base_url": shown_address(server.base_url),
            "sdk": f"openai {openai.__version__}",
        }
        self._model_id = model_id
        self._server = server
        self._provider = name.rpartition(f"/{model_id}")[0]
        self._timeout = settings.request_timeout
        self._client = openai.AsyncOpenAI(
            api_key=key_for(name, settings),
            base_url=server.base_url,
            timeout=openai.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            # Retries are the engine's: hidden ones would hide the 429s it has to slow down for.
            max_retries=0,
            # A redirect would take questions, and perhaps the key, to where nobody sent them.
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks=limited_bodies(httpx2.AsyncByteStream)
            ),
        )

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``openai/MODEL``, at ``OPENAI_BASE_URL`` where that is set."""
        server = OPENAI
        if settings.openai_base_url:
            server = OPENAI.model_copy(update={"base_url": settings.openai_base_url})
        return cls(f"openai/{model_id}", model_id, server, settings)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        server = self._server
        seed = "seed" if server.send_seed else None
        schema = "schema" if server.json_schema else None
        body = request_body(
            self._model_id, messages, params, max_tokens=server.tokens_parameter, seed=seed, json_schema=schema
        )
        try:
            async with time_limit(self._provider, self._timeout):
                reply = await self._client.chat.completions.create(**body)
        except openai.APIStatusError as error:
            return refused(
                self._provider,
                self._model_id,
                error.status_code,
                error.body,
                error.response.headers,
                key=self._server.key_variable,
            )
        except openai.APIConnectionError as error:
            raise connection_error(self._provider, server.base_url, error.__cause__ or error) from error
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise ReplyError(f"{self._provider}: the reply is not JSON ({error})") from error
        return read_completion(self._provider, reply)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


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
