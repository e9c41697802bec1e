"""What the settings and the catalogue say about asking one model: how fast, and at what price."""

from __future__ import annotations

from dataclasses import replace

from biaslens.engine.ask import Pace, Price
from biaslens.models.catalogue import price
from biaslens.models.endpoints import rate_limits
from biaslens.settings import Settings


def pace_for(model: str, pace: Pace, settings: Settings) -> Pace:
    """Fill the limits that a pace leaves open with those configured for the model's endpoint."""
    requests, tokens = rate_limits(model, settings)
    return replace(
        pace,
        requests_per_minute=pace.requests_per_minute or requests,
        tokens_per_minute=pace.tokens_per_minute or tokens,
    )


def unlimited(pace: Pace) -> Pace:
    """The same pace without limits per minute."""
    return replace(pace, requests_per_minute=None, tokens_per_minute=None)


def price_of(model: str, settings: Settings) -> Price:
    """Price of one answer of a model by its tokens; None where tokens or prices are not known."""

    def dollars(prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        if prompt_tokens is None or completion_tokens is None:
            return None
        return price(model, prompt_tokens, completion_tokens, settings)

    return dollars
