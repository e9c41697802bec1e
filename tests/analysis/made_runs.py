"""Runs in memory, without a file: any number of questions with random results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from biaslens.analysis import Questions, Run, RunInfo, Trials
from biaslens.analysis.frame import ATTRIBUTES, KINDS, NOTHING, STATES
from biaslens.schema import Condition

BIASED, UNBIASED, INVALID = (STATES.index(name) for name in ("biased", "unbiased", "invalid"))


def made_run(
    seed: int,
    *,
    roles: int = 22,
    per_kind: int = 4,
    trials: int = 3,
    invalid: float = 0.1,
    more: float = 0.15,
    attributes: int = len(ATTRIBUTES),
    model: str = "made/model",
) -> Run:
    """A run of the role and of no role; roles differ in how biased they are, and the role adds `more` to the chance."""
    rng = np.random.default_rng(seed)
    count = roles * per_kind * len(KINDS)
    role = np.repeat(np.arange(roles), per_kind * len(KINDS))
    kind = np.tile(np.repeat(np.arange(len(KINDS)), per_kind), roles)
    # In the order of attribute and name, as a run file gives them.
    attribute = np.sort(np.arange(roles) % attributes)
    questions = Questions(
        ids=tuple(f"{number:06}" for number in range(count)),
        role=role,
        kind=kind,
        target=rng.integers(-1, len(ATTRIBUTES), count),
        options=np.where(kind == 1, 3, 0),
        mirror_of=np.full(count, NOTHING),
        mirror=np.full(count, NOTHING),
        role_attribute=attribute,
        role_names=tuple(f"Role {number}" for number in range(roles)),
        comparison=rng.integers(0, 12, count),
        comparisons=tuple(f"group {number} / others" for number in range(12)),
        **dict.fromkeys(("encounter", "theme", "disfavoured", "picks"), np.full(count, NOTHING)),
    )
    chance = rng.beta(1, 2, roles)[role] * rng.uniform(0, 1, count)
    conditions = {
        condition: _trials(rng, np.minimum(1, chance + added), trials, invalid)
        for condition, added in ((Condition.ROLE, more), (Condition.NO_ROLE, 0.0))
    }
    return Run(RunInfo.of(Path(f"{seed}.sqlite"), {"model": model}, {}), questions, conditions)


def _trials(rng: np.random.Generator, chance: np.ndarray, trials: int, invalid: float) -> Trials:
    shape = (len(chance), trials)
    states = np.where(rng.uniform(size=shape) < chance[:, None], BIASED, UNBIASED)
    states = np.where(rng.uniform(size=shape) < invalid, INVALID, states).astype(np.int8)
    nothing = np.full(shape, NOTHING, dtype=np.int8)
    return Trials(states, nothing, nothing)
