"""Models served by Together AI."""

from __future__ import annotations

from typing import Self

import httpx
import together

from biaslens.models._http import CONNECTIONS, SdkModel, limited_bodies, server_root
from biaslens.models.endpoints import ADDRESSES, KEY_VARIABLES, key_for
from biaslens.settings import Settings


class TogetherModel(SdkModel):
    """A model asked through Together's SDK: ``together/meta-llama/Llama-3-8b-chat-hf``.

    The seed is sent: Together documents it as "for reproducibility". Its 503 means that it lacks capacity, its 429
    that we asked too fast; they are told apart by `status_error`.

    Raises `SettingsError` when ``TOGETHER_API_KEY`` is not set, or may not go to the address.
    """

    def __init__(self, model_id: str, settings: Settings) -> None:
        name = f"together/{model_id}"
        base_url = server_root(settings.together_base_url or ADDRESSES["together"])
        client = together.AsyncTogether(
            api_key=key_for(name, settings),
            base_url=base_url,
            timeout=httpx.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            max_retries=0,
            http_client=together.DefaultAsyncHttpxClient(
                follow_redirects=False,
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
                event_hooks=limited_bodies(httpx.AsyncByteStream),
            ),
        )
        super().__init__(
            name,
            model_id,
            sdk=together,
            any_error=together.TogetherError,
            client=client,
            base_url=base_url,
            key=KEY_VARIABLES["together"],
            timeout=settings.request_timeout,
        )

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``together/MODEL``, at ``TOGETHER_BASE_URL`` where that is set."""
        return cls(model_id, settings)
