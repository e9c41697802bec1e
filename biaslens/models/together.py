"""Models served by Together AI."""

from __future__ import annotations

import httpx
import together

from biaslens.models._http import CONNECTIONS, SdkModel, limited_bodies
from biaslens.settings import Settings


class TogetherModel(SdkModel):
    """A model asked through Together's SDK: ``together/meta-llama/Llama-3-8b-chat-hf``.

    The seed is sent: Together documents it as "for reproducibility". Its 503 means that it lacks capacity, its 429
    that we asked too fast; they are told apart by `status_error`.
    """

    provider = "together"
    sdk = f"together {together.__version__}"
    _sdk = together
    version_in_path = True
    _any_error = together.TogetherError

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        self._client = together.AsyncTogether(
            api_key=self._key,
            base_url=self._base_url,
            timeout=httpx.Timeout(settings.request_timeout, connect=settings.connect_timeout),
            max_retries=0,
            http_client=together.DefaultAsyncHttpxClient(
                follow_redirects=False,
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
                event_hooks=limited_bodies(httpx.AsyncByteStream),
            ),
        )
