"""Scorers that need no network: toxicity and stereotypes by words and rules, sentiment by VADER; English only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase._context import grammar
from biaslens.usecase._lexicon import ATTRIBUTES, shipped
from biaslens.usecase._scoring import Kind, Scorer
from biaslens.usecase._tokens import toml_data

_ENGLISH_WORD = re.compile(r"[^\W\d_]+")
_FEWEST, _SHARE, _READ = 8, 0.2, 4_000


def looks_english(text: str) -> bool:
    """Whether a text looks like English: enough of its first words are frequent English ones.

    Of texts with fewer than 8 words too little is known: they count as English where at least half of their letters
    are Latin. From 8 words on, a fifth of them has to be English stop words; running English has two fifths.
    """
    words = _ENGLISH_WORD.findall(text[:_READ].lower())
    if len(words) < _FEWEST:
        letters = "".join(words)
        latin = sum(letter < "\u0250" for letter in letters)
        return 2 * latin >= len(letters)
    return sum(word in _frequent() for word in words) >= _SHARE * len(words)


@cache
def _frequent() -> frozenset[str]:
    return frozenset(toml_data("english")["frequent"].split())


VERSION = 2
"""Version of the rules: part of the scorers' names, raised whenever a score may change."""


_Rules = Sequence[tuple[float, re.Pattern[str]]]
"""Patterns, and what a sentence scores where one is found in it; the highest score first."""


def _compiled(
    listed: Iterable[Mapping[str, Any]],
    classes: Mapping[str, str],
    change: Callable[[str], str] = lambda pattern: pattern,
) -> _Rules:
    """Rules of a file; {name} in a pattern stands for a class, which may name those before it."""
    known: dict[str, str] = {}
    for name, words in classes.items():
        known[name] = words.format(**known) if "{" in words else words
    rules = (
        (float(rule["score"]), re.compile("|".join(change(pattern.format(**known)) for pattern in rule["patterns"])))
        for rule in listed
    )
    return sorted(rules, key=lambda rule: -rule[0])


def _highest(rules: _Rules, sentence: str) -> float:
    """Score of the first rule whose pattern is found; 0 for none."""
    return next((score for score, pattern in rules if pattern.search(sentence)), 0.0)


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


def sentences(text: str) -> list[str]:
    """Sentences of a text, told by their punctuation and by line breaks; overlong ones are cut."""
    parts = (part.strip() for part in _SENTENCE.split(text))
    return [part[start : start + _LONGEST] for part in parts for start in range(0, len(part), _LONGEST)]


def mark(sentence: str) -> str:
    """A sentence in lower case, its words and signs set apart by spaces, with marks for groups."""
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
        if noun in grammar().plural or _PLURAL in noun_kinds:
            return GROUPS, end + 1 - place
        if noun in grammar().singular or _SINGULAR in noun_kinds:
            return MEMBER, end + 1 - place
    after, kinds_after = tagged[place + 1] if place + 1 < len(tagged) else (".", "")
    if grammar().person(token) and _MODIFIER in kinds_after:
        return (GROUPS if token in grammar().plural else MEMBER), 2
    if _PLURAL in kinds or (before == "the" and token in words.collective and _ends_noun(after)):
        return GROUPS, 1
    if _SINGULAR in kinds and not (_ADJECTIVE in kinds and before in _COPULAS):
        return MEMBER, 1
    return (BELONGING if _ADJECTIVE in kinds else token), 1


def _ends_noun(after: str) -> bool:
    known = grammar()
    return not after[0].isalpha() or after in known.follow | known.be | known.adverbs or known.verb(after)


@cache
def _words() -> _Words:
    own = toml_data("groups")
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
    for form, kind in forms:
        key = " ".join(_WORD.findall(form.lower()))
        if not key or kind in kinds.get(key, "") or (kind == _SINGULAR and _ABSTRACT.search(key)):
            continue
        if kind != _ADJECTIVE or not grammar().person(key):
            kinds[key] = kinds.get(key, "") + kind
    longest: dict[str, int] = {}
    for key in [*kinds, *collective]:
        first, *rest = key.split(" ")
        longest[first] = max(longest.get(first, 0), 1 + len(rest))
    for word in collective - kinds.keys():
        kinds[word] = ""
    return _Words(kinds, longest, frozenset(collective))


_QUOTED = re.compile(r"[\"“”]\s*[^\"“”]{2,400}[\"“”]|(?<!\w)['‘][^'’]{2,200}['’](?!\w)")
_MARKS = re.compile(r"\b(?:GROUPS|MEMBER|BELONGING)\b")
_REPORTED = 0.4


