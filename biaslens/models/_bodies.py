"""Requests in the form that the providers share, and their replies in ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from biaslens.errors import ReplyError
from biaslens.models import thoughts
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

    `max_tokens`, `seed` and `json_schema` are the provider's names of these; None for a seed that it would not honour,
    or a mode that it does not have.
    """
    body: dict[str, Any] = {
        "model": model_id,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
    }
    names = {"max_tokens": max_tokens, "seed": seed, **{name: name for name in _BY_OUR_NAMES}}
    given = {name: getattr(params, field) for field, name in names.items() if name is not None}
    body |= {name: value for name, value in given.items() if value is not None}
    if params.stop:
        body["stop"] = list(params.stop)
    if isinstance(params, StructuredParams) and params.schema is not None and json_schema is not None:
        form = {"name": params.schema.name, json_schema: dict(params.schema.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body | dict(params.extra)


_BY_OUR_NAMES = ("temperature", "top_p", "top_k", "reasoning_effort", "service_tier")
_OF_SDKS = frozenset([
    "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop",
    "response_format", "reasoning_effort", "service_tier",
])  # fmt: skip


def sdk_arguments(body: Mapping[str, Any], known: frozenset[str] = _OF_SDKS) -> dict[str, Any]:
    """Arguments of a method of openai's SDK, or of one like it, that sends a body; the rest is ``extra_body``."""
    rest = {name: value for name, value in body.items() if name not in known}
    return {name: value for name, value in body.items() if name in known} | ({"extra_body": rest} if rest else {})


def read_completion(provider: str, reply: Any, *, opened: bool = False) -> Completion:  # noqa: ANN401 - three SDKs, three classes, one shape
    """Read the first choice of a chat completion.

    Content is a text, a list of parts with texts, or null; a refusal in a field of its own is the answer. A thought
    comes in a field, in a part of its own, or marked in the content; see `biaslens.models.thoughts`, also for `opened`.
    The SDKs build their objects from any JSON without checks: anything may stand anywhere.

    Raises `ReplyError` when `reply` has not the shape of a chat completion.
    """
    try:
        (choice, *_) = _checked(field(reply, "choices"), list)
        message = field(choice, "message")
        if message is None:
            raise TypeError  # noqa: TRY301 - as for whatever else is not there
        finish_reason = thoughts.finish(_checked(field(choice, "finish_reason"), str) or "")
        content = field(message, "content")
        shown = next((text for name in _THOUGHT_FIELDS if (text := _thought(field(message, name)))), "")
        if not shown and isinstance(content, list):
            shown = _thought([part for part in content if _is_thought(part)])
        told = thoughts.split(_text(content), shown, cut=finish_reason == thoughts.CUT, opened=opened)
        refusal = _checked(field(message, "refusal"), str) or ""
        return Completion(
            text=told.answer or refusal,
            finish_reason=thoughts.REFUSED if refusal and not told.answer else finish_reason,
            model=_checked(field(reply, "model"), str) or "",
            thought=told.thought,
            **tokens_of(field(reply, "usage")),
        )
    except ReplyError as error:
        raise ReplyError(f"{provider}: {error}") from None
    except (TypeError, ValueError):
        raise ReplyError(f"{provider}: the reply is not a chat completion: {str(reply)[:_QUOTED]!r}") from None


# vLLM and OpenRouter; DeepSeek, llama.cpp, SGLang and older vLLM; Ollama; OpenRouter and LiteLLM in parts
_THOUGHT_FIELDS = ("reasoning", "reasoning_content", "thinking", "reasoning_details", "thinking_blocks")


_THOUGHT_PARTS = ("thinking", "reasoning", "reasoning_text", "reasoning_content", "redacted_thinking")


def _thought(value: object) -> str:
    """The texts of a thought: of a text, or of parts, which may have parts in turn."""
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_thought, value)))
    if not value or isinstance(value, str):  # Mistral's SDK has a false object for what was not sent
        return value if isinstance(value, str) else ""
    return next((text for name in ("thinking", "summary", "text") if (text := _thought(field(value, name)))), "")


def _is_thought(part: object) -> bool:
    return field(part, "type") in _THOUGHT_PARTS


