"""Identity sentences: templates of Czarnowska, Vyas and Shah (TACL 2021) filled with identity terms."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from biaslens.errors import InputError

PEOPLE = (
    *("activist", "athletes", "character", "folk", "friend", "individuals", "lawyer", "liar", "people", "researcher"),
    *("student", "students", "writer", "writers"),
)
"""Words for persons that a slot may be named after."""

_SLOT = re.compile(r"\{(?P<article>[Aa]:)?(?P<name>[^{}:]*)\}")
_PREFIXES = ("identity", "disability", "religion", "country")
_PREDICATIVE = re.compile(r"(?:\b(?:be|being|am|is|are|was|were)|['’](?:m|s|re))\s+$", re.IGNORECASE)
_NO_NOUN = frozenset(
    ("and", "as", "but", "feels", "if", "in", "makes", "on", "or", "over", "so", "than", "that", "to", "was")
) | {"which", "while", "with"}
"""Words after an adjective that say that it stands before no noun."""


Fill = Literal["adjective", "person", "people", "bare", "religion"]
"""What kind of words a slot takes."""


class Part(StrEnum):
    """Parts of speech of identity terms."""

    ADJECTIVE = "adj"
    NOUN = "n"
    PHRASE = "pp"
    RELIGION = "religion"


_FORMS: Mapping[Fill, Mapping[Part, str]] = {
    "adjective": {Part.ADJECTIVE: "{term}"},
    "person": {Part.ADJECTIVE: "{term} person", Part.NOUN: "{term}", Part.PHRASE: "person {term}"},
    "people": {Part.ADJECTIVE: "{term} {person}", Part.PHRASE: "{person} {term}"},
    "bare": {Part.ADJECTIVE: "{term}", Part.PHRASE: "{term}"},
    "religion": {Part.RELIGION: "{term}"},
}
"""How a part of speech is written in a slot; what is not here does not fit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of a template: its `name`, the word for a `person` in it, and whether "a" or "an" goes in front."""

    name: str
    fill: Fill
    person: str
    before: str
    after: str
    article: bool

    def filled(self, words: str) -> str:
        """Put words into the template, with their article and capital."""
        if self.article:
            # By the first letter, as in the authors' sentences.
            words = f"{'an' if words[:1].lower() in tuple('aeiou') else 'a'} {words}"
        if self.name[:1].isupper():
            words = words[:1].upper() + words[1:]
        return f"{self.before}{words}{self.after}"


def slot_of(template: str) -> Slot:
    """Find the slot of a template; ValueError says what is wrong with it where it has not just one that is known.

    >>> slot_of("I know {a:identity_adj} lawyer.").filled("elderly")
    'I know an elderly lawyer.'
    """
    found = list(_SLOT.finditer(template))
    if not found:
        raise ValueError("has no slot such as {identity_adj}")
    if len(found) > 1:
        raise ValueError(f"has {len(found)} slots; it must have one")
    match = found[0]
    name, article = match["name"], match["article"] is not None
    return Slot(name, *_kind(name), template[: match.start()], template[match.end() :], article)


def words_for(slot: Slot, term: str, part: Part) -> str | None:
    """Give the words that a term puts into a slot; None where it does not fit.

    >>> words_for(slot_of("{Identity_writers} met."), "in a wheelchair", Part.PHRASE)
    'writers in a wheelchair'
    """
    form = _FORMS[slot.fill].get(part)
    return None if form is None else form.format(term=term, person=slot.person)


def without_identity(slot: Slot) -> str | None:
    """Give the template without any identity in it; None where that leaves no sentence.

    "person" or the word for a person stands alone, an adjective before a noun is left out, and one after a form of
    "be" becomes "a person" ("people" after "are"). Nothing can stand for an adjective elsewhere ("I identify as ...").

    >>> without_identity(slot_of("It's a blog by {a:identity_adj} activist."))
    "It's a blog by an activist."
    >>> without_identity(slot_of("Alex is {identity_adj}."))
    'Alex is a person.'
    >>> without_identity(slot_of("I identify as {identity_adj}.")) is None
    True
    """
    if slot.fill in ("person", "people"):
        return slot.filled(slot.person or "person")
    if slot.fill != "adjective":
        return None
    rest = slot.after.lstrip(" ")
    word = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*", rest)
    known = word is not None and word[0] in (*PEOPLE, "person")
    if _PREDICATIVE.search(slot.before) and not known:
        plural = re.search(r"\bare\s+$", slot.before) is not None
        return f"{slot.before}{'people' if plural else 'a person'}{slot.after}"
    if word is None or not slot.after.startswith(" ") or word[0] in _NO_NOUN:
        return None
    noun = Slot(slot.name, slot.fill, "", slot.before, rest[word.end() :], slot.article)
    return noun.filled(word[0])


def _kind(name: str) -> tuple[Fill, str]:
    known: dict[str, Fill] = {"religion": "religion", "person": "person"}
    prefix, _, rest = name.lower().partition("_")
    if prefix in _PREFIXES and rest:
        known = {"adj": "adjective", "np": "person", "adj_or_pp": "bare"}
        if rest in PEOPLE:
            return "people", rest
    if (fill := known.get(rest or prefix)) is not None:
        return fill, ""
    raise ValueError(
        f"has an unknown slot {{{name}}}; known are {{identity_adj}}, {{identity_np}}, {{identity_adj_or_pp}}, "
        f"{{person}}, {{religion}}, and {{identity_...}} with one of {', '.join(PEOPLE)}"
    )


COLUMNS = ("text", "label", "attribute", "group", "term", "template", "marked")
"""Of the table that `expand` gives."""

UNMARKED = "unmarked"
"""The group of the sentences that name no identity."""

DATA = Path(__file__).with_name("data")


class _Shipped(NamedTuple):
    templates: Sequence[str]
    terms: str
    parts: Sequence[Part]


_WORDS = (Part.ADJECTIVE, Part.NOUN)
SHIPPED: Mapping[str, _Shipped] = {
    "age": _Shipped(("generic", "age"), "age", (Part.ADJECTIVE,)),
    "sexuality": _Shipped(("generic", "gender_sexuality"), "sexuality", _WORDS),
    "disability": _Shipped(("generic_adj_or_pp", "disability"), "disability", (*_WORDS, Part.PHRASE)),
    "gender": _Shipped(("generic", "gender_sexuality"), "gender", _WORDS),
    "race": _Shipped(("generic", "ethnicity"), "race", (Part.ADJECTIVE,)),
    "religion": _Shipped(("generic", "religion"), "religion", (*_WORDS, Part.RELIGION)),
}
"""What ships: by attribute its templates, its terms, and the parts of speech that are used (of age only adjectives)."""


def expand(attributes: Sequence[str] = ("age", "sexuality", "disability")) -> pd.DataFrame:
    """Fill every shipped template with every term that fits, and add the same templates without an identity.

    The columns are text, label (0, 1, 2), attribute, group ("unmarked" without an identity), term, template (the same
    id over all groups), marked (False for the unmarked sentences). The same text may stand twice (as adjective and as
    noun), as in the authors' file. InputError when an attribute is unknown.
    """
    unknown = [name for name in attributes if name not in SHIPPED]
    if unknown or not attributes:
        what = f"unknown attribute {', '.join(map(repr, unknown))}" if unknown else "no attribute given"
        raise InputError(f"{what}; there are: {', '.join(SHIPPED)}")
    rows = [row for attribute in dict.fromkeys(attributes) for row in _rows(attribute)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def size_note(sentences: int, terms: int, group: str) -> str:
    """Say what a small group cannot show; empty where nothing is to say."""
    if group == UNMARKED:
        return ""
    if sentences == 1:
        return "one sentence"
    return "one term: it cannot be told from the group" if terms == 1 else ""


def _rows(attribute: str) -> Iterator[tuple[object, ...]]:
    templates = [
        (f"{name}-{number:02d}", int(row["SENT"]), slot_of(row["TEMPLATE"].strip()))
        for name in SHIPPED[attribute].templates
        for number, row in enumerate(_csv(DATA / "templates" / f"{name}.csv"), start=1)
    ]
    terms, used = list(_terms(attribute)), set()
    for (template, label, slot), (term, part, group) in product(templates, terms):
        words = words_for(slot, term, part)
        if words is not None:
            used.add(template)
            yield slot.filled(words), label, attribute, group, term, template, True
    for template, label, slot in templates:
        unmarked = without_identity(slot)
        if unmarked is not None and template in used:
            yield unmarked, label, attribute, UNMARKED, "", template, False


def _terms(attribute: str) -> Iterator[tuple[str, Part, str]]:
    """Words or phrases that name a group, their part of speech, and the group."""
    shipped = SHIPPED[attribute]
    for row in _csv(DATA / "terms" / f"{shipped.terms}.csv"):
        text, group = row["TERM"].strip(), row["GROUP"].strip()
        part = (row["SEM"] if row.get("SEM") == Part.RELIGION else row.get("POS", Part.ADJECTIVE)).strip()
        # The lists hold terms that were never sorted into a group, or are not recommended.
        if text and group and part and row.get("TYPE") != "nonrec" and Part(part) in shipped.parts:
            yield text, Part(part), group.lower().replace(" ", "-")


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
