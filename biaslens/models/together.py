"""Models served by Together AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import httpx
import together

from biaslens._util.text import shown_address
from biaslens.errors import ReplyError
from biaslens.models.base import Completion, Message, Params, limited_bodies, read_completion, request_body
from biaslens.models.endpoints import ADDRESSES, KEY_VARIABLES, key_for
from biaslens.models.faults import CONNECTIONS, connection_error, refused, server_root, time_limit
from biaslens.settings import Settings

_PROVIDER = "together"


class TogetherModel:
    """A model asked through Together's SDK: ``together/meta-llama/Llama-3-8b-chat-hf``.

    The seed is sent: Together documents it as "for reproducibility". Its 503 means that it lacks capacity, its 429
    that we asked too fast; they are told apart by `status_error`.

    Parameters
    ----------
    model_id
        The model as Together calls it.
    settings
        Keys, time limits and perhaps another base URL.

    Raises
    ------
    SettingsError
        When ``TOGETHER_API_KEY`` is not set, or may not go to the address.
    """

    max_concurrency: int | None = None

    def __init__(self, model_id: str, settings: Settings) -> None:
        self.name = f"{_PROVIDER}/{model_id}"
        self._model_id = model_id
        self._timeout = settings.request_timeout
        self._base_url = server_root(settings.together_base_url or ADDRESSES[_PROVIDER])
        self._client = together.AsyncTogether(
            api_key=key_for(self.name, settings),
            base_url=self._base_url,
            timeout=httpx.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            max_retries=0,
            http_client=together.DefaultAsyncHttpxClient(
                follow_redirects=False,
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
                event_hooks=limited_bodies(httpx.AsyncByteStream),
            ),
        )
        self.runtime: Mapping[str, str] = {
            "base_url": shown_address(self._base_url),
            "sdk": f"together {together.__version__}",
        }

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``together/MODEL``, at ``TOGETHER_BASE_URL`` where that is set."""
        return cls(model_id, settings)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        body = request_body(self._model_id, messages, params)
        try:
            async with time_limit(_PROVIDER, self._timeout):
                reply = await self._client.chat.completions.create(**body)
        except together.APIStatusError as error:
            return refused(
                _PROVIDER,
                self._model_id,
                error.status_code,
                error.body,
                error.response.headers,
                key=KEY_VARIABLES[_PROVIDER],
            )
        except together.APIConnectionError as error:
            raise connection_error(_PROVIDER, self._base_url, error.__cause__ or error) from error
        except (together.TogetherError, ValueError, RecursionError) as error:
            raise ReplyError(f"{_PROVIDER}: the reply is not JSON ({error})") from error
        return read_completion(_PROVIDER, reply)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
