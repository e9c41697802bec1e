"""The one seam between biaslens and a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
