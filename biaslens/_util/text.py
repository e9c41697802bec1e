"""Foreign text on its way to a terminal, a spreadsheet or a record: nothing in it acts, and no key goes along."""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

HIDDEN = "[hidden]"
"""What stands in place of a key."""

# Only they are looked up, for speed: a text may have 100,000 characters.
UNUSUAL = re.compile("[^\t\n\x20-\x7e\xa0-\xac\xae-\u05ff\u2030-\u205f]")
"""Characters of which some print nothing."""

# Joiners shape letters and emoji; everything else of the format characters is invisible.
_JOINERS = frozenset("\u200c\u200d")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

# Shorter ones are words that occur by chance, such as the "none" and "test" that local servers are given.
_SHORTEST_SECRET = 6
_PREFIX = 8

_ADDRESS = re.compile(r"https?://[^\s'\"<>]*[@?][^\s'\"<>]*")

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
# A number is no formula, whatever its sign.
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def printable(text: str) -> str:
    r"""Show what cannot be seen, or would move a terminal's cursor, as its escape; line breaks and tabs stay.

    >>> printable("\x1b[2J done\u202e")
    '\\x1b[2J done\\u202e'
    """
    return UNUSUAL.sub(_escape, text)


class Unfailing:
    """Stands before a stream or an observer whose reader may go away: a call that fails for that does nothing."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the thing has
        found = getattr(self._thing, name)

        def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            with suppress(OSError, ValueError):
                return found(*arguments, **named)

        return call if callable(found) else found


def one_line(text: str) -> str:
    r"""Put foreign text into one line that can be printed.

    >>> one_line("not\nfound\x07")
    'not found\\x07'
    """
    return printable(" ".join(text.split()))


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in _JOINERS or unicodedata.category(char) not in _INVISIBLE:
        return char
    return json.dumps(char)[1:-1] if ord(char) > 0xFF else f"\\x{ord(char):02x}"


def quoted(text: str) -> str:
    """A text as data in a prompt: a JSON string on one line, with characters escaped that print nothing or turn it."""
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1]
        for character in json.dumps(text, ensure_ascii=False)
    )


_secrets: dict[str, re.Pattern[str]] = {}


def keep_secret(value: str) -> None:
    """Have `redacted` hide a key, or a password, from now on, whichever way it is written."""
    if len(value) < _SHORTEST_SECRET or value in _secrets:
        return
    ways = {value, quote(value, safe=""), html.escape(value), json.dumps(value)[1:-1], value.replace("/", "\\/")}
    patterns = [re.escape(way) for way in sorted(ways, key=len, reverse=True)]
    if len(value) >= 2 * _PREFIX:
        # A message may be cut within the key, or show the beginning of it.
        patterns.append(rf"{re.escape(value[:_PREFIX])}[\w*…-]*")
    _secrets[value] = re.compile("|".join(patterns))


def redacted(text: str) -> str:
    """Hide every key and password that this process has used, as `keep_secret` heard of them."""
    for pattern in _secrets.values():
        text = pattern.sub(HIDDEN, text)
    return text


def shown_address(url: str) -> str:
    """Make an address that can be shown and recorded: without user, password, and values of its query.

    >>> shown_address("https://me:pass@host:8000/v1?api_key=abc&version=2")
    'https://host:8000/v1?api_key=[hidden]&version=[hidden]'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    query = "&".join(name.partition("=")[0] + f"={HIDDEN}" for name in parts.query.split("&")) if parts.query else ""
    return one_line(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, "")))


