"""A text's words with its punctuation, for rules that need to know where a phrase ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from biaslens.usecase.words.context import BREAK
from biaslens.usecase.words.spoken import Spoken


@dataclass(frozen=True, slots=True)
class Marked:
    """Words and breaks.

    Parameters
    ----------
    words
        In lower case, with :data:`BREAK` where punctuation stands.
    spelled
        The same as they are spelled.
    places
        Where each word of the text stands among them.
    origin
        Which word of the text each is; that of the word before for a break.
    """

    words: Sequence[str]
    spelled: Sequence[str]
    places: Sequence[int]
    origin: Sequence[int]

    @classmethod
    def of(cls, spoken: Spoken) -> Self:
        """Mark the punctuation of a text."""
        words: list[str] = []
        spelled: list[str] = []
        places: list[int] = []
        origin: list[int] = []
        for number, (word, (start, end)) in enumerate(zip(spoken.words, spoken.spans, strict=True)):
            places.append(len(words))
            words.append(word)
            spelled.append(spoken.text[start:end])
            origin.append(number)
            if spoken.ends(number):
                words.append(BREAK)
                spelled.append("." if spoken.stops(number) else BREAK)
                origin.append(number)
        return cls(words, spelled, places, origin)
