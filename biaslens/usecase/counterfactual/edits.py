"""Edits of a text: what they are, and how they are carried out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from biaslens.usecase.counterfactual.article import article

ARTICLE = re.compile(r"(?<!\w)(an?)(\s+[\"'“‘(*]*)$", re.IGNORECASE)
WORD = re.compile(r"[\"'“‘(*]*([^\W_][\w'’-]*(?:\s+\w+)?)")


@dataclass(slots=True)
class Edit:
    """Characters from `start` to `end`, what takes their place, what they were, and why they change.

    The kind is "word", "dropped" or "joined" for a word of the attribute, else "verb" or "ending".
    """

    start: int
    end: int
    text: str
    before: str
    kind: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Characters that stayed: from `start` to `end` of the result, from `origin` on in the original."""

    start: int
    end: int
    origin: int


def write(text: str, edits: Sequence[Edit]) -> tuple[str, list[Kept]]:
    """Carry out edits, and set articles before them right; and where the rest comes from."""
    parts: list[str] = []
    kept: list[tuple[int, int, int]] = []
    at = 0
    articles: list[tuple[int, re.Match[str]]] = []
    for edit in edits:
        if edit.start < at:
            continue
        gap = text[at : edit.start]
        found = ARTICLE.search(gap) if edit.kind in {"word", "dropped"} else None
        if found:
            articles.append((len(parts), found))
        kept.append((len(parts), at, found.start() if found else len(gap)))
        parts += [gap, edit.text]
        at = edit.end
    kept.append((len(parts), at, len(text) - at))
    parts.append(text[at:])
    for index, found in articles:
        after = WORD.match("".join(parts[index + 1 : index + 6]))
        if after:
            parts[index] = parts[index][: found.start()] + _same_case(article(after[1]), found[1]) + found[2]
    starts = list(accumulate((len(part) for part in parts), initial=0))
    return "".join(parts), [Kept(starts[index], starts[index] + length, origin) for index, origin, length in kept]


def _same_case(new: str, old: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new.capitalize() if old[0].isupper() else new
