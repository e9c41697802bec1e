"""The local judge: how probable it is that an answer to a why question is biased, without asking any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

NAME = "local/screen"
"""How the local judge is named among judges."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the screen is expected to do where it must be so sure."""

    decided: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Screen:
    """stub for the time being."""

    version: int

    @property
    def name(self) -> str:
        """Name and version."""
        return f"{NAME} {self.version}"

    def probabilities(self, questions: Sequence[str], answers: Sequence[str]) -> NDArray[np.float64]:
        """Probability."""
        return np.array([0.99 if "because" in a else 0.1 for a in answers])

    def expected(self, sure: float) -> Expected:
        """Expected."""
        return Expected(0.5, 0.9)


@cache
def load() -> Screen:
    """Load."""
    return Screen(1)
