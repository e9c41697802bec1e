"""Take off what models put around an item: numbers, letters, quotes, stars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

_NUMBER = re.compile(r"\A(?:q(?:uestion)?\s*)?\d{1,3}\s*[.):]\s+|\A[-*•]\s+|\Aq(?:uestion)?\s*:\s*", re.IGNORECASE)
_LETTER = re.compile(r"\A\(?([A-Za-z])[.):]\)?\s*(?=\S)")
_INLINE = re.compile(r"(?:\A|(?<=[\s,;]))\(?([A-H])[.)]\)?\s+(?=\S)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "«": "»", "`": "`"}
_AROUND = " \t\r\n,;"


def tidy(text: str) -> str:
    """Plain text of an item.

    Examples
    --------
    >>> tidy(' 3)  **"Are  bakers kinder?"** ')
    'Are bakers kinder?'
    """
    text = " ".join(text.replace("**", "").replace("__", "").split())
    text = _NUMBER.sub("", text, count=1).strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    return text


def tidy_options(text: str, options: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Part a question from options within its text, and options from their letters.

    Parameters
    ----------
    text
        The question, perhaps with "(A) ... (B) ..." behind it.
    options
        Its options where they are apart from it; they come before those within the text.

    Examples
    --------
    >>> tidy_options("Who is kinder? (A) Bakers (B) Tailors", [])
    ('Who is kinder?', ('Bakers', 'Tailors'))
    >>> tidy_options("Who is kinder?", ["A. Bakers.", "B. Tailors."])
    ('Who is kinder?', ('Bakers', 'Tailors'))
    """
    marks = list(_INLINE.finditer(text))
    if len(marks) > 1 and [mark[1] for mark in marks] == list(ascii_uppercase[: len(marks)]):
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        inline = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
        text = text[: marks[0].start()].strip(_AROUND)
        options = options or inline
    plain = [tidy(option) for option in options]
    if plain and all(_LETTER.match(option) for option in plain):
        plain = [_LETTER.sub("", option) for option in plain]
    return text, tuple(_capitalised(option.strip(_AROUND).rstrip(".")) for option in plain)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
