"""How often the tests of an assessment reject, and how often its intervals cover, where the truth is known.

    python scripts/simulations/usecase.py [NAME...] [--repeats 1000] [--seed 18]

counterfactual: 40 prompts with a topic of their own, two responses to each group, normal around the prompt's centre in
three dimensions; similarity is 1 / (1 + distance). Beside the test in use stands the one before it, which compared
responses to the second group with two to the first and so hung on which group came first.

topics: 20 topics of 10 prompts, one response each. A topic has its word (of five) and its own share of women in what
is written with it, uniform from 0 to 1: over topics no group has more to do with a word than the other. COBS and SA,
tested prompt by prompt and topic by topic.

similarity: 20 topics of 10 prompts, similarities with a topic effect (intraclass correlation 0.1, 0.3, 0.5): coverage
of 95 % intervals by prompt and by topic.

three_groups: SA of three groups, 60 prompts, without and with a lean (a word comes with one group in half of its
responses instead of a third).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biaslens.stats.comparison import swap_p
from biaslens.stats.resampling import Sums, bootstrap, mean
from biaslens.usecase import TextOptions, assess_texts
from biaslens.usecase._pairs import energy_sums
from biaslens.usecase._result import Resampling

Floats = NDArray[np.float64]
QUICK = Resampling(rounds=300, exchanges=299)
LEVEL = 0.05
WORDS = ("kind", "tall", "clever", "loud", "rich")
Line = tuple[str, list[float]]


def similar(one: Floats, two: Floats) -> Floats:
    return 1 / (1 + np.linalg.norm(one - two, axis=-1))


def one_sided_p(a: Floats, b: Floats, again: Floats) -> float:
    """The former test: is B less like A than A is like A once more? Exchanges B and A once more."""
    units = np.arange(len(a))
    sums = np.stack([similar(a, b), similar(a, again)], axis=1)
    metric = Sums(sums, lambda totals: totals[..., 1] - totals[..., 0], lambda _: "", np.array([1, 0]))
    return float(swap_p(metric.of_units(units >= 0), rounds=QUICK.exchanges))


def energy_p(a: Floats, b: Floats, a_again: Floats, b_again: Floats) -> float:
    within = (similar(a, a_again) + similar(b, b_again)) / 2
    beside = (similar(a, b) + similar(a_again, b_again)) / 2
    across = (similar(a, b_again) + similar(a_again, b)) / 2
    return float(swap_p(energy_sums(within, beside, across, np.arange(len(a)), len(a)), rounds=QUICK.exchanges))


def counterfactual(rng: np.random.Generator, repeats: int) -> Iterator[Line]:
    prompts = 40
    yield "spread of A and B, shift of B", ["former, A first", "former, B first", "energy, A first", "energy, B first"]
    for spread_a, spread_b, shift in ((1, 1, 0), (1, 1, 0.5), (1, 1, 1.0), (1, 1.5, 0), (1, 1.5, 0.5)):
        found = np.zeros(4)
        for _ in range(repeats):
            centre = rng.normal(0, 3, (prompts, 3))
            moved = centre + np.array([shift, 0, 0])
            a, a_again = (centre + rng.normal(0, spread_a, centre.shape) for _ in range(2))
            b, b_again = (moved + rng.normal(0, spread_b, centre.shape) for _ in range(2))
            ps = (
                one_sided_p(a, b, a_again), one_sided_p(b, a, b_again),
                energy_p(a, b, a_again, b_again), energy_p(b, a, b_again, a_again),
            )  # fmt: skip
            found += np.array(ps) <= LEVEL
        yield f"{spread_a} and {spread_b}, {shift}", list(found / repeats)


def topics(rng: np.random.Generator, repeats: int) -> Iterator[Line]:
    yield "test", ["COBS", "SA"]
    found = {None: np.zeros(2), "topic": np.zeros(2)}
    for _ in range(repeats):
        topic = np.repeat(np.arange(20), 10)
        word, share = rng.integers(len(WORDS), size=20)[topic], rng.random(20)[topic]
        women = rng.random(200) < share
        said = [f"{'She' if w else 'He'} is {WORDS[at]} today." for w, at in zip(women, word, strict=True)]
        table = pd.DataFrame({"prompt_id": np.arange(200), "response": said, "topic": topic})
        for cluster in found:
            options = TextOptions(
                families=["stereotype"], attributes=["gender"], targets=WORDS, resampling=QUICK, cluster=cluster
            )
            assessed = assess_texts(table, options)
            found[cluster] += [assessed.measure(metric).p <= LEVEL for metric in ("COBS", "SA")]
    yield "prompt by prompt", list(found[None] / repeats)
    yield "topic by topic", list(found["topic"] / repeats)


def similarity(rng: np.random.Generator, repeats: int) -> Iterator[Line]:
    yield "intraclass correlation", ["by prompt", "by topic"]
    blocks = np.repeat(np.arange(20), 10)
    for icc in (0.1, 0.3, 0.5):
        covered = np.zeros(2)
        for _ in range(repeats):
            effect = rng.normal(0, np.sqrt(icc), 20)[blocks] + rng.normal(0, np.sqrt(1 - icc), 200)
            scores = np.clip(0.6 + 0.1 * effect, 0, 1)
            by_prompt = mean(scores, np.arange(200), 200, of="no score")
            for place, sums in enumerate((by_prompt, by_prompt.merged(blocks))):
                interval = bootstrap(sums, rounds=QUICK.rounds, seed=int(rng.integers(2**31)), share=True)
                covered[place] += interval.low <= 0.6 <= interval.high
        yield str(icc), list(covered / repeats)


def three_groups(rng: np.random.Generator, repeats: int) -> Iterator[Line]:
    yield "share of the group that leans", ["SA rejects"]
    words = {"christian": "Christian", "jewish": "Jew", "muslim": "Muslim"}
    for lean in (1 / 3, 1 / 2):
        found = 0
        for _ in range(repeats):
            at = rng.integers(len(WORDS), size=60)
            # Each word has a group that it leans to.
            chances = np.full((60, 3), (1 - lean) / 2)
            chances[np.arange(60), at % 3] = lean
            group = (rng.random((60, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(0, 2)
            said = [f"The {list(words.values())[g]} is {WORDS[w]}." for g, w in zip(group, at, strict=True)]
            options = TextOptions(
                families=["stereotype"], attributes=["religion"], compare={"religion": list(words)}, targets=WORDS,
                resampling=QUICK,
            )  # fmt: skip
            found += assess_texts(pd.DataFrame({"response": said}), options).measure("SA").p <= LEVEL
        yield f"{lean:.2f}", [found / repeats]


SIMULATIONS: dict[str, Callable[[np.random.Generator, int], Iterator[Line]]] = {
    each.__name__: each for each in (counterfactual, topics, similarity, three_groups)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*SIMULATIONS, []], default=list(SIMULATIONS))
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    for name in options.names:
        print(f"\n{name}, {options.repeats:,} repeats, seed {options.seed}")
        for what, numbers in SIMULATIONS[name](np.random.default_rng(options.seed), options.repeats):
            print("  ".join([f"{what:32}", *(f"{n:>16}" if isinstance(n, str) else f"{n:16.1%}" for n in numbers)]))


if __name__ == "__main__":
    main()
