"""A scripted generator: writes what the prompts of `biaslens generate` ask for, as well or badly as told."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from functools import cache

from fake_server import Reply, Request, answer

from biaslens._util.files import resource

SHIPPED = resource("benchmark") / "encounters"

Item = dict[str, object]


def wants_roles(prompt: str) -> bool:
    """Whether a prompt asks for roles, not for encounters."""
    return "told apart by" in prompt.partition("EXAMPLES")[0]


def count_of(prompt: str) -> int:
    """How many items a prompt asks for."""
    found = re.search(r"with exactly (\d+) (?:role|encounter)", prompt)
    assert found
    return int(found[1])


def persona_of(prompt: str) -> str:
    found = re.search(r'"Suppose you are ([^"]+)\."', prompt)
    assert found
    return found[1]


@cache
def shipped_roles() -> tuple[dict[str, str], ...]:
    with (SHIPPED / "roles.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def shipped(persona: str) -> tuple[Item, ...]:
    """The encounters that were written by hand for a role, which all pass the checker."""
    (role,) = [role for role in shipped_roles() if role["persona"] == persona]
    with (SHIPPED / f"{role['attribute']}.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["role"] == role["name"]]
    kept = [{name: text for name, text in row.items() if name not in ("role", "canary")} for row in rows]
    return tuple({**row, "options": row["options"].split(" | ")} for row in kept)


def items_for(prompt: str, *, extra: int = 0) -> list[Item]:
    """As many good items as asked for, none of them there already."""
    there = prompt.partition("ALREADY THERE")[2].partition("YOUR LAST REPLY")[0]
    count = count_of(prompt) + extra
    if not wants_roles(prompt):
        return [item for item in shipped(persona_of(prompt)) if f"- {item['stereotype']} (" not in there][:count]
    attribute = re.search(r"told apart by (\w+)", prompt)
    assert attribute
    roles = [
        role for role in shipped_roles() if role["attribute"] == attribute[1] and f"({role['persona']})" not in there
    ]
    return [{"name": role["name"], "persona": role["persona"]} for role in roles[:count]]


def as_json(prompt: str, items: list[Item]) -> str:
    """The reply asked for."""
    return json.dumps({"roles" if wants_roles(prompt) else "encounters": items})


def writes(request: Request) -> Reply:
    """A generator that does as it is told."""
    return answer(as_json(request.prompt, items_for(request.prompt)))


def again(prompt: str) -> bool:
    """Whether this has been asked for before."""
    return "YOUR LAST REPLY" in prompt or "ALREADY THERE" in prompt


def first_round(spoil: Callable[[Request, str], str | Reply], *, delay: float = 0.0) -> Callable[[Request], Reply]:
    """A generator whose first reply to each list is spoilt, and whose later ones, told what was wrong, are good."""

    def script(request: Request) -> Reply:
        good = as_json(request.prompt, items_for(request.prompt))
        if again(request.prompt):
            return answer(good, delay=delay)
        bad = spoil(request, good)
        return bad if isinstance(bad, Reply) else answer(bad, delay=delay)

    return script
