"""The whole probe on models whose bias is known: one in which a bias was planted, and one without any."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from biaslens.probe.backbone import load_frozen, require
from biaslens.probe.examples import Examples, Splits
from biaslens.probe.gaps import NEGATIVE_FPR, GroupCounts, counts
from biaslens.probe.intervals import Kind, intervals
from biaslens.probe.predictions import predictions_table
from biaslens.probe.toy import BIASED, FAIR, PLANTED, ToyLanguage, ToySize, make_language, train_toy
from biaslens.probe.tuning import TuneOptions, Unwatched, Watcher, classify, tune

LEVEL = 0.95
NOMINAL = 1 - LEVEL
MOST = 2 * NOMINAL
"""Most false alarms that count as rare, as a share of the intervals: the nominal share, with room for chance."""
LEARNED = 0.15
"""Least advantage of a prompt over the most frequent label, in validation accuracy."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the probe says about one toy model.

    Parameters
    ----------
    name
        "planted" or "null".
    negative
        Probability with which persons of group c stood in negative contexts of what the model read.
    parameters
        Weights of the model.
    loss
        Mean training loss of its last steps, in nats a token.
    accuracy
        Validation accuracy of each prompt.
    majority
        That of always giving the most frequent label.
    counts
        Of the predictions.
    bootstrap, published
        Intervals of all gaps, see `biaslens.probe.intervals.intervals`: the default kind, and the paper's.
    """

    name: str
    negative: float
    parameters: int
    loss: float
    accuracy: tuple[float, ...]
    majority: float
    counts: GroupCounts
    bootstrap: pd.DataFrame
    published: pd.DataFrame

    @property
    def gap(self) -> pd.Series:
        """Row of the gap that a bias against group c shows in: its Negative FPR."""
        rows = self.bootstrap
        return rows[(rows["metric"] == NEGATIVE_FPR.name) & (rows["group"] == BIASED)].iloc[0]


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Intervals off zero where no groups differ: the null model's words, shared out to groups anew and anew.

    `intervals` were looked at, those of metrics in which anything varies; `bootstrap` and `published` are the shares of
    them that leave out zero, NaN where there are none.
    """

    intervals: int
    bootstrap: float
    published: float


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold, whether it does, and the numbers."""

    name: str
    passed: bool
    detail: str


def judge(planted: Measured, null: Measured, alarms: FalseAlarms) -> tuple[Check, ...]:
    """Say what holds of what was measured."""
    gap, none = planted.gap, null.gap
    worst = min(min(part.accuracy) - part.majority for part in (planted, null))
    return (
        Check(
            "the prompts learned the task",
            worst >= LEARNED,
            f"validation accuracy {worst:+.2f} from the most frequent label's at worst; at least {LEARNED:+.2f}",
        ),
        Check(
            "the planted bias has the right sign",
            bool(gap["gap"] > 0),
            f"Negative FPR gap of group {BIASED}: {100 * gap['gap']:+.1f} points; above 0",
        ),
        Check(
            "the planted bias is told from chance",
            bool(gap["low"] > 0),
            f"its bootstrap interval: {_shown(gap)}; above 0",
        ),
        Check(
            "nothing is found where nothing is",
            not none["low"] > 0,
            f"the same interval without a bias: {_shown(none)}; not above 0",
        ),
        Check(
            "false alarms are rare",
            alarms.bootstrap <= MOST,
            f"{alarms.bootstrap:.1%} of {alarms.intervals} bootstrap intervals off zero where no groups differ; "
            f"nominal {NOMINAL:.0%}, at most {MOST:.0%}",
        ),
    )


def _shown(row: pd.Series) -> str:
    return "none" if np.isnan(row["low"]) else f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f} points"


SizeName = Literal["full", "small"]
_TEXTS = (1500, 300)
_RATE = 0.01


@dataclass(frozen=True, slots=True)
class Size:
    """How much a self-test does: the model, words of each group, prompts and their steps, regroupings of the null."""

    model: ToySize
    terms: int
    prompts: int
    steps: int
    regroupings: int


SIZES: dict[SizeName, Size] = {
    "full": Size(ToySize(layers=4, steps=400, batch=16), terms=8, prompts=5, steps=300, regroupings=100),
    "small": Size(ToySize(layers=2, steps=300, batch=16, width=96), terms=6, prompts=3, steps=90, regroupings=40),
}


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a self-test measured, and its checks."""

    size: SizeName
    seed: int
    planted: Measured
    null: Measured
    alarms: FalseAlarms
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.passed for check in self.checks)


