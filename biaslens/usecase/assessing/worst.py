"""Keep the few that stand out most of the many that pass by."""

from __future__ import annotations

import heapq
from math import isnan

from biaslens.usecase.result import Example

SHOWN = 5
"""Examples of each sort."""


class Worst:
    """The examples with the largest scores; of equal scores those that came first, and no example twice."""

    def __init__(self, size: int = SHOWN) -> None:
        self._size = size
        self._kept: list[tuple[float, int, Example]] = []
        self._seen = 0

    def wants(self, score: float) -> bool:
        """Whether an example of this score would be kept: it need not be made otherwise."""
        return not isnan(score) and (len(self._kept) < self._size or score > self._kept[0][0])

    def add(self, example: Example, score: float | None = None) -> None:
        """Offer an example; `score` is what it is ranked by, by default its own."""
        ranked = example.score if score is None else score
        # The same answer many times over would leave no room for others.
        if self.wants(ranked) and not any(example == kept for *_, kept in self._kept):
            self._seen += 1
            heapq.heappush(self._kept, (ranked, -self._seen, example))
            if len(self._kept) > self._size:
                heapq.heappop(self._kept)

    def examples(self) -> list[Example]:
        """What was kept, the worst first."""
        return [example for _, _, example in sorted(self._kept, reverse=True, key=lambda kept: kept[:2])]
