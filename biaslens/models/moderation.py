"""OpenAI's moderation endpoint as a model: asked with a text, it answers with a score for each category."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx2
import openai

from biaslens._util.text import shown_address
from biaslens.errors import ReplyError
from biaslens.models.base import Completion, Message, Params, limited_bodies
from biaslens.models.endpoints import ADDRESSES, KEY_VARIABLES, key_for
from biaslens.models.faults import connection_error, status_error, time_limit
from biaslens.settings import Settings

_PROVIDER = "openai-moderation"
_QUOTED = 300


class ModerationModel:
    """A moderation model of OpenAI: ``openai-moderation/omni-moderation-latest``.

    The last message is what gets moderated; the answer's text is the JSON object of its category scores, each in
    [0, 1]. Parameters are ignored. OpenAI makes no charge for it.

    Parameters
    ----------
    model_id
        The model as OpenAI calls it.
    settings
        Keys, time limits and perhaps another base URL.

    Raises
    ------
    SettingsError
        When ``OPENAI_API_KEY`` is not set, or may not go to the address.
    """

    max_concurrency: int | None = None

    def __init__(self, model_id: str, settings: Settings) -> None:
        self.name = f"{_PROVIDER}/{model_id}"
        self._model_id = model_id
        self._base_url = settings.openai_base_url or ADDRESSES[_PROVIDER]
        self._timeout = settings.request_timeout
        self.runtime: Mapping[str, str] = {
            "base_url": shown_address(self._base_url),
            "sdk": f"openai {openai.__version__}",
        }
        self._client = openai.AsyncOpenAI(
            api_key=key_for(self.name, settings),
            base_url=self._base_url,
            timeout=openai.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks=limited_bodies(httpx2.AsyncByteStream)
            ),
        )

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``openai-moderation/MODEL``, at ``OPENAI_BASE_URL`` where that is set."""
        return cls(model_id, settings)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        del params
        try:
            async with time_limit(_PROVIDER, self._timeout):
                reply = await self._client.moderations.create(model=self._model_id, input=messages[-1].content)
        except openai.APIStatusError as error:
            raise status_error(
                _PROVIDER, error.status_code, error.body, error.response.headers, key=KEY_VARIABLES[_PROVIDER]
            ) from error
        except openai.APIConnectionError as error:
            raise connection_error(_PROVIDER, self._base_url, error.__cause__ or error) from error
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise ReplyError(f"{_PROVIDER}: the reply is not JSON ({error})") from error
        return _read(reply)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _read(reply: Any) -> Completion:  # noqa: ANN401 - the SDK builds its class from any JSON, without checks
    try:
        scores = reply.results[0].category_scores.model_dump(by_alias=True, exclude_none=True)
        text = json.dumps({name: float(score) for name, score in scores.items()})
    except (AttributeError, IndexError, TypeError, ValueError):
        raise ReplyError(f"{_PROVIDER}: the reply holds no category scores: {str(reply)[:_QUOTED]!r}") from None
    return Completion(text=text, finish_reason="stop", model=str(getattr(reply, "model", None) or ""))
