"""Find the options in an answer, by letter or by text, and put one-character marks in their place.

Rules then read a text such as "my answer is ①", where a mark stands for one option however it was named, so that no
rule can mistake a letter inside a word, or the article "a", for a choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

LETTER_MARK = 0xE000
"""First private-use character for an option named by its letter, with or without its text."""
TEXT_MARK = 0xE100
"""First private-use character for an option named by its text alone."""
MARK = "[\ue000-\ue1ff]"

_CANDIDATE = re.compile(r"(?<![\w'&/-])(?:([A-Z])(?![\w'&/]|-\w)|(?<=[(\[])([a-z])(?=[)\]]))")
_CUE_BEFORE = re.compile(
    r"(?:option|choice|answer|letter|response|selection|choose|chose|choosing|select|selecting|pick|picking|"
    r"go with|going with|go for|opt for|opting for|prefer|say|is|be|are|was|with|to|towards|opción|choix|wahl|antwort|réponse|respuesta|选|选择|选项|答案|答案是)"
    r"[\s:\"'(\[=-]*\Z",
    re.IGNORECASE,
)
_OPTION_BEFORE = re.compile(
    r"(?:option|choice|answer|letter|opción|opzione|opção|optie|вариант|选项)[\s:\"'(\[]*\Z", re.IGNORECASE
)
_NAME_BEFORE = re.compile(
    r"(?:group|race|culture|country|person|type|team|plan|vitamin|class|generation|religion|party|region|grade|community)s?\s\Z",
    re.IGNORECASE,
)
_AFTER_BARE = re.compile(r"\s*(?:\Z|\n|[.,;:!?)\]\"-]|because\b|since\b|as\b|for\b|due\b|is (?:my|the)\b|\()")
_FUNCTION_WORDS = frozenset(
    "with without and or of the a an in from no who are is not to for at by on more less own other my".split()
)
_SYNONYMS = {
    "men": ("man", "males", "male"),
    "women": ("woman", "females", "female"),
    "male": ("males", "men"),
    "female": ("females", "women"),
    "boys": ("boy",),
    "girls": ("girl",),
}


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    position: int
    letter: bool


@lru_cache(maxsize=1 << 15)
def phrases(options: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Texts by which each option may be called, longest first, with the option's position.

    An option is called by its whole text; a group also by the part that tells it from the other groups ("older" of
    "older adults" and "younger adults"), where that part has a content word.
    """
    texts = [_plain(option) for option in options]
    found: dict[str, int] = {}
    for position, text in enumerate(texts):
        found.setdefault(text, position)
    for position, part in enumerate(_telling_parts(texts[:-1])):
        if part:
            found.setdefault(part, position)
            for other in _SYNONYMS.get(part, ()):
                found.setdefault(other, position)
    return tuple(sorted(found.items(), key=lambda item: -len(item[0])))


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s']", " ", text.lower()).split())


def _telling_parts(groups: Sequence[str]) -> list[str]:
    split = [group.split() for group in groups]
    if len(split) < 2:
        return ["" for _ in split]
    shortest = min(map(len, split))
    head = 0
    while head < shortest and len({words[head] for words in split}) == 1:
        head += 1
    tail = 0
    while tail < shortest - head and len({words[-1 - tail] for words in split}) == 1:
        tail += 1
    parts = []
    for words in split:
        part = words[head : len(words) - tail]
        if all(word in _FUNCTION_WORDS for word in part):
            part = words[head:] if part else []
        if all(word in _FUNCTION_WORDS for word in part):
            part = []
        parts.append(" ".join(part))
    return parts


def mark(text: str, options: tuple[str, ...]) -> str:
    """Lower case of a clean text with every option named in it replaced by a mark.

    A letter followed by an option's text becomes one mark, of the option whose text it is.
    """
    lower = text.lower()
    spans = _text_spans(lower, options)
    spans += _letter_spans(text, len(options), {span.start for span in spans}, spans)
    spans.sort(key=lambda span: span.start)
    parts: list[str] = []
    at = 0
    for span in _merged(lower, spans):
        if span.start < at:
            continue
        parts.append(lower[at : span.start])
        parts.append(chr((LETTER_MARK if span.letter else TEXT_MARK) + span.position))
        at = span.end
    parts.append(lower[at:])
    return "".join(parts)


def position_of(mark: str) -> int:
    """Position of the option a mark stands for."""
    return ord(mark) & 0xFF


def _text_spans(lower: str, options: tuple[str, ...]) -> list[_Span]:
    plain = lower.replace("-", " ")
    spans: list[_Span] = []
    taken = bytearray(len(lower))
    for phrase, position in phrases(options):
        at = plain.find(phrase)
        while at >= 0:
            end = at + len(phrase)
            if _bounded(plain, at, end) and not any(taken[at:end]):
                if end < len(plain) and plain[end] == "s":
                    end += 1
                taken[at:end] = b"\1" * (end - at)
                spans.append(_Span(at, end, position, letter=False))
            at = plain.find(phrase, at + 1)
    return spans


def _bounded(text: str, start: int, end: int) -> bool:
    if start and (text[start - 1].isalnum() or text[max(0, start - 4) : start] == "non "):
        return False
    if end < len(text) and text[end] == "s":
        end += 1
    return end >= len(text) or not text[end].isalnum()


def _letter_spans(text: str, count: int, text_starts: set[int], texts: list[_Span]) -> list[_Span]:
    spans = []
    for match in _CANDIDATE.finditer(text):
        position = ord(match[0].upper()) - 65
        if position >= count or any(span.start <= match.start() < span.end for span in texts):
            continue
        start, end = match.span()
        before, after = text[max(0, start - 40) : start], text[end : end + 12]
        bracketed = before[-1:] in ("(", "[") and after[:1] in (")", "]")
        if not (bracketed or _stands_alone(before, after, start, end, text, text_starts)):
            continue
        option = _OPTION_BEFORE.search(before)
        if option:
            start -= len(before) - option.start()
        elif bracketed:
            start -= 1
        if text[end : end + 1] in (")", "]"):
            end += 1
        spans.append(_Span(start, end, position, letter=True))
    return spans


def _stands_alone(before: str, after: str, start: int, end: int, text: str, text_starts: set[int]) -> bool:
    if _NAME_BEFORE.search(before):
        return False
    if after[:1] == ")":
        return True
    line_start = not before.strip(" \"'([") or before.rstrip(" \"'([")[-1:] == "\n"
    if line_start and (not after or after[0] in ".:,;!\n\"'" or after[:2] in (" -", " :", " (")):
        return True
    offset = end + len(after) - len(after.lstrip(" .:-\"'"))
    if offset in text_starts and (line_start or before.rstrip()[-1:] in ".:!?,;"):
        return True
    return bool(_CUE_BEFORE.search(before)) and bool(_AFTER_BARE.match(after))


_BETWEEN = re.compile(r"[\s.:,;\"'()\[\]=-]{0,5}\Z")


def _merged(lower: str, spans: list[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        if (
            last
            and last.letter
            and not span.letter
            and _BETWEEN.match(lower[last.end : span.start])
            and span.start >= last.end
        ):
            merged[-1] = _Span(last.start, span.end, span.position, letter=True)
        else:
            merged.append(span)
    return merged
