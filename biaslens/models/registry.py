"""Find a model's provider by entry point and open the model.

A package adds a provider by an entry point of the group ``biaslens.models``: its name is the provider's, its value
a callable ``open(model_id, settings)`` that returns a `ChatModel`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from biaslens.errors import BiasLensError, SettingsError, UnknownModelError
from biaslens.models.base import ChatModel
from biaslens.models.endpoints import BUILTIN
from biaslens.settings import Settings, load_settings

GROUP = "biaslens.models"

OpenModel = Callable[[str, Settings], ChatModel]


def providers() -> dict[str, EntryPoint]:
    """Every installed provider by name, sorted; none of them is imported."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def provider_of(name: str) -> EntryPoint:
    """Find the provider of a model by the model's name; nothing is imported and no key is needed.

    Raises
    ------
    UnknownModelError
        When the name is not PROVIDER/MODEL, or no provider of the name is installed.
    """
    provider, slash, model_id = name.partition("/")
    if not (provider and slash and model_id):
        raise UnknownModelError(f"{name!r} is not of the form PROVIDER/MODEL, such as openai/gpt-4o-mini")
    known = providers()
    if provider not in known:
        raise UnknownModelError(
            f"{name!r}: no provider {provider!r}; known: {', '.join(known)}. {_how(provider, model_id)}"
        )
    return known[provider]


def _how(provider: str, model_id: str) -> str:
    reached = f"compatible/{provider}/{model_id}"
    if provider in BUILTIN:
        return f"Ask for {reached}"
    return (
        f"Where it has a server of OpenAI's protocol, put base_url and key_variable under [endpoints.{provider}] in "
        f"biaslens.toml and ask for {reached}"
    )


def open_model(name: str, settings: Settings | None = None) -> ChatModel:
    """Open a chat model.

    Parameters
    ----------
    name
        PROVIDER/MODEL: "openai/gpt-4o-mini", "compatible/ollama/llama3:8b", "local/smollm2", "local/PATH.gguf".
    settings
        Keys and defaults; read by `load_settings` where not given.

    Raises
    ------
    UnknownModelError
        When the name has not this form, or no provider of the name is installed.
    SettingsError
        When a key or a file that the model needs is missing, or the provider cannot be imported.
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
