"""The chat completion protocol that the HTTP providers share: what is asked, and how a reply is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from biaslens.errors import ReplyError
from biaslens.models.base import Completion, Message, Params, StructuredParams

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

    Content is a text, a list of parts with texts, or null; a refusal in a field of its own is the answer.

    Raises
    ------
    ReplyError
        When `reply` has not the shape of a chat completion.
    """
    try:
        choice = reply.choices[0]
        message = choice.message
        content = message.content
    except (AttributeError, IndexError, TypeError):
        raise ReplyError(f"{provider}: the reply is not a chat completion: {str(reply)[:_QUOTED]!r}") from None
    if not isinstance(content, str):
        parts = content if isinstance(content, list) else ()
        content = "".join(text for part in parts if isinstance(text := getattr(part, "text", None), str))
    usage = getattr(reply, "usage", None)
    return Completion(
        text=_storable(content or getattr(message, "refusal", None) or ""),
        finish_reason=str(getattr(choice, "finish_reason", None) or ""),
        model=str(getattr(reply, "model", None) or ""),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def _storable(text: str) -> str:
    """Replace half surrogate pairs, which JSON can hold and no UTF-8 file or database can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _count(usage: object, field: str) -> int | None:
    value = getattr(usage, field, None)
    return value if isinstance(value, int) else None
