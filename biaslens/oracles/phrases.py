"""Words and phrases in which answers commit themselves.

Rules then read a text such as "my answer is ①", where a mark stands for one option however it was named, so that no
rule can mistake a letter inside a word, or the article "a", for a choice.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from biaslens.oracles.text import WORDS, RulePatterns, clean

_RE = RulePatterns("phrases")

_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation.replace("'", ""), " "))

_WORDS = WORDS["phrases"]
_FUNCTION_WORDS = frozenset(_WORDS["function_words"].split())
_SYNONYMS = {word: tuple(others.split()) for word, others in _WORDS["synonyms"].items()}


def plain(text: str) -> str:
    """Lower case with a blank for each punctuation mark: as long as the text."""
    return text.lower().translate(_PUNCTUATION)


@lru_cache(maxsize=1 << 15)
def phrases(options: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Phrases that stand for an option, longest first, each with the option's position.

    An option is called by its text, in the singular, without an aside in brackets or its article; a group also by the
    part that tells it from the other groups: "tall" of "tall bakers" and "stout bakers". Phrases are in the form
    of `plain`; a plural "s" may follow.

    >>> dict(phrases(("Tall bakers", "Stout bakers", "I pass")))
    {'stout bakers': 1, 'tall bakers': 0, 'stout baker': 1, 'tall baker': 0, 'i pass': 2, 'stout': 1, 'tall': 0}
    """
    texts = [clean(option) for option in options]
    groups = [plain(_RE.aside.sub("", text)).split() for text in texts[:-1]]
    parts = _telling_parts(groups)
    synonyms = [_SYNONYMS.get(part, ()) for part in parts]
    # An option's own words go before another's synonyms.
    called = [*enumerate(texts), *enumerate(parts), *((i, word) for i, words in enumerate(synonyms) for word in words)]
    found: dict[str, int] = {}
    for position, name in called:
        for phrase in _variants(name):
            found.setdefault(phrase, position)
    return tuple(sorted(found.items(), key=lambda item: -len(item[0])))


