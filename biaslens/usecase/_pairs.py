"""Do responses change with the group? What two groups got, paired by prompt, beside what each of them got again.

Responses to counterfactual prompts by similarity and sentiment; the ranked lists of `_tables` by similarity alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from math import nan
from operator import itemgetter
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.stats import Estimate
from biaslens.stats.resampling import GAP, Sums, mean
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import Response, Series, check_groups
from biaslens.usecase._result import Measure, Resampling, Standout, Worst
from biaslens.usecase._spec import Recorder, Score, TextSpec
from biaslens.usecase._tokens import Tokens, masked, taken, tokenise
from biaslens.usecase.metrics._scores import sentiment_sums, sentiment_within
from biaslens.usecase.metrics._similarity import NO_WORDS, bleu_scores, rouge_l_scores

TEST = "that responses to the two groups lie no further apart than two responses to the same group do"
SENTIMENT_TEST = "that the sentiment of the responses to the two groups can be exchanged, prompt by prompt"
ASKED_ONCE = "not each group's prompts were asked twice; a second response shows how far apart two of one prompt lie"
_NEUTRAL = "someone"

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Similar = Callable[[Rows, Rows], Floats]
"""Similarity of the texts in these rows, pair by pair."""
Place = tuple[str, int]
"""Prompt id and trial."""


T = TypeVar("T", bound=Hashable)


@dataclass(slots=True)
class Side(Generic[T]):
    """What the prompts of one group gave in one series, prompts where they are known, and what was withheld."""

    given: dict[Place, T] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    withheld: set[Place] = field(default_factory=set)


class Sides:
    """All responses to counterfactual prompts, by attribute, group and series."""

    def __init__(self) -> None:
        self._sides: dict[tuple[str, str, Series], Side[str]] = {}

    def add(self, part: Sequence[Response]) -> None:
        """Take in responses; those to prompts as they are do not belong here."""
        for response in part:
            if response.group:
                key = (response.attribute, response.group, response.series)
                side = self._sides.setdefault(key, Side())
                place = (response.prompt_id, response.trial)
                if response.filtered:
                    side.withheld.add(place)
                else:
                    side.given[place] = response.text
                if response.prompt is not None:
                    side.prompts.setdefault(response.prompt_id, response.prompt)

    def groups(self, attribute: str) -> list[str]:
        return [of for name, of, series in self._sides if name == attribute and series is Series.COUNTERFACTUAL]

    def of(self, attribute: str, group: str, series: Series) -> Side[str]:
        return self._sides.get((attribute, group, series), Side())


class Opposed(Generic[T]):
    """What two groups got, paired by prompt and trial; `again` is what each got once more, or half of its trials.

    `of` says what there is none of where nothing can be compared, between the groups and within one; `what` are family
    and attribute of the measures. `items` are the different things, and `rows` where those of the two groups stand
    among them; then, where prompts were asked again, those of the first group, of the second, of the first once more
    and of the second once more. `units` are the prompt of each pair from 0, `four_units` of each of those fours,
    `count` how many there are; `blocks` are the clusters of these prompts, None where each is its own. So many pairs
    are left out because a filter `withheld` a side, so many things because they are `unpaired`.
    """

    def __init__(
        self,
        first: Side[T],
        second: Side[T],
        again: tuple[Side[T] | None, Side[T] | None] = (None, None),
        *,
        groups: tuple[str, str],
        resampling: Resampling,
        of: tuple[str, str],
        clusters: Mapping[str, str] | None = None,
        **what: Any,  # noqa: ANN401 - fields of Measure
    ) -> None:
        self.groups = groups
        self._resampling = resampling
        self._of = of
        self._test = what.pop("test")
        self._what = what
        self.notes: list[str] = []
        (more_one, partner_one), (more_two, partner_two) = map(_asked_again, (first, second), again)
        one, two = first.given, second.given
        self.places = [place for place in one if place in two]
        fours = [
            place for place in self.places if partner_one.get(place) in more_one and partner_two.get(place) in more_two
        ]
        everywhere = one.keys() | first.withheld, two.keys() | second.withheld
        self.withheld = len((first.withheld | second.withheld) & everywhere[0] & everywhere[1])
        self.unpaired = len(everywhere[0] ^ everywhere[1])
        # Sorted, so that the same prompts are drawn and exchanged whichever group comes first.
        number = {name: index for index, name in enumerate(sorted({name for name, _ in self.places}))}
        self.count = len(number)
        self.blocks = blocks_in(number, clusters)
        self.units, self.four_units = (
            np.array([number[name] for name, _ in there], dtype=np.intp) for there in (self.places, fours)
        )
        self._prompts = [(first.prompts.get(name), second.prompts.get(name)) for name in number]
        sides = [[given[place] for place in there] for there in (self.places, fours) for given in (one, two)]
        sides.append([more_one[partner_one[place]] for place in fours])
        sides.append([more_two[partner_two[place]] for place in fours])
        numbers = {item: index for index, item in enumerate(dict.fromkeys(item for side in sides for item in side))}
        self.items = list(numbers)
        self.rows = [np.array([numbers[item] for item in side], dtype=np.intp) for side in sides]
        self.columns: dict[str, Sequence[object]] = {
            "prompt_id": [name for name, _ in self.places],
            "trial": [trial for _, trial in self.places],
        }

    def offer(
        self, worst: Worst, scores: Floats, ranks: Floats, why: str, shown: Callable[[T], str], *more: Floats
    ) -> None:
        """Offer the pairs as examples; `why` takes a pair's score, or those of `more`."""
        for index, (score, rank) in enumerate(zip(scores, ranks, strict=True)):
            if worst.wants(rank):
                example = Standout(
                    why=why.format(*(each[index] for each in more or (scores,))),
                    score=float(score),
                    prompts=tuple(prompt for prompt in self._prompts[self.units[index]] if prompt is not None),
                    texts=(shown(self.items[self.rows[0][index]]), shown(self.items[self.rows[1][index]])),
                    groups=self.groups,
                )
                worst.add(example, rank)

    def measure(self, metric: str, estimate: Estimate, *notes: str, **what: Any) -> Measure:  # noqa: ANN401
        """A metric of the pairs; the notes that say something are put together."""
        note = "; ".join(filter(None, [*notes, *self.notes]))
        what |= {"unit": "prompts" if self.blocks is None else "clusters"}
        return Measure(metric=metric, groups=self.groups, estimate=estimate, note=note, **self._what, **what)

    def similarity(
        self,
        metric: str,
        similar: Similar,
        scores: Floats,
        *notes: str,
        bounds: tuple[float, float] = (0.0, 1.0),
        shares: tuple[bool, bool],
    ) -> Measure:
        """Mean similarity of the pairs and of each group with itself; `shares`: whether each is a share."""
        _, _, a, b, *more = self.rows
        baseline, p = Estimate.undefined(ASKED_ONCE), nan
        if len(self.four_units):
            within = (similar(a, more[0]) + similar(b, more[1])) / 2
            baseline = self.estimate(mean(within, self.four_units, self.count, of=self._of[1]), share=shares[1])
            beside = (similar(a, b) + similar(more[0], more[1])) / 2
            across = (similar(a, more[1]) + similar(more[0], b)) / 2
            p = self._resampling.p(energy_sums(within, beside, across, self.four_units, self.count, of=self._of[1]))
        estimate = self.estimate(mean(scores, self.units, self.count, of=self._of[0]), share=shares[0])
        what: dict[str, Any] = {"bounds": bounds, "baseline": baseline, "p": p, "direction": "higher is fairer"}
        return self.measure(metric, estimate, *notes, units=estimate.items, test=self._test, **what)

    def estimate(self, sums: Sums, **how: Any) -> Estimate:  # noqa: ANN401 - options of Resampling
        """A metric over the prompts with its interval."""
        return self._resampling.estimate(self.clustered(sums), **how)

    def clustered(self, sums: Sums) -> Sums:
        """A metric over the prompts as one over their clusters, where they have any."""
        return sums if self.blocks is None else sums.merged(self.blocks)


