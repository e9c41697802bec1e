"""Models served by Together AI."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import together

from biaslens.models._batches import BatchStatus, SdkBatches
from biaslens.models._http import CONNECTIONS, SdkModel, connection_error, limited_bodies, trusted
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
                verify=trusted(httpx),
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
                event_hooks=limited_bodies(httpx.AsyncByteStream),
            ),
        )

    def batches(self) -> _TogetherBatches:
        """Batches of Together; their files are read without a limit on the size of a reply."""
        http = together.DefaultAsyncHttpxClient(follow_redirects=False, verify=trusted(httpx))
        client = self._client.copy(http_client=http)
        return _TogetherBatches(self._provider, self._base_url, client, together, together.TogetherError)


_CLOCKS = timedelta(hours=1)
"""How far apart this machine's clock and Together's may be."""


class _TogetherBatches(SdkBatches):
    """Batches of Together's API, which knows no names of batches: one is found again by its file."""

    most_bytes = 100_000_000
    line_fields = ("custom_id", "body")

    async def upload(self, name: str, data: bytes) -> str:
        with self._errors(), tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.jsonl"
            path.write_bytes(data)
            try:
                made = await self._client.files.upload(path, purpose="batch-api", check=False)
            except httpx.HTTPError as error:  # of the store that Together sends uploads to
                raise connection_error(self._provider, self._base_url, error) from error
            return str(made.id)

    async def submit(self, name: str, file_id: str, url: str) -> BatchStatus:
        del name
        with self._errors():
            made = await self._client.batches.create(input_file_id=file_id, endpoint=url, completion_window="24h")
            return self._status(made.job)

    async def find(self, name: str, file_id: str, *, known: Collection[str], since: datetime) -> BatchStatus | None:
        del name
        with self._errors():
            for batch in await self._reading.batches.list():
                made_at = batch.created_at
                late = not isinstance(made_at, datetime) or made_at.astimezone(UTC) > since - _CLOCKS
                if batch.input_file_id == file_id and batch.id not in known and late:
                    return self._status(batch)
        return None

    def _status(self, batch: Any) -> BatchStatus:  # noqa: ANN401 - the SDK's
        found = super()._status(batch)
        return replace(found, status=found.status.lower())

    def _said(self, batch: Any) -> str:  # noqa: ANN401
        return str(getattr(batch, "error", None) or "")
