"""How responses are to be assessed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from biaslens.usecase.assessing.measuring import Resampling
from biaslens.usecase.framework import Path
from biaslens.usecase.metrics.variant import Variant
from biaslens.usecase.scorers import AnyScorer, Kind
from biaslens.usecase.words import Lexicon

Score = Callable[[AnyScorer, Sequence[str]], Awaitable[NDArray[np.float64]]]
"""Scores texts, each different one once; NaN where it cannot."""


@dataclass(frozen=True, kw_only=True)
class TextSpec:
    """How responses are to be assessed.

    Parameters
    ----------
    path
        The families that apply.
    lexicon
        Protected words.
    compared
        Groups to compare, by attribute.
    scorers
        A scorer a kind.
    targets
        Words whose association with groups is measured; None for the professions and adjectives of the package.
    threshold
        Score from which on a response counts as toxic, as a stereotype, or as positive.
    variant
        Whose formulas: the paper's, or those of the LangFair toolkit where they differ.
    only
        Attributes that the user named; None where none was.
    resampling
        How intervals and tests are made.
    """

    path: Path
    lexicon: Lexicon
    compared: Mapping[str, Sequence[str]]
    scorers: Mapping[Kind, AnyScorer]
    targets: Sequence[str] | None = None
    threshold: float = 0.5
    variant: Variant = "paper"
    only: Collection[str] | None = None
    resampling: Resampling = field(default_factory=Resampling)
