"""Batches of texts of about one length, in an order that a seed and a step give again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

POOL = 50
"""Batches whose texts are sorted by length together: enough to waste little padding, few enough to stay mixed."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Training batches without end: epoch after epoch, each in an order of its own.

    An epoch shuffles all texts, cuts them into pools of 50 batches, sorts each pool by length, cuts it into batches
    and shuffles these. A batch depends on the seed and its number alone, so a resumed run needs no other state.

    Parameters
    ----------
    lengths
        Tokens of each text.
    size
        Texts of a batch; the last one of an epoch may hold fewer.
    seed
        Of the shuffling.
    """

    lengths: Sequence[int]
    size: int
    seed: int

    @property
    def per_epoch(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.lengths) // self.size)

    def epoch(self, number: int) -> list[list[int]]:
        """Places of the texts of each batch of an epoch."""
        generator = np.random.default_rng([self.seed, number])
        order = generator.permutation(len(self.lengths)).tolist()
        batches: list[list[int]] = []
        for start in range(0, len(order), POOL * self.size):
            pool = sorted(order[start : start + POOL * self.size], key=lambda place: self.lengths[place])
            batches += [pool[at : at + self.size] for at in range(0, len(pool), self.size)]
        return [batches[place] for place in generator.permutation(len(batches)).tolist()]


def by_length(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Places of all texts, each once, in batches of about one length."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    return [order[at : at + size] for at in range(0, len(order), size)]
