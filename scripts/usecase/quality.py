"""Measure the offline scorers on texts written for it: `python scripts/usecase/quality.py [--part tuning] [--wrong]`.

Half of each category of texts, drawn by a fixed seed, was held out while the first rules were made, and looked at
later, as was a set written then. The unseen texts were written after all work on the rules: theirs are the numbers to
quote.
"""

from __future__ import annotations

import argparse
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from biaslens.settings import load_settings
from biaslens.usecase._offline import mark, sentences
from biaslens.usecase._scoring import open_scorer

DATA = Path(__file__).resolve().parents[2] / "tests" / "usecase" / "data"
SEED = 20261121
PARTS = ("tuning", "held-out", "later", "unseen")

Score = Callable[[Sequence[str]], NDArray[np.float64]]


@dataclass(frozen=True)
class Item:
    """A text, its category, and whether it is toxic or a stereotype."""

    text: str
    category: str
    positive: bool


def load(kind: str, part: str) -> list[Item]:
    """Items of one part: each category is shuffled by the seed, and its second half is held out."""
    file = f"{kind}_{part}.toml" if part in ("later", "unseen") else f"{kind}.toml"
    categories = tomllib.loads((DATA / file).read_text(encoding="utf-8"))
    label = {"toxicity": "toxic", "stereotype": "stereotype"}[kind]
    found = []
    for name, category in categories.items():
        texts = random.Random(f"{SEED} {kind} {name}").sample(category["texts"], len(category["texts"]))
        middle = len(texts) // 2
        chosen = {"tuning": texts[:middle], "held-out": texts[middle:]}.get(part, texts)
        found += [Item(text, name, bool(category[label])) for text in chosen]
    return found


def auc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Chance that a positive text scores higher than a negative one, ties counted half (Mann-Whitney)."""
    above = rankdata(scores)[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return float(above / (positive.sum() * (~positive).sum()))


def table(items: Sequence[Item], scorers: dict[str, Score]) -> list[str]:
    """Lines of a Markdown table: accuracy at 0.5, AUC and the share scored 0.5 or more in each category."""
    positive = np.array([item.positive for item in items])
    scores = {name: np.asarray(score([item.text for item in items])) for name, score in scorers.items()}
    lines = [f"| {len(items)} texts | {' | '.join(scores)} |", f"|---|{'---:|' * len(scores)}"]

    def line(name: str, value: Callable[[NDArray[np.float64]], float], form: str) -> None:
        lines.append(f"| {name} | {' | '.join(form.format(value(score)) for score in scores.values())} |")

    line("accuracy at 0.5", lambda score: float(((score >= 0.5) == positive).mean()), "{:.3f}")
    line("AUC", lambda score: auc(score, positive), "{:.3f}")
    line("found of the positive", lambda score: float((score[positive] >= 0.5).mean()), "{:.3f}")
    line("false alarms of the negative", lambda score: float((score[~positive] >= 0.5).mean()), "{:.3f}")
    for category in dict.fromkeys(item.category for item in items):
        inside = np.array([item.category == category for item in items])
        sign = "+" if positive[inside][0] else "-"
        line(
            f"{sign} {category} ({inside.sum()})",
            lambda score, inside=inside: float((score[inside] >= 0.5).sum()),
            "{:.0f}",
        )
    return lines


def raw_toxicity(texts: Sequence[str]) -> NDArray[np.float64]:
    """The package as it is."""
    from profanity_check import predict_prob

    return np.asarray(predict_prob(list(texts)))


def by_sentence(texts: Sequence[str], change: Callable[[str], str] = str) -> NDArray[np.float64]:
    """The package's highest score of a sentence."""
    return np.array([raw_toxicity([change(part) for part in sentences(text)]).max() for text in texts])


def without_groups(texts: Sequence[str]) -> NDArray[np.float64]:
    """The same with words for groups taken out."""
    return by_sentence(texts, lambda part: re.sub("GROUPS|MEMBER|BELONGING", " ", mark(part)))


def scorers_of(kind: str) -> dict[str, Score]:
    """The scorers to compare, by the name of their column."""
    ours = open_scorer(kind, "offline", load_settings())
    columns: dict[str, Score] = {}
    if kind == "toxicity":
        columns = {"alt-profanity-check": raw_toxicity, "by sentence": by_sentence, "groups out": without_groups}
    return {**columns, "offline scorer": ours.score}


def report(kind: str, part: str, *, wrong: bool) -> None:
    """Print the table of one part, and where asked its texts on the wrong side of 0.5."""
    items = load(kind, part)
    scorers = scorers_of(kind)
    print(f"### {kind.capitalize()}, {part}\n")
    print("\n".join(table(items, scorers)), end="\n\n")
    if wrong:
        for item, score in zip(items, scorers["offline scorer"]([item.text for item in items]), strict=True):
            if (score >= 0.5) != item.positive:
                print(f"{score:.2f} {item.category}: {item.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=["unseen"])
    parser.add_argument("--wrong", action="store_true", help="list the texts on the wrong side of 0.5")
    options = parser.parse_args()
    for kind in ("toxicity", "stereotype"):
        for part in options.part:
            report(kind, part, wrong=options.wrong)


if __name__ == "__main__":
    main()
