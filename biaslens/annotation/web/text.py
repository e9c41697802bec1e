"""Foreign text for a page: nothing in it is run, hidden, or written in another direction than it seems."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

# Joiners shape letters and emoji; the rest of these are visible signs in front of digits.
_SHOWN_ALREADY = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")
# Candidates, for speed: only they are looked up. A text may have 100,000 characters.
_UNUSUAL = re.compile("[^\t\n\x20-\x7e\xa0-\xac\xae-\u05ff\u2030-\u205f]")


def visible(text: str) -> Markup:
    r"""Escape a text, and put a mark in place of every character that cannot be seen.

    Those are control and format characters, such as a right-to-left override, and lone halves of surrogate pairs.
    Line breaks and tabs stay.

    Examples
    --------
    >>> visible("<b>\u202e")
    Markup('&lt;b&gt;<span class="mark" title="right-to-left override">U+202E</span>')
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    # Escaping leaves what it is looked for alone, and marks must not be escaped.
    return Markup(_UNUSUAL.sub(_mark, str(escape(plain))))  # noqa: S704 - escaped just now


def _mark(found: re.Match[str]) -> str:
    char = found[0]
    if char in _SHOWN_ALREADY or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    name = unicodedata.name(char, "control character").lower()
    return f'<span class="mark" title="{name}">U+{ord(char):04X}</span>'
