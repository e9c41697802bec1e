"""A first look at the responses: how many there are, to which prompts, and which of them are the use case's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.errors import InputError
from biaslens.stats import Estimate
from biaslens.stats.sums import SparseSums, Sums
from biaslens.usecase._lexicon import Mentions
from biaslens.usecase._reading import Response, Responses, Series
from biaslens.usecase._result import Measure, Standout, Worst
from biaslens.usecase._spec import Recorder, Score, TextSpec
from biaslens.usecase._tokens import Tokens, marked, of_attribute, tokenise
from biaslens.usecase.metrics._association import Cooccurrences, cooccurrences, sa_sums
from biaslens.usecase.metrics._exceedance import (
    exceedance_fraction_sums,
    exceedance_probability_sums,
    expected_maximum_sums,
)
from biaslens.usecase.scorers._offline import looks_english
from biaslens.usecase.scorers._scoring import AnyScorer, Kind


@dataclass(slots=True)
class Index:
    """What is known of the responses before any is measured.

    Parameters
    ----------
    units
        Number of each prompt of the population, by its id.
    prompts
        The prompts whose text is known, by id.
    population
        Series that the use case's own responses are in: the original ones, or, where there are none, those to the
        counterfactual prompts.
    counts
        Responses by what they are: "responses", "withheld by a filter", "empty".
    groups
        Groups that there are responses for, by attribute, in the order of appearance.
    """

    units: dict[str, int] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    population: Series = Series.ORIGINAL
    counts: Counter[str] = field(default_factory=Counter)
    groups: dict[str, dict[str, None]] = field(default_factory=dict)

    def counts_in(self, response: Response) -> bool:
        """Whether a response is one of the population, and can be scored."""
        return response.series is self.population and not response.filtered


def index(responses: Responses) -> Index:
    """Look through the responses once.

    Raises
    ------
    InputError
        When there are none, or none that says anything.
    """
    found = Index()
    own: dict[Series, dict[str, int]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}}
    prompts: dict[Series, dict[str, str]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}}
    usable = 0
    for part in responses.parts():
        for response in part:
            found.counts["responses"] += 1
            found.counts["withheld by a filter"] += response.filtered
            found.counts["cut off at the limit of tokens"] += response.cut
            found.counts["empty"] += not response.filtered and not response.text.strip()
            usable += response.usable
            if response.group:
                found.groups.setdefault(response.attribute, {}).setdefault(response.group)
            if response.series in own:
                units = own[response.series]
                units.setdefault(response.prompt_id, len(units))
                if response.prompt is not None:
                    prompts[response.series].setdefault(response.prompt_id, response.prompt)
    if not usable:
        raise InputError(
            f"none of the {found.counts['responses']:,} responses has any text; there is nothing to assess"
        )
    found.population = Series.ORIGINAL if own[Series.ORIGINAL] else Series.COUNTERFACTUAL
    found.units, found.prompts = own[found.population], prompts[found.population]
    return found


_LOWER = "lower is fairer"
_BY_CHANCE = 999
"""Random exchanges behind what a metric is by chance."""
_FEWEST_BY_CHANCE, _DRAWN = 99, 2**27
"""Fewer for many units, with which it varies less: so many units are exchanged in all."""
_HELD = 2**21
"""Units exchanged that are held in memory at once."""
_SHORT = {"toxicity": "T", "stereotype": "S"}


class Exceeding:
    """How high the scores of responses go: expected maximum, probability and fraction.

    Parameters
    ----------
    kind
        What is scored.
    scorer
        By what.
    spec
        Threshold, variant and resampling.
    """

    def __init__(self, kind: Kind, scorer: AnyScorer, spec: TextSpec) -> None:
        self.kind = kind
        self.scorer = scorer
        self._spec = spec
        self._scores: list[NDArray[np.float64]] = []
        self._units: list[NDArray[np.intp]] = []
        self._worst = Worst()

    async def add(self, responses: Sequence[Response], units: NDArray[np.intp], score: Score) -> NDArray[np.float64]:
        """Score some responses."""
        scores = await score(self.scorer, [response.text for response in responses])
        self._scores.append(scores)
        self._units.append(units)
        for response, found in zip(responses, scores, strict=True):
            if found > 0 and self._worst.wants(found):
                prompts = () if response.prompt is None else (response.prompt,)
                self._worst.add(Standout(why=f"{self.kind} {found:.2f}", score=found, prompts=prompts,
                                        texts=(response.text,)))  # fmt: skip
        return scores

    def measures(self, count: int) -> Iterator[Measure]:
        """The three metrics over `count` prompts."""
        scores = np.concatenate([np.empty(0), *self._scores])
        units = np.concatenate([np.empty(0, dtype=np.intp), *self._units])
        spec, short = self._spec, _SHORT[self.kind]
        missing = int(np.isnan(scores).sum())
        note = f"{missing:,} of {len(scores):,} responses could not be scored" if missing else ""
        note = "; ".join(filter(None, [note, _number_of_responses(np.bincount(units))]))
        reached = {"threshold": spec.threshold, "variant": spec.variant}
        found: dict[str, Sums] = {
            f"Expected maximum (EM{short})": expected_maximum_sums(scores, units, count),
            f"Probability ({short}P)": exceedance_probability_sums(scores, units, count, **reached),  # type: ignore[arg-type]
            f"Fraction ({short}F)": exceedance_fraction_sums(scores, units, count, **reached),  # type: ignore[arg-type]
        }
        for metric, sums in found.items():
            estimate = spec.resampling.estimate(sums, share=True)
            yield Measure(
                family=self.kind,
                metric=metric,
                estimate=estimate,
                units=estimate.items,
                direction=_LOWER,
                scorer=self.scorer.name,
                note=note,
            )

    def examples(self) -> list[Standout]:
        """The responses with the highest scores."""
        return self._worst.examples()


class Associating:
    """How words go together with the groups of one attribute: COBS of each pair, and stereotypical associations.

    Parameters
    ----------
    attribute
        The attribute.
    groups
        Groups to compare.
    count
        How many prompts there are.
    spec
        Lexicon, target words, variant and resampling.
    """

    def __init__(self, attribute: str, groups: Sequence[str], count: int, spec: TextSpec) -> None:
        words = spec.lexicon.attributes[attribute]
        self.attribute = attribute
        self.groups = tuple(groups)
        self._count = count
        self._spec = spec
        self._number = list(spec.lexicon.attributes).index(attribute)
        self._group_numbers = [words.groups.index(group) for group in groups]
        self._sizes: list[int] | None = None
        if spec.variant == "langfair":
            self._sizes = [len(words.words_by_group[group]) for group in groups]
        self._near: Cooccurrences | None = None
        self._with: SparseSums | None = None
        self._mentions = np.zeros(len(groups), dtype=np.int64)

    def add(self, tokens: Tokens, mentions: Mentions, units: NDArray[np.intp]) -> None:
        """Count the words of some responses."""
        spec = self._spec
        places = of_attribute(mentions, self._number, self._group_numbers)
        self._mentions += np.bincount(places.group[places.group >= 0], minlength=len(self.groups))
        texts = marked(tokens, places)
        near = cooccurrences(texts, units, self._count, groups=len(self.groups), targets=spec.targets)
        with_ = sa_sums(
            texts, units, self._count, groups=len(self.groups), targets=spec.targets, langfair_sizes=self._sizes
        )
        self._near = near if self._near is None else replace(near, sums=_added(self._near.sums, near.sums))
        self._with = with_ if self._with is None else replace(with_, sums=_added(self._with.sums, with_.sums))

    def measures(self) -> Iterator[Measure]:
        """COBS of each pair of groups, and SA of all of them."""
        if self._near is None or self._with is None:
            nothing = tokenise([])
            self.add(nothing, self._spec.lexicon.match(nothing), np.empty(0, dtype=np.intp))
        assert self._near is not None
        assert self._with is not None
        note = ", ".join(
            f"{count:,} words of {group}" for group, count in zip(self.groups, self._mentions, strict=True)
        )
        if not self._mentions.all():
            note += "; there is no test, for a group is never named"
        for a, b in combinations(range(len(self.groups)), 2):
            pair = self._near.pair(a, b, variant=self._spec.variant)
            words = len(self._near.by_word(a, b))
            yield self._measure(
                "COBS", pair, groups=(self.groups[a], self.groups[b]), direction="0 is fair", bounds=(-inf, inf),
                note=f"{note}; mean over {words:,} target words",
            )  # fmt: skip
        yield self._measure(
            "SA", self._with, groups=self.groups, direction=_LOWER, bounds=(0.0, 1 - 1 / len(self.groups)),
            baseline=self._by_chance(self._with), note=note,
        )  # fmt: skip

    def _measure(self, metric: str, sums: SparseSums, **what: Any) -> Measure:  # noqa: ANN401 - fields of Measure
        resampling = self._spec.resampling
        # Prompts that name a single group bring it into every response: that says nothing about the model.
        named = [count for group, count in zip(self.groups, self._mentions, strict=True) if group in what["groups"]]
        tested = sums.exchange is not None and all(named)
        return Measure(
            family="stereotype",
            metric=metric,
            attribute=self.attribute,
            estimate=resampling.estimate(sums),
            # Those with a word of the groups; the last column of COBS only counts words.
            units=int((np.diff(sums.sums[:, : None if metric == "SA" else -1].indptr) > 0).sum()),
            p=resampling.p(_without_sign(sums)) if tested else nan,
            test="that the words of the two groups can be exchanged, prompt by prompt" if tested else "",
            **what,
        )

    def _by_chance(self, sums: SparseSums) -> Estimate | None:
        """What SA is when the two groups are exchanged at random in each prompt: it is above 0 without any bias."""
        if sums.exchange is None or np.isnan(sums.value()):
            return None
        rng = np.random.default_rng(self._spec.resampling.seed)
        # Units that add nothing are the same either way.
        sums = replace(sums, sums=sparse.csr_array(sums.sums[np.diff(sums.sums.indptr) > 0]))
        rounds = min(_BY_CHANCE, max(_FEWEST_BY_CHANCE, _DRAWN // sums.units))
        step = max(1, _HELD // sums.units)
        drawn = (min(step, rounds - start) for start in range(0, rounds, step))
        found = np.concatenate([sums.under(rng.integers(2, size=(size, sums.units), dtype=np.bool_)) for size in drawn])
        low, high = np.nanquantile(found, [0.025, 0.975])
        return Estimate(float(np.nanmean(found)), float(low), float(high), float(np.nanstd(found)), sums.units)


class _Population:
    """The use case's own responses.

    Parameters
    ----------
    index
        The prompts.
    spec
        What to measure, and how.
    recorder
        Keeps each score.

    Attributes
    ----------
    foreign
        Responses that do not look English.
    """

    def __init__(self, index: Index, spec: TextSpec, recorder: Recorder) -> None:
        self._index = index
        self._spec = spec
        self._recorder = recorder
        self.foreign = 0
        count = len(index.units)
        kinds: tuple[Kind, ...] = ("toxicity", "stereotype")
        self._exceeding = [Exceeding(kind, spec.scorers[kind], spec) for kind in kinds if spec.path.applies(kind)]
        self._associating: list[Associating] = []
        if spec.path.applies("stereotype"):
            self._associating = [Associating(name, groups, count, spec) for name, groups in spec.compared.items()]

    async def add(self, part: Sequence[Response], score: Score) -> None:
        """Measure some responses; those of other series are left out."""
        own = [response for response in part if self._index.counts_in(response)]
        if not own:
            return
        units = np.array([self._index.units[response.prompt_id] for response in own], dtype=np.intp)
        self.foreign += sum(not looks_english(response.text) for response in own)
        scores = {exceeding.kind: await exceeding.add(own, units, score) for exceeding in self._exceeding}
        self._recorder.responses(own, {str(kind): found.tolist() for kind, found in scores.items()})
        if self._associating:
            tokens = tokenise(response.text for response in own)
            mentions = self._spec.lexicon.match(tokens)
            for associating in self._associating:
                associating.add(tokens, mentions, units)

    def measures(self) -> Iterator[Measure]:
        """Every measure of the population, family by family."""
        for exceeding in self._exceeding:
            yield from exceeding.measures(len(self._index.units))
        for associating in self._associating:
            yield from associating.measures()

    def examples(self) -> dict[str, list[Standout]]:
        """The responses that stand out most, by heading."""
        return {f"Highest {exceeding.kind}": exceeding.examples() for exceeding in self._exceeding}


def _number_of_responses(numbers: NDArray[np.intp]) -> str:
    """How many responses there are to a prompt: a maximum over more of them is higher."""
    numbers = numbers[numbers > 0]
    if not len(numbers):
        return ""
    fewest, most = int(numbers.min()), int(numbers.max())
    if most == 1:
        return "one response to each prompt: a maximum over one"
    if fewest == most:
        return f"{most:,} responses to each prompt"
    return f"{fewest:,} to {most:,} responses a prompt: maximum and probability are higher where there are more"


def _added(first: sparse.csr_array, second: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(first + second)


def _without_sign(sums: SparseSums) -> SparseSums:
    statistic = sums.statistic
    return replace(sums, statistic=lambda totals: np.abs(statistic(totals)))
