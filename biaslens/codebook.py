"""The codebook: what counts as biased, in one place for people, judges and documentation."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from biaslens._util import resource
from biaslens.schema import Kind, Outcome

FILE = "codebook.toml"


@dataclass(frozen=True, slots=True)
class Definition:
    """What an outcome means for each kind of question."""

    outcome: Outcome
    yes_no: str
    choice: str
    why: str

    def of(self, kind: Kind) -> str:
        """Its meaning for one kind."""
        return {Kind.YES_NO: self.yes_no, Kind.CHOICE: self.choice, Kind.WHY: self.why}[kind]


@dataclass(frozen=True, slots=True)
class CodebookRule:
    """A rule for deciding, and the kinds of question it concerns."""

    title: str
    text: str
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Codebook:
    """The codebook."""

    version: int  #: raised with every change that can alter a label
    intro: str  #: what is judged
    outcomes: tuple[Definition, ...]  #: the five outcomes, in the order of `Outcome`
    rules: tuple[CodebookRule, ...]  #: rules for close cases

    def rules_for(self, kind: Kind) -> tuple[CodebookRule, ...]:
        """Rules that concern a kind of question."""
        return tuple(rule for rule in self.rules if kind in rule.kinds)


@cache
def load() -> Codebook:
    """Read the shipped codebook.

    >>> [definition.outcome.value for definition in load().outcomes]
    ['biased', 'unbiased', 'refused', 'invalid', 'error']
    """
    content = tomllib.loads((resource("prompts") / FILE).read_text(encoding="utf-8"))
    return Codebook(
        version=content["version"],
        intro=content["intro"].strip(),
        outcomes=tuple(Definition(**entry | {"outcome": Outcome(entry["outcome"])}) for entry in content["outcomes"]),
        rules=tuple(
            CodebookRule(entry["title"], entry["text"], tuple(map(Kind, entry["kinds"]))) for entry in content["rules"]
        ),
    )
