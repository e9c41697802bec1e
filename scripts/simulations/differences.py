"""Intervals for a true difference of two rates, and a test that swaps the signs of roles, with few roles.

    python scripts/simulations/differences.py --rounds 600 --seed 5

As in coverage.py, with the shipped benchmark. Beside the interval of `difference_in` stand the symmetric one of
`mean_in`, which it holds, and the test that swaps the signs of the roles' differences, which is exact where there are
no effects of comparisons. Type I errors are at equal rates, the first of each pair.
"""

from __future__ import annotations

import argparse

import numpy as np
from coverage import COMPARISONS, ICCS, LAYOUTS, drawn, effects, latent, of_benchmark
from numpy.typing import NDArray
from scipy.special import ndtri

from biaslens.stats.crossed import Clusters, Layout
from biaslens.stats.intervals import difference_in, mean_in

Floats = NDArray[np.float64]
PAIRS = ((0.02, 0.06), (0.02, 0.1), (0.1, 0.3), (0.3, 0.5))


def main() -> None:
    """Print a line a cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=5)
    given = parser.parse_args()
    rng, design = np.random.default_rng(given.seed), of_benchmark()
    print("roles  rates        icc comparisons | difference held, width | symmetric | type I: ours, symmetric, swapped")
    for each in (1, 5):
        for rates in PAIRS:
            for icc in ICCS:
                for of_comparison in COMPARISONS:
                    found = []
                    of_role = latent(icc, sum(rates) / 2)
                    for _ in range(LAYOUTS):
                        role, comparison, attribute = drawn(rng, *design, each)
                        layout = Layout(np.ones(len(role)), Clusters(role, comparison, attribute))
                        for _ in range(given.rounds // LAYOUTS):
                            first, second, equal = answers(rng, layout, rates, of_role, of_comparison)
                            ours, plain = difference_in(layout, second, first), mean_in(layout, second - first)
                            held = [one.low <= rates[1] - rates[0] <= one.high for one in (ours, plain)]
                            null = difference_in(layout, first, equal), mean_in(layout, first - equal)
                            p = [*(one.p for one in null), swapped(rng, layout, first - equal)]
                            found.append((*held, ours.high - ours.low, *(one < 0.05 for one in p)))
                    held, plainly, width, *rejected = 100 * np.mean(found, axis=0)
                    print(
                        f"{11 * each:5}  {rates[0]:4}, {rates[1]:4}  {icc:4} {of_comparison:11} | {held:15.1f}, "
                        f"{width:5.1f} | {plainly:9.1f} | {'':8}{', '.join(f'{share:4.1f}' for share in rejected)}",
                        flush=True,
                    )


def answers(
    rng: np.random.Generator, layout: Layout, rates: tuple[float, float], of_role: float, of_comparison: float
) -> list[Floats]:
    """Answers of models of both rates and a third one of the first; any two share half of the effects."""
    shared, found = effects(rng, layout), []
    for rate in (*rates, rates[0]):
        a, c = (np.sqrt(0.5) * (both + own) for both, own in zip(shared, effects(rng, layout), strict=True))
        noise = np.sqrt(1 - of_role - of_comparison) * rng.standard_normal(layout.items)
        said = np.sqrt(of_role) * a[layout.role] + np.sqrt(of_comparison) * c[layout.comparison] + noise
        found.append((said > -ndtri(rate)).astype(np.float64))
    return found


def swapped(rng: np.random.Generator, layout: Layout, difference: Floats) -> float:
    """P-value of the sum of the differences among 499 in which each role keeps its sign or not."""
    sums = np.bincount(layout.role, difference, layout.roles)
    others = np.abs((2 * rng.integers(0, 2, (499, layout.roles)) - 1) @ sums)
    return float(1 + (others >= abs(sums.sum()) - 1e-9).sum()) / 500


if __name__ == "__main__":
    main()
