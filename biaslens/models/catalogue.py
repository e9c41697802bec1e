"""What is known of models: prices, limits, families."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError

from biaslens.errors import SettingsError
from biaslens.models.base import Params
from biaslens.settings import Settings

EMBEDDED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the packaged file: SmolLM2-135M-Instruct, quantised to Q4_1 (Apache-2.0)."""

_LOCAL = "local/"


class CatalogueEntry(BaseModel):
    """What is known of one model; None where it is not known.

    `name` is the model's here, `model_id` the provider's, `study` its label in the published study, and `weights` its
    open weights on Hugging Face. Prices are US dollars for 1,000,000 tokens; `context` is the most tokens of prompt
    and answer together; limits per minute are those of the lowest paying tier. A model is "retiring" once a date is
    set. `source` gave the figures, taken on `as_of`; a price that could not be confirmed with the provider by then is
    as `price_from` quotes it.

    A model that `thinks` does so before it answers where nobody tells it not to: usually `thinking_tokens` of them, as
    far as is known; None goes by its name, see `thinks`. `api` is OpenAI's that it is asked through, and `params` are
    the parameters of a request where the command or the study file gives none, by the names of `Params`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    model_id: str | None = None
    study: str | None = None
    weights: str | None = None
    input_price: NonNegativeFloat | None = None
    output_price: NonNegativeFloat | None = None
    price_from: str | None = None
    context: PositiveInt | None = None
    max_output: PositiveInt | None = None
    requests_per_minute: PositiveFloat | None = None
    tokens_per_minute: PositiveFloat | None = None
    status: Literal["available", "retiring", "retired", "unconfirmed"] = "unconfirmed"
    source: str | None = None
    as_of: datetime.date | None = None
    thinks: bool | None = None
    thinking_tokens: PositiveInt | None = None
    api: Literal["chat", "responses"] = "chat"
    params: dict[str, Any] = {}
    note: str | None = None


@cache
def _shipped() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("biaslens.models").joinpath("catalogue.toml").read_text(encoding="utf-8"))


@cache
def _shipped_entry(name: str) -> CatalogueEntry | None:
    values = _shipped()["models"].get(name)
    return None if values is None else CatalogueEntry(name=name, **values)


def entry(name: str, settings: Settings | None = None) -> CatalogueEntry | None:
    """Look a model up; None where neither the catalogue nor the user's settings know it.

    The ``models`` of the settings change the catalogue's entry field by field, or add one; fields that are none of an
    entry's are a SettingsError.
    """
    own = settings.models.get(name) if settings else None
    if own is None:
        return _shipped_entry(name)
    shipped = dict(_shipped()["models"].get(name, {}))
    if own.keys() & {"input_price", "output_price"}:
        shipped.pop("price_from", None)
    try:
        return CatalogueEntry.model_validate({"name": name, **shipped, **own})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f'settings, [models."{name}"], {field}: {first["msg"]}') from None


def entries(settings: Settings | None = None) -> list[CatalogueEntry]:
    """Every model known: the catalogue's in its order, today's first, then those the user added."""
    names = dict.fromkeys([*_shipped()["models"], *(settings.models if settings else ())])
    return [found for name in names if (found := entry(name, settings)) is not None]


class BatchTerms(BaseModel):
    """What an answer in a batch costs of what it costs otherwise, and the hours within which it is promised.

    Some models have a factor of their own, by the provider's name of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    factor: PositiveFloat
    hours: PositiveFloat
    source: str
    as_of: datetime.date
    models: dict[str, PositiveFloat] = {}


def batch_terms(name: str) -> BatchTerms | None:
    """Terms of a model's batches at its provider; None where they are not known.

    >>> batch_terms("openai/gpt-4o-mini").factor, batch_terms("together/openai/gpt-oss-120b").factor
    (0.5, 1.0)
    """
    provider, _, model_id = name.partition("/")
    known = _shipped()["batch"].get(provider)
    if known is None:
        return None
    terms = BatchTerms(**known)
    return terms.model_copy(update={"factor": terms.models.get(model_id, terms.factor)})


