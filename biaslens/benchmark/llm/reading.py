"""Read roles and questions out of a model's reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

import json_repair
from pydantic import BaseModel, ConfigDict

from biaslens.models import JsonSchema
from biaslens.schema import Attribute, Kind


class _Form(BaseModel):
    # Strict schema modes take only objects that forbid further fields and require all of theirs.
    model_config = ConfigDict(extra="forbid")


class _Role(_Form):
    name: str
    persona: str


class _Roles(_Form):
    roles: list[_Role]


class _Question(_Form):
    text: str
    target: Attribute
    groups: list[str]


class _Questions(_Form):
    questions: list[_Question]


class _Choice(_Question):
    options: list[str]


class _Choices(_Form):
    questions: list[_Choice]


ROLES = JsonSchema("roles", _Roles.model_json_schema())
"""Form of a list of roles."""

QUESTIONS = {
    kind: JsonSchema(
        f"{kind}_questions", (_Choices if kind is Kind.CHOICE else _Questions).model_json_schema()
    )
    for kind in Kind
}  # fmt: skip
"""Form of a list of questions of each kind."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One item as a model wrote it, not checked: a role's name and persona, or a question with what belongs to it.

    `groups` and `target` are None where the model did not say; the target also where it is no attribute.
    """

    text: str
    persona: str = ""
    options: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    target: Attribute | None = None


_NUMBER = re.compile(r"\A(?:q(?:uestion)?\s*)?\d{1,3}\s*[.):]\s+|\A[-*•]\s+|\Aq(?:uestion)?\s*:\s*", re.IGNORECASE)
_LETTER = re.compile(r"\A\(?([A-Za-z])[.):]\)?\s*(?=\S)")
_INLINE = re.compile(r"(?:\A|(?<=[\s,;]))\(?([A-H])[.)]\)?\s+(?=\S)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "«": "»", "`": "`"}
_AROUND = " \t\r\n,;"


def tidy(text: str) -> str:
    """Plain text of an item.

    Examples
    --------
    >>> tidy(' 3)  **"Are  bakers kinder?"** ')
    'Are bakers kinder?'
    """
    text = " ".join(text.replace("**", "").replace("__", "").split())
    text = _NUMBER.sub("", text, count=1).strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    return text


def tidy_options(text: str, options: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Part a question from options within its text, and options from their letters.

    Options that stand apart from the question come before those within the text.

    Examples
    --------
    >>> tidy_options("Who is kinder? (A) Bakers (B) Tailors", [])
    ('Who is kinder?', ('Bakers', 'Tailors'))
    >>> tidy_options("Who is kinder?", ["A. Bakers.", "B. Tailors."])
    ('Who is kinder?', ('Bakers', 'Tailors'))
    """
    marks = list(_INLINE.finditer(text))
    if len(marks) > 1 and [mark[1] for mark in marks] == list(ascii_uppercase[: len(marks)]):
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        inline = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
        text = text[: marks[0].start()].strip(_AROUND)
        options = options or inline
    plain = [tidy(option) for option in options]
    if plain and all(_LETTER.match(option) for option in plain):
        plain = [_LETTER.sub("", option) for option in plain]
    return text, tuple(_capitalised(option.strip(_AROUND).rstrip(".")) for option in plain)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


