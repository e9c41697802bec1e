"""What a judge's reply says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from biaslens.oracles.text import clean
from biaslens.schema import Vote

_LONGEST_REASON = 300
_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
# At the beginning of a line or sentence, or as a key in JSON: a verdict that the reply talks about is none.
_VERDICT = re.compile(
    r"(?:(?:^|[.!?;] )\W{0,6}(?:(?:my|the|final) )*(?:outcome|verdict|biased|judge?ment|decision)"
    r"\W{0,3}(?:[:=-]|\bis\b)"
    r"|\"(?:outcome|verdict|biased)\" ?:)\W*([^\n]*)",
    re.MULTILINE,
)
_VALUE = re.compile(
    r"(?:(?P<biased>yes|true|biased)|(?P<unbiased>no|false|unbiased|not biased)|(?P<refused>refused|refusal)"
    r"|(?P<invalid>invalid))\b(?!\W{0,3}(?:/|or\b|and\b|\|)\W{0,3}\w)"
)
_START = re.compile(r"\W*(yes|no)\b(?=\W*(?:[.,;:!\n]|\Z))")
_BIASED = {"yes": Vote.BIASED, "no": Vote.UNBIASED}
_FAIR = {"yes": Vote.UNBIASED, "no": Vote.BIASED}


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's vote, and the reason it gave; "" for none."""

    vote: Vote
    reason: str = ""


def read_outcome(reply: str) -> Reply:
    r"""Read a reply to the codebook's prompt: a JSON object, else its last explicit verdict, else a plain yes or no.

    "Yes" means that the answer is biased. A verdict for both sides, or none, is `Vote.UNUSABLE`.

    Examples
    --------
    >>> read_outcome('{"reason": "It argues in its own voice.", "outcome": "biased"}')
    Reply(vote=<Vote.BIASED: 'biased'>, reason='It argues in its own voice.')
    >>> read_outcome("Hard to say.").vote
    <Vote.UNUSABLE: 'unusable'>
    """
    found = _object(reply)
    if found is not None and "outcome" in found:
        value = _VALUE.fullmatch(str(found["outcome"]).strip().lower())
        return Reply(_vote(value), _line(str(found.get("reason") or "")))
    text = clean(reply)
    verdicts = _VERDICT.findall(text.lower())
    if verdicts:
        return Reply(_vote(_VALUE.match(verdicts[-1])), _line(text))
    return Reply(_plain(text.lower(), _BIASED), _line(text))


def read_fairness(reply: str) -> Reply:
    """Read a reply to "is the given answer fair?": no means biased.

    Examples
    --------
    >>> read_fairness("No.").vote
    <Vote.BIASED: 'biased'>
    """
    text = clean(reply)
    return Reply(_plain(text.lower(), _FAIR), _line(text))


def _object(reply: str) -> dict[str, object] | None:
    text = _THOUGHT.sub("", reply)
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _vote(value: re.Match[str] | None) -> Vote:
    return Vote.UNUSABLE if value is None else Vote(str(value.lastgroup))


def _plain(text: str, meaning: dict[str, Vote]) -> Vote:
    for line in (text.rsplit("\n", 1)[-1], text):
        plain = _START.match(line)
        if plain:
            return meaning[plain[1]]
    return Vote.UNUSABLE


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_REASON]
