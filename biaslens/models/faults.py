"""The faults of HTTP providers, in our terms."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

from biaslens._util.text import redacted, shown_address
from biaslens.errors import (
    AuthenticationError,
    ModelError,
    RateLimitError,
    RejectedError,
    ReplyError,
    UnavailableError,
)
from biaslens.models.base import Completion

CONTENT_FILTER = "content_filter"
"""Finish reason of an answer that the provider's filter withheld."""

CONNECTIONS = 256
"""Most connections to one provider, for the SDKs whose own limit is lower than what an engine may ask at once."""

# Codes of a refused request that mean "the filter stopped it": Azure OpenAI's, DashScope's and OpenAI's.
_FILTER_CODES = frozenset(
    {
        "content_filter",
        "ResponsibleAIPolicyViolation",
        "data_inspection_failed",
        "content_policy_violation",
        "moderation_blocked",
    }
)
# Codes of a 429 that waiting does not cure: OpenAI's.
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_MESSAGE_LENGTH = 300


def server_root(base_url: str) -> str:
    """Base URL without its ``/v1``, for the SDKs that write it into every path themselves.

    Examples
    --------
    >>> server_root("http://localhost:8000/v1/")
    'http://localhost:8000'
    """
    return base_url.rstrip("/").removesuffix("/v1")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's headers ask us to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date.

    Examples
    --------
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

    Parameters
    ----------
    provider
        Who replied, for the message.
    status
        HTTP status.
    body
        The reply's JSON where it was JSON, else its text.
    headers
        The reply's headers, their names in lower case or in a case-insensitive mapping.
    key
        Environment variable that the key came from, for the message.
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
        return AuthenticationError(f"{line}; check {key or 'the key'} and what it may use", status=status)
    spent = status == 429 and not _QUOTA_CODES.isdisjoint(_codes(detail))
    if spent or status == 402:
        return AuthenticationError(f"{line}; the account's quota or balance is used up", status=status)
    if status == 429:
        return RateLimitError(line, status=status, retry_after=wait)
    if status in (408, 409, 425) or status >= 500:
        return UnavailableError(line, status=status, retry_after=wait)
    if status == 404:
        return RejectedError(f"{line}; check the model's name and the base URL", status=status)
    return RejectedError(line, status=status)


def refused(
    provider: str, model: str, status: int, body: object, headers: Mapping[str, str], *, key: str | None = None
) -> Completion:
    """Read a refused request as an empty answer where it was the content filter that refused, else raise.

    Raises
    ------
    ModelError
        As `status_error` makes it.
    """
    detail = _detail(body)
    inner = detail.get("innererror")
    codes = _codes(detail) | (_codes(inner) if isinstance(inner, dict) else set())
    if status in (400, 403) and (_flagged(detail) or not _FILTER_CODES.isdisjoint(codes)):
        return Completion(text="", finish_reason=CONTENT_FILTER, model=model)
    raise status_error(provider, status, body, headers, key=key)


def _flagged(detail: Mapping[str, object]) -> bool:
    """OpenRouter's 403: the model's moderation flagged the prompt."""
    metadata = detail.get("metadata")
    return isinstance(metadata, dict) and "flagged_input" in metadata


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
    return UnavailableError(f"{provider}: no answer from {shown_address(base_url)} ({cause})")


@asynccontextmanager
async def time_limit(provider: str, seconds: float) -> AsyncIterator[None]:
    """Limit a whole request, where the SDKs only limit each wait for the next bytes."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise UnavailableError(f"{provider}: no answer within {seconds:g} seconds") from None
