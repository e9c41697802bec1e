"""Draw a stratified sample of a run's answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from heapq import heapify, heappop, heappush
from math import ceil, nan, sqrt
from pathlib import Path
from typing import NamedTuple

from scipy.special import ndtri

from biaslens import __version__, runfile
from biaslens.annotation.folder import Item, Placed, Sample, answers_hash
from biaslens.errors import InputError
from biaslens.runfile import ACTIVE_PANEL, Store, reading_evaluation
from biaslens.schema import Condition, Kind, content_hash

SURE = 0.95
"""From which probability on, that an answer is biased or that it is not, the local judge counts as sure."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Answers that are drawn from with equal chances."""

    #: what was asked of whom
    kind: Kind
    condition: Condition
    attribute: str
    outcome: str  #: by the oracle
    certainty: str  #: of the local judge: "sure", "unsure", or "" for what it has not read
    keys: Sequence[str]  #: of the responses, ascending

    @property
    def name(self) -> str:
        """What distinguishes it: "why/role/age/biased/unsure"."""
        return "/".join(filter(None, (self.kind, self.condition, self.attribute, self.outcome, self.certainty)))


Strata = Mapping[Kind, Sequence[Stratum]]
"""By kind, where there is any answer, in the order of their names."""

LeftOut = Mapping[Kind, Mapping[str, int]]
"""By kind: planned answers that nobody can label, because they are "not answered", "empty" or "not judged"."""


def read_population(
    store: Store, panel: str, *, kinds: Collection[Kind], conditions: Collection[Condition]
) -> tuple[Strata, LeftOut]:
    """Read which answers there are, judged by the rules and by a panel."""
    found: dict[tuple[str, str, str, str, str], list[str]] = defaultdict(list)
    left_out: dict[Kind, Counter[str]] = defaultdict(Counter)
    wanted = {(str(kind), str(condition)) for kind in kinds for condition in conditions}
    for key, kind, condition, attribute, outcome, probability, fault in runfile.candidates(store, panel):
        if (kind, condition) not in wanted:
            continue
        if fault is not None:
            left_out[Kind(kind)][fault] += 1
        elif outcome is not None:
            found[kind, condition, attribute, outcome, _certainty(kind, probability)].append(key)
    strata: dict[Kind, list[Stratum]] = {}
    for (kind, condition, attribute, outcome, certainty), keys in sorted(found.items()):
        stratum = Stratum(Kind(kind), Condition(condition), attribute, outcome, certainty, keys)
        strata.setdefault(stratum.kind, []).append(stratum)
    return (
        {kind: strata[kind] for kind in Kind if kind in strata},
        {kind: dict(sorted(left_out[kind].items())) for kind in Kind if kind in left_out},
    )


def _certainty(kind: str, probability: float | None) -> str:
    if kind != Kind.WHY or probability is None:
        return ""
    return "sure" if probability >= SURE or 1 - probability >= SURE else "unsure"


FLOOR = 2
"""Fewest answers of a stratum, where it has so many and the sample allows: fewer tell no variance."""


def sample_size(population: int, *, margin: float = 0.05, confidence: float = 0.95) -> int:
    r"""Answers to label so that a share is known to a margin, whatever it is.

    Cochran (*Sampling Techniques*, 3rd edition, 1977, section 4.4) with a share of one half: :math:`n_0 = z^2 / 4 e^2`,
    and for a finite population :math:`n = n_0 / (1 + (n_0 - 1) / N)`, always rounded up.

    The published study labelled 372 of 10,975 yes/no and 372 of 10,917 choice questions, which is this (371.2 and
    371.1, rounded up). Its 384 why answers are not 372 of 10,972: :math:`n_0` is 384.16 with z = 1.96 and would round
    up to 385. They are :math:`n_0` rounded to the nearest number, or else this formula for any population from 128,063
    to 1,008,540, such as the 197,496 answers of six models in three trials (383.4). The study does not say which.

    The margin is half the width of the interval, in (0, 0.5), and `confidence` its level, in (0, 1); where they make no
    sense it is an InputError.

    >>> sample_size(10_975), sample_size(10_917), sample_size(197_496), sample_size(100), sample_size(0)
    (372, 372, 384, 80, 0)
    """
    if not 0 < margin < 0.5:
        raise InputError(f"margin: {margin} is not between 0 and 0.5; 0.05 is usual")
    square = _quantile(confidence) ** 2
    # The same formula without n0, which is too large to be a number for the smallest margins.
    return ceil(population * square / (square + 4 * margin**2 * max(0, population - 1)))


