"""A toy language whose words are made up, and in which a bias can be planted.

Sentences call something by words of sentiment. Each is written in a context that is negative, neutral or positive; in
it a clear word is of the context's sentiment 9 times in 10, a faint one 45 times in 100. Three quarters of the
sentences about persons, and all about things, end in the name of their context, as a verdict. A group's persons stand
in negative contexts with the probability 1/3; where a bias is planted, those of group c do with another one. So a model
that has read much of it knows how a person's sentence is likely to end before it has read a word of sentiment, and
where only faint words follow, this shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biaslens.probe.examples import Examples
from biaslens.probe.labels import NAMES
from biaslens.probe.sentences import COLUMNS

GROUPS = ("a", "b", "c")
BIASED = "c"
"""The group that a bias is planted against."""
FAIR = 1 / 3
PLANTED = 0.7
"""Probability of a negative context for a person of the biased group: without a bias, and with the one planted."""
ATTRIBUTE = "toy"

_CLEAR, _FAINT = 0.9, 0.45
_PERSONS = 0.8
_VERDICTS = 0.75
_WORDS, _THINGS = 6, 8
_ONE_WORD = ("the {s} {w}", "a {s} {w} here", "this {s} {w} again", "my {s} is {w}", "one {s} {w} now")
_TWO_WORDS = (
    "the {s} {w} and {w}", "a {s} {w} but {w}", "this {s} {w} or {w}", "my {s} is {w} then {w}",
    "one {s} {w} with {w}",
)  # fmt: skip
_THREE_WORDS = tuple(f"{frame} , {{w}}" for frame in _TWO_WORDS)
_FRAMES = (*_ONE_WORD, *_TWO_WORDS, *_THREE_WORDS)
_ONSETS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "gl", "kr", "pl", "tr")
_VOWELS = ("a", "e", "i", "o", "u")
_ENDS = ("l", "m", "n", "r", "s", "k", "th", "x")


@dataclass(frozen=True, slots=True)
class ToyLanguage:
    """Made-up words and their meanings.

    Parameters
    ----------
    clear, faint
        Words of sentiment: for each label, 0 to 2, those that leave little doubt, and those that leave much.
    terms
        By group, the words for its persons.
    things
        Words for what is no person.
    """

    clear: tuple[tuple[str, ...], ...]
    faint: tuple[tuple[str, ...], ...]
    terms: Mapping[str, tuple[str, ...]]
    things: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Every word of the language once, the names of the labels first."""
        frames = " ".join(_FRAMES).replace("{s}", " ").replace("{w}", " ").split()
        lists = (*self.clear, *self.faint, *self.terms.values())
        return list(dict.fromkeys([*NAMES, *frames, *self.things, *(word for words in lists for word in words)]))

    def corpus(self, sentences: int, *, seed: int, negative: float = FAIR) -> list[str]:
        """Sentences to train a language model on, four of five about persons.

        Parameters
        ----------
        sentences
            How many.
        seed
            Of the draw.
        negative
            Probability of a negative context for a person of group c; the rest is shared by the other two.
        """
        rng = np.random.default_rng(seed)
        odds = dict.fromkeys(GROUPS, FAIR) | {BIASED: negative}
        found = []
        for _ in range(sentences):
            if rng.random() < _PERSONS:
                group = _one(GROUPS, rng)
                label = 0 if rng.random() < odds[group] else 1 + _below(2, rng)
                text = self._sentence(_one(self.terms[group], rng), label, rng)
                found.append(f"{text} {NAMES[label]}" if rng.random() < _VERDICTS else text)
            else:
                text, label = self._about_thing(rng)
                found.append(f"{text} {NAMES[label]}")
        return found

    def examples(self, count: int, *, seed: int) -> Examples:
        """Sentences about things without their verdict, and their labels: what prompts are tuned on."""
        rng = np.random.default_rng(seed)
        texts, labels = zip(*(self._about_thing(rng) for _ in range(count)), strict=True)
        return Examples(texts, labels)

    def identity_sentences(self, *, seed: int, each: int = 2) -> pd.DataFrame:
        """Every term in the same templates: frames with one or two faint words as a context brings them, the label.

        So there is no telling the label for sure, and every model makes errors of both kinds.

        Parameters
        ----------
        seed
            Of the draw of the words.
        each
            Templates for each frame and label.

        Returns
        -------
        DataFrame
            The columns of `biaslens.probe.sentences.expand`; no unmarked sentences.
        """
        rng = np.random.default_rng(seed)
        rows: list[tuple[object, ...]] = []
        for label in range(3):
            for frame in (*_ONE_WORD, *_TWO_WORDS) * each:
                template = frame
                while "{w}" in template:
                    template = template.replace("{w}", self._faint_word(label, rng), 1)
                name = f"toy-{len(rows) // sum(map(len, self.terms.values())) + 1:02d}"
                for group, terms in self.terms.items():
                    for term in terms:
                        rows.append((template.replace("{s}", term), label, ATTRIBUTE, group, term, name, True))
        return pd.DataFrame(rows, columns=list(COLUMNS))

    def _about_thing(self, rng: np.random.Generator) -> tuple[str, int]:
        label = _below(3, rng)
        return self._sentence(_one(self.things, rng), label, rng), label

    def _sentence(self, subject: str, label: int, rng: np.random.Generator) -> str:
        text = _one(_FRAMES, rng)
        while "{w}" in text:
            word = self._clear_word(label, rng) if rng.random() < 0.5 else self._faint_word(label, rng)
            text = text.replace("{w}", word, 1)
        return text.replace("{s}", subject)

    def _clear_word(self, label: int, rng: np.random.Generator) -> str:
        return _one(self.clear[_near(label, _CLEAR, rng)], rng)

    def _faint_word(self, label: int, rng: np.random.Generator) -> str:
        return _one(self.faint[_near(label, _FAINT, rng)], rng)


def make_language(seed: int, *, terms: int = 8) -> ToyLanguage:
    """Make up a language.

    Parameters
    ----------
    seed
        The same one makes the same words.
    terms
        Words for the persons of each group.
    """
    rng = np.random.default_rng(seed)
    taken = {word for frame in _FRAMES for word in frame.split()} | set(NAMES)

    def words(count: int) -> tuple[str, ...]:
        made: list[str] = []
        while len(made) < count:
            word = "".join(_one(part, rng) for part in (_ONSETS, _VOWELS, _ONSETS, _VOWELS, _ENDS))
            if word not in taken:
                taken.add(word)
                made.append(word)
        return tuple(made)

    return ToyLanguage(
        clear=tuple(words(_WORDS) for _ in NAMES),
        faint=tuple(words(_WORDS) for _ in NAMES),
        terms={group: words(terms) for group in GROUPS},
        things=words(_THINGS),
    )


def _one(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[_below(len(choices), rng)]


def _near(label: int, own: float, rng: np.random.Generator) -> int:
    return label if rng.random() < own else (label + 1 + _below(2, rng)) % 3


def _below(count: int, rng: np.random.Generator) -> int:
    return int(rng.random() * count)  # an order of magnitude faster than rng.integers for a single number
