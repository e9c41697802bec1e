"""Differences of bias rates corrected by labels: between models, and between conditions."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import numpy as np
from numpy.typing import NDArray

from biaslens.analysis.frame import KINDS, Run
from biaslens.analysis.labels import LabelledTrials, read_judged, usable_labels
from biaslens.schema import Condition, Kind
from biaslens.stats import LabelledRate, labelled_rate


class CorrectedRates:
    """Rates of runs corrected by their own labels over chosen questions, and how they hang on each question.

    Runs are read when they are first asked about, each once.
    """

    def __init__(self) -> None:
        self._judged: dict[object, LabelledTrials | None] = {}

    def of(self, run: Run, condition: Condition, position: Mapping[str, int]) -> LabelledRate:
        """The rate over the questions of which the position is given, from 0 up."""
        judged = self._read(run)
        nothing = np.zeros(len(position))
        if judged is None:
            return LabelledRate(nan, nothing, reason="nobody has labelled this run")
        trials = judged.trials
        trials = trials[(trials["condition"] == condition) & trials["question_id"].isin(position)]
        if trials.empty:
            return LabelledRate(nan, nothing, reason="no valid trial")
        inclusion, _, unknown = usable_labels(trials, judged.learned)
        if unknown:
            return LabelledRate(nan, nothing, labels=int((trials["label"] >= 0).sum()), reason=unknown)
        return labelled_rate(
            trials["verdict"].to_numpy(),
            trials["label"].to_numpy(),
            trials["question_id"].map(position).to_numpy(dtype=np.int64),
            questions=len(position),
            inclusion=inclusion,
            clusters=np.unique(trials["role"], return_inverse=True)[1],
            strata=np.unique(trials["kind"], return_inverse=True)[1],
        )

    def _read(self, run: Run) -> LabelledTrials | None:
        if run.info.path not in self._judged:
            self._judged[run.info.path] = read_judged(run.info.path) if run.info.labelled else None
        return self._judged[run.info.path]


def specificity_gap(difference: float, kind: NDArray[np.int64]) -> float:
    """Difference of a judge's specificity between two models that would explain their raw difference all alone.

    That is where nothing is truly biased; where a share of the answers is, more. `kind` are the kinds of the questions
    compared, of which judges decide why questions alone; NaN without one.
    """
    judged = float(np.mean(kind == KINDS.index(Kind.WHY))) if len(kind) else 0.0
    return abs(difference) / judged if judged else nan
