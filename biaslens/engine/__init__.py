"""Ask many prompts durably: bounded, paced, retried, accounted; every answer committed before it is shown."""

from biaslens.engine.ask import Pace, Price, Progress, Request, Silent, Tally, ask_all, most_frequent_reason
from biaslens.engine.retry import RetryPolicy
from biaslens.engine.writer import Row, Settler
from biaslens.runfile import Answer, Failure, Store

__all__ = [
    "Answer",
    "Failure",
    "Pace",
    "Price",
    "Progress",
    "Request",
    "RetryPolicy",
    "Row",
    "Settler",
    "Silent",
    "Store",
    "Tally",
    "ask_all",
    "most_frequent_reason",
]
