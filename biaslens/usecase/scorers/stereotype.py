"""Stereotypes without a network: general claims about social groups."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.scorers.base import Kind

_CLAIM = re.compile(
    r"\b(?:women|men|girls|boys|muslims|christians|jews|immigrants|old people|black people|white people|asians)"
    r" (?:are|can't|cannot|should|always|never)\b",
    re.IGNORECASE,
)


class OfflineStereotype:
    """Stereotypes by rules."""

    kind: Kind = "stereotype"
    languages: tuple[str, ...] | None = ("en",)
    slow = False
    note = "English only."
    name = "offline rules"
    identity = "stereotype offline 1"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score texts; see `Scorer.score`."""
        return np.array([float(bool(_CLAIM.search(text))) for text in texts])
