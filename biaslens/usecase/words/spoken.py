"""A text as words that know where they stand in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from biaslens.usecase.tokens import WORD, Tokens, tokenise

_STOP = re.compile(r"[.!?;:\n]")
_BREAK = re.compile(r"[.,;:!?()\[\]{}\n–—…|/\"“”«»]")


@dataclass(frozen=True, eq=False)
class Spoken:
    """One text, its words as :func:`biaslens.usecase.tokens.tokenise` reads them, and their characters.

    Parameters
    ----------
    text
        The text.
    tokens
        Its words.
    spans
        First character of each word in `text`, and the one behind its last.
    """

    text: str
    tokens: Tokens
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a text."""
        lower = text.lower()
        spans = [found.span() for found in WORD.finditer(lower)]
        if len(lower) != len(text):
            # A character may become several in lower case: "İ" does.
            sizes = [len(character.lower()) for character in text]
            origin = np.repeat(np.arange(len(text)), sizes).tolist()
            spans = [(origin[start], origin[end - 1] + 1) for start, end in spans]
        return cls(text, tokenise([text]), spans)

    @cached_property
    def words(self) -> list[str]:
        """The words in lower case."""
        return self.tokens.words(0)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Characters of the words from `start` to `end`."""
        return self.spans[start][0], self.spans[end - 1][1]

    def gap(self, word: int) -> str:
        """What stands between a word and the next one; behind the last one, the rest."""
        after = self.spans[word + 1][0] if word + 1 < len(self.spans) else len(self.text)
        return self.text[self.spans[word][1] : after]

    def ends(self, word: int) -> bool:
        """Whether punctuation, or nothing, follows a word."""
        return word + 1 >= len(self.spans) or bool(_BREAK.search(self.gap(word)))

    def stops(self, word: int) -> bool:
        """Whether a sentence ends behind a word, as far as punctuation tells."""
        return word + 1 >= len(self.spans) or bool(_STOP.search(self.gap(word)))
