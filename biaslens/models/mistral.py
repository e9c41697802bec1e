"""Mistral AI's models."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import Any

import httpx2
import pydantic
from mistralai.client import Mistral, errors
from mistralai.client._version import __version__ as sdk_version
from mistralai.client.chat import Chat
from mistralai.client.models import BatchJob, File

from biaslens._util.text import redacted
from biaslens.errors import RejectedError, ReplyError
from biaslens.models import _bodies, _http
from biaslens.models._batches import BatchStatus, batch_status, whole_lines
from biaslens.models.base import Completion, Message, Params
from biaslens.settings import Settings

_KNOWN = inspect.signature(Chat.complete_async).parameters.keys()


class MistralModel(_http.RemoteModel):
    """A model asked through Mistral's SDK: ``mistral/open-mistral-7b``.

    The seed is sent as ``random_seed``, which Mistral documents as making answers deterministic.
    """

    provider = "mistral"
    sdk = f"mistralai {sdk_version}"
    version_in_path = True

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        super().__init__(provider, model_id, settings)
        self._settings = settings
        self._http, self._sync_http = _open_http(settings, _http.limited_bodies(httpx2.AsyncByteStream))
        self._client = self._open_client(self._http, self._sync_http)

    def _open_client(self, client: httpx2.AsyncClient, sync_client: httpx2.Client) -> Mistral:
        return Mistral(
            api_key=self._key,
            server_url=self._base_url,
            client=sync_client,
            async_client=client,
            timeout_ms=round(1000 * self._settings.request_timeout),
        )

    def batches(self) -> _MistralBatches:
        """Batches of Mistral; their files are read without a limit on the size of a reply."""
        http = _open_http(self._settings, {"request": []})
        return _MistralBatches(self._provider, self._base_url, self._model_id, self._open_client(*http), http)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        body = _bodies.request_body(
            self._model_id, messages, params, seed="random_seed", json_schema="schema_definition"
        )
        unknown = sorted(body.keys() - _KNOWN)
        if unknown:
            raise RejectedError(f"{self._provider}: its SDK sends no {unknown[0]!r}; leave it out")
        try:
            async with _http.time_limit(self._provider, self._timeout):
                reply = await self._client.chat.complete_async(**body)
        except errors.MistralError as error:
            if isinstance(error, errors.ResponseValidationError) or error.status_code < 300:
                quoted = redacted(error.body)[:300]
                raise ReplyError(f"{self._provider}: the reply is not a chat completion: {quoted!r}") from error
            return self._refused(error.status_code, _http.json_or_text(error.body), error.headers)
        except pydantic.ValidationError as error:
            raise RejectedError(f"{self._provider}: its SDK does not take this request ({error})") from error
        except (httpx2.HTTPError, errors.NoResponseError) as error:
            raise _http.connection_error(self._provider, self._base_url, error) from error
        return _bodies.read_completion(self._provider, reply, opened=self._opened)

    async def close(self) -> None:
        """Close the connections."""
        self._sync_http.close()
        await self._http.aclose()


def _open_http(settings: Settings, hooks: dict[str, list[Any]]) -> tuple[httpx2.AsyncClient, httpx2.Client]:
    async def limit_connecting(request: httpx2.Request) -> None:
        # The SDK knows one time limit only and gives it to every phase of a request.
        request.extensions["timeout"] = {**request.extensions["timeout"], "connect": settings.connect_timeout}

    limits = httpx2.Limits(max_connections=_http.CONNECTIONS, max_keepalive_connections=_http.CONNECTIONS)
    hooks["request"].append(limit_connecting)
    tls = _http.trusted(httpx2)
    client = httpx2.AsyncClient(follow_redirects=False, limits=limits, event_hooks=hooks, verify=tls)
    return client, httpx2.Client(verify=tls)


_STATUSES = {"SUCCESS": "completed", "TIMEOUT_EXCEEDED": "expired"}
_INLINE = "in:"
_PAGE = 100


class _MistralBatches:
    """Batches of Mistral's API; answers come in files, or where there is none, inline with the batch."""

    most_lines = 100_000
    most_bytes = 200_000_000
    """Less than the 512 MB that Mistral takes: a file is put together in memory."""
    line_fields = ("custom_id", "body")

    def __init__(
        self,
        provider: str,
        base_url: str,
        model_id: str,
        client: Mistral,
        http: tuple[httpx2.AsyncClient, httpx2.Client],
    ) -> None:
        self._provider = provider
        self._base_url = base_url
        self._model_id = model_id
        self._client = client
        self._http = http

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except errors.MistralError as error:
            if isinstance(error, errors.ResponseValidationError) or error.status_code < 300:
                quoted = redacted(error.body)[:300]
                raise ReplyError(f"{self._provider}: the reply cannot be read: {quoted!r}") from error
            body = _http.json_or_text(error.body)
            raise _http.status_error(self._provider, error.status_code, body, error.headers) from error
        except (httpx2.HTTPError, errors.NoResponseError) as error:
            raise _http.connection_error(self._provider, self._base_url, error) from error
        except (ValueError, RecursionError) as error:  # of pydantic among others
            raise ReplyError(f"{self._provider}: the reply cannot be read ({error})") from error

    async def upload(self, name: str, data: bytes) -> str:
        with self._errors():
            file = File(file_name=f"{name}.jsonl", content=data)
            return str((await self._client.files.upload_async(file=file, purpose="batch")).id)

    async def submit(self, name: str, file_id: str, url: str) -> BatchStatus:
        with self._errors():
            made = await self._client.batch.jobs.create_async(
                endpoint=url,
                input_files=[file_id],
                model=self._model_id,
                metadata={"biaslens": name},
                timeout_hours=24,
            )
        return self._status(made)

    async def find(self, name: str, file_id: str, *, known: Collection[str], since: datetime) -> BatchStatus | None:
        del since  # every upload gets an id of its own here
        for page in count():
            with self._errors():
                found = (await self._client.batch.jobs.list_async(page=page, page_size=_PAGE)).data or []
            for job in found:
                ours = (job.metadata or {}).get("biaslens") == name or file_id in job.input_files
                if ours and job.id not in known:
                    return self._status(job)
            if len(found) < _PAGE:
                break
        return None

    async def status(self, batch_id: str) -> BatchStatus:
        with self._errors():
            return self._status(await self._client.batch.jobs.get_async(job_id=batch_id))

    async def cancel(self, batch_id: str) -> BatchStatus:
        with self._errors():
            return self._status(await self._client.batch.jobs.cancel_async(job_id=batch_id))

    async def lines(self, file_id: str) -> AsyncIterator[str]:
        with self._errors():
            if file_id.startswith(_INLINE):
                job = await self._client.batch.jobs.get_async(job_id=file_id.removeprefix(_INLINE), inline=True)
                for line in job.outputs or ():
                    yield json.dumps(line)
                return
            response = await self._client.files.download_async(file_id=file_id)
            try:
                async for text in whole_lines(response.aiter_bytes()):
                    yield text
            finally:
                await response.aclose()

    async def close(self) -> None:
        client, sync_client = self._http
        sync_client.close()
        await client.aclose()

    def _status(self, job: BatchJob) -> BatchStatus:
        files = [job.output_file or f"{_INLINE}{job.id}", job.error_file]
        return batch_status(
            self._provider,
            batch_id=job.id,
            status=_STATUSES.get(job.status, job.status.lower()),
            files=files,
            said="; ".join(each.message for each in job.errors[:3]),
        )
