"""Coverage of intervals for a bias rate, and how often tests reject a true null: roles x rate x ICC x comparisons.

    python scripts/simulations/coverage.py --rounds 1000 --seed 1
    python scripts/simulations/coverage.py --rounds 1000 --seed 1 --design RUN.sqlite --kind choice

Each round draws roles from a benchmark (1, 5 or 50 of each attribute) with the questions they have, and which of these
compare the same groups: the shipped benchmark, or the questions of a run file, such as an imported run of the published
study. Roles and comparisons then get normal effects, and a question is biased where their sum and its own lies over a
threshold (probit), so that the rate is exact and the intraclass correlation of roles (on the scale of answers) is as
asked. Comparisons have 0.28 of the latent variance, as was found in the published answers (11 to 28 % of the variance
of answers at rates of 0.1 to 0.6), or none. For tests a second model of the same rate shares half of each effect.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri, stdtrit
from scipy.stats import beta, multivariate_normal

from biaslens.analysis import read_run
from biaslens.benchmark import shipped
from biaslens.benchmark.groups import compared
from biaslens.schema import Kind
from biaslens.stats.crossed import Clusters, Layout, mean_in
from biaslens.stats.estimate import wilson

Floats, Codes = NDArray[np.float64], NDArray[np.int64]
Design = tuple[Codes, Codes, Codes]
"""Role, comparison and attribute of each question."""
Cell = tuple[int, float, float, float]
"""Roles of each attribute, rate, intraclass correlation of roles, latent share of comparisons."""

ROLES, RATES, ICCS, COMPARISONS = (1, 5, 50), (0.02, 0.1, 0.5), (0.05, 0.3), (0.0, 0.28)
METHODS = ("symmetric", "logit", "Wilson", "Korn-Graubard", "role clusters, Wilson")
LAYOUTS = 25


def latent(icc: float, rate: float) -> float:
    """Correlation of two normal variables whose exceedances of the rate's threshold are correlated by icc."""
    threshold = -ndtri(rate)

    def excess(rho: float) -> float:
        both = multivariate_normal.cdf([-threshold, -threshold], cov=[[1, rho], [rho, 1]])
        return float(both - rate**2 - icc * rate * (1 - rate))

    return float(brentq(excess, 0, 0.999))


def intervals(value: float, variance: float, free: float, kish: float, items: int) -> list[tuple[float, float]]:
    """Bounds by each way but the last of METHODS."""
    t = stdtrit(free, 0.975)
    if variance <= 1e-20:
        low, high = map(float, wilson(value, kish, t))
        return [(low, high)] * 4
    error, size = variance**0.5, min(items, value * (1 - value) / variance)
    ends = logit(value) + np.array([-t, t]) * error / (value * (1 - value))
    adjusted = size * (stdtrit(items - 1, 0.975) / t) ** 2
    x = value * adjusted
    exact = (
        float(beta.ppf(0.025, x, adjusted - x + 1)),
        float(beta.ppf(0.975, x + 1, adjusted - x)),
    )
    low, high = map(float, wilson(value, size, t))
    return [(value - t * error, value + t * error), tuple(expit(ends)), (low, high), exact]