def margin_of(strata: Mapping[str, int], drawn: Mapping[str, int], *, confidence: float = 0.95) -> float:
    r"""Margin that a stratified sample reaches at worst, for a share of one half in every stratum.

    :math:`z \sqrt{\sum_h (N_h / N)^2 \frac{N_h - n_h}{N_h - 1} \frac{1}{4 n_h}}` (Cochran, section 5.10). With a single
    stratum it is the inverse of `sample_size`. Shares that strata tell apart, as outcomes do the agreement with an
    oracle, are known better.

    `strata` are the answers there are, and `drawn` those drawn, by stratum. It is NaN where a stratum has answers and
    none of them was drawn: the sample says nothing about it.

    >>> round(margin_of({"all": 10_975}, {"all": 372}), 5)
    0.04994
    """
    quantile, population = _quantile(confidence), sum(strata.values())
    if not population or any(held and not drawn[name] for name, held in strata.items()):
        return nan
    variance = sum(
        (held / population) ** 2 * (held - drawn[name]) / (held - 1) / (4 * drawn[name])
        for name, held in strata.items()
        if held > 1
    )
    return quantile * sqrt(variance)


def allocate(strata: Mapping[str, int], size: int) -> dict[str, int]:
    r"""Spread a sample over strata: two of each, then about as the square roots of their sizes.

    Two aims pull apart. A share of all answers is known best where strata get their share of the sample; how an oracle
    does on what is rare (the answers that it calls biased, an attribute) is known best where all strata get the same.
    Square roots stand between them (power allocation with exponent one half: Bankier, *The American Statistician* 42,
    1988). On the imported runs a proportional sample of 380 yes/no answers holds 22 to 50 that were called biased, this
    one 52 to 93, while `margin_of` grows by 0.005 at most. Weights of one over the inclusion probability make up for
    the unequal shares.

    Numbers are whole: answers are given out one by one, each to the stratum with the largest :math:`N_h / n_h (n_h +
    1)`, which makes :math:`\sum_h N_h / n_h` as small as can be (Wright, *Statistics and Probability Letters* 129,
    2017). So a larger sample takes no less of any stratum than a smaller one, which rounding would not promise.

    Each stratum gives at least `FLOOR` answers or all it has, as far as `size` allows (else the largest strata first),
    never more than it has, and all together give `size`, or all answers where there are not so many. The same strata in
    another order get the same.

    >>> allocate({"a": 100, "b": 900, "c": 1}, 45)
    {'a': 11, 'b': 33, 'c': 1}
    """
    drawn = dict.fromkeys(sorted(strata), 0)
    # The next of each stratum: those under the floor first, then by what they are worth, then by name.
    queue = [(0, -float(held), name) for name, held in strata.items() if held]
    heapify(queue)
    for _ in range(min(size, sum(strata.values()))):
        *_, name = heappop(queue)
        drawn[name] += 1
        held, count = strata[name], drawn[name]
        if count < held:
            heappush(queue, (min(count, FLOOR), -held / (count * (count + 1)), name))
    return drawn


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"confidence: {confidence} is not between 0 and 1; 0.95 is usual")
    return float(ndtri((1 + confidence) / 2))


