"""Looking at a run while it grows: how often intervals hold the truth at all looks, and what an adaptive stop saves.

    python scripts/simulations/looks.py --rounds 500 --seed 1

The shipped benchmark, roles of each attribute in their order in 1, 2, 3, 5, 8, 12, 18, 27, 40 and 50 (the looks of
`biaslens evaluate --until-margin`); a true rate, an ICC of roles of 0.1, and comparisons with 0.28 of the latent
variance or none, as in coverage.py.
"""

from __future__ import annotations

import argparse

import numpy as np
from coverage import latent, of_benchmark
from scipy.special import ndtri

from biaslens.cli.planning import LOOKS
from biaslens.stats import Clusters, crossed_mean, crossed_rate
from biaslens.stats.intervals import always_valid

MARGINS = (0.02, 0.05)


def main() -> None:
    """Print coverage over all looks, rejections of a true null, and stops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rates", type=float, nargs="*", default=(0.1, 0.4))
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    role, comparison, attribute = of_benchmark()
    first = np.unique(role, return_index=True)[1]
    of_role = attribute[first]
    print(
        "rate comparisons | all looks held: ordinary, always-valid | true null rejected: ordinary, always-valid | stops"
    )
    for rate in given.rates:
        for of_comparison in (0.0, 0.28):
            share_of_role = latent(0.1, rate)
            held, rejected = np.zeros(2), np.zeros(2)
            stops = {margin: [0.0, 0.0] for margin in MARGINS}
            for _ in range(given.rounds):
                place = np.empty(len(of_role), dtype=int)
                for code in range(11):
                    members = np.flatnonzero(of_role == code)
                    place[members] = rng.permutation(len(members))
                answers = [
                    np.sqrt(share_of_role) * rng.standard_normal(len(first))[role]
                    + np.sqrt(of_comparison) * rng.standard_normal(comparison.max() + 1)[comparison]
                    + np.sqrt(1 - share_of_role - of_comparison) * rng.standard_normal(len(role))
                    > -ndtri(rate)
                    for _ in range(2)
                ]
                ok, told = np.ones(2, dtype=bool), np.zeros(2, dtype=bool)
                stopped: dict[float, tuple[bool, float]] = {}
                for look in LOOKS:
                    inside = place[role] < look
                    clusters = Clusters(role[inside], comparison[inside], attribute[inside])
                    found = crossed_rate(answers[0][inside], np.ones(inside.sum(), dtype=int), clusters)
                    low, high = always_valid(found)
                    ok &= [found.low <= rate <= found.high, low <= rate <= high]
                    difference = crossed_mean(answers[0][inside] * 1.0 - answers[1][inside], clusters)
                    below, above = always_valid(difference, share=False)
                    told |= [difference.p < 0.05, not below <= 0 <= above]
                    for margin in MARGINS:
                        if (high - low) / 2 < margin and margin not in stopped:
                            stopped[margin] = (low <= rate <= high, float(inside.mean()))
                held += ok
                rejected += told
                for margin in MARGINS:
                    hit, asked = stopped.get(margin, (ok[1], 1.0))
                    stops[margin][0] += hit
                    stops[margin][1] += asked
            percent = [f"{100 * value / given.rounds:.1f}" for value in (*held, *rejected)]
            margins = ", ".join(
                f"{100 * margin:.0f} points: holds in {100 * hit / given.rounds:.1f} %, "
                f"asks {100 * asked / given.rounds:.0f} %"
                for margin, (hit, asked) in stops.items()
            )
            print(
                f"{rate} {of_comparison} | {percent[0]} {percent[1]} | {percent[2]} {percent[3]} | {margins}",
                flush=True,
            )


if __name__ == "__main__":
    main()
