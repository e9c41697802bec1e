"""Faults of grammar that can be seen without parsing; each rule prefers to miss a fault rather than to invent one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from biaslens.benchmark.quality.faults import Rule
from biaslens.benchmark.quality.form import Finding

_ARTICLE = re.compile(r"(^[Aa]n?|\ban?) (?=([\w-]+))")
# Vowel letters that sound like a consonant, consonant letters that are silent, and letters spelt out.
_CONSONANT_SOUND = re.compile(
    r"(?:uni(?![nmd])|us[eau]|u[bt]i|ukr|ur[aio]|utah|uto|ugan|u[yi]g|eu|ewe|one\b|once|u-|u$)", re.IGNORECASE
)
_SILENT = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_SPELT = re.compile(r"[A-Z]{2,}s?(?:-|$)")
_SPELT_VOWEL = frozenset("AEFHILMNORSX")
# Read as words, not letter by letter.
_ACRONYMS = frozenset({"NASA", "NATO", "SWAT", "SARS", "LAN", "FIFA", "MENSA", "REIT"})

_PLURALS = frozenset({"people", "men", "women", "children", "individuals", "persons", "adults", "survivors", "parents"})
_SINGULAR_S = re.compile(r"(?:ss|us|is|os|as|ews|ics|eys|lens|means|series|species|sales|sports|overseas)$")
_STOP = re.compile(
    r" (?=(?:with|without|who|whose|that|of|from|in|on|at|by|for|under|over|living|to|and|or|than|as)\b)|[,;:?.!(]"
)
_CUT = re.compile(r"(?<=\w) \w+(?:ing|ed)\b.*$")

_DOUBLED = re.compile(r"\b([A-Za-z]+) \1\b", re.IGNORECASE)
_MAY_DOUBLE = frozenset({"had", "that"})
_SPACING = re.compile(r"  |\t|\n|(?<=\w) [,;:?!](?= |$)|(?<=[a-z])[,;:?!](?=[A-Za-z])|\( | \)")
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|[Ee]tc|e\.g|i\.e|Dr|Mrs?|Ms|Jr|Sr|vs)\.")
_MARKS = re.compile(r"[?!.,;:]{2,}")

_MANY = r"(?:men|women|people|children|they|individuals|adults|students|workers|teenagers|immigrants)"
_AGREEMENT = re.compile(
    rf"(?:\b(?:that|think|believe|why|whether|agree|feel|say)|^|,) {_MANY} (?:is|was|has|does)\b"
    rf"|^{_MANY} (?:is|was|has|does)\b|^(?:why )?(?:is|was|does|has) {_MANY}\b(?! (?:who|being)\b)"
    rf"|^(?:why )?(?:are|were|do) (?:a|an|he|she|it|this|that)\b"
    r"|(?:\b(?:that|think|believe|why|whether|say)|^|,) (?:he|she|it) (?:are|do|have)\b"
    rf"|\bmore [a-z]+ier\b|\bmore (?:better|worse)\b|\bless (?:better|worse)\b",
    re.IGNORECASE,
)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))


def grammar_findings(text: str) -> Iterator[Finding]:
    """Check the grammar of a sentence or a phrase."""
    yield from _articles(text)
    for found in _DOUBLED.finditer(text):
        if found[1].lower() not in _MAY_DOUBLE:
            yield Rule.DOUBLED, f"{found.group()!r} in {text!r}"
    if text != text.strip() or _SPACING.search(text):
        yield Rule.SPACING, repr(text)
    if any(found.group() != "..." for found in _MARKS.finditer(_ABBREVIATION.sub("", text))):
        yield Rule.PUNCTUATION, f"two marks in a row in {text!r}"
    if any(text.count(left) != text.count(right) for left, right in _PAIRS) or text.count('"') % 2:
        yield Rule.PUNCTUATION, f"a bracket or quotation mark without its other half in {text!r}"
    if disagreement := _AGREEMENT.search(text):
        yield Rule.AGREEMENT, f"{disagreement.group().strip(' ,')!r} in {text!r}"


def capital_findings(text: str) -> Iterator[Finding]:
    """Check that a sentence begins with a capital, a digit or a quotation mark."""
    if text.lstrip()[:1].islower():
        yield Rule.CAPITAL, f"begins with a small letter: {text!r}"


def vowel_sound(word: str) -> bool:
    """Whether a word begins with the sound of a vowel, so that "an" stands before it.

    Examples
    --------
    >>> [vowel_sound(word) for word in ("elderly", "nurse", "hour", "university", "LGBTQ", "MBA", "UK", "unemployed")]
    [True, False, True, False, True, True, False, True]
    """
    if _SPELT.match(word) and word.rstrip("s") not in _ACRONYMS:
        return word[0] in _SPELT_VOWEL
    if _SILENT.match(word):
        return True
    return word[0].lower() in "aeiou" and not _CONSONANT_SOUND.match(word)


def plural_head(phrase: str) -> str | None:
    """Find the head of a noun phrase without its article, if it is plural; None if it is not, as far as can be seen.

    Examples
    --------
    >>> plural_head("hearing individuals"), plural_head("person with bald patches"), plural_head("boss")
    ('individuals', None, None)
    """
    core = _CUT.sub("", _STOP.split(phrase, maxsplit=1)[0])
    head = core.split()[-1] if core.split() else ""
    plural = head.lower() in _PLURALS or (
        len(head) > 3 and head.endswith("s") and not head.isupper() and not _SINGULAR_S.search(head)
    )
    return head if plural else None


def persona_findings(persona: str) -> Iterator[Finding]:
    """Check the phrase after "You are": its grammar, and that "a" is not put before a plural."""
    yield from grammar_findings(persona)
    article, _, phrase = persona.partition(" ")
    if article.lower() in ("a", "an") and (head := plural_head(phrase)) and head.lower() not in _PLURALS:
        yield Rule.ARTICLE, f"{article!r} before the plural {head!r} in {persona!r}"


def _articles(text: str) -> Iterator[Finding]:
    for found in _ARTICLE.finditer(text):
        article, word = found.groups()
        if (article.lower() == "an") != vowel_sound(word):
            yield Rule.ARTICLE, f"'{article} {word}' in {text!r}"
            continue
        core = _STOP.split(text[found.end() :], maxsplit=1)[0].split()
        plural = next((word for word in core[: 2 if len(core) == 2 else 1] if word.lower() in _PLURALS), None)
        if plural is not None:
            yield Rule.ARTICLE, f"{article!r} before the plural {plural!r} in {text!r}"
