"""Bring an answer into one plain form before any rule reads it."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 6_000
"""Most characters of an answer that the rules read: of a longer one the first and the last half of so many, since an
answer takes its stand where it begins or where it ends. A reasoning model's thoughts do not count."""

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
_LONG_RUN = re.compile(r"([!-/:-@\[-^`{-~]\W{6})\W+(\W{8})")


def clean(text: str) -> str:
    r"""Plain form of an answer, its case kept.

    Markdown, LaTeX, tags, stage directions and a reasoning model's thoughts are taken away, typographic variants made
    one. The result has single blanks, single line breaks, straight quotes and dashes, runs of punctuation of at
    most 16 characters, and is as long as its lower case. Of a text longer than `LONGEST` it has both ends.

    Examples
    --------
    >>> clean("<think>Hmm.</think>  **My  answer:**\r\n\r\n$\\boxed{B}$")
    'My answer:\nB'
    """
    text = _shortened(_without_thoughts(text))
    if not text.isascii():
        text = _shortened(_without_thoughts(unicodedata.normalize("NFKC", text)))
    if "<" in text:
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
    return _LONG_RUN.sub(r"\1\2", _BULLET.sub("", text))


def _without_thoughts(text: str) -> str:
    return _UNFINISHED_THOUGHT.sub("", _THOUGHT.sub("", text)) if "<" in text else text


def _shortened(text: str) -> str:
    """Beginning and end of a text that is longer than the rules read, cut between words where there are any."""
    if len(text) <= LONGEST:
        return text
    head, tail = text[: LONGEST // 2], text[-(LONGEST // 2) :]
    return f"{head.rpartition(' ')[0] or head}\n{tail.partition(' ')[2] or tail}"
