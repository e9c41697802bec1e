"""The phrases by which an answer may call an option."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from biaslens.oracles.text import clean

_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation.replace("'", ""), " "))
_ASIDE = re.compile(r"\s*\([^)]*\)")
_FUNCTION_WORDS = frozenset(
    ["a", "an", "and", "are", "at", "by", "for", "from", "have", "in", "is", "less", "more", "my", "no", "not", "of"]
    + ["on", "or", "other", "own", "the", "those", "to", "who", "with", "without", "your"]
)
_SYNONYMS = {
    "men": ("man", "male"),
    "women": ("woman", "female"),
    "male": ("men", "man"),
    "female": ("women", "woman"),
}


def plain(text: str) -> str:
    """Lower case with a blank for each punctuation mark: as long as the text."""
    return text.lower().translate(_PUNCTUATION)


@lru_cache(maxsize=1 << 15)
def phrases(options: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Phrases that stand for an option, longest first, each with the option's position.

    An option is called by its text, in the singular, without an aside in brackets or its article; a group also by the
    part that tells it from the other groups: "older" of "older drivers" and "younger drivers". Phrases are in the form
    of `plain`; a plural "s" may follow.

    Examples
    --------
    >>> phrases(("Older drivers", "Younger drivers", "I cannot choose"))  # doctest: +ELLIPSIS
    (('younger drivers', 1), ('i cannot choose', 2), ('younger driver', 1), ..., ('younger', 1), ('older', 0))
    """
    texts = [clean(option) for option in options]
    found: dict[str, int] = {}
    for position, text in enumerate(texts):
        for phrase in _variants(text):
            found.setdefault(phrase, position)
    groups = [" ".join(plain(_ASIDE.sub("", text)).split()) for text in texts[:-1]]
    for position, part in enumerate(_telling_parts([group.split() for group in groups])):
        for phrase in (part, *_SYNONYMS.get(part, ())):
            if phrase:
                found.setdefault(_singular(phrase), position)
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
    for variant in (text, _ASIDE.sub("", text)):
        phrase = plain(variant).strip()
        if not phrase:
            continue
        phrase = re.sub(r"\A(?:a|an|the) ", "", phrase)
        yield phrase
        yield _singular(phrase)
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
        if part and _only_function_words(part):
            part = group[head:]
        parts.append("" if _only_function_words(part) else " ".join(part))
    return parts


def _shared(groups: Sequence[Sequence[str]]) -> int:
    """Number of words with which all groups begin."""
    count = 0
    for words in zip(*groups, strict=False):
        if len(set(words)) > 1:
            break
        count += 1
    return count


def _only_function_words(words: Iterable[str]) -> bool:
    return all(word in _FUNCTION_WORDS for word in words)