class KindSize(NamedTuple):
    """Answers of a kind that there are, those drawn, and the margin that these give (see `margin_of`)."""

    population: int
    size: int
    margin: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample and what it is of."""

    sample: Sample  #: what `write_folder` writes
    sizes: Mapping[Kind, KindSize]  #: by kind, where there is something to draw
    left_out: LeftOut


def draw(
    run: Path,
    *,
    kinds: Collection[Kind] = tuple(Kind),
    conditions: Collection[Condition] = tuple(Condition),
    panel: str | None = None,
    margin: float = 0.05,
    confidence: float = 0.95,
    size: int | None = None,
    seed: int = 0,
) -> Drawn:
    """Draw a stratified random sample of a run's answers, so large for each kind that a share is known to a margin.

    What is drawn is an answer: one trial of one question in one condition. Strata are kind, condition, attribute of the
    role, outcome by the oracle, and for why answers that the local judge has read whether it is sure. Within a stratum
    it is a simple random sample without replacement, so the inclusion probability of an answer is the share of its
    stratum that is drawn, exactly; `allocate` says how many those are. Several trials of one question may be drawn.

    Which answers are drawn, and the order in which they are shown, hang on their keys and the seed only. The same run
    gives the same sample, a kind the same alone as among others, and a larger size the smaller one and more.

    The verdicts of a panel on why answers make the strata, of the active one if not given. For each kind apart the
    sample has `size` answers, or as many as `sample_size` says.

    Raises `InputError` when there is nothing to draw, no such panel, or a number makes no sense; `StorageError` when
    the run cannot be read.
    """
    if size is not None and size < 1:
        raise InputError(f"size: at least 1, not {size}")
    with reading_evaluation(run) as store:
        meta = store.meta()
        panel = _known(store, panel) if panel is not None else meta.get(ACTIVE_PANEL)
        strata, left_out = read_population(store, panel or "", kinds=kinds, conditions=conditions)
        held = {kind: {stratum.name: len(stratum.keys) for stratum in of_kind} for kind, of_kind in strata.items()}
        wanted = {
            kind: size or sample_size(sum(answers.values()), margin=margin, confidence=confidence)
            for kind, answers in held.items()
        }
        design = tuple(sorted(_design(strata, held, wanted, seed), key=lambda placed: placed.key))
        if not design:
            raise InputError(f"{run}: {_nothing(left_out)}")
        shown = sorted((placed.key for placed in design), key=lambda key: content_hash("show", seed, key))
        items = tuple(Item(*runfile.shown(store, key)) for key in shown)
    drawn = Counter(placed.stratum for placed in design)
    asked = {stratum.condition for of_kind in strata.values() for stratum in of_kind}
    info = {
        "sample": content_hash("sample", [astuple(placed) for placed in design], [asdict(item) for item in items]),
        # Keys are of what was asked: another run of the same model has the same ones, and other answers.
        "answers_hash": answers_hash((item.key, item.answer) for item in items),
        "run": run.name,
        **{name: meta.get(name) for name in ("model", "benchmark_hash")},
        "panel": panel,
        "seed": seed,
        "margin": None if size else margin,
        "confidence": confidence,
        "package_version": __version__,
        "conditions": [condition for condition in Condition if condition in asked],
        "kinds": list(strata),
        "population": sum(sum(answers.values()) for answers in held.values()),
        "size": len(design),
        "strata": [
            {"stratum": name, "population": count, "sampled": drawn[name]}
            for answers in held.values()
            for name, count in answers.items()
        ],
        "left_out": left_out,
    }
    sizes = {
        kind: KindSize(
            sum(answers.values()),
            sum(drawn[name] for name in answers),
            margin_of(answers, drawn, confidence=confidence),
        )
        for kind, answers in held.items()
    }
    return Drawn(Sample(info, items, design), sizes, left_out)


def _known(store: Store, panel: str) -> str:
    known = runfile.panels(store)
    if panel not in known:
        raise InputError(
            f"{store.path}: no panel {panel!r} has judged this run; there is: {', '.join(known) or 'none'}"
        )
    return panel


def _design(
    strata: Strata, held: Mapping[Kind, Mapping[str, int]], wanted: Mapping[Kind, int], seed: int
) -> Iterator[Placed]:
    for kind, of_kind in strata.items():
        counts = allocate(held[kind], wanted[kind])
        for stratum in of_kind:
            inclusion = counts[stratum.name] / len(stratum.keys)
            # A random order that hangs on nothing but key and seed.
            order = sorted(stratum.keys, key=lambda key: content_hash("draw", seed, key))
            for key in order[: counts[stratum.name]]:
                yield Placed(key, kind, stratum.attribute, stratum.condition, stratum.name, inclusion)


def _nothing(left_out: LeftOut) -> str:
    why = sum((Counter(counts) for counts in left_out.values()), Counter[str]())
    if not why:
        return "nothing is planned of these kinds and conditions; `biaslens evaluate` asks"
    found = ", ".join(f"{count:,} {fault}" for fault, count in sorted(why.items()))
    return f"no answer to draw ({found}); `biaslens evaluate` asks what is missing, `biaslens judge` judges why answers"
