"""The slots of a template: what may stand in them, and how they are filled.

A slot is ``{name}`` or ``{a:name}``; the second puts "a" or "an" in front. A capital first letter of the name
capitalises what is put in. After the code of Czarnowska et al. (2021):

- ``identity_adj`` and others that end in ``_adj`` take an adjective: "deaf".
- ``identity_np``, ``disability_np`` and ``person`` take a person: "deaf person", "person in a wheelchair", a noun.
- ``identity_writers`` and others that end in the word for a person take it with an adjective before or a phrase behind:
  "deaf writers", "writers in a wheelchair"; nouns do not fit.
- names that end in ``_adj_or_pp`` take the adjective or the phrase alone.
- ``religion`` takes the name of a religion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

PEOPLE = (
    "activist", "athletes", "character", "folk", "friend", "individuals", "lawyer", "liar", "people", "researcher",
    "student", "students", "writer", "writers",
)  # fmt: skip
"""Words for persons that a slot may be named after."""

_SLOT = re.compile(r"\{(?P<article>[Aa]:)?(?P<name>[^{}:]*)\}")
_PREFIXES = ("identity", "disability", "religion", "country")
_PREDICATIVE = re.compile(r"(?:\b(?:be|being|am|is|are|was|were)|['’](?:m|s|re))\s+$", re.IGNORECASE)
_NO_NOUN = frozenset(
    (
        "and", "as", "but", "feels", "if", "in", "makes", "on", "or", "over", "so", "than", "that", "to", "was",
        "which", "while", "with",
    )
)  # fmt: skip
"""Words after an adjective that say that it stands before no noun."""


class Fill(StrEnum):
    """What kind of words a slot takes."""

    ADJECTIVE = "adjective"
    PERSON = "person"
    PEOPLE = "people"
    BARE = "bare"
    RELIGION = "religion"


class Part(StrEnum):
    """Parts of speech of identity terms."""

    ADJECTIVE = "adj"
    NOUN = "n"
    PHRASE = "pp"
    RELIGION = "religion"


_FORMS = {
    (Fill.ADJECTIVE, Part.ADJECTIVE): "{term}",
    (Fill.PERSON, Part.ADJECTIVE): "{term} person",
    (Fill.PERSON, Part.NOUN): "{term}",
    (Fill.PERSON, Part.PHRASE): "person {term}",
    (Fill.PEOPLE, Part.ADJECTIVE): "{term} {person}",
    (Fill.PEOPLE, Part.PHRASE): "{person} {term}",
    (Fill.BARE, Part.ADJECTIVE): "{term}",
    (Fill.BARE, Part.PHRASE): "{term}",
    (Fill.RELIGION, Part.RELIGION): "{term}",
}
"""How a part of speech is written in a slot; what is not here does not fit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of a template.

    Parameters
    ----------
    name
        As written, without braces and article.
    fill
        What it takes.
    person
        The word for a person that is part of it ("writers"); empty where none is.
    before, after
        The template around it.
    article
        Whether "a" or "an" goes in front.
    """

    name: str
    fill: Fill
    person: str
    before: str
    after: str
    article: bool

    def filled(self, words: str) -> str:
        """Put words into the template, with their article and capital."""
        if self.article:
            words = with_article(words)
        if self.name[:1].isupper():
            words = words[:1].upper() + words[1:]
        return f"{self.before}{words}{self.after}"


def slot_of(template: str) -> Slot:
    """Find the slot of a template.

    Raises
    ------
    ValueError
        When the template has no slot, several, or one that is not known; the message names it.

    Examples
    --------
    >>> slot_of("I know {a:identity_adj} lawyer.").filled("elderly")
    'I know an elderly lawyer.'
    """
    found = list(_SLOT.finditer(template))
    if not found:
        raise ValueError("has no slot such as {identity_adj}")
    if len(found) > 1:
        raise ValueError(f"has {len(found)} slots; it must have one")
    match = found[0]
    fill, person = _kind(match["name"])
    return Slot(
        match["name"], fill, person, template[: match.start()], template[match.end() :], match["article"] is not None
    )


def words_for(slot: Slot, term: str, part: Part) -> str | None:
    """Give the words that a term puts into a slot; None where it does not fit.

    Examples
    --------
    >>> words_for(slot_of("{Identity_writers} met."), "in a wheelchair", Part.PHRASE)
    'writers in a wheelchair'
    """
    form = _FORMS.get((slot.fill, part))
    return None if form is None else form.format(term=term, person=slot.person)


def without_identity(slot: Slot) -> str | None:
    """Give the template without any identity in it; None where that leaves no sentence.

    "person" or the word for a person stands alone, an adjective before a noun is left out, and one after a form of
    "be" becomes "a person" ("people" after "are"). Nothing can stand for an adjective elsewhere ("I identify as ...").

    Examples
    --------
    >>> without_identity(slot_of("It's a blog by {a:identity_adj} activist."))
    "It's a blog by an activist."
    >>> without_identity(slot_of("Alex is {identity_adj}."))
    'Alex is a person.'
    >>> without_identity(slot_of("I identify as {identity_adj}.")) is None
    True
    """
    if slot.fill in (Fill.PERSON, Fill.PEOPLE):
        return slot.filled(slot.person or "person")
    if slot.fill is not Fill.ADJECTIVE:
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


def with_article(words: str) -> str:
    """Put "a" or "an" in front, by the first letter.

    Examples
    --------
    >>> with_article("elderly person"), with_article("deaf person")
    ('an elderly person', 'a deaf person')
    """
    return f"{'an' if words[:1].lower() in tuple('aeiou') else 'a'} {words}"


def _kind(name: str) -> tuple[Fill, str]:
    prefix, _, rest = name.lower().partition("_")
    if name.lower() == "religion":
        return Fill.RELIGION, ""
    if name.lower() == "person":
        return Fill.PERSON, ""
    if prefix in _PREFIXES:
        if rest in ("adj", "np", "adj_or_pp"):
            return {"adj": Fill.ADJECTIVE, "np": Fill.PERSON, "adj_or_pp": Fill.BARE}[rest], ""
        if rest in PEOPLE:
            return Fill.PEOPLE, rest
    raise ValueError(
        f"has an unknown slot {{{name}}}; known are {{identity_adj}}, {{identity_np}}, {{identity_adj_or_pp}}, "
        f"{{person}}, {{religion}}, and {{identity_...}} with one of {', '.join(PEOPLE)}"
    )
