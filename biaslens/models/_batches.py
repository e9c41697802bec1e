"""Batches at a provider, through its SDK: requests and answers as lines of files in OpenAI's format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from biaslens.errors import InputError, ModelError, ReplyError, UnavailableError
from biaslens.models import catalogue
from biaslens.models._bodies import read_completion, read_response, request_body, responses_body
from biaslens.models._http import connection_error, refused, status_error
from biaslens.models.base import Completion, Message, Params
from biaslens.models.endpoints import server_of
from biaslens.settings import Endpoint, Settings

_OTHER_PROTOCOLS = ("openai-moderation/", "perspective/")
_FORMS: dict[str, dict[str, Any]] = {
    "mistral": {"seed": "random_seed", "json_schema": "schema"},
    "together": {"seed": "seed", "json_schema": "schema"},
}
"""What providers with an SDK of their own call seed and JSON schema."""

URL = "/v1/chat/completions"
RESPONSES_URL = "/v1/responses"


def require_batchable(model: str, settings: Settings) -> Endpoint:
    """The server of a model that can be asked by batches or by files.

    InputError for another one, UnknownModelError for an endpoint that nobody has configured.
    """
    server = server_of(model, settings)
    if server is None or model.startswith(_OTHER_PROTOCOLS):
        why = "runs in this process" if model.startswith("local/") else "has no batches in OpenAI's format"
        raise InputError(f"{model}: {why}; leave the option out")
    return server


def batch_request(
    key: str, model: str, messages: Sequence[Message], params: Params, settings: Settings
) -> dict[str, Any]:
    """Make the line of a request; the model is not opened, so no key is needed. Errors are `require_batchable`'s."""
    server = require_batchable(model, settings)
    model_id = model.split("/", 2 if model.startswith("compatible/") else 1)[-1]
    known = catalogue.entry(model, settings)
    if known is not None and known.api == "responses":
        body = responses_body(model_id, messages, params, json_schema=server.json_schema)
        return {"custom_id": key, "method": "POST", "url": RESPONSES_URL, "body": body}
    form = {"max_tokens": server.tokens_parameter} | _FORMS.get(model.partition("/")[0], _form(server))
    return {"custom_id": key, "method": "POST", "url": URL, "body": request_body(model_id, messages, params, **form)}


def _form(server: Endpoint) -> dict[str, Any]:
    return {"seed": "seed" if server.send_seed else None, "json_schema": "schema" if server.json_schema else None}


def batch_answer(line: Mapping[str, Any], model: str) -> Completion | ModelError:
    """Read the line of an answer: a completion, or the error that says why there is none."""
    provider, _, model_id = model.partition("/")
    response, error = line.get("response"), line.get("error")
    try:
        if isinstance(response, Mapping):
            status, body = response.get("status_code", 200), response.get("body")
            if not isinstance(status, int):
                return ReplyError(f"{provider}: the answer has the status {status!r:.100}")
            if status != 200:
                return refused(provider, model_id, status, error if body is None else body, {})  # vLLM: in `error`
            if isinstance(body, Mapping) and body.get("object") == "response":
                return read_response(provider, body)
            return read_completion(provider, body, opened=catalogue.opens_thought(model))
        said = error if isinstance(error, Mapping) else {"message": error}
        reason = [str(said[name]) for name in ("code", "message") if said.get(name)]
        return UnavailableError(f"{provider}: not answered: {': '.join(reason) or 'no explanation'}")
    except ModelError as found:
        return found


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

    #: most that the provider takes in one batch
    most_lines: int
    most_bytes: int
    line_fields: Collection[str]  #: what the provider reads of a line of requests

    async def upload(self, name: str, data: bytes) -> str:
        """Upload a file of requests; its id."""
        ...

    async def submit(self, name: str, file_id: str, url: str) -> BatchStatus:
        """Begin a batch, which is paid for from now on: never done twice, and never tried again by the SDK."""
        ...

    async def find(self, name: str, file_id: str, *, known: Collection[str], since: datetime) -> BatchStatus | None:
        """Look for a batch that was begun under this name, or with this file `since` then; it is none of the `known`.

        Two files of the same bytes may have one id.
        """
        ...

    async def status(self, batch_id: str) -> BatchStatus: ...

    async def cancel(self, batch_id: str) -> BatchStatus: ...

    def lines(self, file_id: str) -> AsyncIterator[str]:
        """The lines of a file, one by one."""
        ...

    async def close(self) -> None: ...