def secrets_of(url: str) -> list[str]:
    """List what `shown_address` leaves out of an address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    values = [part.partition("=")[2] for part in parts.query.split("&")]
    return [unquote(value) for value in (user, password, *values) if value]


def without_secrets(values: object) -> object:
    """Redact the texts of a record, however deep they lie, and what stands in addresses within them.

    >>> without_secrets({"command": "ask --at http://me:pass@host/v1"})
    {'command': 'ask --at http://host/v1'}
    """
    if isinstance(values, str):
        return redacted(_ADDRESS.sub(lambda found: shown_address(found[0]), values))
    if isinstance(values, Mapping):
        return {name: without_secrets(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [without_secrets(value) for value in values]
    return values


def cell(text: str) -> str:
    """Put an apostrophe in front of what a spreadsheet would run as a formula (OWASP, "CSV injection").

    >>> cell("=1+1"), cell("-0.5"), cell("plain")
    ("'=1+1", '-0.5', 'plain')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def cells(row: Sequence[object]) -> list[object]:
    """Disarm the texts of a row for a CSV file; numbers stay what they are."""
    return [cell(value) if isinstance(value, str) else value for value in row]


def uncell(text: str) -> str:
    """Take off the apostrophe that `cell` put in front."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def finite(values: object) -> object:
    """Replace numbers that JSON does not have, NaN and the infinities, by None, however deep they lie.

    >>> finite({"rate": float("nan"), "counts": [1, 2.5]})
    {'rate': None, 'counts': [1, 2.5]}
    """
    if isinstance(values, float):
        return values if math.isfinite(values) else None
    if isinstance(values, Mapping):
        return {name: finite(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [finite(value) for value in values]
    return values


def safe_name(name: str, *, fallback: str = "model") -> str:
    """Make a file name of any text: letters, digits, dots, hyphens and underscores, no dot in front.

    >>> safe_name("openai/gpt-4o mini"), safe_name("../..")
    ('openai-gpt-4o-mini', 'model')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or fallback


# Vowel letters that sound like a consonant, and the other beginnings that sound like a vowel.
_CONSONANT_SOUND = re.compile(
    r"(?:uni(?![nmd])|us[aeiu]|u[bt]i|uk|ute\b|ur[aiou]|uto|utah|ugan|u[iy]g|u-|u$|eu|ewe|one\b|once|ou?ija)",
    re.IGNORECASE,
)
_VOWEL_SOUND = re.compile(r"(?:hour|honest|honou?r|heir|8|1[18](?:\d{3})?(?!\d)|[aeiouáéíóúàèäöü])", re.IGNORECASE)
_CAPITALS = re.compile(r"(?:[A-Z]{2,5}s?|[A-Z])$")
_VOWEL_NAMES = frozenset("AEFHILMNORSX")
_READ_AS_WORDS = frozenset(["FIFA", "LAN", "LASER", "MENSA", "NAFTA", "NASA", "NATO", "REIT", "SARS", "SWAT"])
_SPELLED_OUT = frozenset([
    "AI", "CEO", "CFO", "CIA", "CTO", "EU", "FAQ", "FBI", "HIV", "IRS", "IT", "LGBTI", "LGBTQ", "LGBTQIA", "MBA", "SUV",
    "UK", "URL", "US", "USA", "USB", "UTF",
])  # fmt: skip


def article(word: str) -> str:
    """Tell whether "a" or "an" goes before a word, by its sound as far as its spelling shows it.

    Up to five capitals are spelled out, unless they look shouted ("A WOMAN") or are known to be read as a word.

    >>> [article(word) for word in ("hour", "university", "80-year-old", "MBA", "European", "uncle", "UK", "one-time")]
    ['an', 'a', 'an', 'an', 'a', 'an', 'a', 'a']
    """
    first = re.split(r"[\s\-’']", word, maxsplit=1)[0]
    name = first.rstrip("s")
    shouted = len(name) >= 3 and any(letter in "AEIOUY" for letter in name) and name not in _SPELLED_OUT
    if name in _SPELLED_OUT or (_CAPITALS.match(first) and name not in _READ_AS_WORDS and not shouted):
        return "an" if first[0] in _VOWEL_NAMES else "a"
    if _CONSONANT_SOUND.match(word) and first != "Ewe":  # the people, not the sheep
        return "a"
    return "an" if _VOWEL_SOUND.match(word) else "a"


def plural(number: int, noun: str) -> str:
    """A number and its noun.

    >>> plural(1, "role"), plural(1200, "role")
    ('1 role', '1,200 roles')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