def main() -> None:
    """Print a line a cell of the grid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--design", type=Path)
    parser.add_argument("--kind")
    parser.add_argument("--roles", type=int, nargs="*", default=ROLES)
    parser.add_argument("--rates", type=float, nargs="*", default=RATES)
    given = parser.parse_args()
    design = of_run(given.design, given.kind) if given.design else of_benchmark()
    rng = np.random.default_rng(given.seed)
    print(f"{len(np.unique(design[1]))} comparisons of {len(design[0])} questions; columns: " + ", ".join(METHODS))
    print("roles  rate   icc  comparisons | coverage in % | widths | type I in %: two-way, roles")
    for each in given.roles:
        for rate in given.rates:
            for icc in ICCS:
                for of_comparison in COMPARISONS:
                    hits, widths, rejected = simulate(rng, given.rounds, design, (each, rate, icc, of_comparison))
                    print(
                        f"{11 * each:5} {rate:5} {icc:5} {of_comparison:5} | "
                        + " ".join(f"{100 * hit:5.1f}" for hit in hits)
                        + " | "
                        + " ".join(f"{width:.3f}" for width in widths)
                        + " | "
                        + " ".join(f"{100 * share:4.1f}" for share in rejected),
                        flush=True,
                    )


def of_run(path: Path, kind: str | None) -> Design:
    """Role, comparison and attribute of the questions of a run."""
    questions = read_run(path).questions
    chosen = questions.select(kind=kind and Kind(kind))
    return questions.role[chosen], questions.comparison[chosen], questions.attribute[chosen]


def of_benchmark() -> Design:
    """The same of the shipped benchmark."""
    questions = shipped().questions
    names = (
        [(q.role.attribute, q.role.name) for q in questions],
        [compared(q.groups, q.target, phrases=True) for q in questions],
        [q.role.attribute for q in questions],
    )
    role, comparison, attribute = (np.unique(values, axis=0, return_inverse=True)[1].ravel() for values in names)
    return role, comparison, attribute


def simulate(rng: np.random.Generator, rounds: int, design: Design, cell: Cell) -> tuple[Floats, Floats, Floats]:
    """Coverage and mean width of each method, and the shares of rejections with and without comparisons."""
    each, rate, icc, of_comparison = cell
    of_role = latent(icc, rate)
    of_comparison = min(of_comparison, 0.98 - of_role)
    threshold = -ndtri(rate)
    hits, widths, rejected = np.zeros(len(METHODS)), np.zeros(len(METHODS)), np.zeros(2)
    layouts = 1 if each == 50 else LAYOUTS
    for _ in range(layouts):
        role, comparison, attribute = drawn(rng, *design, each)
        ones = np.ones(len(role))
        two = Layout(ones, Clusters(role, comparison, attribute))
        one = Layout(ones, Clusters(role, None, attribute))
        role, comparison = two.role, two.comparison
        kish = len(role) ** 2 / np.square(np.bincount(role)).sum()
        for _ in range(rounds // layouts):
            answers = []
            shared = effects(rng, two)
            for _ in range(2):
                own = effects(rng, two)
                a, c = (np.sqrt(0.5) * (both + alone) for both, alone in zip(shared, own, strict=True))
                noise = np.sqrt(1 - of_role - of_comparison) * rng.standard_normal(len(role))
                y = np.sqrt(of_role) * a[role] + np.sqrt(of_comparison) * c[comparison] + noise > threshold
                answers.append(y.astype(float))
            y = answers[0]
            value = float(y.mean())
            found = two.spread(y)
            bounds = intervals(value, found.variance, found.freedom, kish, len(y))
            single = one.spread(y)
            bounds.append(intervals(value, single.variance, single.freedom, kish, len(y))[2])
            hits += [low <= rate <= high for low, high in bounds]
            widths += [min(high, 1) - max(low, 0) for low, high in bounds]
            rejected += [mean_in(layout, answers[0] - answers[1]).p < 0.05 for layout in (two, one)]
    done = layouts * (rounds // layouts)
    return hits / done, widths / done, rejected / done


def effects(rng: np.random.Generator, layout: Layout) -> tuple[Floats, Floats]:
    """Standard normal effects of roles and comparisons."""
    return rng.standard_normal(layout.roles), rng.standard_normal(layout.comparisons)


def drawn(rng: np.random.Generator, role: Codes, comparison: Codes, attribute: Codes, each: int) -> Design:
    """The questions of so many roles of each attribute."""
    names, first = np.unique(role, return_index=True)
    of = attribute[first]
    kept = np.concatenate([rng.permutation(names[of == code])[:each] for code in np.unique(of)])
    inside = np.isin(role, kept)
    return role[inside], comparison[inside], attribute[inside]


if __name__ == "__main__":
    main()
