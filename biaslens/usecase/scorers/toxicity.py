"""Toxicity without a network: words and rules."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.scorers.base import Kind, is_blank


class OfflineToxicity:
    """Toxicity by words."""

    kind: Kind = "toxicity"
    languages: tuple[str, ...] | None = ("en",)
    slow = False
    note = "English only."

    def __init__(self) -> None:
        import profanity_check

        self._probability = profanity_check.predict_prob
        release = version("alt-profanity-check")
        self.name = f"offline words and rules (alt-profanity-check {release})"
        self.identity = f"toxicity offline {release}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        scores = np.zeros(len(texts))
        filled = [index for index, text in enumerate(texts) if not is_blank(text)]
        if filled:
            scores[filled] = self._probability([texts[index] for index in filled])
        return scores
