"""Batches at a provider, through its SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from biaslens.errors import ModelError, ReplyError
from biaslens.models._http import connection_error, status_error

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""Statuses after which nothing happens to a batch any more."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What a provider says of a batch: its id, how far it is, and the files of its answers and errors."""

    batch_id: str
    status: str
    files: tuple[str, ...] = ()
    said: str = ""  #: why it failed as a whole; "" where it did not

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class BatchClient(Protocol):
    """Sends off batches and reads what comes of them; errors are `ModelError`."""

    async def upload(self, name: str, data: bytes) -> str:
        """Upload a file of requests; its id."""
        ...

    async def submit(self, name: str, file_id: str, url: str) -> BatchStatus:
        """Begin a batch, which is paid for from now on: never done twice, and never tried again by the SDK."""
        ...

    async def find(self, name: str, file_id: str) -> BatchStatus | None:
        """Look for a batch that was begun under this name, or with this file."""
        ...

    async def status(self, batch_id: str) -> BatchStatus: ...

    async def cancel(self, batch_id: str) -> BatchStatus: ...

    def lines(self, file_id: str) -> AsyncIterator[str]:
        """The lines of a file, one by one."""
        ...

    async def close(self) -> None: ...


class OpenAIBatches:
    """Batches of OpenAI's API; `client` has no limit on the size of a reply, and does not try again by itself."""

    def __init__(self, provider: str, base_url: str, client: Any, sdk: Any) -> None:  # noqa: ANN401
        self._provider = provider
        self._base_url = base_url
        self._client = client
        self._reading = client.with_options(max_retries=4)
        self._sdk = sdk

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._sdk.APIStatusError as error:
            raise status_error(self._provider, error.status_code, error.body, error.response.headers) from error
        except self._sdk.APIConnectionError as error:
            raise connection_error(self._provider, self._base_url, error.__cause__ or error) from error
        except (self._sdk.OpenAIError, ValueError, RecursionError, OSError) as error:
            raise ReplyError(f"{self._provider}: the reply cannot be read ({error})") from error

    async def upload(self, name: str, data: bytes) -> str:
        with self._errors():
            made = await self._client.files.create(file=(f"{name}.jsonl", data), purpose="batch")
            return str(made.id)

    async def submit(self, name: str, file_id: str, url: str) -> BatchStatus:
        with self._errors():
            made = await self._client.batches.create(
                input_file_id=file_id, endpoint=url, completion_window="24h", metadata={"biaslens": name}
            )
        return self._status(made)

    async def find(self, name: str, file_id: str) -> BatchStatus | None:
        with self._errors():
            async for batch in self._reading.batches.list(limit=100):
                if (batch.metadata or {}).get("biaslens") == name or batch.input_file_id == file_id:
                    return self._status(batch)
        return None

    async def status(self, batch_id: str) -> BatchStatus:
        with self._errors():
            return self._status(await self._reading.batches.retrieve(batch_id))

    async def cancel(self, batch_id: str) -> BatchStatus:
        with self._errors():
            return self._status(await self._reading.batches.cancel(batch_id))

    async def lines(self, file_id: str) -> AsyncIterator[str]:
        with self._errors():
            async with self._reading.files.with_streaming_response.content(file_id) as response:
                async for line in _lines(response.iter_bytes()):
                    yield line

    async def close(self) -> None:
        await self._client.close()

    def _status(self, batch: Any) -> BatchStatus:  # noqa: ANN401
        files = tuple(str(each) for each in (batch.output_file_id, batch.error_file_id) if each)
        errors = getattr(batch.errors, "data", None) or []
        said = "; ".join(str(getattr(each, "message", "") or getattr(each, "code", "")) for each in errors[:3])
        if not isinstance(batch.id, str) or not isinstance(batch.status, str):
            raise ReplyError(f"{self._provider}: the reply is no batch")
        return BatchStatus(batch.id, batch.status, files, said)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Whole lines; not `splitlines`, which also breaks at characters that stand in texts."""
    rest = b""
    async for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


__all__ = ["ENDED", "BatchClient", "BatchStatus", "ModelError", "OpenAIBatches"]
