"""Bring an answer into one plain form before any rule reads it."""

from __future__ import annotations

import re
import unicodedata

_ONE_FOR_ONE = str.maketrans(
    {
        **dict.fromkeys("‘’‛ʼ´`′", "'"),
        **dict.fromkeys("“”„‟«»″「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("【〔", "["),
        **dict.fromkeys("】〕", "]"),
        "\u3002": ".",
        "\u3001": ",",
        "\u0130": "I",  # the one character whose lower case is longer than itself
        # Private-use characters have no meaning in an answer; the rules use them for marks.
        **dict.fromkeys(map(chr, range(0xE000, 0xE200))),
        **dict.fromkeys("*#~\u200b\u200c\u200d\u2060\ufeff\ufe0f\u00ad\u00bf\u00a1"),
    }
)
_ESCAPES = re.compile(r"\\(?:boxed|text(?:bf|it|rm)?|math(?:bf|rm|it))\s*\{|[\\${}]")
_TAGS = re.compile(r"</?[A-Za-z][\w-]{0,20}>")
_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNFINISHED_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*\Z", re.DOTALL | re.IGNORECASE)
_STAGE_DIRECTION = re.compile(
    r"(?<!\*)\*(?:"
    r"(?:sigh|wink|giggle|shrug|nod|smile|grin|chuckle|laugh|gasp|cough|whisper|frown|pause|blush|smirk|bow)(?:s|ing)?"
    r"|[a-z]+s (?!and\b|or\b|who\b|with\b|without\b|from\b|of\b)[^*\n]{1,100}"
    r")[.!]?\*(?!\*)"
)
_EMPHASIS = re.compile(r"(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|__+")
_BLANKS = re.compile(r" [^\S\n]+|[^\S\n ][^\S\n]*")  # leaves the single blanks alone, which are most
_LINE_STARTS = re.compile(r" ?\n[ \n]*(?:[->\u2022]+ )?")
_BULLET = re.compile(r"\A[->\u2022]+ ")


def clean(text: str) -> str:
    r"""Plain form of an answer, its case kept.

    Markdown, LaTeX, tags, stage directions and a reasoning model's thoughts are taken away, typographic variants made
    one. The result has single blanks, single line breaks, straight quotes and dashes, and is as long as its lower case.

    Examples
    --------
    >>> clean("<think>Hmm.</think>  **My  answer:**\r\n\r\n$\\boxed{B}$")
    'My answer:\nB'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "<" in text:
        text = _UNFINISHED_THOUGHT.sub("", _THOUGHT.sub("", text))
        text = _TAGS.sub("\n", text)
    if "*" in text:
        text = _STAGE_DIRECTION.sub("\n", text)
    text = text.translate(_ONE_FOR_ONE)
    if "\\" in text or "$" in text or "{" in text:
        text = _ESCAPES.sub("", text)
    if "_" in text:
        text = _EMPHASIS.sub("", text)
    text = _BLANKS.sub(" ", text).strip()
    if "\n" in text:
        text = _LINE_STARTS.sub("\n", text)
    return _BULLET.sub("", text)
