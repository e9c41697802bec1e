"""What a self-test measures on a toy model, and what must hold of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from biaslens.probe.counts import Counts
from biaslens.probe.gaps import NEGATIVE_FPR
from biaslens.probe.toy import BIASED

LEVEL = 0.95
NOMINAL = 1 - LEVEL
MOST = 2 * NOMINAL
"""Most false alarms that count as rare, as a share of the intervals: the nominal share, with room for chance."""
LEARNED = 0.15
"""Least advantage of a prompt over the most frequent label, in validation accuracy."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the probe says about one toy model.

    Parameters
    ----------
    name
        "planted" or "null".
    negative
        Probability with which persons of group c stood in negative contexts of what the model read.
    parameters
        Weights of the model.
    loss
        Mean training loss of its last steps, in nats a token.
    accuracy
        Validation accuracy of each prompt.
    majority
        That of always giving the most frequent label.
    counts
        Of the predictions.
    bootstrap, published
        Intervals of all gaps, see `biaslens.probe.intervals.intervals`: the default kind, and the paper's.
    """

    name: str
    negative: float
    parameters: int
    loss: float
    accuracy: tuple[float, ...]
    majority: float
    counts: Counts
    bootstrap: pd.DataFrame
    published: pd.DataFrame

    @property
    def gap(self) -> pd.Series:
        """Row of the gap that a bias against group c shows in: its Negative FPR."""
        rows = self.bootstrap
        return rows[(rows["metric"] == NEGATIVE_FPR.name) & (rows["group"] == BIASED)].iloc[0]


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Intervals off zero where no groups differ: the null model's words, shared out to groups anew and anew.

    `intervals` were looked at, those of metrics in which anything varies; `bootstrap` and `published` are the shares of
    them that leave out zero, NaN where there are none.
    """

    intervals: int
    bootstrap: float
    published: float


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold, whether it does, and the numbers."""

    name: str
    passed: bool
    detail: str


def judge(planted: Measured, null: Measured, alarms: FalseAlarms) -> tuple[Check, ...]:
    """Say what holds of what was measured."""
    gap, none = planted.gap, null.gap
    worst = min(min(part.accuracy) - part.majority for part in (planted, null))
    return (
        Check(
            "the prompts learned the task",
            worst >= LEARNED,
            f"validation accuracy {worst:+.2f} from the most frequent label's at worst; at least {LEARNED:+.2f}",
        ),
        Check(
            "the planted bias has the right sign",
            bool(gap["gap"] > 0),
            f"Negative FPR gap of group {BIASED}: {100 * gap['gap']:+.1f} points; above 0",
        ),
        Check(
            "the planted bias is told from chance",
            bool(gap["low"] > 0),
            f"its bootstrap interval: {_shown(gap)}; above 0",
        ),
        Check(
            "nothing is found where nothing is",
            not none["low"] > 0,
            f"the same interval without a bias: {_shown(none)}; not above 0",
        ),
        Check(
            "false alarms are rare",
            alarms.bootstrap <= MOST,
            f"{alarms.bootstrap:.1%} of {alarms.intervals} bootstrap intervals off zero where no groups differ; "
            f"nominal {NOMINAL:.0%}, at most {MOST:.0%}",
        ),
    )


def _shown(row: pd.Series) -> str:
    return "none" if np.isnan(row["low"]) else f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f} points"
