"""What a run took: tokens, money and time, and how many answers were cut off."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from biaslens.schema import Condition

_CUT = "finish_reason IN ('length', 'model_length', 'max_tokens')"

_SUMS = (
    f"count(*), coalesce(sum({_CUT}), 0), count(completion_tokens), coalesce(sum(prompt_tokens), 0), "
    "coalesce(sum(completion_tokens), 0), count(price), coalesce(sum(price), 0.0)"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Replies of one sort.

    Parameters
    ----------
    replies
        How many there are.
    cut
        Those that ended at the limit of tokens.
    counted
        Those whose tokens the provider told.
    prompt_tokens, completion_tokens
        Their tokens.
    priced
        Those with a price.
    dollars
        What these cost.
    """

    replies: int = 0
    cut: int = 0
    counted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    priced: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Took:
    """What a run took.

    Parameters
    ----------
    answers
        By condition.
    votes
        Judges' votes of all panels.
    seconds
        Time from each start to its last reply, added up; None where no start is recorded.
    starts
        Starts that brought a reply.
    """

    answers: Mapping[Condition, Usage] = field(default_factory=dict)
    votes: Usage = field(default_factory=Usage)
    seconds: float | None = None
    starts: int = 0


def read_took(connection: sqlite3.Connection, meta: Mapping[str, Any]) -> Took:
    """Read what a run took from its file."""
    rows = connection.execute(f"SELECT condition, {_SUMS} FROM plan JOIN answers USING (key) GROUP BY condition")
    votes = connection.execute(f"SELECT {_SUMS} FROM votes JOIN answers USING (key)").fetchone()
    begun = sorted(str(start["at"]) for start in meta.get("starts") or () if "at" in start)
    last = _last_replies(connection, begun) if begun else {}
    return Took(
        answers={Condition(condition): Usage(*sums) for condition, *sums in rows},
        votes=Usage(*votes),
        seconds=sum(_seconds(begun[place], at) for place, at in last.items()) if last else None,
        starts=len(last),
    )


def _last_replies(connection: sqlite3.Connection, begun: Sequence[str]) -> dict[int, str]:
    last: dict[int, str] = {}
    for (at,) in connection.execute("SELECT answered_at FROM answers"):
        place = bisect_right(begun, at) - 1
        if place >= 0 and at > last.get(place, ""):
            last[place] = at
    return last


def _seconds(begun: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()
