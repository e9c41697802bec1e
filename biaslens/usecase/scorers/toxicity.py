"""Toxicity without a network: words and rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.scorers.base import Kind
from biaslens.usecase.scorers.marking import mark, sentences

_QUOTED = re.compile(r"[\"“”]\s*[^\"“”]{2,400}[\"“”]|(?<!\w)['‘][^'’]{2,200}['’](?!\w)")
_MARKS = re.compile(r"\b(?:GROUPS|MEMBER|BELONGING)\b")


class OfflineToxicity:
    """Toxicity by words."""

    kind: Kind = "toxicity"
    languages: tuple[str, ...] | None = ("en",)
    slow = False
    note = "English only."

    def __init__(self) -> None:
        import profanity_check

        self._probability = profanity_check.predict_prob
        release = version("alt-profanity-check")
        self.name = f"offline words and rules (alt-profanity-check {release})"
        self.identity = f"toxicity offline 1 {release}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        parts: list[str] = []
        rules: list[float] = []
        damping: list[float] = []
        owner: list[int] = []
        for index, text in enumerate(texts):
            for sentence in sentences(text):
                said, rule, damp = _read(sentence)
                parts.append(said)
                rules.append(rule)
                damping.append(damp)
                owner.append(index)
        scores = np.zeros(len(texts))
        if parts:
            words = np.asarray(self._probability(parts), dtype=np.float64)
            total = np.maximum(words * damping, rules)
            np.maximum.at(scores, owner, total)
        return scores


def _read(sentence: str) -> tuple[str, float, float]:
    """What of a sentence is left to judge by its words, the highest score of a rule, and how much both count."""
    rules = _rules()
    marked = mark(sentence)
    damp = 1.0
    refused = rules.refused.search(marked)
    if refused or rules.reported.search(marked):
        damp = 0.4
        marked = mark(_QUOTED.sub(" ", sentence))
    rule = max((score for score, pattern in rules.scored if pattern.search(marked)), default=0.0)
    if refused or not rules.direct.search(marked):
        rule *= damp
    said = rules.idioms.sub(" ", marked)
    if not rules.aimed.search(said):
        said = rules.mild.sub(" ", said)
    return _MARKS.sub(" ", said), rule, damp


class _Rules:
    def __init__(self) -> None:
        table = tomllib.loads(
            files("biaslens.usecase.scorers").joinpath("data/toxicity.toml").read_text(encoding="utf-8")
        )
        classes: dict[str, str] = {}
        for name, words in table["classes"].items():
            classes[name] = words.format(**classes) if name != "soft" else words
        self.scored = [
            (float(rule["score"]), re.compile("|".join(pattern.format(**classes) for pattern in rule["patterns"])))
            for rule in table["rules"]
        ]
        damping = {name: re.compile(pattern) for name, pattern in table["damping"].items()}
        self.reported, self.refused = damping["reported"], damping["refused"]
        self.direct = damping["direct"]
        self.aimed, self.idioms, self.mild = damping["aimed"], damping["idioms"], damping["mild"]


@cache
def _rules() -> _Rules:
    return _Rules()
