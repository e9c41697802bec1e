"""The part-of-speech tagger, loaded when a text needs it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol

MODEL = "morphmodel_en.pgz"
"""The model that ships with HanTa; its tags are those of the British National Corpus (C5)."""


class _Tagger(Protocol):
    def tag_sent(self, sent: list[str]) -> list[tuple[str, str, str]]:
        """Word, lemma and tag of each word."""


@cache
def _tagger() -> _Tagger:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from HanTa.HanoverTagger import HanoverTagger

        tagger: _Tagger = HanoverTagger(MODEL)
    return tagger


def tags(words: Sequence[str]) -> list[str]:
    """Tags of the words of a sentence, punctuation included: NN1, VVZ, AJ0, DPS ...

    Examples
    --------
    >>> tags(["She", "walks", "home"])
    ['PNP', 'VVZ', 'AV0']
    """
    return list(_tagged(tuple(words)))


@lru_cache(maxsize=4096)
def _tagged(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(tag for _, _, tag in _tagger().tag_sent(list(words))) if words else ()
