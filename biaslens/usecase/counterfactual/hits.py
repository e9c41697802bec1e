"""The mentions of one attribute in a text, and which of its readings each one has there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from biaslens.usecase.counterfactual.marked import Marked
from biaslens.usecase.words import AttributeWords, Lexicon
from biaslens.usecase.words.context import REACH, holds
from biaslens.usecase.words.lexicon import Reading
from biaslens.usecase.words.spoken import Spoken


@dataclass(frozen=True, slots=True)
class Hit:
    """A mention: its characters, where it stands among the marked words, its group, and what it is."""

    start: int
    end: int
    place: int
    group: str
    reading: Reading


def hits_in(spoken: Spoken, marked: Marked, attribute: AttributeWords, lexicon: Lexicon) -> list[Hit]:
    """Mentions of the attribute, in the order of the text."""
    mentions = lexicon.match(spoken.tokens, prefer=attribute.name)
    number = list(lexicon.attributes).index(attribute.name)
    own = mentions.attribute == number
    found = []
    for token, length, group in zip(
        mentions.token[own].tolist(), mentions.length[own].tolist(), mentions.group[own].tolist(), strict=True
    ):
        key = spoken.words[token : token + length]
        readings = [one for one in lexicon.readings(key) if (one.attribute, one.group) == (number, group)]
        reading = _reading(readings, spoken, marked, token, length)
        place = marked.places[token]
        found.append(Hit(*spoken.span(token, token + length), place, attribute.groups[group], reading))
    return found


def _reading(readings: Sequence[Reading], spoken: Spoken, marked: Marked, token: int, length: int) -> Reading:
    """The first reading whose rule holds with the punctuation, else by the words alone, as the mention was found."""
    begin, end = marked.places[token], marked.places[token + length - 1] + 1
    for words, start, stop in ((marked.words, begin, end), (spoken.words, token, token + length)):
        low = max(0, start - REACH)
        window = words[low : stop + REACH]
        for reading in readings:
            if holds(reading.rule, window, start - low, stop - low, reading.context):
                return reading
    return readings[0]
