"""Read a list that a model wrote as plain text: numbered, bulleted or one item a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from biaslens.benchmark.llm.forms import Draft
from biaslens.benchmark.llm.tidying import tidy, tidy_options

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