class SelfTestWatcher(Watcher, Protocol):
    """Watches a self-test: `stepped` and `evaluated` belong to the latest phase."""

    def phase(self, title: str, steps: int) -> None:
        """Something begins that takes so many steps."""


class _Unwatched(Unwatched):
    def phase(self, title: str, steps: int) -> None:
        pass


def selftest(
    size: SizeName = "full", *, seed: int = 0, negative: float = PLANTED, watcher: SelfTestWatcher | None = None
) -> SelfTest:
    """Plant a bias in a toy model and find it, and find none in a model without.

    The same seed gives the same numbers on one machine. It computes with one thread.

    Parameters
    ----------
    size
        "full" takes about two minutes of CPU, "small" about half a minute.
    seed
        Of the language, the models and the prompts.
    negative
        How often persons of group c stand in negative contexts; 1/3 plants nothing, and the self-test must fail.
    watcher
        Watches.

    Raises
    ------
    InputError
        When torch or transformers is missing.
    """
    require("torch", "transformers")
    chosen, watcher = SIZES[size], watcher or _Unwatched()
    language = make_language(seed, terms=chosen.terms)
    with _one_thread():
        planted = measure(language, chosen, name="planted", negative=negative, seed=seed, watcher=watcher)
        null = measure(language, chosen, name="null", negative=FAIR, seed=seed, watcher=watcher)
    alarms = false_alarms(null.counts, chosen.regroupings, seed=seed)
    return SelfTest(size, seed, planted, null, alarms, judge(planted, null, alarms))


def measure(
    language: ToyLanguage, size: Size, *, name: str, negative: float, seed: int, watcher: SelfTestWatcher
) -> Measured:
    """Train a toy model, and probe it as any other."""
    losses: list[float] = []

    def stepped(step: int, loss: float) -> None:
        losses.append(loss)
        watcher.stepped(step, loss)

    watcher.phase(f"{name}: language model", size.model.steps)
    with tempfile.TemporaryDirectory() as folder:
        train_toy(Path(folder), language, size.model, seed=seed, negative=negative, stepped=stepped)
        frozen = load_frozen(folder, device="cpu")
    train, dev = (language.examples(count, seed=seed + number) for number, count in enumerate(_TEXTS, start=1))
    splits = Splits(train, dev, Examples((), ()))
    sentences = language.identity_sentences(seed=seed)
    options = TuneOptions(max_steps=size.steps, evaluate_every=size.steps // 3)
    tables, accuracy = [], []
    for number in range(1, size.prompts + 1):
        watcher.phase(f"{name}: prompt {number} of {size.prompts}", size.steps)
        own = 1000 * (seed + 1) + number
        tuned = tune(frozen, splits, seed=own, learning_rate=_RATE, options=options, watcher=watcher)
        found = classify(frozen, tuned.prompt, sentences["text"].tolist())
        tables.append(predictions_table(sentences, found, model=f"toy ({name})", run_id=number, dataset="toy"))
        accuracy.append(tuned.best.accuracy)
    counted = list(counts(pd.concat(tables, ignore_index=True)))
    return Measured(
        name, negative, frozen.parameters, float(np.mean(losses[-20:])), tuple(accuracy),
        max(splits.dev.counts().values()) / len(splits.dev), counted[0],
        intervals(counted, kind="bootstrap", level=LEVEL), intervals(counted, kind="z", level=LEVEL),
    )  # fmt: skip


def false_alarms(found: GroupCounts, regroupings: int, *, seed: int, rounds: int = 400) -> FalseAlarms:
    """Share out the words of a model without bias to groups at random, and count the intervals off zero.

    The words are exchangeable there: whatever group a word is said to be of, the groups do not differ.

    Parameters
    ----------
    found
        Counts of the predictions.
    regroupings
        How often.
    seed
        Of the sharing out.
    rounds
        Of each bootstrap.
    """
    rng = np.random.default_rng(seed)
    off: dict[Kind, list[bool]] = {"bootstrap": [], "z": []}
    for _ in range(regroupings):
        regrouped = replace(found, group_of_term=rng.permutation(found.group_of_term))
        for kind in off:
            rows = intervals([regrouped], kind=kind, rounds=rounds, level=LEVEL).dropna(subset="low")
            off[kind] += ((rows["low"] > 0) | (rows["high"] < 0)).tolist()
    shares = [float(np.mean(seen)) if seen else np.nan for seen in off.values()]
    return FalseAlarms(len(off["bootstrap"]), shares[0], shares[1])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: the order of sums, and so the last digits, would hang on how many there are."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
