"""Predictions with known effects, to see what intervals do: how often they cry wolf, how often they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from biaslens.probe.gaps import gaps_to_mean
from biaslens.probe.resampled import Tensor


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
    of_template, of_term, of_prompt, template_by_term, prompt_by_template, prompt_by_term, of_sentence
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

    def draw(self, rng: np.random.Generator) -> Tensor:
        """Draw prompts, templates and terms, and what the prompts say; each template is one sentence a term."""
        group = np.repeat(np.arange(len(self.terms)), self.terms)
        size = {"p": self.prompts, "t": self.templates, "k": len(group)}
        probit = self.base + np.asarray(self.shift)[group] + np.zeros(tuple(size.values()))
        for name, spread in self._effects().items():
            shape = tuple(size[axis] if axis in name else 1 for axis in "ptk")
            probit = probit + rng.normal(0.0, spread, shape)
        false = (probit + rng.normal(size=probit.shape) > 0).astype(float)
        return Tensor(false, np.ones(false.shape[1:]), np.eye(len(self.terms))[group], len(self.terms))

    def gap(self) -> NDArray[np.float64]:
        """Gaps over all prompts, templates and terms that could have been drawn; shape (G,)."""
        spread = np.sqrt(1.0 + sum(spread**2 for spread in self._effects().values()))
        return gaps_to_mean(ndtr((self.base + np.asarray(self.shift)) / spread))

    def _effects(self) -> Mapping[str, float]:
        return {
            "t": self.of_template, "k": self.of_term, "p": self.of_prompt, "tk": self.template_by_term,
            "pt": self.prompt_by_template, "pk": self.prompt_by_term,
        }  # fmt: skip
