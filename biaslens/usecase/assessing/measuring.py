"""From a metric over units to a measure: value, interval, baseline, test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biaslens.stats import Estimate, holm
from biaslens.usecase.resampling import Fold, bootstrap
from biaslens.usecase.result import Measure
from biaslens.usecase.sums import Resampleable
from biaslens.usecase.swapping import Swappable, swap_p


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals and tests are made.

    Parameters
    ----------
    rounds
        Of the bootstrap.
    exchanges
        Random exchanges of a test.
    level
        Of the intervals.
    seed
        Of everything random.
    """

    rounds: int = 2000
    exchanges: int = 9999
    level: float = 0.95
    seed: int = 0

    def estimate(self, metric: Resampleable, *, share: bool = False, fold: Fold | None = None) -> Estimate:
        """A metric with its interval."""
        return bootstrap(metric, rounds=self.rounds, level=self.level, seed=self.seed, share=share, fold=fold)

    def p(self, metric: Swappable) -> float:
        """p-value of a metric that is large where groups are treated differently."""
        return float(swap_p(metric, rounds=self.exchanges, seed=self.seed))


def corrected(measures: Sequence[Measure]) -> list[Measure]:
    """The measures with their p-values corrected for all tests among them, after Holm."""
    adjusted = holm([measure.p for measure in measures]) if measures else np.empty(0)
    return [replace(measure, p_holm=float(p)) for measure, p in zip(measures, adjusted, strict=True)]