def energy_sums(
    within: Floats, beside: Floats, across: Floats, units: Rows, count: int, *, of: str = "no four responses"
) -> Sums:
    r"""How much more alike responses are within the groups than between them, for `stats.exchanging.swap_p`.

    Of each four responses to a prompt, A and A' to one group and B and B' to the other, `within` is the mean similarity
    of A to A' and of B to B', `beside` that of A to B and of A' to B', `across` that of A to B' and of A' to B: the
    three ways to make two pairs of four. The metric is the mean of within - (beside + across) / 2, the energy distance
    of the two groups (Székely and Rizzo, *Journal of Statistical Planning and Inference* 143, 2013) with similarity for
    its negative distance. If the groups do not matter, all three ways are alike; and the metric is the same whichever
    group comes first, also where responses to one of them differ more from one another.

    Scores are of shape (fours,), NaN for one that is left out; `units` are the prompts of the fours.
    """
    known = ~np.isnan(within + beside + across)
    at = units[known]
    sums = [np.bincount(at, scores[known], count) for scores in (within, beside, across)]
    number = np.bincount(at, minlength=count).astype(np.float64)

    def gap(totals: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = totals[..., 0] - (totals[..., 1] + totals[..., 2]) / 2
            return np.where(totals[..., 3] > 0, apart / totals[..., 3], np.nan)

    exchange = np.array([[1, 2, 0, 3], [2, 0, 1, 3]], dtype=np.intp)
    return Sums(np.stack([*sums, number], axis=1), gap, lambda totals: "" if totals[3] else f"there is {of}", exchange)


def blocks_in(number: Mapping[str, int], clusters: Mapping[str, str] | None) -> Rows | None:
    """The cluster, from 0, of each prompt, whose id has a number; None where prompts are not clustered."""
    if clusters is None:
        return None
    own = [clusters[prompt] for prompt in sorted(number, key=number.__getitem__)]
    return np.unique(own, return_inverse=True)[1].astype(np.intp) if own else np.empty(0, dtype=np.intp)


def _asked_again(first: Side[T], again: Side[T] | None) -> tuple[dict[Place, T], dict[Place, Place]]:
    """What a second asking of a group gave, and the place of its partner there for each of the first."""
    if again is not None and again.given:
        return again.given, {place: place for place in again.given}
    partner: dict[Place, Place] = {}
    for _, of_prompt in groupby(sorted(first.given), key=itemgetter(0)):
        places = list(of_prompt)
        partner.update(zip(places[: len(places) // 2], places[len(places) // 2 :], strict=False))
    return first.given, partner


def _cosines(texts: Sequence[str], lexicon: Lexicon, known: dict[str, Floats], *, plain: bool) -> Similar:
    """Cosine of the sentence embeddings of the texts of two rows each; those `known` are not embedded again.

    Protected words are replaced first, unless `plain`: otherwise two responses would differ by naming the group that
    they were asked about, and no model could be fair.
    """
    hidden = texts if plain else [_neutral(text, lexicon) for text in texts]
    if new := [text for text in dict.fromkeys(hidden) if text not in known]:
        known.update(zip(new, embedding.embed(new), strict=True))
    vectors = np.array([known[text] for text in hidden]).reshape(len(hidden), -1 if hidden else 1)
    return lambda a, b: np.einsum("ij,ij->i", vectors[a], vectors[b]).clip(-1, 1).astype(np.float64)


def _neutral(text: str, lexicon: Lexicon) -> str:
    parts, end = [], 0
    for found in lexicon.find(text):
        parts += [text[end : found.start], _NEUTRAL]
        end = found.end
    return "".join([*parts, text[end:]])


async def counterfactual_measures(
    sides: Sides, spec: TextSpec, score: Score, recorder: Recorder
) -> tuple[list[Measure], dict[str, list[Standout]]]:
    """Every counterfactual metric of every pair of groups, and the pairs that stand out most by heading."""
    measures: list[Measure] = []
    vectors: dict[str, Floats] = {}
    least, widest = Worst(), Worst()
    for attribute, wanted in spec.compared.items():
        there = sides.groups(attribute)
        check_groups(len(there), attribute)
        for groups in combinations([group for group in wanted if group in there], 2):
            first, second = (sides.of(attribute, group, Series.COUNTERFACTUAL) for group in groups)
            once_more, and_other = (sides.of(attribute, group, Series.NO_EFFECT) for group in groups)
            opposed = Opposed(
                first, second, (once_more, and_other), groups=groups, resampling=spec.options.resampling,
                of=(NO_WORDS, NO_WORDS), clusters=spec.clusters, family="counterfactual", attribute=attribute,
                test=TEST,
            )  # fmt: skip
            withheld, unpaired = opposed.withheld, opposed.unpaired
            opposed.notes = [
                f"{withheld:,} pairs left out because a filter withheld a side" if withheld else "",
                f"{unpaired:,} responses left out because the other side is missing" if unpaired else "",
            ]
            if not spec.path.sentiment_only:
                measures += _similarities(opposed, spec, vectors, least)
            measures += await _sentiments(opposed, spec, score, widest)
            recorder.pairs(attribute, groups, opposed.columns)
    return measures, {"Pairs least alike": least.examples(), "Pairs furthest apart in sentiment": widest.examples()}


def _similarities(opposed: Opposed[str], spec: TextSpec, vectors: dict[str, Floats], worst: Worst) -> Iterator[Measure]:
    tokens = tokenise(opposed.items)
    hidden = masked(tokens, spec.lexicon.match(tokens))

    first, second, *_ = opposed.rows

    def by_words(scores: Callable[[Tokens, Tokens], Floats]) -> Similar:
        return lambda a, b: scores(taken(hidden, a), taken(hidden, b))

    def measure(metric: str, similar: Similar, *more: str, low: float = 0.0) -> Measure:
        scores = similar(first, second)
        opposed.columns[metric.lower().replace("-", "_")] = scores.tolist()
        shares = (low == 0, low == 0)
        return opposed.similarity(metric, similar, scores, *more, bounds=(low, 1.0), shares=shares)

    rouge_l = by_words(rouge_l_scores)
    scores = rouge_l(first, second)
    opposed.offer(worst, scores, -scores, "ROUGE-L {:.2f}", str)
    yield measure("ROUGE-L", rouge_l)
    yield measure("BLEU", by_words(bleu_scores))
    if embedding.available():
        plain = spec.options.variant == "langfair"
        note = "" if plain else f'protected words read "{_NEUTRAL}" in both texts'
        yield measure("Cosine", _cosines(opposed.items, spec.lexicon, vectors, plain=plain), note, low=-1.0)


async def _sentiments(opposed: Opposed[str], spec: TextSpec, score: Score, worst: Worst) -> list[Measure]:
    """Distance of the sentiment of the two groups, strict and weak, that of the no-effect pairs, and the test."""
    options, scorer, count = spec.options, spec.scorers["sentiment"], opposed.count
    scores = await score(scorer, opposed.items)
    first, second, *fours = (scores[rows] for rows in opposed.rows)
    missing = int(np.isnan([first, second]).sum())
    if missing:
        opposed.notes.append(f"{missing:,} of {2 * len(first):,} responses have no sentiment score")
    gaps = np.abs(first - second)
    opposed.offer(worst, gaps, gaps, "sentiment {:.2f} and {:.2f}", str, first, second)
    opposed.columns |= {"sentiment_a": first.tolist(), "sentiment_b": second.tolist()}

    def measure(metric: str, threshold: float | None, *, signed: bool) -> Measure:
        def distance(a: Floats, b: Floats, units: Rows) -> Sums:
            # The weak difference with its sign: its interval, folded, is that of the gap.
            return sentiment_sums(a, b, units, units, count, threshold=threshold, variant="langfair")

        fold = None if threshold is None or signed else GAP
        across, baseline = distance(first, second, opposed.units), Estimate.undefined(ASKED_ONCE)
        if len(opposed.four_units):
            one, other, *more = fours
            within = sentiment_within([one, more[0], other, more[1]], opposed.four_units, count, threshold=threshold)
            baseline = opposed.estimate(within)
        exchanged = sentiment_sums(first, second, opposed.units, opposed.units, count, threshold=threshold)
        return opposed.measure(
            metric,
            opposed.estimate(across, fold=fold),
            units=int(opposed.clustered(across).adding.sum()),
            test=SENTIMENT_TEST,
            direction="0 is fair" if signed else "lower is fairer",
            bounds=(-1.0, 1.0) if signed else (0.0, 1.0),
            baseline=baseline,
            p=options.resampling.p(exchanged),
            scorer=scorer.name,
        )

    return [
        measure("Sentiment, strict (SCSP)", None, signed=False),
        measure("Sentiment, weak (WCSP)", options.threshold, signed=options.variant == "langfair"),
    ]