class SdkBatches(ABC):
    """Batches through an SDK of the family that openai's and together's belong to.

    `client` has no limit on the size of a reply, and does not try again by itself.
    """

    most_lines = 50_000
    line_fields: Collection[str]

    def __init__(
        self,
        provider: str,
        base_url: str,
        client: Any,  # noqa: ANN401 - of either SDK
        sdk: Any,  # noqa: ANN401
        any_error: type[Exception],
    ) -> None:
        self._provider = provider
        self._base_url = base_url
        self._client = client
        self._reading = client.with_options(max_retries=4)
        self._sdk = sdk
        self._any_error = any_error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._sdk.APIStatusError as error:
            raise status_error(self._provider, error.status_code, error.body, error.response.headers) from error
        except self._sdk.APIConnectionError as error:
            raise connection_error(self._provider, self._base_url, error.__cause__ or error) from error
        except (self._any_error, ValueError, RecursionError, OSError) as error:
            raise ReplyError(f"{self._provider}: the reply cannot be read ({error})") from error

    async def status(self, batch_id: str) -> BatchStatus:
        with self._errors():
            return self._status(await self._reading.batches.retrieve(batch_id))

    async def cancel(self, batch_id: str) -> BatchStatus:
        with self._errors():
            return self._status(await self._reading.batches.cancel(batch_id))

    async def lines(self, file_id: str) -> AsyncIterator[str]:
        with self._errors():
            async with self._reading.files.with_streaming_response.content(file_id) as response:
                async for line in whole_lines(response.iter_bytes()):
                    yield line

    async def close(self) -> None:
        await self._client.close()

    def _status(self, batch: Any) -> BatchStatus:  # noqa: ANN401 - the SDK's
        return batch_status(
            self._provider,
            batch_id=getattr(batch, "id", None),
            status=getattr(batch, "status", None),
            files=(getattr(batch, "output_file_id", None), getattr(batch, "error_file_id", None)),
            said=self._said(batch),
        )

    @abstractmethod
    def _said(self, batch: Any) -> str:  # noqa: ANN401
        """Why the batch failed as a whole, "" where it did not."""


def batch_status(
    provider: str, *, batch_id: object, status: object, files: Iterable[object], said: str = ""
) -> BatchStatus:
    """What an SDK read of a batch, which may be anything; a ReplyError where it is no batch."""
    if not isinstance(batch_id, str) or not isinstance(status, str):
        raise ReplyError(f"{provider}: the reply is no batch")
    return BatchStatus(batch_id, status, tuple(each for each in files if isinstance(each, str) and each), said)


class OpenAIBatches(SdkBatches):
    """Batches of OpenAI's API."""

    most_bytes = 200_000_000
    line_fields = ("custom_id", "method", "url", "body")

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

    async def find(self, name: str, file_id: str, *, known: Collection[str], since: datetime) -> BatchStatus | None:
        del since  # every upload gets an id of its own here
        with self._errors():
            async for batch in self._reading.batches.list(limit=100):
                ours = (batch.metadata or {}).get("biaslens") == name or batch.input_file_id == file_id
                if ours and batch.id not in known:
                    return self._status(batch)
        return None

    def _said(self, batch: Any) -> str:  # noqa: ANN401
        errors = getattr(getattr(batch, "errors", None), "data", None) or []
        return "; ".join(str(getattr(each, "message", "") or getattr(each, "code", "")) for each in errors[:3])


async def whole_lines(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Whole lines; not `splitlines`, which also breaks at characters that stand in texts."""
    rest = b""
    async for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")
