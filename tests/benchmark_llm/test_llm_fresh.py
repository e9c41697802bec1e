"""A model writes another form of a benchmark: its roles and targets, and nothing that it asks already."""

from __future__ import annotations

import re
from pathlib import Path

from command import biaslens
from fake_server import FakeServer, Reply, Request, answer
from writer import Item, again, as_json, persona_of, shipped, shipped_roles

from biaslens.benchmark import from_encounters, read, write
from biaslens.benchmark.encounters import encounter_of
from biaslens.schema import Attribute, Role

ROLES = [Role(Attribute(row["attribute"]), row["name"], row["persona"]) for row in shipped_roles()[:2]]


def own(persona: str) -> list[Item]:
    """Encounters of a role about its own attribute, of which there are always two."""
    attribute = next(role.attribute for role in ROLES if role.persona == persona)
    return [item for item in shipped(persona) if item["target"] == attribute]


def taken_again(request: Request) -> Reply:
    """First what is public and what nobody asked for, then what is wanted."""
    persona = persona_of(request.prompt)
    other = next(item for item in shipped(persona) if item["target"] != own(persona)[0]["target"])
    return answer(as_json(request.prompt, [own(persona)[1]] if again(request.prompt) else [own(persona)[0], other]))


def public(folder: Path) -> Path:
    rows = [(role, {**own(role.persona)[0], "options": " | ".join(own(role.persona)[0]["options"])}) for role in ROLES]
    write(from_encounters(ROLES, [encounter_of(role, row) for role, row in rows]), folder)
    return folder


def test_what_is_public_or_not_wanted_is_asked_for_again(tmp_path: Path) -> None:
    folder = public(tmp_path / "public")
    with FakeServer(taken_again) as server:
        make = ("generate", "--with", "openai/writer", "--fresh-seed", "99", "--of", folder, "--yes")
        done = biaslens(*make, "--out", tmp_path / "fresh", base_url=server.base_url)
        assert done.returncode == 0, done.stderr
        prompts = [request.prompt for request in server.requests]
        anew = (*make[:3], "--fresh-seed", "98", *make[5:])
        other = biaslens(*anew, "--out", tmp_path / "fresh", base_url=server.base_url)
    before, made = read(folder), read(tmp_path / "fresh")
    assert made.roles == before.roles
    asked = [[(q.role, q.kind, q.target) for q in each.questions] for each in (before, made)]
    assert asked[0] == asked[1]
    assert not {q.text for q in made.questions} & {q.text for q in before.questions}
    assert len(prompts) == 4
    # It is told which pairs of groups are taken, and how many of each target are wanted.
    first, second = (prompt for prompt in prompts if persona_of(prompt) == ROLES[0].persona)
    assert " / ".join(sorted(map(str.casefold, before.questions[0].groups))) in first
    assert re.findall(r"^- (\d+) on (\w+)", first, re.MULTILINE) == [("1", str(before.questions[0].target))]
    assert "nearly repeats" in second
    assert "4 checker" in done.stderr  # of two roles: what is public, and what is on another target
    assert "fresh-seed 99" in (tmp_path / "fresh" / "benchmark.toml").read_text()
    assert (other.returncode, "seed" in other.stderr) == (1, True)
