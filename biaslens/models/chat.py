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
