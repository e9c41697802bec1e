from __future__ import annotations

import email.utils
import time

import pytest

from biaslens.errors import AuthenticationError, RejectedError
from biaslens.models.faults import refused, retry_after, status_error


def test_a_date_to_wait_for_becomes_seconds_from_now() -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    # An HTTP date has no fractions of a second.
    assert retry_after({"retry-after": date}) == pytest.approx(30, abs=1.5)


@pytest.mark.parametrize(
    ("text", "seconds"), [("-5", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("nan", None), ("inf", None), ("", None)]
)
def test_a_wait_is_never_negative_or_endless(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}) == seconds


def test_milliseconds_come_before_whole_seconds() -> None:
    assert retry_after({"retry-after": "2", "retry-after-ms": "1500"}) == 1.5


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        [],
        {},
        {"error": "gone wrong"},
        {"error": {"code": {"a": 1}}},
        {"detail": [{"msg": "x"}]},
        "a\nb" * 9999,
    ],
)
def test_any_body_makes_one_short_line(body: object) -> None:
    line = str(status_error("lab", 400, body, {}))
    assert line.startswith("lab: HTTP 400: ")
    assert "\n" not in line
    assert len(line) < 400


def test_azures_filter_is_told_by_its_inner_code() -> None:
    body = {"error": {"code": "400", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}
    assert refused("lab", "m", 400, body, {}).finish_reason == "content_filter"


def test_openrouters_403_for_a_flagged_prompt_is_a_filtered_answer() -> None:
    metadata = {"reasons": ["hate"], "flagged_input": "Why are they", "provider_name": "p", "model_slug": "m"}
    body = {"error": {"code": 403, "message": "your input was flagged", "metadata": metadata}}
    assert refused("lab", "m", 403, body, {}).finish_reason == "content_filter"


def test_a_missing_permission_is_not_the_filter() -> None:
    with pytest.raises(AuthenticationError):
        refused("lab", "m", 403, {"error": {"code": "access_denied"}}, {})


def test_any_other_refusal_is_an_error() -> None:
    with pytest.raises(RejectedError):
        refused("lab", "m", 400, {"error": {"code": "invalid_request"}}, {})
