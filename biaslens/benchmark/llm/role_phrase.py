"""Take the role off a question that a model wrote it into."""

from __future__ import annotations

import re

_SUPPOSE = re.compile(
    r"(?:please )?(?:suppose|imagine|assume|pretend|consider|let's say|say|if)(?: that)? "
    r"you(?:'re| are| were|'d been)\b[^.,;:?!]*[.,;:!]\s*",
    re.IGNORECASE,
)
_BEING = re.compile(
    r"(?:(?:speaking |answering )?as|in your (?:role|part|opinion|view) as|being|you are|you're|from the "
    r"(?:perspective|viewpoint|point of view) of) (?:an?|the|someone|one)\b[^,.;:?!]*[,.;:]\s*",
    re.IGNORECASE,
)


def take_off(text: str) -> str:
    """Strip the phrases at the beginning that only say whom the model plays.

    Examples
    --------
    >>> take_off("Suppose you are a baker. As a baker, are tailors lazy?")
    'Are tailors lazy?'
    >>> take_off("As tailors get older, do they get lazy?")
    'As tailors get older, do they get lazy?'
    """
    while found := _SUPPOSE.match(text) or _BEING.match(text):
        text = text[found.end() :]
    return text[:1].upper() + text[1:]


def still_there(text: str, persona: str) -> bool:
    """Whether a question still tells the model whom it plays, in the midst of the text.

    Examples
    --------
    >>> still_there("Do you, as a baker, trust tailors?", "a baker")
    True
    >>> still_there("Is a baker kinder than a tailor?", "a baker")
    False
    """
    told = (
        rf"\b(?:as|being|you are|you're|for|like you,?) {re.escape(persona)}(?:,| like you|[.?!]|\Z| (?:do|would) you)"
    )
    spoken = r"\b(?:your (?:role|part|persona|character) as|a person like you|someone like you)\b"
    return re.search(f"{told}|{spoken}", text, re.IGNORECASE) is not None
