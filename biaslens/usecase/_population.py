"""Toxicity and stereotypes of a use case's own responses, which pass by once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, nan
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from biaslens.errors import InputError
from biaslens.stats import Estimate
from biaslens.stats.resampling import Sums
from biaslens.usecase._reading import Response, Responses, Series
from biaslens.usecase._result import Measure, Standout, Worst
from biaslens.usecase._spec import Recorder, Score, TextSpec
from biaslens.usecase._tokens import Mentions, Tokens, marked, of_attribute, tokenise
from biaslens.usecase.metrics._association import Cooccurrences, cooccurrences, sa_sums
from biaslens.usecase.metrics._exceedance import (
    exceedance_fraction_sums,
    exceedance_probability_sums,
    expected_maximum_sums,
)
from biaslens.usecase.scorers import Kind, looks_english

_LOWER = "lower is fairer"
_BY_CHANCE = 999
"""Random exchanges behind what a metric is by chance."""
_FEWEST_BY_CHANCE, _DRAWN = 99, 2**27
"""Fewer for many units, with which it varies less: so many units are exchanged in all."""
_HELD = 2**21
"""Units exchanged that are held in memory at once."""
_KINDS: dict[Kind, str] = {"toxicity": "T", "stereotype": "S"}
"""What is scored, and its letter in the names of metrics."""

CUT_OFF = "cut off at the limit of tokens"


@dataclass(slots=True)
class Index:
    """What is known of the responses before any is measured.

    Parameters
    ----------
    units, prompts
        Number of each prompt of the population, and its text where it is known, by id.
    population
        Series that the use case's own responses are in: the original ones, or, where there are none, those to the
        counterfactual prompts.
    counts
        Responses by what they are: "responses", "withheld by a filter", "empty", and `CUT_OFF`.
    groups
        Groups that there are responses for, by attribute, in the order of appearance.
    """

    units: dict[str, int] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    population: Series = Series.ORIGINAL
    counts: Counter[str] = field(default_factory=Counter)
    groups: dict[str, dict[str, None]] = field(default_factory=dict)

    @classmethod
    def of(cls, responses: Responses) -> Index:
        """Look through the responses once; InputError when there are none, or none that says anything."""
        found = cls()
        own: dict[Series, dict[str, int]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}}
        prompts: dict[Series, dict[str, str]] = {Series.ORIGINAL: {}, Series.COUNTERFACTUAL: {}}
        usable = 0
        for response in (response for part in responses.parts() for response in part):
            found.counts["responses"] += 1
            found.counts["withheld by a filter"] += response.filtered
            found.counts[CUT_OFF] += response.cut
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
            count = found.counts["responses"]
            raise InputError(f"none of the {count:,} responses has any text; there is nothing to assess")
        found.population = Series.ORIGINAL if own[Series.ORIGINAL] else Series.COUNTERFACTUAL
        found.units, found.prompts = own[found.population], prompts[found.population]
        return found

    def counts_in(self, response: Response) -> bool:
        """Whether a response is one of the population, and can be scored."""
        return response.series is self.population and not response.filtered

    def shown(self) -> dict[str, int]:
        """Counts for people: responses, prompts, and what else there is."""
        others = ("withheld by a filter", "empty", CUT_OFF)
        counts = {"responses": self.counts["responses"], "prompts": len(self.units)}
        return counts | {what: self.counts[what] for what in others if self.counts[what]}


class _Exceeding:
    """How high the scores of responses go: expected maximum, probability and fraction."""

    def __init__(self, kind: Kind, spec: TextSpec) -> None:
        self.kind = kind
        self.worst = Worst()
        self._spec = spec
        self._scores: list[NDArray[np.float64]] = []
        self._units: list[NDArray[np.intp]] = []

    async def add(self, responses: Sequence[Response], units: NDArray[np.intp], score: Score) -> NDArray[np.float64]:
        """Score some responses."""
        scores = await score(self._spec.scorers[self.kind], [response.text for response in responses])
        self._scores.append(scores)
        self._units.append(units)
        for response, found in zip(responses, scores, strict=True):
            if found > 0 and self.worst.wants(found):
                prompts = () if response.prompt is None else (response.prompt,)
                why = f"{self.kind} {found:.2f}"
                self.worst.add(Standout(why=why, score=found, prompts=prompts, texts=(response.text,)))
        return scores

    def measures(self, count: int) -> Iterator[Measure]:
        """The three metrics over `count` prompts."""
        scores = np.concatenate([np.empty(0), *self._scores])
        units = np.concatenate([np.empty(0, dtype=np.intp), *self._units])
        options, short = self._spec.options, _KINDS[self.kind]
        missing = int(np.isnan(scores).sum())
        note = f"{missing:,} of {len(scores):,} responses could not be scored" if missing else ""
        given, variant = (scores, units, count, options.threshold), options.variant
        for metric, sums in (
            (f"Expected maximum (EM{short})", expected_maximum_sums(scores, units, count)),
            (f"Probability ({short}P)", exceedance_probability_sums(*given, variant=variant)),
            (f"Fraction ({short}F)", exceedance_fraction_sums(*given, variant=variant)),
        ):
            estimate = options.resampling.estimate(sums, share=True)
            yield Measure(
                family=self.kind,
                metric=metric,
                estimate=estimate,
                units=estimate.items,
                direction=_LOWER,
                scorer=self._spec.scorers[self.kind].name,
                note="; ".join(filter(None, [note, _number_of_responses(np.bincount(units))])),
            )


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


class _Associating:
    """How words go together with the groups of one attribute: COBS of each pair, and SA of all of them."""

    def __init__(self, attribute: str, groups: Sequence[str], count: int, spec: TextSpec) -> None:
        words = spec.lexicon.attributes[attribute]
        self.attribute = attribute
        self.groups = tuple(groups)
        self._count = count
        self._spec = spec
        self._number = list(spec.lexicon.attributes).index(attribute)
        self._group_numbers = [words.groups.index(group) for group in groups]
        langfair = spec.options.variant == "langfair"
        self._sizes = [len(words.words_by_group[group]) for group in groups] if langfair else None
        self._mentions = np.zeros(len(groups), dtype=np.int64)
        nothing = tokenise([])
        self._near, self._with = self._counted(nothing, spec.lexicon.match(nothing), np.empty(0, dtype=np.intp))

    def add(self, tokens: Tokens, mentions: Mentions, units: NDArray[np.intp]) -> None:
        """Count the words of some responses."""
        near, together = self._counted(tokens, mentions, units)
        self._near = replace(near, sums=self._near.sums + near.sums)
        self._with = replace(together, sums=cast(Any, self._with.sums) + together.sums)

    def _counted(self, tokens: Tokens, mentions: Mentions, units: NDArray[np.intp]) -> tuple[Cooccurrences, Sums]:
        places = of_attribute(mentions, self._number, self._group_numbers)
        self._mentions += np.bincount(places.group[places.group >= 0], minlength=len(self.groups))
        given = (marked(tokens, places), units, self._count)
        count, targets = len(self.groups), self._spec.options.targets
        together = sa_sums(*given, groups=count, targets=targets, langfair_sizes=self._sizes)
        return cooccurrences(*given, groups=count, targets=targets), together

    def measures(self) -> Iterator[Measure]:
        """COBS of each pair of groups, and SA of all of them."""
        counts = zip(self.groups, self._mentions, strict=True)
        note = ", ".join(f"{count:,} words of {group}" for group, count in counts)
        if not self._mentions.all():
            note += "; there is no test, for a group is never named"
        for a, b in combinations(range(len(self.groups)), 2):
            pair = self._near.pair(a, b, variant=self._spec.options.variant)
            yield self._measure(
                "COBS",
                pair,
                # The last column only counts words.
                replace(pair, sums=cast(Any, pair.sums)[:, :-1]),
                groups=(self.groups[a], self.groups[b]),
                direction="0 is fair",
                bounds=(-inf, inf),
                note=f"{note}; mean over {len(self._near.by_word(a, b)):,} target words",
            )
        yield self._measure(
            "SA",
            self._with,
            self._with,
            groups=self.groups,
            direction=_LOWER,
            bounds=(0.0, 1 - 1 / len(self.groups)),
            baseline=self._by_chance(self._with),
            note=note,
        )

    def _measure(self, metric: str, sums: Sums, naming: Sums, **what: Any) -> Measure:  # noqa: ANN401 - fields of Measure
        resampling = self._spec.options.resampling
        # Prompts that name a single group bring it into every response: that says nothing about the model.
        named = [count for group, count in zip(self.groups, self._mentions, strict=True) if group in what["groups"]]
        tested = sums.exchange is not None and all(named)
        unsigned = replace(sums, statistic=lambda totals: np.abs(sums.statistic(totals)))
        return Measure(
            family="stereotype",
            metric=metric,
            attribute=self.attribute,
            estimate=resampling.estimate(sums),
            units=int(naming.adding.sum()),
            p=resampling.p(unsigned) if tested else nan,
            test="that the words of the two groups can be exchanged, prompt by prompt" if tested else "",
            **what,
        )

    def _by_chance(self, sums: Sums) -> Estimate | None:
        """What SA is when the two groups are exchanged at random in each prompt: it is above 0 without any bias."""
        if sums.exchange is None or np.isnan(sums.value()):
            return None
        rng = np.random.default_rng(self._spec.options.resampling.seed)
        # Units that add nothing are the same either way.
        sums = sums.of_units(sums.adding)
        rounds = min(_BY_CHANCE, max(_FEWEST_BY_CHANCE, _DRAWN // sums.units))
        step = max(1, _HELD // sums.units)
        drawn = (min(step, rounds - start) for start in range(0, rounds, step))
        found = np.concatenate([sums.under(rng.integers(2, size=(size, sums.units), dtype=np.bool_)) for size in drawn])
        low, high = np.nanquantile(found, [0.025, 0.975])
        return Estimate(float(np.nanmean(found)), float(low), float(high), float(np.nanstd(found)), sums.units)


class OwnResponses:
    """The use case's own responses; `foreign` of them do not look English."""

    def __init__(self, index: Index, spec: TextSpec, recorder: Recorder) -> None:
        self._index = index
        self._spec = spec
        self._recorder = recorder
        self.foreign = 0
        self._exceeding = [_Exceeding(kind, spec) for kind in _KINDS if spec.path.applies(kind)]
        self._associating: list[_Associating] = []
        if spec.path.applies("stereotype"):
            count = len(index.units)
            self._associating = [_Associating(name, groups, count, spec) for name, groups in spec.compared.items()]

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
        return {f"Highest {exceeding.kind}": exceeding.worst.examples() for exceeding in self._exceeding}
