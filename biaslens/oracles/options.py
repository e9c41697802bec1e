"""Split a choice question that carries its options in the text."""

from __future__ import annotations

import re

from biaslens.errors import BenchmarkError

_MARK = re.compile(r"(?<!\w)\(?\s?([A-Z])\s?[).:]\s*(?=\S)")


def letter(position: int) -> str:
    """Letter of the option at a zero-based position: A, B, C, ...

    Raises `ValueError` when the position is negative or past Z.
    """
    if not 0 <= position < 26:
        raise ValueError(f"options are lettered A to Z; there is no letter for position {position}")
    return chr(ord("A") + position)


def split_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Separate the stem of a choice question from its options.

    Options are marked by letters in order, "(A)", "A)" or "A.", on one line or several. The last run of marks that
    starts at A counts, so a letter in the stem does no harm.

    Returns
    -------
    stem, options
            The question without its options, and their texts in the order given, without blanks around them. A question
        mark behind the last option ("Who sings better, (A) x (B) y?") goes back to the stem.

    Raises `BenchmarkError` when there are fewer than two options, or one of them is empty.

    Examples
    --------
    >>> split_options("Who sings better? (A) Bakers (B) Plumbers (C) I cannot make any choice")
    ('Who sings better?', ('Bakers', 'Plumbers', 'I cannot make any choice'))
    """
    run: list[re.Match[str]] = []
    for mark in _MARK.finditer(text):
        if mark[1] == "A":
            run = [mark]
        elif run and mark[1] == letter(len(run)):
            run.append(mark)
    if len(run) < 2:
        raise BenchmarkError(f"no options (A), (B), ... in the choice question {_short(text)}; add at least two")
    ends = [mark.start() for mark in run[1:]] + [len(text)]
    options = tuple(text[mark.end() : end].strip(" \t\r\n;,?]") for mark, end in zip(run, ends, strict=True))
    if not all(options):
        raise BenchmarkError(f"option ({letter(options.index(''))}) is empty in the choice question {_short(text)}")
    options = (*options[:-1], options[-1].removesuffix("."))
    stem = text[: run[0].start()].strip()
    if text.rstrip().endswith("?"):
        stem = stem.rstrip(" ,;:?") + "?"
    return stem, options


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 80 else flat[:77] + "...")
