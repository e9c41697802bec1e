"""Everything about one answer: the prompt as it was sent, and the words on which the verdict of the rules rests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from biaslens import runfile
from biaslens.analysis.frame import RunInfo
from biaslens.evaluation.prompting import Wording, persona_of, shipped_wording
from biaslens.evaluation.run import decide
from biaslens.runfile import Store
from biaslens.schema import Condition, Kind

_PARTS = re.compile(r"[^.!?\n]*[.!?]+[\"')\]*]*\s*|[^\n]*\n+|[^.!?\n]+")
_MOST_PARTS = 80


def wording_of(info: RunInfo) -> Wording:
    """The words that a run's questions were asked in, as far as they are known: else those of this version."""
    return Wording(info.meta.get("templates") or shipped_wording().sources, str(info.meta.get("system") or ""))


def prompt_of(
    info: RunInfo, told: Mapping[str, Any], wording: Wording | None = None
) -> tuple[list[tuple[str, str]], bool]:
    """Messages that asked for an answer, speaker and text, and whether they are exactly those that were sent.

    They are not where the run was imported, or was asked in templates that another version ships: then they are what
    this version would send. The `wording` is that of the run; who asks for many prompts reads it once.
    """
    wording = wording or wording_of(info)
    persona = persona_of(Condition(told["condition"]), told["persona"])
    messages = wording.messages(Kind(told["kind"]), told["question"], options_shown(told), persona=persona)
    return [(message.role, message.content) for message in messages], wording.hash == info.template_hash


def options_shown(told: Mapping[str, Any]) -> list[str]:
    """Options in the order in which the model saw them."""
    options: list[str] = told["options"]
    return options if told["option_order"] is None else [options[place] for place in told["option_order"]]


@dataclass(frozen=True)
class Sentence:
    """A stretch of an answer, and whether the verdict rests on it."""

    text: str
    decides: bool


def parts_of(told: Mapping[str, Any]) -> list[Sentence]:
    """Split an answer into sentences, and mark those without which the rules would decide otherwise.

    Nothing is marked where a judge decided, where no single sentence makes the difference, or the answer is very long.
    """
    answer: str = told["answer"] or ""
    whole = [Sentence(answer, decides=False)]
    if told["oracle"] is None or not str(told["oracle"]).startswith("rules"):
        return whole
    kind, question, options = Kind(told["kind"]), told["question"], options_shown(told)
    sentences = _PARTS.findall(answer)
    if not 1 < len(sentences) <= _MOST_PARTS or "".join(sentences) != answer:
        return whole

    def verdict(text: str) -> tuple[object, object] | None:
        found = decide(kind, question, options, text, finish_reason=told["finish_reason"] or "stop")
        return None if found is None else (found.outcome, found.choice)

    standing = verdict(answer)
    marked = [
        Sentence(sentence, verdict("".join([*sentences[:place], *sentences[place + 1 :]])) != standing)
        for place, sentence in enumerate(sentences)
    ]
    return marked if any(part.decides for part in marked) else whole


@dataclass(frozen=True)
class Detail:
    """An answer with everything that is known of it; `told` holds the columns of ``responses``."""

    told: Mapping[str, Any]
    prompt: Sequence[tuple[str, str]]
    exact: bool
    options: Sequence[str]
    parts: Sequence[Sentence]
    votes: Sequence[Mapping[str, Any]]
    labels: Sequence[tuple[str, str, bool, str, bool]]
    failure: tuple[str, str] | None
    screen: float | None
    thought: str | None


def read_detail(store: Store, info: RunInfo, key: str) -> Detail | None:
    """Read everything about one planned answer; None where the run does not plan it."""
    told = runfile.viewed_texts(store, [key]).get(key)
    if told is None:
        return None
    prompt, exact = prompt_of(info, told)
    return Detail(
        told=told,
        prompt=prompt,
        exact=exact,
        options=options_shown(told),
        parts=parts_of(told),
        votes=runfile.viewed_votes(store, key),
        labels=runfile.viewed_labels(store, key),
        failure=runfile.failure_of(store, key) if told["outcome"] == "error" else None,
        screen=runfile.screen_probability(store, key),
        thought=runfile.thought_of(store, key),
    )
