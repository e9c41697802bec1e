"""Ask models durably: one session that locks, resumes, paces, retries, prices, stores and stops cleanly."""

from biaslens.engine._asking import Hook, Observer, Request, Tally, in_thread
from biaslens.engine._pacing import Pace, RetryPolicy, estimate_tokens
from biaslens.engine._session import Session, pace_for, run_to_end, this_command

__all__ = [
    "Hook",
    "Observer",
    "Pace",
    "Request",
    "RetryPolicy",
    "Session",
    "Tally",
    "estimate_tokens",
    "in_thread",
    "pace_for",
    "run_to_end",
    "this_command",
]
