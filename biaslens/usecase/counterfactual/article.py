"""The indefinite article, by the sound of the word behind it."""

from __future__ import annotations

import re

_CONSONANT = re.compile(
    r"(?:uni(?!n|m)|eu|ewe|us(?:e|u|a|i)|ut(?:i|o)|ubi|uk|ur(?:a|i)|one\b|once|ou?ija)", re.IGNORECASE
)
_VOWEL = re.compile(
    r"(?:hour|honest|honou?r|heir|8|11(?!\d)|18(?!\d)|11\d{3}(?!\d)|18\d{3}(?!\d)|[aeiouáéíóúàèäöü])", re.IGNORECASE
)
_SPELLED = re.compile(r"(?:[A-Z]{2,5}s?|[A-Z]{1,2})$")
_LETTERS = frozenset("AEFHILMNORSX")
_SPOKEN = frozenset(
    {"NASA", "NATO", "UNICEF", "UNESCO", "LASER", "SWAT", "NAFTA", "FIFA", "SAT", "LGBT"} - {"LGBT", "SAT"}
)


def article(word: str) -> str:
    """Tell whether "a" or "an" goes before a word.

    Examples
    --------
    >>> [article(word) for word in ("hour", "university", "80-year-old", "MBA", "European", "uncle", "UK", "one-time")]
    ['an', 'a', 'an', 'an', 'a', 'an', 'a', 'a']
    """
    first = re.split(r"[\s\-’']", word, maxsplit=1)[0]
    if _SPELLED.match(first) and first not in _SPOKEN and not _readable(first):
        return "an" if first[0] in _LETTERS else "a"
    if _CONSONANT.match(word):
        return "a"
    return "an" if _VOWEL.match(word) else "a"


def _readable(word: str) -> bool:
    """Whether a word in capitals is likely shouted, not spelled: "A WOMAN", "AN ASIAN"."""
    vowels = sum(character in "AEIOUY" for character in word)
    return (
        len(word) >= 3
        and vowels >= 1
        and word
        not in {
            "MBA",
            "LGBTQ",
            "FBI",
            "CEO",
            "CFO",
            "CTO",
            "CIA",
            "EU",
            "USA",
            "USB",
            "HIV",
            "IRS",
            "IT",
            "UK",
            "US",
            "AI",
        }
    )
