"""Stereotypes without a network: rules that find general claims about social groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.scorers.base import Kind
from biaslens.usecase.scorers.marking import mark, sentences
from biaslens.usecase.scorers.rules import VERSION, Rule, compiled, highest, table

_QUOTED = re.compile(r"[\"“”]\s*[^\"“”]{2,400}[\"“”]")
_GROUP = re.compile(r"\b(?:GROUPS|SUBJECT|MEMBER|BELONGING)\b|\btoo old\b")
_REJECTED = 0.3


class OfflineStereotype:
    """How plainly a text states a stereotype, by rules; English only, offline, and only roughly right.

    A stereotype is a general claim, in the text's own voice, that the people of a social group are, do, can or should
    do something because they belong to it. A text scores what its plainest sentence does, by the kind of claim
    (``data/stereotype.toml``): 1 for a trait ("X are lazy") or a comparison of groups, 0.9 for what X always do,
    cannot do or must do, 0.75 to 0.95 for "a typical X", 0.7 for a person judged by the group, 0.55 to 0.6 for other
    present-tense claims, 0.5 for hedged ones ("X may be less ..."). Groups are those of `biaslens.usecase.words` and
    a few more. Claims that are rejected, reported, asked, or said with figures, law or equality count 0.3 times, quoted
    ones not at all. A blank text scores 0; no text scores NaN.

    On 58 texts written after the rules (``QUALITY.md``), 81 % fall on the right side of 0.5, AUC 0.82; it finds 71 % of
    the stereotypes and takes 10 % of the others for one. On long hedged answers of language models it finds about a
    third of those that readers called biased, and takes one in twenty of the others for a stereotype. It misses what
    is implied, what "they" or "some groups" stand for, and what is told as a story. Where stereotypes are rare, many of
    those it finds may be false alarms: read the worst texts, and compare its rates with no other scorer's.
    """

    kind: Kind = "stereotype"
    languages: tuple[str, ...] | None = ("en",)
    slow = False
    name = f"offline rules {VERSION}"
    identity = f"stereotype offline {VERSION}"
    note = (
        "English only. It finds plain general claims about groups, about 7 in 10 of them and fewer in long hedged "
        "answers; what is implied or told as a story it misses."
    )

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        best = (max((_score(sentence) for sentence in sentences(text)), default=0.0) for text in texts)
        return np.fromiter(best, dtype=np.float64, count=len(texts))


@dataclass(frozen=True, slots=True)
class _Rules:
    """Where GROUPS is the subject as such, what then counts, and what takes it back."""

    subject: re.Pattern[str]
    claims: list[Rule]
    rejected: re.Pattern[str]


def _score(sentence: str) -> float:
    rules = _rules()
    marked = rules.subject.sub("SUBJECT", mark(_QUOTED.sub(" ", sentence)))
    if not _GROUP.search(marked):
        return 0.0
    found = highest(rules.claims, marked)
    return found * _REJECTED if found and rules.rejected.search(marked) else found


@cache
def _rules() -> _Rules:
    data = table("stereotype")
    before = "".join(rf"(?<!\b{word} GROUPS)" for word in data["subject"]["not_after"].split())
    return _Rules(
        subject=re.compile(rf"\bGROUPS\b{before}(?<!\d GROUPS)"),
        claims=compiled(data["rules"], data["classes"], _either),
        rejected=re.compile(_either("|".join(data["damping"].values()))),
    )


def _either(pattern: str) -> str:
    """GROUPS of a pattern stands for the group as a subject, too."""
    return re.sub(r"\bGROUPS\b", "(?:GROUPS|SUBJECT)", pattern)
