"""Sentences with every mention of a social group replaced by a mark, so that rules can be written about groups."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from biaslens.usecase.words import ATTRIBUTES
from biaslens.usecase.words.grammar import Grammar, grammar
from biaslens.usecase.words.load import shipped

GROUPS, MEMBER, BELONGING = "GROUPS", "MEMBER", "BELONGING"
"""Marks: several of a group or all ("old people", "the poor"), one of it ("a gay man"), and its adjective alone."""

_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|\n+|[;•]\s*")
_SHORT = {"'s": " 's", "'re": " are", "'m": " am", "'ll": " will", "'ve": " have"}
_SHORTENED = re.compile(r"'(?:s|re|m|ll|ve)\b")
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*|'s\b|[^\w\s]|_+")
_LONGEST = 2_000
_COPULAS = frozenset({"is", "am", "are", "was", "were", "be", "being", "'s"})
_PLURAL, _SINGULAR, _ADJECTIVE, _MODIFIER = "psam"
_KINDS = {
    "plural": _PLURAL,
    "noun": _SINGULAR,
    "adjective": _ADJECTIVE,
    "attributive": _ADJECTIVE,
    "modifier": _MODIFIER,
}
_ABSTRACT = re.compile(r"(?:ity|ness|ism)\Z")


@dataclass(frozen=True)
class _Words:
    """Kinds of each word or phrase, the most words of a phrase by its first one, and the words used after "the"."""

    kinds: Mapping[str, str]
    longest: Mapping[str, int]
    collective: frozenset[str]
    grammar: Grammar


def sentences(text: str) -> list[str]:
    """Sentences of a text, told by their punctuation and by line breaks; overlong ones are cut.

    Examples
    --------
    >>> sentences("It rained. We stayed in; nobody minded!")
    ['It rained.', 'We stayed in', 'nobody minded!']
    """
    parts = (part.strip() for part in _SENTENCE.split(text))
    return [part[start : start + _LONGEST] for part in parts for start in range(0, len(part), _LONGEST)]


def mark(sentence: str) -> str:
    """A sentence in lower case, its words and signs set apart by spaces, with marks for groups.

    Examples
    --------
    >>> mark("Old people and Muslims aren't lazy.")
    "GROUPS and GROUPS aren't lazy ."
    >>> mark("The poor can trust a blind man who is gay.")
    'GROUPS can trust a MEMBER who is BELONGING .'
    """
    words = _words()
    tokens = _WORD.findall(_SHORTENED.sub(lambda found: _SHORT[found[0]], sentence.lower().replace("’", "'")))
    tagged = list(_tagged(tokens, words))
    made: list[str] = []
    place = 0
    while place < len(tagged):
        written, length = _next_mark(tagged, place, made[-1] if made else "", words)
        if written == GROUPS and tagged[place][0] in words.collective and made[-1:] == ["the"]:
            made.pop()
        made.append(written)
        place += length
    return " ".join(made)


def _tagged(tokens: list[str], words: _Words) -> Iterator[tuple[str, str]]:
    """Tokens with their kinds, "" for those that name no group; a phrase becomes one token."""
    place = 0
    while place < len(tokens):
        most = min(words.longest.get(tokens[place], 0), len(tokens) - place)
        for size in range(most, 0, -1):
            candidate = " ".join(tokens[place : place + size])
            if candidate in words.kinds:
                yield candidate, words.kinds[candidate]
                place += size
                break
        else:
            yield tokens[place], ""
            place += 1


def _next_mark(tagged: list[tuple[str, str]], place: int, before: str, words: _Words) -> tuple[str, int]:
    """The mark or word to write next, and how many tokens it stands for."""
    token, kinds = tagged[place]
    end = place
    while end < len(tagged) and _ADJECTIVE in tagged[end][1]:
        end += 1
    noun, noun_kinds = tagged[end] if end < len(tagged) else ("", "")
    if end > place and noun:
        if noun in words.grammar.plural or _PLURAL in noun_kinds:
            return GROUPS, end + 1 - place
        if noun in words.grammar.singular or _SINGULAR in noun_kinds:
            return MEMBER, end + 1 - place
    if words.grammar.person(token) and _MODIFIER in _kinds_at(tagged, place + 1):
        return (GROUPS if token in words.grammar.plural else MEMBER), 2
    if _PLURAL in kinds or (before == "the" and token in words.collective and _ends(tagged, place + 1, words.grammar)):
        return GROUPS, 1
    if _SINGULAR in kinds and not (_ADJECTIVE in kinds and before in _COPULAS):
        return MEMBER, 1
    return (BELONGING if _ADJECTIVE in kinds else token), 1


def _ends(tagged: list[tuple[str, str]], place: int, known: Grammar) -> bool:
    """Whether a noun phrase has ended before this place."""
    word = tagged[place][0] if place < len(tagged) else "."
    return not word[0].isalpha() or word in known.follow | known.be | known.adverbs or known.verb(word)


def _kinds_at(tagged: list[tuple[str, str]], place: int) -> str:
    return tagged[place][1] if place < len(tagged) else ""


@cache
def _words() -> _Words:
    own = _own()
    kinds: dict[str, str] = {}
    collective = set(own["collective"].split())
    forms = [(form, _PLURAL) for form in [*own["plural"].split(), *own["phrases_plural"].split(";")]]
    forms += [(form, _SINGULAR) for form in own["singular"].split()]
    forms += [(form, _ADJECTIVE) for form in own["adjective"].split()]
    for name in ATTRIBUTES:
        for row in shipped(name).rows:
            found = [form for listed in row.recognised.values() for form in listed]
            forms += [(form, _KINDS[row.kind]) for form in found if row.kind in _KINDS]
            if row.kind == "collective":
                collective.update(form.lower() for form in found)
    known = grammar()
    for form, kind in forms:
        key = " ".join(_WORD.findall(form.lower()))
        if not key or kind in kinds.get(key, "") or (kind == _SINGULAR and _ABSTRACT.search(key)):
            continue
        if kind != _ADJECTIVE or not known.person(key):
            kinds[key] = kinds.get(key, "") + kind
    longest: dict[str, int] = {}
    for key in [*kinds, *collective]:
        first, *rest = key.split(" ")
        longest[first] = max(longest.get(first, 0), 1 + len(rest))
    for word in collective - kinds.keys():
        kinds[word] = ""
    return _Words(kinds, longest, frozenset(collective), known)


def _own() -> dict[str, Any]:
    return tomllib.loads(files("biaslens.usecase.scorers").joinpath("data/groups.toml").read_text(encoding="utf-8"))
