from __future__ import annotations

import asyncio
import email.utils
import time
from datetime import UTC, datetime, timedelta

import pytest
from fake_server import FakeServer, Reply

from biaslens.errors import AuthenticationError, RejectedError
from biaslens.models import Message, Params, open_model
from biaslens.models._http import refused, retry_after, status_error
from biaslens.settings import load_settings


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


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("provider", ["openai", "mistral", "together"])
def test_a_redirect_is_not_followed(provider: str, status: int) -> None:
    async def ask(url: str) -> None:
        settings = load_settings(**{f"{provider}_base_url": url}, keys={f"{provider.upper()}_API_KEY": "secret-key"})
        model = open_model(f"{provider}/m", settings)
        try:
            await model.complete([Message("user", "Is it?")], Params())
        finally:
            await model.close()

    with FakeServer() as elsewhere:
        to = f"{elsewhere.base_url}/chat/completions"
        with FakeServer(lambda _: Reply(status=status, headers={"location": to})) as server:
            with pytest.raises(RejectedError, match=f"redirects to {to}, which is not followed"):
                asyncio.run(ask(server.base_url))
            assert (len(server.log), elsewhere.log) == (1, [])


@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 23:59:59 -0000", "Fri, 31 Dec 9999 23:59:59 -2359"])
def test_a_date_at_the_end_of_time_is_no_crash(date: str) -> None:
    wait = retry_after({"retry-after": date})
    assert wait is None or wait > 1e9


def test_a_date_without_a_zone_is_one_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        moment = datetime.now(UTC) + timedelta(seconds=600)
        wait = retry_after({"retry-after": moment.strftime("%a, %d %b %Y %H:%M:%S -0000")})
    finally:
        monkeypatch.undo()
        time.tzset()
    assert wait == pytest.approx(600, abs=60)
