"""A world whose gaps are known, to say how often intervals are wrong; also of scripts/bench/probe_intervals.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from biaslens.probe.gaps import gap_of
from biaslens.probe.intervals import GapSums


@dataclass(frozen=True, slots=True)
class World:
    """Where predictions come from: a probit model of "falsely called negative" with crossed random effects.

    Parameters
    ----------
    terms
        Number of terms of each group.
    prompts, templates
        How many are drawn.
    base
        Of the probit.
    of_template, of_term, of_prompt, template_by_term, prompt_by_template, prompt_by_term
        Standard deviations of the effects on the probit scale.
    shift
        What each group adds: 0 where the groups do not differ.
    """

    terms: Sequence[int] = (5, 3, 6)
    prompts: int = 5
    templates: int = 60
    base: float = -0.8
    of_template: float = 1.0
    of_term: float = 0.5
    of_prompt: float = 0.3
    template_by_term: float = 0.3
    prompt_by_template: float = 0.5
    prompt_by_term: float = 0.2
    shift: Sequence[float] = (0.0, 0.0, 0.0)

    def draw(self, rng: np.random.Generator) -> GapSums:
        """Draw prompts, templates and terms, and what the prompts say; each template is one sentence a term."""
        group = np.repeat(np.arange(len(self.terms)), self.terms)
        size = {"p": self.prompts, "t": self.templates, "k": len(group)}
        probit = self.base + np.asarray(self.shift)[group] + np.zeros(tuple(size.values()))
        for name, spread in self._effects().items():
            shape = tuple(size[axis] if axis in name else 1 for axis in "ptk")
            probit = probit + rng.normal(0.0, spread, shape)
        false = (probit + rng.normal(size=probit.shape) > 0).astype(float)
        return GapSums(false, np.ones(false.shape[1:]), np.eye(len(self.terms))[group], len(self.terms))

    def gap(self) -> NDArray[np.float64]:
        """Gaps over all prompts, templates and terms that could have been drawn; shape (G,)."""
        spread = np.sqrt(1.0 + sum(spread**2 for spread in self._effects().values()))
        return gap_of(ndtr((self.base + np.asarray(self.shift)) / spread), len(self.terms))

    def _effects(self) -> Mapping[str, float]:
        return {
            "t": self.of_template, "k": self.of_term, "p": self.of_prompt, "tk": self.template_by_term,
            "pt": self.prompt_by_template, "pk": self.prompt_by_term,
        }  # fmt: skip