def price(
    name: str,
    prompt_tokens: float,
    completion_tokens: float,
    settings: Settings | None = None,
    *,
    batch: bool = False,
) -> float | None:
    """Price of so many tokens in US dollars, in a `batch` or one by one; None where the catalogue knows none.

    What runs in process costs nothing.

    A million tokens of prompts at 0.15 dollars and half a million of answers at 0.60 a million:

    >>> price("openai/gpt-4o-mini", 1_000_000, 500_000)
    0.45
    """
    found = entry(name, settings)
    if found is None and name.startswith(_LOCAL):
        return 0.0
    if found is None or found.input_price is None or found.output_price is None:
        return None
    terms = batch_terms(name) if batch else None
    if batch and terms is None:
        return None
    return (
        (terms.factor if terms else 1.0)
        * (prompt_tokens * found.input_price + completion_tokens * found.output_price)
        / 1_000_000
    )


@cache
def _by_name(what: str) -> re.Pattern[str]:
    return re.compile(_shipped()["by_name"][what])


def thinks(name: str, settings: Settings | None = None) -> bool:
    """Whether a model thinks before it answers: by the catalogue, else as far as its name tells.

    >>> thinks("compatible/vllm/Qwen/Qwen3-8B"), thinks("openai/gpt-4o-mini")
    (True, False)
    """
    found = entry(name, settings)
    if found is not None and found.thinks is not None:
        return found.thinks
    return _by_name("thinks").search(name.lower()) is not None


_THINKING_OFF = ("none", "off", "disable", "disabled")


def thinks_with(name: str, params: Params, settings: Settings | None = None) -> bool:
    """Whether a model thinks before it answers when it is asked with these parameters."""
    template = params.extra.get("chat_template_kwargs")
    asked = template.get("enable_thinking", template.get("thinking")) if isinstance(template, dict) else None
    if params.reasoning_effort is not None or asked is not None:
        return asked is not False and params.reasoning_effort not in _THINKING_OFF
    return thinks(name, settings)


def params_for(
    name: str, given: Mapping[str, Any], settings: Settings | None = None, *, limit: int, thinking_limit: int
) -> Params:
    """Parameters of a model's requests: those given, else those set for it in the catalogue or ``biaslens.toml``.

    A limit of tokens that nobody sets is `limit`, or `thinking_limit` where the model thinks first. Parameters of the
    settings that are none are a SettingsError.
    """
    found = entry(name, settings)
    own = dict(found.params) if found else {}
    unknown = own.keys() - {each.name for each in fields(Params)} | own.keys() & {"seed"}
    if unknown:
        raise SettingsError(f'settings, [models."{name}".params]: there is no parameter {min(unknown)!r}')
    set_here = {key: value for key, value in given.items() if value not in (None, (), {})}
    merged = own | set_here | {"extra": {**own.get("extra", {}), **given.get("extra", {})}}
    params = Params(**merged | {"stop": tuple(merged.get("stop", ()))})
    if params.max_tokens is not None:
        return params
    return replace(params, max_tokens=thinking_limit if thinks_with(name, params, settings) else limit)


def opens_thought(name: str) -> bool:
    """Whether a model's chat template opens the thought, as far as names tell: servers then may not send the opening.

    >>> opens_thought("compatible/vllm/deepseek-ai/DeepSeek-R1-Distill-Qwen-7B"), opens_thought("openai/o4-mini")
    (True, False)
    """
    return _by_name("opens").search(name.lower()) is not None


@cache
def _families() -> list[tuple[str, re.Pattern[str]]]:
    return [(name, re.compile(pattern)) for name, pattern in _shipped()["families"].items()]


def family(model: str) -> str:
    """Family of a model by its name, as far as names tell; "" where they do not.

    A model that was distilled from another family goes by its own name.

    >>> family("openai/gpt-4o-mini"), family("together/meta-llama/Llama-3-8b-chat-hf"), family("local/screen")
    ('gpt', 'llama', '')
    """
    name = model.lower()
    return next((found for found, pattern in _families() if pattern.search(name)), "")
