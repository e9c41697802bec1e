"""Whether `biaslens plan --detect` plans enough: how often the slices it names find the difference they are for.

    python scripts/simulations/power.py --rounds 300 --seed 1

Two models with bias rates of 0.3 and so many points more answer the shipped benchmark (probit): 0.05 of the latent
variance is the role's, 0.28 or none the comparison's, 0.4 the question's, and the rest of a trial; the models share
half of each but the last. Variances of the difference are taken from 20 pilots with five roles of each attribute and
two trials; a slice is drawn anew in each round, roles from all of the benchmark.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from biaslens.analysis.power import DifferenceVariance, designs
from biaslens.benchmark import shipped
from biaslens.benchmark.groups import compared
from biaslens.stats.crossed import BOTH, COMPARISON, ITEM, ROLE, Clusters, Layout
from biaslens.stats.intervals import difference_in

RATE, OF_ROLE, OF_QUESTION = 0.3, 0.05, 0.4
Codes = NDArray[np.int64]


def main() -> None:
    """Print a line a planned slice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    questions = shipped().questions
    names = (
        [(q.role.attribute, q.role.name) for q in questions],
        [compared(q.groups, q.target, phrases=bool(q.encounter)) or q.id for q in questions],
        [q.role.attribute for q in questions],
        [(q.role.attribute, q.role.name, q.kind) for q in questions],
    )
    role, comparison, attribute, kind = (np.unique(values, axis=0, return_inverse=True)[1].ravel() for values in names)
    whole, place = Clusters(role, comparison, attribute), nth(kind)
    for of_comparison in (0.0, 0.28):
        for points in (0.08, 0.05, 0.03):
            parts = [both_rates(rng, whole.at(roles_of(rng, whole, 5)), points, of_comparison, 2) for _ in range(20)]
            wanted = pilot(parts)
            slices, least = designs(questions, wanted, points)
            if not slices:
                print(f"{100 * points:.0f} points, comparisons {of_comparison}: not with all (least {100 * least:.1f})")
            for one in slices:
                found = 0
                for _ in range(given.rounds):
                    kept = roles_of(rng, whole, one.roles_per_attribute) & (place < one.questions_per_kind)
                    layout, rates, _ = both_rates(rng, whole.at(kept), points, of_comparison, one.trials)
                    found += difference_in(layout, *rates).p < 0.05
                print(
                    f"{100 * points:.0f} points, comparisons {of_comparison}: {one.roles} roles, {one.questions} "
                    f"questions, {one.trials} trials find {100 * one.detectable:.1f} points: "
                    f"power {100 * found / given.rounds:.0f} %",
                    flush=True,
                )


def nth(codes: Codes) -> Codes:
    """How many of the same code stand before each."""
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], codes[order])
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes)) - first
    return place


def roles_of(rng: np.random.Generator, whole: Clusters, each: int) -> NDArray[np.bool_]:
    """Whether each question is of one of so many roles of each attribute."""
    names, first = np.unique(whole.role, return_index=True)
    of = whole.stratum[first]
    kept = np.concatenate([rng.permutation(names[of == code])[:each] for code in np.unique(of)])
    return np.isin(whole.role, kept)


Rates = tuple[NDArray[np.float64], NDArray[np.float64]]


def both_rates(
    rng: np.random.Generator, clusters: Clusters, points: float, of_comparison: float, trials: int
) -> tuple[Layout, Rates, float]:
    """Layout, rates of both models on each question, and the variance of single trials of both."""
    layout = Layout(np.ones(len(clusters.role)), clusters)
    sizes = ((OF_ROLE, layout.role), (of_comparison, layout.comparison), (OF_QUESTION, np.arange(layout.items)))
    shared = [rng.standard_normal(codes.max() + 1) for _, codes in sizes]
    rates, trial = [], 0.0
    for rate in (RATE + points, RATE):
        effect = np.zeros(layout.items)
        for (share, codes), both in zip(sizes, shared, strict=True):
            own = np.sqrt(0.5) * (both + rng.standard_normal(len(both)))
            effect += np.sqrt(share) * own[codes]
        rest = np.sqrt(1 - sum(share for share, _ in sizes))
        said = effect[:, None] + rest * rng.standard_normal((layout.items, trials)) > -ndtri(rate)
        rates.append(said.mean(axis=1))
        trial += float(said.var(axis=1, ddof=1).mean()) if trials > 1 else 0.0
    return layout, (rates[0], rates[1]), trial


def pilot(found: list[tuple[Layout, Rates, float]]) -> DifferenceVariance:
    """Mean variances of the difference over pilots of two trials."""
    parts = [layout.components(first - second) for layout, (first, second), _ in found]
    trial = float(np.mean([trial for *_, trial in found]))
    of = {which: float(np.mean([each.get(which, 0.0) for each in parts])) for which in (ROLE, COMPARISON, BOTH, ITEM)}
    question = max(of.pop(ITEM) - trial / 2, 0.0)
    return DifferenceVariance(*(max(value, 0.0) for value in of.values()), question, trial, "pilots")


if __name__ == "__main__":
    main()
