"""Sentiment by VADER's word list and rules."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.scorers.base import Kind, is_blank


class VaderSentiment:
    """VADER's compound score, from [-1, 1] to [0, 1]: 0 is most negative, 1 most positive, 0.5 no word of the list.

    An empty text has no sentiment: NaN. English only; made for short messages. Source: Hutto & Gilbert 2014.
    """

    kind: Kind = "sentiment"
    languages: tuple[str, ...] | None = ("en",)
    slow = False
    note = "VADER reads English only, word by word; 0.5 stands for a text without any word of its list."

    def __init__(self) -> None:
        from biaslens.usecase.metrics.vader import vader

        self._vader = vader
        self.name = f"VADER (vaderSentiment {version('vaderSentiment')})"
        self.identity = f"sentiment vader {version('vaderSentiment')}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        scores = np.full(len(texts), np.nan)
        filled = [index for index, text in enumerate(texts) if not is_blank(text)]
        if filled:
            scores[filled] = self._vader([texts[index] for index in filled])
        return scores
