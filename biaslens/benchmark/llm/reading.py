"""Read roles and encounters out of a model's reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

import json_repair
from pydantic import BaseModel, ConfigDict

from biaslens.benchmark.encounters import COLUMNS, THEMES, Encounter, encounter_of, with_article
from biaslens.benchmark.files import SEPARATOR, check_roles
from biaslens.errors import BenchmarkError
from biaslens.models import JsonSchema
from biaslens.models.thoughts import split
from biaslens.schema import Attribute, Role

Item = Mapping[str, str]
"""One object of a reply, as the model wrote it: fields in small letters, lists joined as in a CSV cell."""


class _Form(BaseModel):
    # Strict schema modes take only objects that forbid further fields and require all of theirs.
    model_config = ConfigDict(extra="forbid")


class _Role(_Form):
    name: str
    persona: str


class _Roles(_Form):
    roles: list[_Role]


class _Encounter(_Form):
    target: Attribute
    stereotype: str
    theme: Literal[*THEMES]  # type: ignore[valid-type]
    a: str
    b: str
    c: str
    a_one: str
    b_one: str
    c_one: str
    disfavoured: Literal["a", "b", "c"]
    yes_no: str
    choice: str
    options: list[str]
    picks: Literal["a", "b", "c"]
    why: str


class _Encounters(_Form):
    encounters: list[_Encounter]


FIELDS = tuple(_Encounter.model_fields)
"""Fields of an encounter, in the order in which a model writes them: the prejudice before the questions."""

ROLES = JsonSchema("roles", _Roles.model_json_schema())
"""Form of a list of roles."""

ENCOUNTERS = JsonSchema("encounters", _Encounters.model_json_schema())
"""Form of a list of encounters."""

_LETTERS = ("a", "b", "c")
_EMPTY = ("-", "none", "null", "n/a")
_LONGEST_NAME = 100


def read_encounter(item: Item, role: Role) -> Encounter:
    """Make an encounter of an item; BenchmarkError where it cannot be one.

    A letter may be said by the group, its member or its option.
    """
    row = {column: item.get(column, "") for column in COLUMNS}
    for letter in _LETTERS:
        for column in (letter, f"{letter}_one"):
            row[column] = "" if row[column].casefold() in _EMPTY else row[column]
    options = dict(zip(_LETTERS, row["options"].split(SEPARATOR), strict=False))
    said = {
        text.casefold(): letter
        for letter in _LETTERS
        for text in (row[letter], row[f"{letter}_one"], options.get(letter, ""), f"{{{letter}}}", letter)
    }
    for column in ("disfavoured", "picks"):
        row[column] = said.get(row[column].casefold(), row[column])
    for column in ("target", "theme"):
        row[column] = row[column].casefold()
    return encounter_of(role, row)


def read_role(item: Item, attribute: Attribute) -> Role:
    """Make a role of an item; BenchmarkError where it cannot be one."""
    name, persona = (item.get(key, "").rstrip(".") for key in ("name", "persona"))
    persona = persona.removeprefix("You are ")
    persona = persona[:1].lower() + persona[1:] if re.match("An? |The |Someone ", persona) else persona
    if not (with_article(persona) or persona.startswith("the ")):
        raise BenchmarkError(f'the persona {persona!r} does not complete "Suppose you are ..."; mind the article')
    if "?" in name or max(len(name), len(persona)) > _LONGEST_NAME:
        raise BenchmarkError(f"{name!r} is no short name of people")
    role = Role(attribute, name[:1].upper() + name[1:], persona)
    check_roles([role], lambda _: "the role")
    return role


_FENCED = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_JSON_START = re.compile(r"""[\[{]\s*(?=["'“{\[])""")
_CLOSED = ("}", "]")


def read_items(reply: str, *, cut_off: bool = False) -> list[Item]:
    r"""Read the JSON objects of a reply, in order, whatever stands around them; none where it holds none.

    The same reply always gives the same items, so that stored replies can be read again. Of one that was cut off at its
    limit of tokens the last item is left out, for it may be half a sentence.

    Examples
    --------
    >>> read_items('Of course! {"roles": [{"name": "Bakers", "persona": "a baker"}, {"name": "Tail')
    [{'name': 'Bakers', 'persona': 'a baker'}]
    >>> read_items("I'm sorry.")
    []
    """
    text = split(reply).answer.strip()
    parts = _FENCED.findall(text) or [text]
    items: list[Item] = []
    for part in parts:
        values, whole = _json_values(part)
        found = _items(values)
        if found and not whole and part is parts[-1]:
            del found[-1]
        items += found
        cut_off = cut_off and whole
    return items[:-1] if cut_off else items


def _json_values(text: str) -> tuple[list[Any], bool]:
    """Every JSON value in a text, and whether the last of them was complete."""
    values: list[Any] = []
    decoder = json.JSONDecoder(strict=False)
    start = _JSON_START.search(text)
    while start is not None:
        try:
            value, end = decoder.raw_decode(text, start.start())
        except ValueError:
            rest = text[start.start() :].rstrip()
            end = max(rest.rfind(mark) for mark in _CLOSED) + 1
            closed = bool(end) and _balanced(rest[:end])
            return [*values, _repaired(rest[:end] if closed else rest)], closed
        except RecursionError:
            return values, True
        values.append(value)
        start = _JSON_START.search(text, end)
    return values, True


def _repaired(text: str) -> object:
    try:
        return json_repair.loads(text)
    except RecursionError:
        return None


def _balanced(text: str) -> bool:
    """Whether as many braces and brackets close as open: broken within, perhaps, but not cut off."""
    return all(text.count(opening) <= text.count(closing) for opening, closing in ("{}", "[]"))


def _items(values: list[Any]) -> list[Item]:
    """The items in JSON values, however deep these wrap them: objects that hold texts and no other items."""
    items: list[Item] = []
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            named = {re.sub(r"[\s/-]+", "_", str(key).strip().casefold()): inner for key, inner in value.items()}
            wrapped = [inner for inner in named.values() if _wraps(inner)]
            if wrapped:
                waiting += wrapped[::-1]
            elif any(isinstance(inner, str) for inner in named.values()):
                items.append({key: _text(inner) for key, inner in named.items()})
        elif isinstance(value, list):
            waiting += value[::-1]
    return items


def _wraps(value: object) -> bool:
    """Whether a field holds items itself: a list of objects, or an object with such a list."""
    inner = list(value.values()) if isinstance(value, Mapping) else [value]
    return any(isinstance(one, list) and any(isinstance(item, Mapping) for item in one) for one in inner)


def _text(value: object) -> str:
    """The plain text of a value; the items of a list, or of an object by letters, are joined as in a CSV cell."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        return " ".join(SEPARATOR.join(map(str, value)).split())
    return "" if value is None else " ".join(str(value).split())
