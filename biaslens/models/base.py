"""What every model is, messages in and a completion out, and how one is opened by its name.

A package adds a provider by an entry point of the group ``biaslens.models``: its name is the provider's, its value
a callable ``open(model_id, settings)`` that returns a `ChatModel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, Protocol

from biaslens.errors import BiasLensError, InputError, ReplyError, SettingsError, UnknownModelError
from biaslens.models.endpoints import builtin
from biaslens.settings import Settings, load_settings

MAX_CHARACTERS = 1_000_000
"""Longest answer that is taken: a hundred times what the longest limits on tokens allow."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of a request; None leaves the provider's default.

    The seed is that of this one request, sent only by providers that honour it. Whether a provider knows the others is
    for it to say.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None  #: of thought and answer together
    seed: int | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()  #: texts at which the answer ends
    reasoning_effort: str | None = (
        None  #: how much to think: "none", "low", "medium", "high", .. as the provider has it
    )
    service_tier: str | None = None  #: "flex", "priority", .. as the provider has it
    extra: Mapping[str, Any] = field(default_factory=dict)  #: further fields of the request, as JSON has them

    def __post_init__(self) -> None:
        """Refuse further fields that would ask something else."""
        own = {"model", "messages", "input", "stream", "n"}.intersection(self.extra)
        if own:
            raise InputError(f"extra: {min(own)!r} is not for you to set; leave it out")

    def record(self) -> dict[str, Any]:
        """What enters keys and the record of a run: the first four, and of the others those that are set."""
        given = {each.name: getattr(self, each.name) for each in fields(Params)}
        return {name: value for name, value in given.items() if name in _ALWAYS or value not in (None, (), {})}


_ALWAYS = ("temperature", "top_p", "max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """What a structured answer must look like: a JSON Schema, and its name in letters, digits, underscores, hyphens."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StructuredParams(Params):
    """Parameters of a request whose answer should be JSON.

    The schema is a hint: a provider that knows no such mode answers as it would without, and even one that does may
    refuse, or stop half-way. Whoever asks must read any text.
    """

    schema: JsonSchema | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and what it thought before as far as the provider shows it.

    Half surrogate pairs, which JSON can hold and no UTF-8 file or database can, are replaced in every text; a text
    longer than `MAX_CHARACTERS` is a ReplyError.
    """

    text: str  #: the answer without the thought; "" where the model gave none
    finish_reason: str  #: as the provider names it, but for those that `biaslens.models.thoughts` names alike
    model: str  #: the model that answered, as the provider resolved it ("gpt-4.1-2025-04-14")
    #: tokens billed; None where the provider did not say
    prompt_tokens: int | None = None
    completion_tokens: int | None = None  #: those of the thought included
    thought: str = ""  #: "" where none is shown
    reasoning_tokens: int | None = None  #: those of the completion that were spent on thinking, shown or not

    def __post_init__(self) -> None:
        """Make sure that every text can be stored."""
        object.__setattr__(self, "thought", self.thought[:MAX_CHARACTERS])
        for name in ("text", "finish_reason", "model", "thought"):
            value: str = getattr(self, name)
            if len(value) > MAX_CHARACTERS:
                raise ReplyError(f"the reply's {name} has {len(value):,} characters; {MAX_CHARACTERS:,} are read")
            if not value.isascii():
                object.__setattr__(self, name, _storable(value))


def _storable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class ChatModel(Protocol):
    """A chat model: one method to ask it, one to let it go."""

    name: str  #: the full name, provider included: "openai/gpt-6-luna"
    #: what else decides the answers, for the record of a run: base URL, SDK version, weights' hash
    runtime: Mapping[str, str]
    max_concurrency: int | None  #: most requests it can take at once; None for no limit of its own

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once, without any retry.

        Raises `ModelError` in the subclass that says what may be done about it, and nothing else for a fault of the
        provider or the network.
        """
        ...

    async def close(self) -> None:
        """Release connections, threads and memory."""
        ...


GROUP = "biaslens.models"

OpenModel = Callable[[str, Settings], ChatModel]


@cache
def providers() -> dict[str, EntryPoint]:
    """Every installed provider by name, sorted; none of them is imported."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def provider_of(name: str) -> EntryPoint:
    """Find the provider of a model by the model's name; nothing is imported and no key is needed.

    It is an UnknownModelError when the name is not PROVIDER/MODEL, or no provider of the name is installed.
    """
    provider, slash, model_id = name.partition("/")
    if not (provider and slash and model_id):
        raise UnknownModelError(f"{name!r} is not of the form PROVIDER/MODEL, such as openai/gpt-6-luna")
    known = providers()
    if provider not in known:
        raise UnknownModelError(
            f"{name!r}: no provider {provider!r}; known: {', '.join(known)}. {_how(provider, model_id)}"
        )
    return known[provider]


def _how(provider: str, model_id: str) -> str:
    reached = f"compatible/{provider}/{model_id}"
    if provider in builtin():
        return f"Ask for {reached}"
    return (
        f"Where it has a server of OpenAI's protocol, put base_url and key_variable under [endpoints.{provider}] in "
        f"biaslens.toml and ask for {reached}"
    )


def open_model(name: str, settings: Settings | None = None) -> ChatModel:
    """Open a chat model: "openai/gpt-6-luna", "compatible/ollama/llama3:8b", "local/smollm2", "local/PATH.gguf".

    Raises `UnknownModelError` when the name has not this form, or no provider of the name is installed; `SettingsError`
    when a key or a file that the model needs is missing, or the provider cannot be imported.
    """
    opener = _load(provider_of(name))
    model_id = name.partition("/")[2]
    try:
        return opener(model_id, settings or load_settings())
    except BiasLensError:
        raise
    except Exception as error:
        raise SettingsError(f"{name!r} cannot be opened: {type(error).__name__}: {error}") from error


def _load(point: EntryPoint) -> OpenModel:
    try:
        opener = point.load()
    except Exception as error:
        raise SettingsError(
            f"provider {point.name!r} ({point.value}) cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(opener):
        raise SettingsError(f"provider {point.name!r}: {point.value} is not a function")
    return opener  # type: ignore[no-any-return]
