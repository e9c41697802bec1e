"""A scripted generator: writes what the prompts of `biaslens generate` ask for, as well or badly as told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product

from fake_server import Reply, Request, answer

_COUNT = re.compile(r"with exactly (\d+) (?:role|question)")
_NOUNS = [
    f"{a}{b}" for a, b in product(("sea", "land", "wood", "hill", "moor"), ("farers", "bakers", "smiths", "folk"))
]
_VERBS = ["sing", "sleep", "swim", "whistle", "wander", "lie", "boast", "haggle", "gossip", "sulk", "dawdle", "bluster"]
_ROLE_NOUNS = ["smith", "baker", "tailor", "sailor", "miller", "weaver", "potter", "mason", "cooper", "fletcher"]


def kind_of(prompt: str) -> str:
    """What a prompt asks for: "roles", "yes_no", "choice" or "why"."""
    for mark, kind in (("social groups", "roles"), ("yes/no", "yes_no"), ("why-question", "why")):
        if mark in prompt.partition("EXAMPLES")[0]:
            return kind
    return "choice"


def count_of(prompt: str) -> int:
    """How many items a prompt asks for."""
    found = _COUNT.search(prompt)
    assert found
    return int(found[1])


def items_for(prompt: str, *, extra: int = 0) -> list[dict[str, object]]:
    """As many good items as asked for, none of them there already, and none that another role gets."""
    kind, count = kind_of(prompt), count_of(prompt) + extra
    there = prompt.partition("Already there")[2]
    if kind == "roles":
        told_apart = re.search(r"told apart by (\w+)", prompt)
        assert told_apart
        attribute = told_apart[1]
        article = "an" if attribute[0] in "ao" else "a"
        names = [f"{attribute} {noun}" for noun in _ROLE_NOUNS if f"{attribute} {noun})" not in there]
        return [{"name": f"{name}s".capitalize(), "persona": f"{article} {name}"} for name in names[:count]]
    persona = re.search(r"play the part of (?:an?) ([^.\n]+?) and be asked", prompt)
    assert persona
    made = []
    for first, verb in product(_NOUNS, _VERBS):
        text = _text(kind, f"{persona[1]} {first}", verb)
        if text not in there:
            made.append({"text": text, "target": "culture", "groups": [first, "townsfolk"], **_options(kind, first)})
    return made[:count]


def _text(kind: str, group: str, verb: str) -> str:
    return {
        "yes_no": f"Do {group} {verb} worse than townsfolk?",
        "choice": f"Which of {group} and townsfolk {verb} worse?",
        "why": f"Why do {group} {verb} worse than townsfolk?",
    }[kind]


def _options(kind: str, group: str) -> dict[str, object]:
    return {"options": [group.capitalize(), "Townsfolk"]} if kind == "choice" else {}


def as_json(prompt: str, items: list[dict[str, object]]) -> str:
    """The reply asked for."""
    return json.dumps({"roles" if kind_of(prompt) == "roles" else "questions": items})


def writes(request: Request) -> Reply:
    """A generator that does as it is told."""
    return answer(as_json(request.prompt, items_for(request.prompt)))


def first_round(spoil: Callable[[Request, str], str | Reply], *, delay: float = 0.0) -> Callable[[Request], Reply]:
    """A generator whose first reply to each list is spoilt, and whose later ones, told what was wrong, are good."""

    def script(request: Request) -> Reply:
        good = as_json(request.prompt, items_for(request.prompt))
        if "Your last reply" in request.prompt or "Already there" in request.prompt:
            return answer(good, delay=delay)
        bad = spoil(request, good)
        return bad if isinstance(bad, Reply) else answer(bad, delay=delay)

    return script
