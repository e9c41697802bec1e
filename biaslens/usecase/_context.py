"""Rules of context: when an ambiguous word counts, and the classes of English words that the rules use.

A rule sees the words of a text in lower case, and from where to where the candidate stands; :data:`BREAK` among the
words marks punctuation where it is known. The rules look at words alone, so that a corpus read once needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from biaslens.usecase._tokens import toml_data

_SUFFIXES = ("al", "ic", "ive", "ous", "ful", "less", "able", "ible", "ish", "ese", "ly", "ed", "ing")
"""Endings of words that may stand between an adjective and its noun."""

_MEMBERS = ("race", "religion", "age", "sexual_orientation", "disability", "nationality", "socioeconomic_status")
"""Attributes whose nouns name people, and may be adjectives, too."""


class WordClasses:
    """Words in lower case by what they are, an attribute a class; the file says what each class is for."""

    def __init__(self, file: str) -> None:
        self.__dict__.update({name: frozenset(words.split()) for name, words in toml_data(file).items()})

    def __getattr__(self, name: str) -> frozenset[str]:
        raise AttributeError(f"no class of words {name!r}")


class Grammar(WordClasses):
    """The classes of ``persons.toml``, with the nouns for people and the names of the word lists."""

    singular: frozenset[str]
    plural: frozenset[str]

    def __init__(self) -> None:
        super().__init__("words/persons")
        self.singular |= _forms("gender", "noun")
        self.members = frozenset[str]().union(*(_forms(attribute, "noun") for attribute in _MEMBERS))
        for attribute in ("gender", *_MEMBERS):
            # Plurals of a religion may be things, too.
            self.plural |= _forms(attribute, "plural") if attribute != "religion" else frozenset()
        self.plural |= {f"{word}s" for word in self.singular}
        self.plural |= {f"{word}s" for word in self.members if not word.endswith("s")}
        rows = (row for lists in toml_data("words/names").values() for row in lists["words"]["name"])
        self.names = frozenset(name.removeprefix("=").lower() for row in rows for name in row.values())

    def person(self, word: str) -> bool:
        """Whether a word is a noun for a person, or for people."""
        return word in self.singular or word in self.plural

    def modifies(self, word: str) -> bool:
        """Whether a word may stand between an adjective and the noun."""
        return word in self.modifiers or word.isdigit() or (word.endswith(_SUFFIXES) and word not in self.follow)

    def verb(self, word: str) -> bool:
        """Whether a word after a person noun is likely its verb."""
        return word in self.verbs or (word.endswith("ed") and len(word) > 3)


grammar = cache(Grammar)
"""The classes, read once."""


def _forms(attribute: str, kind: str) -> frozenset[str]:
    """Single words of one kind in a word list."""
    cells = [cell for row in toml_data(f"words/{attribute}")["words"][kind] for cell in row.values()]
    forms = (form for cell in cells for form in (cell if isinstance(cell, list) else [cell]))
    return frozenset(form for form in (form.removeprefix("=").lower() for form in forms) if form.isalpha())


@dataclass(frozen=True, slots=True)
class Context:
    """When a word counts that may also mean something else.

    It `needs` a rule of `RULES`, for which words in `also` serve as person nouns; stands directly `after` one of some
    words, if there are any, and `not_before` or `not_after` others.
    """

    needs: str = ""
    also: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    not_before: frozenset[str] = frozenset()
    not_after: frozenset[str] = frozenset()


BREAK = "|"
"""Stands for punctuation that ends a phrase."""

REACH = 12
"""Words before and behind a candidate that rules may look at."""

_MODIFIERS = 4
"""At most so many words between an adjective and its noun: two adjectives, each up to two words."""


def holds(name: str, words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """Whether the candidate words[start:end] counts by rule `name` ("" for none) and the lists of its context."""
    before = words[start - 1] if start else BREAK
    after = words[end] if end < len(words) else BREAK
    if before in context.not_after or after in context.not_before or (context.after and before not in context.after):
        return False
    return not name or RULES[name](words, start, end, context)


def person(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """Said of a person: before a person noun, or after "is" with a person as subject."""
    return _before_person(words, end, context) or predicative(words, start, end, context)


def before_person(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """Directly before a noun for a person: "woman doctor"."""
    return end < len(words) and grammar().person(words[end])


def _before_person(words: Sequence[str], end: int, context: Context) -> bool:
    known = grammar()
    for place in range(end, min(end + _MODIFIERS + 1, len(words))):
        word = words[place]
        if word in context.also:
            return True
        if known.person(word):
            return place + 1 >= len(words) or words[place + 1] not in known.things
        if word in known.members and (_ends(words, place + 1) or known.verb(words[place + 1])):
            return True
        joins = word in {"and", "or"} and place + 1 < len(words) and known.modifies(words[place + 1])
        if not known.modifies(word) and not joins:
            return False
    return False


def predicative(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """After a form of "be", said of a person: "she is openly gay", "are the applicants poor"."""
    known = grammar()
    if not _ends(words, end):
        return False
    place = _before_adverbs(words, start - 1)
    if place >= 1 and words[place] in {"and", "or", "but"} and known.modifies(words[place - 1]):
        place = _before_adverbs(words, place - 2)
    if place < 0:
        return False
    if words[place] == "as" and place and words[place - 1].startswith("identif"):
        return True
    if words[place] in known.be or words[place] == "s":
        return _subject(words, place - 1)
    if _subject(words, place):
        return any(word in known.be for word in words[max(0, place - 3) : place])
    return False


def _before_adverbs(words: Sequence[str], place: int) -> int:
    while place >= 0 and (words[place] in grammar().adverbs or words[place].endswith("ly")):
        place -= 1
    return place


_AUXILIARIES = frozenset({"has", "have", "had", "will", "would", "can", "may", "might", "to", "s", "ve"})


def _subject(words: Sequence[str], place: int) -> bool:
    known = grammar()
    while place >= 0 and (words[place] in known.adverbs or words[place] in _AUXILIARIES):
        place -= 1
    if place < 0:
        return False
    word = words[place]
    if word in {"that", "which"}:
        return place > 0 and known.person(words[place - 1])
    return word in known.pronouns or word in known.names or known.person(word)


def _ends(words: Sequence[str], end: int) -> bool:
    return end >= len(words) or words[end] == BREAK or words[end] in grammar().follow


def nominal(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """Used as a noun: after a determiner, and not before a noun: "an American applied"."""
    known = grammar()
    if not _noun_ends(words, end):
        return False
    for place in range(start - 1, max(-1, start - 1 - _MODIFIERS), -1):
        word = words[place]
        if word in known.determiners:
            return not (word == "one" and place > 0 and known.person(words[place - 1]))
        if word in known.definite:
            return end < len(words) and (
                words[end] in known.be or words[end] in known.verbs or words[end] in _AFTER_NOUN
            )
        if not known.modifies(word):
            return False
    return False


_AFTER_NOUN = frozenset(
    {"who", "whose", "has", "had", "will", "would", "can", "could", "should", "must", "does", "did", BREAK, "s"}
)


def _noun_ends(words: Sequence[str], end: int) -> bool:
    if _ends(words, end):
        return not _joined_adjective(words, end)
    return grammar().verb(words[end])


def _joined_adjective(words: Sequence[str], end: int) -> bool:
    """Whether "and" or "or" leads to another adjective with a noun: "a Muslim or Jewish student"."""
    known = grammar()
    if end + 2 >= len(words) or words[end] not in {"and", "or"} or not known.modifies(words[end + 1]):
        return False
    return not _ends(words, end + 2)


def attributive(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """Directly before a noun, or before "and" and another adjective with a noun."""
    return not _ends(words, end) or _joined_adjective(words, end)


def collective(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """A group as a whole: "the poor are", "care for the elderly"."""
    place = start - 1
    if place >= 0 and words[place] == "very":
        place -= 1
    return place >= 0 and words[place] == "the" and _noun_ends(words, end)


def origin(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """A country that somebody comes from: "a student from Nigeria", "born in India", "citizens of France"."""
    known = grammar()
    place = start - 1
    if place >= 0 and words[place] == "the":
        place -= 1
    if place < 1:
        return False
    before = words[place - 1]
    if words[place] == "from":
        came = before in {"come", "comes", "came", "coming", "originally"}
        return came or before in known.be or before in known.origin or before in known.names or known.person(before)
    if before == "up":
        return words[place] == "in" and place > 1 and words[place - 2] in {"grew", "grow", "growing", "grown"}
    return words[place] in {"in", "of"} and before in known.origin


def age(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """A person's age: "a 25-year-old nurse", "aged 70", "she is 34 years old"."""
    known = grammar()
    before = words[start - 1] if start else BREAK
    after = list(words[end : end + 2])
    if after == ["year", "old"]:
        after_age = words[end + 2] if end + 2 < len(words) else BREAK
        return _before_person(words, end + 2, context) or _ends(words, end + 2) or known.verb(after_age)
    if after in (["years", "old"], ["years", "of"]):
        said_of = before == BREAK or known.person(before) or before in known.names
        return said_of or predicative(words, start, end + 2, context)
    if before in {"aged", "age", "ages"}:
        return not after or after[0] not in {"years", "months", "days", "weeks", "hours", "year", "percent"}
    if before == "of" and start > 1 and words[start - 2] in {"man", "woman", "person", "age", "patient", "lady"}:
        return _ends(words, end)
    if before in {"turned", "turns", "turning"} and start > 1 and _subject(words, start - 2):
        return _ends(words, end) or words[end] in {"last", "next"}
    return before in {"m", "is", "was", "am"} and _ends(words, end) and predicative(words, start, end, context)


def decade(words: Sequence[str], start: int, end: int, context: Context) -> bool:
    """A person's decade of life: "in her early 60s"."""
    place = start - 1
    if place >= 0 and words[place] in {"early", "mid", "late"}:
        place -= 1
    return place >= 0 and words[place] in {"his", "her", "their", "my", "your", "our"}


RULES: Mapping[str, Callable[[Sequence[str], int, int, Context], bool]] = {
    rule.__name__: rule
    for rule in (person, before_person, predicative, nominal, attributive, collective, origin, age, decade)
}
"""Rules by the name that word lists use."""
