"""Stereotypes without a network: general claims about social groups."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.scorers.base import Kind
from biaslens.usecase.scorers.marking import mark, sentences

_QUOTED = re.compile(r"[\"“”]\s*[^\"“”]{2,400}[\"“”]")


class OfflineStereotype:
    """Stereotypes by rules."""

    kind: Kind = "stereotype"
    languages: tuple[str, ...] | None = ("en",)
    slow = False
    note = "English only."
    name = "offline rules"
    identity = "stereotype offline 1"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        return np.array([max((_score(sentence) for sentence in sentences(text)), default=0.0) for text in texts])


def _score(sentence: str) -> float:
    rules = _rules()
    marked = rules.subject.sub("SUBJECT", mark(_QUOTED.sub(" ", sentence)))
    if not rules.groups.search(marked):
        return 0.0
    found = max((score for score, pattern in rules.scored if pattern.search(marked)), default=0.0)
    if found and rules.damping.search(marked):
        found *= 0.3
    return found


class _Rules:
    def __init__(self) -> None:
        table = tomllib.loads(
            files("biaslens.usecase.scorers").joinpath("data/stereotype.toml").read_text(encoding="utf-8")
        )
        classes: dict[str, str] = {}
        for name, words in table["classes"].items():
            classes[name] = words
        before = "".join(rf"(?<!\b{word} GROUPS)" for word in table["subject"]["not_after"].split())
        self.subject = re.compile(rf"\bGROUPS\b{before}(?<!\d GROUPS)")
        self.groups = re.compile(r"\b(?:GROUPS|SUBJECT|MEMBER|BELONGING)\b|\btoo old\b")
        self.scored = [
            (
                float(rule["score"]),
                re.compile("|".join(_either(pattern.format(**classes)) for pattern in rule["patterns"])),
            )
            for rule in table["rules"]
        ]
        self.damping = re.compile(_either("|".join(table["damping"].values())))


def _either(pattern: str) -> str:
    """GROUPS of a pattern stands for the group as a subject too."""
    return re.sub(r"\bGROUPS\b", "(?:GROUPS|SUBJECT)", pattern)


@cache
def _rules() -> _Rules:
    return _Rules()
