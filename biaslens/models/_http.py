"""What the models of all providers have in common: connections, and the faults of HTTP in our terms."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import re
import ssl
import time
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, Self

from biaslens import errors
from biaslens._util.text import redacted, shown_address
from biaslens.errors import ModelError, ReplyError
from biaslens.models import catalogue, thoughts
from biaslens.models._bodies import field, read_completion, read_response, request_body, sdk_arguments
from biaslens.models.base import Completion, Message, Params
from biaslens.models.endpoints import key_for, server_of
from biaslens.settings import Settings

MAX_BODY = 8 * 2**20
"""Most bytes of a reply, unpacked: many times the longest answer that a provider gives."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Limited:
    """The body of a response, unpacked, as far as it is taken."""

    def __init__(self, stream: Any, encoding: str) -> None:  # noqa: ANN401 - of either httpx
        self._stream = stream
        self._packed = encoding in ("gzip", "x-gzip", "deflate")
        if not self._packed and encoding != "identity":
            raise ReplyError(f"the reply is encoded as {encoding[:20]!r}, which was not asked for")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._unpacked() if self._packed else self._stream:
            size += len(part)
            if size > MAX_BODY:
                raise ReplyError(f"the reply has more than {MAX_BODY:,} bytes, which is the most that is read")
            yield part

    async def _unpacked(self) -> AsyncIterator[bytes]:
        unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
        parts: AsyncIterable[bytes] = self._stream
        try:
            async for part in parts:
                yield unpacker.decompress(part, MAX_BODY + 1)
        except zlib.error as error:
            raise ReplyError(f"the reply cannot be unpacked ({error})") from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def limited_bodies(stream: type[Any]) -> dict[str, list[Callable[[Any], Awaitable[None]]]]:
    """Event hooks of an HTTP client that reads no more than `MAX_BODY` bytes of a reply.

    `stream` is ``AsyncByteStream`` of the client's library: httpx, or its namesake httpx2.
    """
    body = type("Body", (Limited, stream), {})

    async def ask(request: Any) -> None:  # noqa: ANN401
        request.headers["accept-encoding"] = "gzip, deflate"

    async def limit(response: Any) -> None:  # noqa: ANN401
        response.stream = body(response.stream, response.headers.pop("content-encoding", "identity").strip().lower())

    return {"request": [ask], "response": [limit]}


