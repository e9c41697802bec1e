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
    [
        *(
            "a",
            "an",
            "and",
            "are",
            "at",
            "by",
            "for",
            "from",
            "have",
            "in",
            "is",
            "less",
            "more",
            "my",
            "no",
            "not",
            "of",
        ),
        *("on", "or", "other", "own", "the", "those", "to", "who", "with", "without", "your"),
    ]
)
_SYNONYMS = {
    "men": ("man", "male", "männer", "hommes", "hombres", "uomini", "homens", "мужчины", "男性", "男人"),
    "women": ("woman", "female", "frauen", "femmes", "mujeres", "donne", "mulheres", "женщины", "女性", "女人"),
    "male": ("men", "man"),
    "female": ("women", "woman"),
    "older": ("elder", "elderly", "senior"),
    "younger": ("young", "youngster"),
    "young": ("younger", "youngster"),
    "wealthy": ("rich", "affluent"),
    "rich": ("wealthy", "affluent"),
}


def plain(text: str) -> str:
    """Lower case with a blank for each punctuation mark: as long as the text."""
    return text.lower().translate(_PUNCTUATION)


@lru_cache(maxsize=1 << 15)
def phrases(options: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Phrases that stand for an option, longest first, each with the option's position.

    An option is called by its text, in the singular, without an aside in brackets or its article; a group also by the
    part that tells it from the other groups: "tall" of "tall bakers" and "stout bakers". Phrases are in the form
    of `plain`; a plural "s" may follow.

    Examples
    --------
    >>> dict(phrases(("Tall bakers", "Stout bakers", "I pass")))
    {'stout bakers': 1, 'tall bakers': 0, 'stout baker': 1, 'tall baker': 0, 'i pass': 2, 'stout': 1, 'tall': 0}
    """
    texts = [clean(option) for option in options]
    groups = [plain(_ASIDE.sub("", text)).split() for text in texts[:-1]]
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
    for variant in (text, _ASIDE.sub("", text)):
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