def tokens_of(usage: object, sent: str = "prompt_tokens", received: str = "completion_tokens") -> dict[str, int | None]:
    """Tokens of a prompt, of a completion with its thought, and of the thought, by the fields of `Completion`.

    Some count the thought beside the completion, or in the total alone (xAI, Gemini); it is billed like the completion.
    """
    prompt, completion = _count(field(usage, sent)), _count(field(usage, received))
    total = _count(field(usage, "total_tokens"))
    details = field(usage, f"{received}_details") or usage
    reasoning = _count(field(details, "reasoning_tokens"))
    if prompt is not None and completion is not None and total is not None:
        beside = total - prompt - completion
        if beside > 0 and reasoning in (None, 0, beside):
            completion, reasoning = completion + beside, beside
    return {"prompt_tokens": prompt, "completion_tokens": completion, "reasoning_tokens": reasoning}


def field(thing: object, name: str) -> Any:  # noqa: ANN401 - whatever JSON the server sends
    """A field of an SDK's object, or of the dictionary that it left unread; None where there is none."""
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def _checked(value: object, kind: type[Any]) -> Any:  # noqa: ANN401
    if value is not None and not isinstance(value, kind):
        raise TypeError
    return value


def _text(content: object) -> str:
    if not content:  # Mistral's SDK has a false object for what was not sent
        return ""
    if isinstance(content, list):
        # Parts without a text are citations, pictures.
        parts = (part for part in content if not _is_thought(part))
        return "".join(part if isinstance(part, str) else _checked(field(part, "text"), str) or "" for part in parts)
    text: str = _checked(content, str)
    return text


def _count(value: object) -> int | None:
    """A number of tokens; None where it is none, or more than a database holds. An answer is not lost over it."""
    return value if type(value) is int and 0 <= value < 2**63 else None


RESPONSES_ARGUMENTS = frozenset([
    "model", "input", "temperature", "top_p", "max_output_tokens", "reasoning", "service_tier", "store", "text",
])  # fmt: skip
"""Fields of `responses_body` that openai's SDK knows."""


def responses_body(
    model_id: str, messages: Sequence[Message], params: Params, *, json_schema: bool = True
) -> dict[str, Any]:
    """Body of a request to OpenAI's Responses API, which takes neither a seed nor texts to stop at.

    Nothing is stored there, and a summary of the thought is asked for where there may be one.
    """
    body: dict[str, Any] = {
        "model": model_id,
        "input": [{"role": message.role, "content": message.content} for message in messages],
        "store": False,
    }
    effort = params.reasoning_effort
    given = {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_output_tokens": params.max_tokens,
        "service_tier": params.service_tier,
        "reasoning": ({} if effort is None else {"effort": effort}) | ({} if effort == "none" else {"summary": "auto"}),
    }
    body |= {name: value for name, value in given.items() if value is not None}
    if isinstance(params, StructuredParams) and params.schema is not None and json_schema:
        form = {"name": params.schema.name, "schema": dict(params.schema.schema), "strict": True}
        body["text"] = {"format": {"type": "json_schema", **form}}
    return body | dict(params.extra)


def read_response(provider: str, reply: Any) -> Completion:  # noqa: ANN401
    """Read a reply of OpenAI's Responses API, as `read_completion` reads a chat completion.

    Raises `ReplyError` when it has not the shape of one, or is not an answer yet.
    """
    try:
        thought, said, refusal = [], [], []
        for item in _checked(field(reply, "output"), list):
            if _is_thought(item):
                thought.append(_thought(field(item, "summary")) or _thought(field(item, "content")))
            for part in (field(item, "content") or ()) if field(item, "type") == "message" else ():
                said.append(_checked(field(part, "text"), str) or "")
                refusal.append(_checked(field(part, "refusal"), str) or "")
        status = field(reply, "status")
        if status not in ("completed", "incomplete"):
            raise TypeError  # noqa: TRY301 - as for whatever else is wrong
        reason = _checked(field(field(reply, "incomplete_details"), "reason"), str) or "stop"
        finish_reason = thoughts.finish("stop" if status == "completed" else reason)
        told = thoughts.split("".join(said), "\n\n".join(filter(None, thought)), cut=finish_reason == thoughts.CUT)
        refused = "".join(refusal)
        return Completion(
            text=told.answer or refused,
            finish_reason=thoughts.REFUSED if refused and not told.answer else finish_reason,
            model=_checked(field(reply, "model"), str) or "",
            thought=told.thought,
            **tokens_of(field(reply, "usage"), "input_tokens", "output_tokens"),
        )
    except ReplyError as error:
        raise ReplyError(f"{provider}: {error}") from None
    except (TypeError, ValueError):
        raise ReplyError(f"{provider}: the reply is not a response: {str(reply)[:_QUOTED]!r}") from None
