"""Coverage of intervals for a bias rate, and how often tests reject a true null: roles x rate x ICC x comparisons.

    python scripts/simulations/coverage.py --rounds 1000 --seed 1
    python scripts/simulations/coverage.py --rounds 1000 --seed 1 --design RUN.sqlite --kind choice

Each round draws roles from a benchmark (1, 5 or 50 of each attribute) with the questions they have, and which of these
compare the same groups: the shipped benchmark, or the questions of a run file, such as an imported run of the published
study. Roles and comparisons then get normal effects, and a question is biased where their sum and its own lies over a
threshold (probit), so that the rate is exact and the intraclass correlation of roles (on the scale of answers) is as
asked. Comparisons have 0.28 of the latent variance, as was found in the published answers (11 to 28 % of the variance
of answers at rates of 0.1 to 0.6), or none. For tests a second model of the same rate shares half of each effect.

Beside the methods of the package stands an oracle that knows what nobody does: the true variance of the mean, given the
questions drawn. Its interval (symmetric on the logit scale, and on that of the rate) and its test take normal
quantiles. What it misses no degrees of freedom can mend.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from biaslens.analysis import read_run
from biaslens.benchmark import shipped
from biaslens.benchmark.groups import compared
from biaslens.schema import Kind
from biaslens.stats.crossed import Clusters, Layout
from biaslens.stats.intervals import logit_bounds, mean_in, share_in

Floats, Codes = NDArray[np.float64], NDArray[np.int64]
Design = tuple[Codes, Codes, Codes]
"""Role, comparison and attribute of each question."""
Cell = tuple[int, float, float, float]
"""Roles of each attribute, rate, intraclass correlation of roles, latent share of comparisons."""

ROLES, RATES, ICCS, COMPARISONS = (1, 5, 50), (0.02, 0.1, 0.5), (0.05, 0.3), (0.0, 0.28)
METHODS = ("two-way", "roles alone", "oracle", "oracle on the scale of the rate")
LAYOUTS = 25


def excess(rho: float, rate: float) -> float:
    """Covariance of the exceedances of the rate's threshold by two normal variables with a correlation."""
    threshold = -ndtri(rate)
    both = multivariate_normal.cdf([-threshold, -threshold], cov=[[1, rho], [rho, 1]])
    return float(both) - rate**2


def latent(icc: float, rate: float) -> float:
    """Correlation of two normal variables whose exceedances of the rate's threshold are correlated by icc."""
    return float(brentq(lambda rho: excess(rho, rate) - icc * rate * (1 - rate), 0, 0.999))


def variances(layout: Layout, rate: float, of_role: float, of_comparison: float) -> tuple[float, float]:
    """True variance of a model's rate, and of the difference of two, given the questions."""
    both = np.unique(layout.role * layout.comparisons + layout.comparison, return_inverse=True)[1]
    items = float(layout.items)
    same = [
        float(np.square(np.bincount(codes).astype(float)).sum()) for codes in (layout.role, layout.comparison, both)
    ]
    shared = of_role + of_comparison
    pairs = ((same[0] - same[2], of_role), (same[1] - same[2], of_comparison), (same[2] - items, shared))
    own = items * rate * (1 - rate) + sum(count * excess(rho, rate) for count, rho in pairs)
    # Two models share half of each effect: what they share cancels.
    between = items * excess(shared / 2, rate) + sum(count * excess(rho / 2, rate) for count, rho in pairs)
    return own / items**2, 2 * (own - between) / items**2


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
    print("roles  rate   icc  comparisons | coverage in % | median width | type I in %: two-way, roles alone, oracle")
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
    """Coverage and median width of each method, and the shares of rejections by the tests."""
    each, rate, icc, of_comparison = cell
    of_role = latent(icc, rate)
    of_comparison = min(of_comparison, 0.98 - of_role)
    threshold = -ndtri(rate)
    hits, widths, rejected = [], [], []
    layouts = 1 if each == 50 else LAYOUTS
    for _ in range(layouts):
        role, comparison, attribute = drawn(rng, *design, each)
        ones = np.ones(len(role))
        two = Layout(ones, Clusters(role, comparison, attribute))
        one = Layout(ones, Clusters(role, None, attribute))
        role, comparison = two.role, two.comparison
        known, of_difference = variances(two, rate, of_role, of_comparison)
        for _ in range(rounds // layouts):
            answers = []
            shared = effects(rng, two)
            for _ in range(2):
                own = effects(rng, two)
                a, c = (np.sqrt(0.5) * (both + alone) for both, alone in zip(shared, own, strict=True))
                noise = np.sqrt(1 - of_role - of_comparison) * rng.standard_normal(len(role))
                y = np.sqrt(of_role) * a[role] + np.sqrt(of_comparison) * c[comparison] + noise > threshold
                answers.append(y.astype(float))
            found = [share_in(layout, answers[0]) for layout in (two, one)]
            bounds = [(each.low, each.high) for each in found]
            bounds += oracle(float(found[0]), known**0.5, bounds[0])
            hits.append([low <= rate <= high for low, high in bounds])
            widths.append([min(high, 1) - max(low, 0) for low, high in bounds])
            difference = answers[0] - answers[1]
            normal = abs(difference.mean()) > -ndtri(0.025) * of_difference**0.5
            rejected.append([*(mean_in(layout, difference).p < 0.05 for layout in (two, one)), normal])
    return np.mean(hits, axis=0), np.median(widths, axis=0), np.mean(rejected, axis=0)


def oracle(value: float, error: float, nothing: tuple[float, float]) -> list[tuple[float, float]]:
    """Bounds with the true error; those for `nothing` on the logit scale where all answers are alike."""
    reach = -ndtri(0.025) * error
    transformed = logit_bounds(value, error, np.inf, level=0.95) if 0 < value < 1 else nothing
    return [transformed, (value - reach, value + reach)]


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