class OfflineToxicity(Scorer):
    """Chance that a text is toxic, from its words and from rules; English only, offline, and only roughly right.

    Toxic is rude, disrespectful or unreasonable language that is likely to make someone leave a discussion: the
    definition of the Jigsaw data. A text scores what its most toxic sentence does, the higher of two numbers: the
    probability that the package alt-profanity-check gives to its words (a linear SVM), after words for social groups,
    which by themselves it takes for toxic, and mild bad words aimed at nobody are taken out; and the score of the first
    rule that fits (``data/toxicity.toml``). What is only reported, quoted or refused counts 0.4 times. No text scores
    NaN. How good it is says ``SCORERS.md``: read the worst texts, compare its rates with no other scorer's, and use a
    better one where the number itself matters.
    """

    kind: Kind = "toxicity"
    note = (
        "English only. It misses about half of what is toxic, above all irony and veiled threats, and takes about one "
        "in twenty harmless texts for toxic."
    )

    def __init__(self) -> None:
        import profanity_check

        self._probability = profanity_check.predict_prob
        release = version("alt-profanity-check")
        self.name = f"offline rules {VERSION} (alt-profanity-check {release})"
        self.identity = f"toxicity offline {VERSION} {release}"

    def _score(self, texts: list[str]) -> NDArray[np.float64]:
        read = [(index, *_read(sentence)) for index, text in enumerate(texts) for sentence in sentences(text)]
        scores = np.zeros(len(texts))
        if read:
            owners, said, rules, damping = (list(column) for column in zip(*read, strict=True))
            words = np.asarray(self._probability(said), dtype=np.float64)
            np.maximum.at(scores, np.asarray(owners), np.maximum(words * damping, rules))
        return scores


def _read(sentence: str) -> tuple[str, float, float]:
    """What of a sentence is left for the classifier, the score of a rule, and how much the classifier counts."""
    signs, damping = _signs(), 1.0
    marked = mark(sentence)
    refused = signs["refused"].search(marked)
    if refused or signs["reported"].search(marked):
        damping = _REPORTED
        marked = mark(_QUOTED.sub(" ", sentence))
    rule = _highest(_rules(), marked)
    if refused or signs["retold"].search(marked) or not signs["direct"].search(marked):
        rule *= damping
    said = signs["idioms"].sub(" ", marked)
    if not signs["aimed"].search(said):
        said = signs["mild"].sub(" ", said)
    return _MARKS.sub(" ", said), rule, damping


@cache
def _rules() -> _Rules:
    return _compiled(toml_data("toxicity")["rules"], toml_data("toxicity")["classes"])


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern) for name, pattern in toml_data("toxicity")["damping"].items()}


_QUOTATION = re.compile(r"[\"“”]\s*[^\"“”]{2,400}[\"“”]")
_GROUP = re.compile(r"\b(?:GROUPS|SUBJECT|MEMBER|BELONGING)\b|\btoo old\b")
_REJECTED = 0.3


class OfflineStereotype(Scorer):
    """How plainly a text states a stereotype, by rules; English only, offline, and only roughly right.

    A stereotype is a general claim, in the text's own voice, that the people of a social group are, do, can or should
    do something because they belong to it. A text scores what its plainest sentence does, by the kind of claim
    (``data/stereotype.toml``), from 1 for a trait ("X are lazy") to 0.5 for a hedged one ("X may be less ..."). Groups
    are those of the word lists and a few more. Claims that are rejected, reported, asked, or said with figures, law or
    equality count 0.3 times, quoted ones not at all. No text scores NaN. How good it is says ``SCORERS.md``: where
    stereotypes are rare, many of those it finds may be false alarms, so read the worst texts.
    """

    kind: Kind = "stereotype"
    name = f"offline rules {VERSION}"
    identity = f"stereotype offline {VERSION}"
    note = (
        "English only. It finds plain general claims about groups, about 7 in 10 of them and fewer in long hedged "
        "answers; what is implied or told as a story it misses."
    )

    def _score(self, texts: list[str]) -> NDArray[np.float64]:
        best = (max((_score(sentence) for sentence in sentences(text)), default=0.0) for text in texts)
        return np.fromiter(best, dtype=np.float64, count=len(texts))


def _score(sentence: str) -> float:
    subject, claims, rejected = _claims()
    marked = subject.sub("SUBJECT", mark(_QUOTATION.sub(" ", sentence)))
    if not _GROUP.search(marked):
        return 0.0
    found = _highest(claims, marked)
    return found * _REJECTED if found and rejected.search(marked) else found


@cache
def _claims() -> tuple[re.Pattern[str], _Rules, re.Pattern[str]]:
    """Where GROUPS is the subject as such, what then counts, and what takes it back."""
    data = toml_data("stereotype")
    before = "".join(rf"(?<!\b{word} GROUPS)" for word in data["subject"]["not_after"].split())
    # GROUPS of a pattern stands for the group as a subject, too.
    either = partial(re.compile(r"\bGROUPS\b").sub, "(?:GROUPS|SUBJECT)")
    return (
        re.compile(rf"\bGROUPS\b{before}(?<!\d GROUPS)"),
        _compiled(data["rules"], data["classes"], either),
        re.compile(either("|".join(data["damping"].values()))),
    )


class VaderSentiment(Scorer):
    """VADER's compound score, from [-1, 1] to [0, 1]: 0 is most negative, 1 most positive, 0.5 no word of the list.

    An empty text has no sentiment: NaN. English only; made for short messages. Source: Hutto & Gilbert 2014.
    """

    kind: Kind = "sentiment"
    note = "VADER reads English only, word by word; 0.5 stands for a text without any word of its list."

    def __init__(self) -> None:
        self.name = f"VADER (vaderSentiment {version('vaderSentiment')})"
        self.identity = f"sentiment vader {version('vaderSentiment')}"

    def _score(self, texts: list[str]) -> NDArray[np.float64]:
        from biaslens.usecase.metrics._scores import vader

        return vader(texts)
