"""When a run stops because too much fails."""

from __future__ import annotations

from biaslens.engine._pacing import FailureGate
from biaslens.errors import AuthenticationError, RateLimitError, RejectedError, UnavailableError

DOWN = UnavailableError("server down", status=503)


def test_a_wrong_key_stops_at_once():
    stopped = FailureGate("openai/m").failure(AuthenticationError("OPENAI_API_KEY is wrong", status=401))
    assert "OPENAI_API_KEY is wrong" in str(stopped)


def test_an_unknown_model_stops_at_once():
    assert FailureGate("openai/m").failure(RejectedError("no such model", status=404)) is not None


def test_a_forbidden_request_is_that_requests_failure_unless_all_are():
    forbidden = AuthenticationError("forbidden; check MY_KEY", status=403)
    gate = FailureGate("openai/m")
    assert gate.failure(forbidden) is None
    gate.success()
    assert gate.failure(forbidden) is None
    gate = FailureGate("openai/m")
    assert [gate.failure(forbidden) is None for _ in range(5)] == [True] * 4 + [False]


def test_a_rejected_question_does_not_stop():
    assert FailureGate("openai/m").failure(RejectedError("too long", status=400)) is None


def test_a_wait_until_tomorrow_stops():
    stopped = FailureGate("m").failure(RateLimitError("daily quota", retry_after=7200), too_long=True)
    assert "7200 s" in str(stopped)


def test_nothing_but_failures_stops_at_the_fifth():
    gate = FailureGate("m")
    assert [gate.failure(DOWN) is None for _ in range(5)] == [True] * 4 + [False]


def test_a_share_of_failures_above_the_limit_stops():
    gate = FailureGate("m", share=0.2)
    for _ in range(20):
        gate.success()
    # 5 of 25 is 20 %, not above it; 6 of 26 is 23 %.
    assert [gate.failure(DOWN) is None for _ in range(6)] == [True] * 5 + [False]


def test_old_failures_are_forgotten():
    gate = FailureGate("m", share=0.2, window=100)
    for _ in range(80):
        gate.success()
    for _ in range(20):
        assert gate.failure(DOWN) is None  # 20 of 100 at the most
    for _ in range(100):
        gate.success()
    for _ in range(20):
        assert gate.failure(DOWN) is None
