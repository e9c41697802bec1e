"""Ask models durably: one session that locks, resumes, paces, retries, prices, stores and stops cleanly."""

from biaslens.engine._asking import Hook, Observer, Request, Tally, in_thread
from biaslens.engine._batching import Exchange
from biaslens.engine._pacing import Pace, RetryPolicy, estimate_tokens
from biaslens.engine._ray_vllm import RayVllm
from biaslens.engine._session import Asked, Batching, Session, cancel_batch, ordinary, pace_for, this_command

__all__ = [
    "Asked",
    "Batching",
    "Exchange",
    "Hook",
    "Observer",
    "Pace",
    "RayVllm",
    "Request",
    "RetryPolicy",
    "Session",
    "Tally",
    "cancel_batch",
    "estimate_tokens",
    "in_thread",
    "ordinary",
    "pace_for",
    "this_command",
]
