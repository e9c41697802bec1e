"""Read the items out of whatever a model replied: JSON, broken JSON, JSON in prose or fences, or a list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import json_repair

from biaslens.benchmark.llm.forms import Draft
from biaslens.benchmark.llm.lists import read_line, read_list
from biaslens.benchmark.llm.tidying import tidy, tidy_options
from biaslens.schema import Attribute

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

    The same reply always gives the same items, so that stored replies can be read again.

    Parameters
    ----------
    reply
        The model's reply, as it came.
    cut_off
        Whether it ended at its limit of tokens: then the last item is left out, for it may be half a sentence.

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
