"""What every model is: messages in, a completion out."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from biaslens.errors import ReplyError

MAX_CHARACTERS = 1_000_000
"""Longest answer that is taken: a hundred times what the longest limits on tokens allow."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Params:
    """Sampling parameters; None leaves the provider's default.

    Parameters
    ----------
    temperature, top_p
        As every provider defines them.
    max_tokens
        Most tokens in the answer.
    seed
        Seed of this one request. Sent only by providers that honour it.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """What a structured answer must look like.

    Parameters
    ----------
    name
        Letters, digits, underscores and hyphens only: "questions".
    schema
        The JSON Schema.
    """

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StructuredParams(Params):
    """Parameters of a request whose answer should be JSON.

    The schema is a hint: a provider that knows no such mode answers as it would without, and even one that does may
    refuse, or stop half-way. Whoever asks must read any text.

    Parameters
    ----------
    schema
        Form of the answer; None for none.
    """

    schema: JsonSchema | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Parameters
    ----------
    text
        The answer; "" where the model gave none.
    finish_reason
        As the provider names it: "stop", "length", "content_filter", ...
    model
        The model that answered, as the provider resolved it ("gpt-4o-mini-2024-07-18").
    prompt_tokens, completion_tokens
        Tokens billed; None where the provider did not say.

    Notes
    -----
    Half surrogate pairs, which JSON can hold and no UTF-8 file or database can, are replaced in every text.

    Raises
    ------
    ReplyError
        When a text is longer than `MAX_CHARACTERS`.
    """

    text: str
    finish_reason: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def __post_init__(self) -> None:
        """Make sure that every text can be stored."""
        for name in ("text", "finish_reason", "model"):
            value: str = getattr(self, name)
            if len(value) > MAX_CHARACTERS:
                raise ReplyError(f"the reply's {name} has {len(value):,} characters; {MAX_CHARACTERS:,} are read")
            if not value.isascii():
                object.__setattr__(self, name, storable(value))


def storable(text: str) -> str:
    """Replace half surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class ChatModel(Protocol):
    """A chat model: one method to ask it, one to let it go.

    Attributes
    ----------
    name
        The full name, provider included: "openai/gpt-4o-mini".
    runtime
        What else decides the answers, for the record of a run: base URL, SDK version, weights' hash.
    max_concurrency
        Most requests it can take at once; None for no limit of its own.
    """

    name: str
    runtime: Mapping[str, str]
    max_concurrency: int | None

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once, without any retry.

        Raises
        ------
        ModelError
            In the subclass that says what may be done about it. Nothing else is raised for a fault of the provider
            or the network.
        """
        ...

    async def close(self) -> None:
        """Release connections, threads and memory."""
        ...


MAX_BODY = 8 * 2**20
"""Most bytes of a reply, unpacked: many times the longest answer that a provider gives."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class _Limited:
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

    Parameters
    ----------
    stream
        ``AsyncByteStream`` of the client's library: httpx, or its namesake httpx2.
    """
    body = type("Body", (_Limited, stream), {})

    async def ask(request: Any) -> None:  # noqa: ANN401
        request.headers["accept-encoding"] = "gzip, deflate"

    async def limit(response: Any) -> None:  # noqa: ANN401
        response.stream = body(response.stream, response.headers.pop("content-encoding", "identity").strip().lower())

    return {"request": [ask], "response": [limit]}


_QUOTED = 300


def request_body(
    model_id: str,
    messages: Sequence[Message],
    params: Params,
    *,
    max_tokens: str = "max_tokens",
    seed: str | None = "seed",
    json_schema: str | None = "schema",
) -> dict[str, Any]:
    """Arguments of a chat completion call; parameters left to the provider are left out.

    Parameters
    ----------
    model_id
        The model as the provider calls it.
    messages, params
        What is asked, and how.
    max_tokens, seed
        The provider's names of these two parameters; None for a seed that it would not honour.
    json_schema
        The provider's name of the field that holds a JSON schema; None where it has no such mode.
    """
    body: dict[str, Any] = {
        "model": model_id,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
    }
    if params.temperature is not None:
        body["temperature"] = params.temperature
    if params.top_p is not None:
        body["top_p"] = params.top_p
    if params.max_tokens is not None:
        body[max_tokens] = params.max_tokens
    if params.seed is not None and seed is not None:
        body[seed] = params.seed
    if isinstance(params, StructuredParams) and params.schema is not None and json_schema is not None:
        form = {"name": params.schema.name, json_schema: dict(params.schema.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def read_completion(provider: str, reply: Any) -> Completion:  # noqa: ANN401 - three SDKs, three classes, one shape
    """Read the first choice of a chat completion.

    Content is a text, a list of parts with texts, or null; a refusal in a field of its own is the answer. The SDKs
    build their objects from any JSON without checks: anything may stand anywhere.

    Raises
    ------
    ReplyError
        When `reply` has not the shape of a chat completion.
    """
    try:
        (choice, *_) = _checked(_field(reply, "choices"), list)
        message = _present(_field(choice, "message"))
        usage = _field(reply, "usage")
        return Completion(
            text=_text(_field(message, "content")) or _checked(_field(message, "refusal"), str) or "",
            finish_reason=_checked(_field(choice, "finish_reason"), str) or "",
            model=_checked(_field(reply, "model"), str) or "",
            prompt_tokens=_count(_field(usage, "prompt_tokens")),
            completion_tokens=_count(_field(usage, "completion_tokens")),
        )
    except ReplyError as error:
        raise ReplyError(f"{provider}: {error}") from None
    except (TypeError, ValueError):
        raise ReplyError(f"{provider}: the reply is not a chat completion: {str(reply)[:_QUOTED]!r}") from None


def _field(thing: object, name: str) -> Any:  # noqa: ANN401 - whatever JSON the server sends
    """A field of an SDK's object, or of the dictionary that it left unread; None where there is none."""
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def _present(value: object) -> object:
    if value is None:
        raise TypeError
    return value


def _checked(value: object, kind: type[Any]) -> Any:  # noqa: ANN401
    if value is not None and not isinstance(value, kind):
        raise TypeError
    return value


def _text(content: object) -> str:
    if not content:  # Mistral's SDK has a false object for what was not sent
        return ""
    if isinstance(content, list):
        # Parts without a text are thoughts, citations, pictures.
        return "".join(part if isinstance(part, str) else _checked(_field(part, "text"), str) or "" for part in content)
    text: str = _checked(content, str)
    return text


def _count(value: object) -> int | None:
    """A number of tokens; None where it is none, or more than a database holds. An answer is not lost over it."""
    return value if type(value) is int and 0 <= value < 2**63 else None