def trusted(library: ModuleType) -> ssl.SSLContext:
    """Certificates by which httpx, or its namesake httpx2, knows servers; reading them takes longer than many requests.

    All clients of a process share them.
    """
    return _trusted(library, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(library: ModuleType, *_: str | None) -> ssl.SSLContext:
    context: ssl.SSLContext = library.create_ssl_context()
    return context


CONNECTIONS = 256
"""Most connections to one provider, for the SDKs whose own limit is lower than what an engine may ask at once."""

# Codes of a refused request that mean "the filter stopped it": Azure OpenAI's, DashScope's, OpenAI's, Moonshot's.
_FILTER_CODES = frozenset([
    "content_filter", "ResponsibleAIPolicyViolation", "data_inspection_failed", "DataInspectionFailed",
    "content_policy_violation", "moderation_blocked", "bio_policy", "misalignment_policy_violation",
    "content_moderation_failed",
])  # fmt: skip
# How those say it whose codes mean other things too: OpenAI's "invalid_prompt", DeepSeek, Moonshot, xAI, LiteLLM.
_FILTER_SAYS = re.compile(
    r"flagged as potentially violating|content exists risk|considered high risk|content management policy|"
    r"content ?policy ?violation|blocked by [^.]{0,60}(?:safety|guardrail|content filter)|"
    r"\bviolat\w+ (?:\S+ ){0,6}(?:usage|content|safety|use) (?:polic|guideline)|"
    r"rejected as a result of our safety system",
    re.IGNORECASE,
)
# Codes of a 429 that waiting does not cure: OpenAI's.
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_MESSAGE_LENGTH = 300


def server_root(base_url: str) -> str:
    """Base URL without its ``/v1``, for the SDKs that write it into every path themselves.

    >>> server_root("http://localhost:8000/v1/")
    'http://localhost:8000'
    """
    return base_url.rstrip("/").removesuffix("/v1")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's headers ask us to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date.

    >>> retry_after({"retry-after": "2.5"})
    2.5
    >>> retry_after({}) is None
    True
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        # A date in "-0000" is one in UTC of which no more is known (RFC 5322); here it has no zone.
        moment = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(moment.timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def status_error(
    provider: str, status: int, body: object, headers: Mapping[str, str], *, key: str | None = None
) -> ModelError:
    """Turn a reply with an HTTP error status into the error that says what may be done about it.

    `body` is the reply's JSON where it was JSON, else its text; the names of `headers` are in lower case or in a
    case-insensitive mapping; `key` is the environment variable that the key came from.
    """
    detail = _detail(body)
    # Before it is cut: the rest of a key is a key's too.
    text = redacted(" ".join(str(detail.get("message") or body or "no explanation").split()))[:_MESSAGE_LENGTH]
    line = f"{provider}: HTTP {status}: {text}"
    wait = retry_after(headers)
    if 300 <= status < 400:
        to = shown_address(headers.get("location", "nowhere"))
        line = (
            f"{provider}: HTTP {status}: redirects to {to}, which is not followed; make it the base URL if it is right"
        )
    if status in (401, 403):
        return errors.AuthenticationError(f"{line}; check {key or 'the key'} and what it may use", status=status)
    spent = status == 429 and not _QUOTA_CODES.isdisjoint(_codes(detail))
    if spent or status == 402:
        return errors.AuthenticationError(f"{line}; the account's quota or balance is used up", status=status)
    if status == 429:
        return errors.RateLimitError(line, status=status, retry_after=wait)
    if status in (408, 409, 425) or status >= 500:
        return errors.UnavailableError(line, status=status, retry_after=wait)
    if status == 404:
        return errors.RejectedError(f"{line}; check the model's name and the base URL", status=status)
    return errors.RejectedError(line, status=status)


def refused(
    provider: str, model: str, status: int, body: object, headers: Mapping[str, str], *, key: str | None = None
) -> Completion:
    """Read a refused request as an empty answer where it was the content filter that refused, else raise.

    Raises `ModelError` as `status_error` makes it.
    """
    detail = _detail(body)
    inner = detail.get("innererror")
    codes = _codes(detail) | (_codes(inner) if isinstance(inner, dict) else set())
    # OpenRouter's 403, where the model's moderation flagged the prompt, has no code.
    metadata = detail.get("metadata")
    flagged = isinstance(metadata, dict) and "flagged_input" in metadata
    flagged = (
        flagged or not _FILTER_CODES.isdisjoint(codes) or _FILTER_SAYS.search(str(detail.get("message"))) is not None
    )
    if status in (400, 403, 422) and flagged:
        return Completion(text="", finish_reason=thoughts.FILTERED, model=model)
    raise status_error(provider, status, body, headers, key=key)


def _detail(body: object) -> dict[str, Any]:
    """Find the object with the fields ``message`` and ``code``: some providers wrap it in ``error``, some do not."""
    if not isinstance(body, dict):
        return {}
    error = body.get("error", body)
    return error if isinstance(error, dict) else {"message": error}


def _codes(detail: Mapping[str, object]) -> set[str]:
    return {str(detail.get("code")), str(detail.get("type"))}


def json_or_text(text: str) -> object:
    """Read a reply's body as JSON where it is JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def connection_error(provider: str, base_url: str, error: BaseException) -> ModelError:
    """Turn a failure below HTTP into an error; a body that broke off is a bad reply, the rest is no connection."""
    if isinstance(error, ModelError):  # ours, raised while the reply was read
        return ReplyError(f"{provider}: {error}")
    cause = f"{type(error).__name__}: {error}".rstrip(": ")
    if "complete message body" in cause:
        return ReplyError(f"{provider}: the reply broke off ({cause})")
    return errors.UnavailableError(f"{provider}: no answer from {shown_address(base_url)} ({cause})")


@asynccontextmanager
async def time_limit(provider: str, seconds: float) -> AsyncIterator[None]:
    """Limit a whole request, where the SDKs only limit each wait for the next bytes."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise errors.UnavailableError(f"{provider}: no answer within {seconds:g} seconds") from None


class RemoteModel:
    """What the models of all providers have in common.

    Raises `SettingsError` when the key of the server is not set, or may not go to its address.
    """

    provider: ClassVar[str]  #: how names of its models begin
    sdk: str  #: name and version of what asks
    version_in_path: ClassVar[bool] = False  #: whether the SDK writes the API's version into every path itself

    def __init__(self, provider: str, model_id: str, settings: Settings) -> None:
        self.name = f"{provider}/{model_id}"
        server = server_of(self.name, settings)
        assert server is not None
        self.max_concurrency: int | None = server.max_concurrency
        self._base_url = server_root(server.base_url) if self.version_in_path else server.base_url.rstrip("/")
        self.runtime: Mapping[str, str] = {"base_url": shown_address(self._base_url), "sdk": self.sdk}
        self._provider = provider
        self._model_id = model_id
        self._server = server
        self._key = key_for(self.name, settings)
        self._timeout = settings.request_timeout
        self._opened = catalogue.opens_thought(self.name)

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``PROVIDER/MODEL``, at the address that the settings have for the provider."""
        return cls(cls.provider, model_id, settings)

    def _read_response(self, reply: Any) -> Completion:  # noqa: ANN401 - the SDK's, or JSON
        """Read a reply of OpenAI's Responses API, which may tell a fault in a reply that is otherwise well."""
        error = field(reply, "error")
        if error is not None:
            code = field(error, "code")
            status = {"server_error": 500, "rate_limit_exceeded": 429}.get(str(code), 400)
            return self._refused(status, {"code": code, "message": field(error, "message")}, {})
        return read_response(self._provider, reply)

    def _refused(self, status: int, body: object, headers: Mapping[str, str]) -> Completion:
        return refused(self._provider, self._model_id, status, body, headers, key=self._server.key_variable)


class SdkModel(RemoteModel):
    """A model asked through an SDK of the family that openai's and together's belong to: generated, with like errors.

    `_sdk` is its module, `_any_error` the base class of its errors, and `_client` its client, whose own retries are
    off: hidden ones would hide the 429s that the engine has to slow down for.
    """

    _sdk: Any
    _any_error: type[Exception]
    _client: Any

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`."""
        try:
            async with time_limit(self._provider, self._timeout):
                reply = await self._create(messages, params)
        except self._sdk.APIStatusError as error:
            return self._refused(error.status_code, error.body, error.response.headers)
        except self._sdk.APIConnectionError as error:
            raise connection_error(self._provider, self._base_url, error.__cause__ or error) from error
        except (self._any_error, ValueError, RecursionError) as error:
            raise ReplyError(f"{self._provider}: the reply is not JSON ({error})") from error
        return self._read(reply)

    async def _create(self, messages: Sequence[Message], params: Params) -> Any:  # noqa: ANN401 - the SDK's reply
        body = request_body(self._model_id, messages, params)
        return await self._client.chat.completions.create(**sdk_arguments(body))

    def _read(self, reply: Any) -> Completion:  # noqa: ANN401
        return read_completion(self._provider, reply, opened=self._opened)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
