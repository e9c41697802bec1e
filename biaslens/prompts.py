"""What models are told: templates, hashed so that a run can say which wording it used, and the codebook."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import DictLoader, Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment

from biaslens._util.files import resource
from biaslens.schema import Kind, Outcome, content_hash

# Prompts are plain text for a model, not HTML: escaping would put "&#39;" into questions.
_PLAIN: dict[str, Any] = {
    "undefined": StrictUndefined, "autoescape": False, "trim_blocks": True, "lstrip_blocks": True,
}  # fmt: skip


@cache
def _template(name: str) -> Template:
    return _shipped().get_template(f"{name}.j2")


@cache
def _shipped() -> Environment:
    return Environment(loader=FileSystemLoader(resource("prompts")), **_PLAIN)  # noqa: S701


def render(name: str, /, **values: object) -> str:
    """Fill the template ``prompts/<name>.j2``; a value it names and does not get is an error.

    Raises `jinja2.UndefinedError` when the template needs a value that was not given.
    """
    return _template(name).render(**values).strip()


def source(name: str) -> str:
    """Text of the shipped template ``prompts/<name>.j2``."""
    return (resource("prompts") / f"{name}.j2").read_text(encoding="utf-8")


def sources_hash(sources: Mapping[str, str]) -> str:
    """Content hash of templates by name: part of every response's key, so a new wording asks anew."""
    return content_hash(*sorted(sources.items()))


@cache
def template_hash(*names: str) -> str:
    """Content hash of shipped templates."""
    return sources_hash({name: source(name) for name in names})


def own_templates(sources: Mapping[str, str]) -> Environment:
    """Templates of the user, by name: plain text like the shipped ones, and able to render text and nothing else."""
    return SandboxedEnvironment(loader=DictLoader(dict(sources)), **_PLAIN)


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
def codebook() -> Codebook:
    """Read the shipped codebook.

    >>> [definition.outcome.value for definition in codebook().outcomes]
    ['biased', 'unbiased', 'refused', 'invalid', 'error']
    """
    content = tomllib.loads((resource("prompts") / "codebook.toml").read_text(encoding="utf-8"))
    return Codebook(
        version=content["version"],
        intro=content["intro"].strip(),
        outcomes=tuple(Definition(**entry | {"outcome": Outcome(entry["outcome"])}) for entry in content["outcomes"]),
        rules=tuple(
            CodebookRule(entry["title"], entry["text"], tuple(map(Kind, entry["kinds"]))) for entry in content["rules"]
        ),
    )