_NUMBERED = re.compile(r"\s*(?:[*_#]*\s*)(?:q(?:uestion)?\s*)?\d{1,3}\s*[.):][*_]*\s+(?=\S)", re.IGNORECASE)
_BULLET = re.compile(r"\s*[-*•–]\s+(?=\S)")
_OPTION = re.compile(r"\s*(?:[-*•–]\s+)?\(?[A-Ha-h][.):]\)?\s+(?=\S)")
_ROLE = re.compile(
    r"(?P<name>[^|]+?)\s*(?:[-–—:|]\s+|\s\()(?:persona\W+)?(?P<persona>(?:an?|the|someone)\s[^()|]+?)\)?[\s.|]*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Entry:
    text: str
    options: list[str] = field(default_factory=list)


def read_list(text: str) -> Iterator[Draft]:
    r"""Read the items of a list; the numbers themselves count for nothing, for models count badly.

    Without any marks, each line with a question mark is an item.

    Examples
    --------
    >>> list(read_list("Here you are:\n1. Who is kinder?\n   A) Bakers\n   B) Tailors\n1. Is it?"))[0].options
    ('Bakers', 'Tailors')
    >>> next(read_list("- Bakers: a baker")).persona
    'a baker'
    """
    for entry in _entries(text.splitlines()):
        yield from read_line(entry.text, entry.options)


def read_line(text: str, options: Sequence[str] = ()) -> Iterator[Draft]:
    """Read one item of plain text: a question, or a role's name and persona; none where it is empty."""
    body, options = tidy_options(tidy(text), options)
    role = None if "?" in body else _ROLE.fullmatch(body)
    if role is not None:
        yield Draft(tidy(role["name"]), persona=role["persona"].strip())
    elif body:
        yield Draft(body, options=options)


def _entries(lines: list[str]) -> list[_Entry]:
    numbered = any(map(_NUMBERED.match, lines))
    item = _NUMBERED if numbered else _BULLET
    marked = numbered or any(_BULLET.match(line) and not _OPTION.match(line) for line in lines)
    entries: list[_Entry] = []
    going_on = False
    for line in lines:
        if item.match(line) and (numbered or not _OPTION.match(line)):
            entries.append(_Entry(item.sub("", line, count=1)))
            going_on = True
        elif entries and (_OPTION.match(line) or (numbered and _BULLET.match(line))):
            entries[-1].options.append(_BULLET.sub("", line, count=1))
            going_on = False
        elif not marked and line.rstrip().endswith("?"):
            entries.append(_Entry(line))
        elif line.strip() and going_on and "?" not in entries[-1].text:
            entries[-1].text += " " + line.strip()
        else:
            going_on = False
    return entries


_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_JSON_START = re.compile(r"""[\[{]\s*(?=["'“{\[])""")
_CLOSED = ("}", "]")

_TEXT_KEYS = ("text", "question", "name", "group", "role", "title", "prompt", "q")
_PERSONA_KEYS = ("persona", "person", "member", "description")
_OPTION_KEYS = ("options", "choices", "answers")
_TARGET_KEYS = ("target", "attribute", "target_attribute")
_GROUP_KEYS = ("groups", "group_names")

_ATTRIBUTES = {attribute.value: attribute for attribute in Attribute} | {
    "disability": Attribute.ABILITY,
    "appearance": Attribute.BODY,
    "physical appearance": Attribute.BODY,
    "personality": Attribute.CHARACTER,
    "nationality": Attribute.CULTURE,
    "sexual orientation": Attribute.GENDER,
    "sex": Attribute.GENDER,
    "profession": Attribute.OCCUPATION,
    "job": Attribute.OCCUPATION,
    "ethnicity": Attribute.RACE,
    "faith": Attribute.RELIGION,
    "social status": Attribute.SOCIAL,
    "socioeconomic status": Attribute.SOCIAL,
    "class": Attribute.SOCIAL,
}


def read_items(reply: str, *, cut_off: bool = False) -> list[Draft]:
    r"""Read the items of a reply, in order; none where it holds none.

    The same reply always gives the same items, so that stored replies can be read again. Of one that was cut off at its
    limit of tokens the last item is left out, for it may be half a sentence.

    Examples
    --------
    >>> [draft.text for draft in read_items('Of course! {"questions": [{"text": "Is it?"}, {"text": "Was it')]
    ['Is it?']
    >>> [draft.text for draft in read_items("1. Is it?\n2. Was it?")]
    ['Is it?', 'Was it?']
    """
    text = _THINKING.sub("", reply).strip()
    parts = _FENCED.findall(text) or [text]
    drafts: list[Draft] = []
    for part in parts:
        values, whole = _json_values(part)
        found = [draft for value in values for draft in _drafts(value)]
        if found and not whole and part is parts[-1]:
            del found[-1]
        elif not found and not values:
            found = list(read_list(part))
        drafts += found
        cut_off = cut_off and whole
    return drafts[:-1] if cut_off else drafts


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


def _drafts(value: object) -> Iterator[Draft]:
    """The items in a JSON value, however deep it wraps them."""
    if isinstance(value, str):
        yield from read_list(value) if "\n" in value.strip() else read_line(value)
    elif isinstance(value, Mapping):
        text = _first(value, _TEXT_KEYS)
        own = (*_OPTION_KEYS, *_GROUP_KEYS)
        wrapped = [inner for key, inner in value.items() if _wraps(inner) and str(key).strip().casefold() not in own]
        if isinstance(text, str) and not wrapped:
            yield _draft(value, text)
        else:
            for inner in wrapped or value.values():
                yield from _drafts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _drafts(inner)


def _wraps(value: object) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)


def _draft(value: Mapping[str, object], text: str) -> Draft:
    persona = _first(value, _PERSONA_KEYS)
    options = tuple(_texts(_first(value, _OPTION_KEYS)))
    body, inline = tidy_options(tidy(text), options)
    groups = _first(value, _GROUP_KEYS)
    target = _first(value, _TARGET_KEYS)
    return Draft(
        text=body,
        persona=tidy(persona) if isinstance(persona, str) else "",
        options=inline,
        groups=tuple(map(tidy, _texts(groups))) if isinstance(groups, Sequence) else None,
        target=_ATTRIBUTES.get(target.strip().casefold().replace("_", " ")) if isinstance(target, str) else None,
    )


def _first(value: Mapping[str, object], keys: Sequence[str]) -> object:
    named = {str(key).strip().casefold(): inner for key, inner in value.items()}
    return next((named[key] for key in keys if key in named), None)


def _texts(value: object) -> Iterator[str]:
    """The texts of a list, of an object by letters, or of a list of such objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        text = _first(value, ("text", "option", "group", "value", "name"))
        yield from [text] if isinstance(text, str) else _texts(list(value.values()))
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)
