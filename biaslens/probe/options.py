"""How prompts are tuned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from biaslens.probe.prompt import NOISE, VECTORS

Objective = Literal["vocabulary", "labels"]
RATES = (0.01, 0.001, 0.0001)
"""Learning rates that are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Everything about tuning a prompt but its seed and learning rate.

    Parameters
    ----------
    vectors, noise
        Length of the prompt; how it starts, see `biaslens.probe.prompt.fresh_delta`.
    batch
        Texts of a step.
    objective
        Log-likelihood of the label token over the whole "vocabulary", as in the paper, or over the three "labels".
    weight_decay
        Of AdamW; it draws the prompt back to copies of the first token's embedding.
    max_steps
        Most steps. The paper states none.
    evaluate_every
        Steps between evaluations on the validation texts. The paper states none.
    patient_steps, window
        Early stopping, at an evaluation after at least so many steps whose loss exceeds the largest of so many
        evaluations before it.
    """

    vectors: int = VECTORS
    noise: float = NOISE
    batch: int = 32
    objective: Objective = "vocabulary"
    weight_decay: float = 0.01
    max_steps: int = 10_000
    evaluate_every: int = 250
    patient_steps: int = 2_500
    window: int = 5