@lru_cache(maxsize=1 << 15)
def telling_words(options: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Words of each group, in the singular, that no other group has."""
    words = [set(map(_singular, plain(option).split())) for option in options[:-1]]
    return tuple(
        frozenset(
            own - set().union(*(other for other in words if other is not own)) - (_FUNCTION_WORDS - {"with", "without"})
        )
        for own in words
    )


def loosely_named(text: str, options: tuple[str, ...]) -> int | None:
    """Position of the group that a short text can only mean: at least half of its content words are that group's."""
    words = set(map(_singular, plain(text).split()))
    content = words - _FUNCTION_WORDS
    meant = [
        position
        for position, telling in enumerate(telling_words(options))
        if telling & words and 2 * len(content & set(map(_singular, plain(options[position]).split()))) >= len(content)
    ]
    return meant[0] if len(meant) == 1 else None


def _variants(text: str) -> Iterator[str]:
    for variant in (text, _RE.aside.sub("", text)):
        phrase = plain(variant).strip()
        if not phrase:
            continue
        phrase = re.sub(r"\A(?:a|an|the) ", "", phrase)
        yield phrase
        yield _singular(phrase)
        if phrase.endswith("ves"):
            yield phrase[:-3] + "f"
            yield phrase[:-3] + "fe"
        if phrase.endswith("men"):
            yield phrase[:-3] + "man"
        if "non " in phrase:
            yield _singular(phrase.replace("non ", "non"))
        if "your" in phrase:
            yield _singular(phrase.replace("your", "my"))


def _singular(phrase: str) -> str:
    if phrase.endswith("ies") and len(phrase) > 5:
        return phrase[:-3] + "y"
    return (
        phrase[:-1] if phrase.endswith("s") and not phrase.endswith(("ss", "us", "is")) and len(phrase) > 3 else phrase
    )


def _telling_parts(groups: Sequence[Sequence[str]]) -> list[str]:
    """What is left of each group without the words that all of them begin or end with; "" where that says nothing."""
    if len(groups) < 2:
        return [""] * len(groups)
    head = _shared(groups)
    tail = min(_shared([group[::-1] for group in groups]), min(map(len, groups)) - head)
    parts = []
    for group in groups:
        part = group[head : len(group) - tail]
        if part and _FUNCTION_WORDS.issuperset(part):
            part = group[head:]
        parts.append("" if _FUNCTION_WORDS.issuperset(part) else " ".join(part))
    return parts


def _shared(groups: Sequence[Sequence[str]]) -> int:
    """Number of words with which all groups begin."""
    count = 0
    for words in zip(*groups, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count


LETTER_MARK = 0xE000
"""First private-use character for an option named by its letter, with or without its text."""
TEXT_MARK = 0xE100
"""First private-use character for an option named by its text alone."""
MARK = _RE.mark
"""One of either."""

_ORDINALS = {word: i for i, word in enumerate(("first", "second", "third", "fourth", "fifth"))}
_CARDINALS = {word: i for i, word in enumerate(("one", "two", "three", "four", "five"))}


class _Span(NamedTuple):
    start: int
    end: int
    position: int
    by_letter: bool


_START = itemgetter(0)


def mark(text: str, options: tuple[str, ...]) -> str:
    """Lower case of a clean text with every option named in it replaced by a mark.

    A letter followed by an option's text becomes one mark, of the option whose text it is: the text is the more
    explicit of the two.
    """
    lower = text.lower()
    texts, within = _texts(plain(text), options)
    spans = [*texts, *_letters(text, len(options), texts, within)]
    if _names_places(lower):
        spans += _ordinals(text, len(options), spans)
    spans.sort(key=_START)
    parts: list[str] = []
    at = 0
    for span in _merged(lower, spans):
        parts.append(lower[at : span.start])
        parts.append(chr((LETTER_MARK if span.by_letter else TEXT_MARK) + span.position))
        at = span.end
    parts.append(lower[at:])
    return "".join(parts)


def position_of(mark: str) -> int:
    """Position of the option a mark stands for."""
    return ord(mark) & 0xFF


def _texts(text: str, options: tuple[str, ...]) -> tuple[list[_Span], bytearray]:
    """Options named by their texts, and a byte for each character: 1 within one of them."""
    spans: list[_Span] = []
    taken = bytearray(len(text))
    for phrase, position in phrases(options):
        at = text.find(phrase)
        while at >= 0:
            end = at + len(phrase)
            if text[end : end + 1] == "s":
                end += 1
            if taken.find(1, at, end) < 0 and _whole_words(text, at, end):
                taken[at:end] = b"\1" * (end - at)
                spans.append(_Span(at, end, position, by_letter=False))
            at = text.find(phrase, at + 1)
    return spans, taken


def _whole_words(text: str, start: int, end: int) -> bool:
    if text[max(0, start - 4) : start] == "non ":
        return False
    left, right = text[start - 1 : start], text[end : end + 1]
    return not (left.isalnum() and not _unspaced(left)) and not (right.isalnum() and not _unspaced(right))


def _unspaced(character: str) -> bool:
    return "\u3000" <= character <= "\ud7af"


def _letters(text: str, count: int, texts: list[_Span], within: bytearray) -> list[_Span]:
    spans: list[_Span] = []
    starts = {span.start: span.position for span in texts}
    found = [*_RE.letter.finditer(text)]
    if "(" in text or "[" in text or text[1:2] in ").":
        found = sorted([*found, *_RE.small_letter.finditer(text)], key=re.Match.start)
    for match in found:
        position = ord(match[0].upper()) - ord("A")
        start, end = match.span()
        if position >= count or within[start]:
            continue
        before, after = text[max(0, start - 40) : start], text[end : end + 12]
        bracketed = before[-1:] in ("(", "[") and after[:1] in (")", "]")
        joined = spans and _RE.joined.fullmatch(text, spans[-1].end, start)
        if not bracketed and not joined and not _stands_alone(text, before, after, end, starts):
            continue
        option = _RE.option.search(before)
        if option:
            start -= len(before) - option.start()
        elif bracketed:
            start -= 1
        spans.append(_Span(start, end + (after[:1] in (")", "]")), position, by_letter=True))
    for match in _RE.number.finditer(text) if _RE.digit.search(text) else ():
        if int(match[1]) <= count:
            spans.append(_Span(match.start(), match.end(), int(match[1]) - 1, by_letter=True))
    return spans


def _stands_alone(text: str, before: str, after: str, end: int, text_starts: dict[int, int]) -> bool:
    """Whether a capital without brackets is an option's letter: not a name, an initial, or the article A."""
    if _RE.name.search(before) or (after[:1] == "." and after[2:3].isupper() and _RE.initial.search(before)):
        return False
    if before and _unspaced(before[-1]):
        return True
    if _RE.beside.match(text, end):
        return True
    if _RE.ends.match(after) or after.startswith((" it is", ", it is")):
        return True
    lead = before.rstrip(" \"'([")
    follows = end + len(after) - len(after.lstrip(" .:-\"'"))
    if follows in text_starts and (not lead or lead[-1] in "\n.:!?,;"):
        # Before the name of another option, or of one such person, "A" is the article: "A plumber who sings ...".
        named = text[follows:].split(maxsplit=1)[0].rstrip(".,;:!?")
        own = text_starts[follows] == 0 and not (named.islower() and named[-1] != "s")
        return text[end - 1] != "A" or follows != end + 1 or own
    starts = not lead or lead[-1] in "\n.!?:"
    return (starts or bool(_RE.cue.search(before))) and bool(_RE.explains.match(after))


def _names_places(lower: str) -> bool:
    """Whether a text has the words of which an option called by its place is made."""
    if "the " in lower and _RE.place.search(lower):
        return True
    return ("option" in lower or "choice" in lower or "answer" in lower) and _RE.cardinal.search(lower) is not None


def _ordinals(text: str, count: int, named: list[_Span]) -> list[_Span]:
    """Options called by their place: "the second option", "option two", "the latter"."""
    spans = []
    for match in _RE.ordinal.finditer(text):
        word = (match[1] or match[2] or "").lower()
        position = _ORDINALS.get(word, _CARDINALS.get(word, count - 1))
        if position < count:
            spans.append(_Span(*match.span(), position, by_letter=True))
    first: dict[int, int] = {}
    for span in sorted(named, key=lambda span: span.start):
        if span.position < count - 1:
            first.setdefault(span.position, span.start)
    lower = text.lower()
    for match in _RE.former_or_latter.finditer(text) if "ormer" in lower or "atter" in lower else ():
        pair = [position for position, start in first.items() if start < match.start()] or [*range(count - 1)]
        if len(pair) == 2:
            spans.append(_Span(*match.span(), pair[match[1] is not None], by_letter=False))
    return spans


def _merged(text: str, spans: list[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        if last and span.start < last.end:
            continue
        if last and last.by_letter and not span.by_letter and _RE.between.match(text[last.end : span.start]):
            merged[-1] = _Span(last.start, span.end, span.position, by_letter=True)
        else:
            merged.append(span)
    return merged


_GENERIC = frozenset(_WORDS["generic"].split())

_SHORTEST_STEM = 4
_MOST_WORDS = 3
"""Most telling words of an option that a single one of them can stand for."""


def mark_loosely(text: str, options: tuple[str, ...]) -> str:
    """Lower case of a clean text with a mark for every word that only one of the groups can be meant by."""
    lower = text.lower()
    meant = _meant(options)
    if not meant:
        return lower

    def replace(match: re.Match[str]) -> str:
        position = _position(match[0], meant)
        return match[0] if position is None else chr(TEXT_MARK + position)

    return _RE.loose_word.sub(replace, lower)


def _position(word: str, meant: dict[str, int]) -> int | None:
    if _RE.loose_unspaced.search(word):
        return next(
            (position for phrase, position in meant.items() if phrase in word and _RE.loose_unspaced.match(phrase)),
            None,
        )
    for form in (word, word.split("'", maxsplit=1)[0], _stem(word)):
        if form in meant:
            return meant[form]
    return None


@lru_cache(maxsize=1 << 15)
def _meant(options: tuple[str, ...]) -> dict[str, int]:
    """Words and stems that stand for one group only."""
    found: dict[str, set[int]] = {}
    for position, words in enumerate(telling_words(options)):
        content = sorted(words - _GENERIC) or sorted(words)
        if len(content) > _MOST_WORDS:
            continue
        for word in content:
            alike = (group.split() for group in _WORDS["alike"])
            for form in {word, _stem(word), *(other for group in alike if word in group for other in group)}:
                found.setdefault(form, set()).add(position)
    return {word: positions.pop() for word, positions in found.items() if len(positions) == 1}


def _stem(word: str) -> str:
    """Word without a plural's, adjective's or country's ending: "german" of "Germany" and "Germans"."""
    stem = _RE.ending.sub("", word.removesuffix("s") if not word.endswith("ss") else word)
    return stem if len(stem) >= _SHORTEST_STEM else word
