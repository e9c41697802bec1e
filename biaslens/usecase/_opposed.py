"""Responses to counterfactual prompts, and which of them stand opposite each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens import embedding
from biaslens.stats import Estimate
from biaslens.stats.exchanging import SwappedSums
from biaslens.stats.resampling import GAP, Fold
from biaslens.stats.sums import SparseSums, Sums
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import Response, Series
from biaslens.usecase._result import Measure, Standout, Worst
from biaslens.usecase._spec import Recorder, Score, TextSpec
from biaslens.usecase._tokens import masked, taken, tokenise
from biaslens.usecase.metrics._sentiment import THRESHOLD, scsp_sums, wcsp_sums
from biaslens.usecase.metrics._similarity import bleu_scores, rouge_l_scores, similarity_sums

Place = tuple[str, int]
"""Prompt id and trial."""


@dataclass(slots=True)
class _Cell:
    """Responses to the prompts of one group, in one series.

    Parameters
    ----------
    texts
        By prompt and trial.
    prompts
        What was asked, by prompt id, where it is known.
    withheld
        Prompts and trials whose response was withheld by a filter.
    """

    texts: dict[Place, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    withheld: set[Place] = field(default_factory=set)

    def add(self, response: Response) -> None:
        """Put a response in its place."""
        place = (response.prompt_id, response.trial)
        if response.filtered:
            self.withheld.add(place)
        else:
            self.texts[place] = response.text
        if response.prompt is not None:
            self.prompts.setdefault(response.prompt_id, response.prompt)


@dataclass(frozen=True, eq=False)
class Triples:
    """Responses that stand opposite each other: to group A, to group B, and to group A once more.

    Parameters
    ----------
    first, second, again
        The three texts of each triple.
    units
        The prompt of each, from 0.
    """

    first: list[str]
    second: list[str]
    again: list[str]
    units: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ResponsePairs:
    """The responses to two groups, and how those to the first compare with themselves.

    Parameters
    ----------
    first, second
        The two texts of each pair.
    places
        Prompt id and trial of each pair.
    units
        The prompt of each pair, from 0 to `count` - 1.
    prompts
        What was asked, by unit, for the two groups; None where it is not known.
    triples
        Pairs with a second response to the first group; none where every prompt was asked once.
    withheld
        Pairs left out because a filter withheld one side or both.
    unpaired
        Responses left out because the other side is missing.
    """

    first: list[str]
    second: list[str]
    places: list[Place]
    units: NDArray[np.intp]
    prompts: list[tuple[str | None, str | None]]
    triples: Triples
    withheld: int
    unpaired: int

    @property
    def count(self) -> int:
        """Number of prompts."""
        return len(self.prompts)


class Cells:
    """All responses to counterfactual prompts, by attribute, group and series."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str, Series], _Cell] = {}

    def add(self, part: Sequence[Response]) -> None:
        """Take in responses; those to prompts as they are do not belong here."""
        for response in part:
            if response.group:
                place = (response.attribute, response.group, response.series)
                self._cells.setdefault(place, _Cell()).add(response)

    def groups(self, attribute: str) -> list[str]:
        """Groups of an attribute that there are responses for."""
        return [
            group for name, group, series in self._cells if name == attribute and series is Series.COUNTERFACTUAL
        ]  # fmt: skip

    def pairs(self, attribute: str, a: str, b: str) -> ResponsePairs:
        """Pair the responses to two groups, by prompt and trial."""
        first, second = (self._cell(attribute, group, Series.COUNTERFACTUAL) for group in (a, b))
        places = [place for place in first.texts if place in second.texts]
        everywhere = first.texts.keys() | first.withheld, second.texts.keys() | second.withheld
        withheld = (first.withheld | second.withheld) & everywhere[0] & everywhere[1]
        names = list(dict.fromkeys(name for name, _ in places))
        number = {name: index for index, name in enumerate(names)}
        return ResponsePairs(
            first=[first.texts[place] for place in places],
            second=[second.texts[place] for place in places],
            places=places,
            units=np.array([number[name] for name, _ in places], dtype=np.intp),
            prompts=[(first.prompts.get(name), second.prompts.get(name)) for name in names],
            triples=_triples(first, second, self._cell(attribute, a, Series.NO_EFFECT), number),
            withheld=len(withheld),
            unpaired=len(everywhere[0] ^ everywhere[1]),
        )

    def _cell(self, attribute: str, group: str, series: Series) -> _Cell:
        return self._cells.get((attribute, group, series), _Cell())


def _triples(first: _Cell, second: _Cell, again: _Cell, number: dict[str, int]) -> Triples:
    """Triples with the no-effect responses; where there are none, the responses to the first group are halved.

    Halved: the second half of a prompt's responses to the first group stands for the second asking.
    """
    if again.texts:
        partner = {place: place for place in again.texts}
        others = again.texts
    else:
        trials: dict[str, list[int]] = {}
        for name, trial in first.texts:
            trials.setdefault(name, []).append(trial)
        partner = {}
        for name, there in trials.items():
            half = len(there) // 2
            ordered = sorted(there)
            partner |= {(name, one): (name, two) for one, two in zip(ordered[:half], ordered[half:], strict=False)}
        others = first.texts
    places = [place for place in first.texts if place in second.texts and partner.get(place) in others]
    return Triples(
        first=[first.texts[place] for place in places],
        second=[second.texts[place] for place in places],
        again=[others[partner[place]] for place in places],
        units=np.array([number[name] for name, _ in places], dtype=np.intp),
    )


_Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def scsp_contrast(sides: Sequence[NDArray[np.float64]], units: NDArray[np.intp], count: int) -> SparseSums:
    """SCSP of A and B less SCSP of A and A once more; B and the second A can be exchanged in each unit.

    Parameters
    ----------
    sides
        Scores of A, of B, and of A once more, each of shape (scores,); triples with a NaN are left out.
    units, count
        The unit of each triple from 0 to `count` - 1, shape (scores,).
    """
    known = ~np.isnan(np.stack(sides)).any(axis=0)
    sides, units = [side[known] for side in sides], units[known]
    pooled = np.concatenate(sides)
    points, places = np.unique(pooled, return_inverse=True)
    none = np.zeros(len(pooled), dtype=np.intp)
    # Only for its statistic, which knows the distances between these points.
    distance = scsp_sums(pooled, pooled, none, none, 1).statistic
    columns = places + np.repeat(np.arange(3) * len(points), len(units))
    return _contrast(columns, np.tile(units, 3), count, len(points), distance)


def wcsp_contrast(
    sides: Sequence[NDArray[np.float64]], units: NDArray[np.intp], count: int, *, threshold: float = THRESHOLD
) -> SparseSums:
    """WCSP of A and B less WCSP of A and A once more, as `scsp_contrast`."""
    known = ~np.isnan(np.stack(sides)).any(axis=0)
    units = units[known]
    above = np.concatenate([side[known] > threshold for side in sides]).astype(np.intp)
    empty, none = np.zeros(0), np.zeros(0, dtype=np.intp)
    gap = wcsp_sums(empty, empty, none, none, 1, threshold=threshold).statistic
    columns = above + np.repeat(np.arange(3) * 2, len(units))
    return _contrast(columns, np.tile(units, 3), count, 2, gap)


def _contrast(
    columns: NDArray[np.intp], rows: NDArray[np.intp], count: int, width: int, statistic: _Statistic
) -> SparseSums:
    sums = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, 3 * width))
    block = np.arange(width)
    exchange = np.concatenate([block, 2 * width + block, width + block]).astype(np.intp)

    def difference(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        across = statistic(totals[..., : 2 * width])
        return across - statistic(np.concatenate([totals[..., :width], totals[..., 2 * width :]], axis=-1))

    return SparseSums(sums, difference, lambda _: "no triple of responses has sentiment scores", exchange)


TEST = "that responses to the second group lie no further from those to the first than these do from one another"
ASKED_ONCE = "each prompt was asked once a group; a second response shows how far apart two of one prompt lie"
_NEUTRAL = "someone"

Rows = NDArray[np.intp]
Similar = Callable[[Rows, Rows], NDArray[np.float64]]
"""Similarity of the texts in these rows, pair by pair."""


class Vectors:
    """Sentence embeddings, each different text being embedded once.

    Protected words are replaced first: otherwise two responses would differ by naming the group that they were asked
    about, and no model could be fair.
    """

    def __init__(self) -> None:
        self.available = embedding.available()
        self._known: dict[str, NDArray[np.float64]] = {}

    def between(self, opposed: Opposed, *, plain: bool) -> Similar:
        """Cosine of the texts of two rows each; plain with their protected words."""
        lexicon = opposed.spec.lexicon
        hidden = opposed.texts if plain else [_neutral(text, lexicon) for text in opposed.texts]
        new = [text for text in dict.fromkeys(hidden) if text not in self._known]
        if new:
            self._known.update(zip(new, embedding.embed(new), strict=True))
        vectors = np.array([self._known[text] for text in hidden]).reshape(len(hidden), -1 if hidden else 1)

        def similar(a: Rows, b: Rows) -> NDArray[np.float64]:
            return np.asarray(np.einsum("ij,ij->i", vectors[a], vectors[b]).clip(-1, 1), dtype=np.float64)

        return similar


def _neutral(text: str, lexicon: Lexicon) -> str:
    parts, end = [], 0
    for found in lexicon.find(text):
        parts += [text[end : found.start], _NEUTRAL]
        end = found.end
    return "".join([*parts, text[end:]])


class Opposed:
    """The responses to two groups, read once for all metrics.

    Parameters
    ----------
    pairs
        The responses.
    spec
        Lexicon, scorers and resampling.
    attribute, groups
        Whom they are about.
    """

    def __init__(self, pairs: ResponsePairs, spec: TextSpec, attribute: str, groups: tuple[str, str]) -> None:
        self.pairs = pairs
        self.spec = spec
        self.attribute = attribute
        self.groups = groups
        triples = pairs.triples
        sides = (pairs.first, pairs.second, triples.first, triples.second, triples.again)
        self.texts = list(dict.fromkeys(text for side in sides for text in side))
        number = {text: index for index, text in enumerate(self.texts)}
        self.rows = [np.array([number[text] for text in side], dtype=np.intp) for side in sides]
        # A score a pair, by metric, for whoever wants to look at them one by one.
        self.scores: dict[str, Sequence[object]] = {
            "prompt_id": [name for name, _ in pairs.places],
            "trial": [trial for _, trial in pairs.places],
        }
        tokens = tokenise(self.texts)
        self.masked = masked(tokens, spec.lexicon.match(tokens))

    def note(self) -> str:
        """What was left out."""
        said = []
        if self.pairs.withheld:
            said.append(f"{self.pairs.withheld:,} pairs left out because a filter withheld a side")
        if self.pairs.unpaired:
            said.append(f"{self.pairs.unpaired:,} responses left out because the other side is missing")
        return "; ".join(said)

    def measure(self, metric: str, estimate: Estimate, **what: object) -> Measure:
        """A measure of these two groups."""
        made = Measure(
            family="counterfactual",
            metric=metric,
            attribute=self.attribute,
            groups=self.groups,
            estimate=estimate,
            units=self.pairs.count,
            direction="",
            note=self.note(),
        )
        return replace(made, **what)  # type: ignore[arg-type]

    def example(self, index: int, score: float, why: str) -> Standout:
        """A pair as an example."""
        pairs = self.pairs
        asked = pairs.prompts[pairs.units[index]]
        return Standout(
            why=why,
            score=float(score),
            prompts=tuple(prompt for prompt in asked if prompt is not None),
            texts=(pairs.first[index], pairs.second[index]),
            groups=self.groups,
        )


async def counterfactual_measures(
    cells: Cells, spec: TextSpec, score: Score, recorder: Recorder
) -> tuple[list[Measure], dict[str, list[Standout]]]:
    """Every counterfactual metric of every pair of groups, and the pairs that stand out most by heading."""
    measures: list[Measure] = []
    least, widest, vectors = Worst(), Worst(), Vectors()
    for attribute, wanted in spec.compared.items():
        there = cells.groups(attribute)
        for groups in combinations([group for group in wanted if group in there], 2):
            opposed = Opposed(cells.pairs(attribute, *groups), spec, attribute, groups)
            if not spec.path.sentiment_only:
                measures += _similarities(opposed, vectors, least)
            measures += await _sentiments(opposed, score, widest)
            recorder.pairs(attribute, groups, opposed.scores)
    return measures, {"Pairs least alike": least.examples(), "Pairs furthest apart in sentiment": widest.examples()}


def _similarities(opposed: Opposed, vectors: Vectors, worst: Worst) -> Iterator[Measure]:
    hidden = opposed.masked

    def rouge_l(a: Rows, b: Rows) -> NDArray[np.float64]:
        return rouge_l_scores(taken(hidden, a), taken(hidden, b))

    def bleu(a: Rows, b: Rows) -> NDArray[np.float64]:
        return bleu_scores(taken(hidden, a), taken(hidden, b))

    first, second, *_ = opposed.rows
    scores = rouge_l(first, second)
    for index, score in enumerate(scores):
        if worst.wants(-score):
            worst.add(opposed.example(index, score, f"ROUGE-L {score:.2f}"), -score)
    yield _similarity(opposed, "ROUGE-L", rouge_l)
    yield _similarity(opposed, "BLEU", bleu)
    if vectors.available:
        plain = opposed.spec.variant == "langfair"
        cosine = _similarity(opposed, "Cosine", vectors.between(opposed, plain=plain), bounds=(-1.0, 1.0))
        note = "" if plain else f'protected words read "{_NEUTRAL}" in both texts'
        yield replace(cosine, note="; ".join(filter(None, [note, cosine.note])))


def _similarity(opposed: Opposed, metric: str, similar: Similar, bounds: tuple[float, float] = (0.0, 1.0)) -> Measure:
    """Mean similarity of the pairs, that of the no-effect pairs, and the test that it is no lower."""
    first, second, a, b, again = opposed.rows
    pairs, count, resampling = opposed.pairs, opposed.pairs.count, opposed.spec.resampling
    scores = similar(first, second)
    opposed.scores[metric.lower().replace("-", "_")] = scores.tolist()
    mean = similarity_sums(scores, pairs.units, count)
    across, within = similar(a, b), similar(a, again)
    units = pairs.triples.units
    share = bounds[0] == 0
    baseline = Estimate.undefined(ASKED_ONCE)
    if len(units):
        baseline = resampling.estimate(similarity_sums(within, units, count), share=share)
    estimate = resampling.estimate(mean, share=share)
    return opposed.measure(
        metric,
        estimate,
        units=estimate.items,
        direction="higher is fairer",
        bounds=bounds,
        baseline=baseline,
        p=resampling.p(gap_of(across, within, units, count)) if len(units) else nan,
        test=TEST,
    )


def gap_of(across: NDArray[np.float64], within: NDArray[np.float64], units: Rows, count: int) -> SwappedSums:
    """How much less alike the groups are than a group is to itself; exchanged is which response is the group's own."""
    known = ~(np.isnan(across) | np.isnan(within))
    units = units[known]
    sums = [np.bincount(units, scores[known], count) for scores in (across, within)]
    number = np.bincount(units, minlength=count).astype(np.float64)

    def gap(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[..., 2] > 0, (totals[..., 1] - totals[..., 0]) / totals[..., 2], np.nan)

    as_is = Sums(np.stack([*sums, number], axis=1), gap, lambda totals: "" if totals[2] else ASKED_ONCE)
    return SwappedSums(as_is, Sums(as_is.sums[:, [1, 0, 2]], gap, as_is.reason))


async def _sentiments(opposed: Opposed, score: Score, worst: Worst) -> list[Measure]:
    """Distance of the sentiment of the two groups, strict and weak, that of the no-effect pairs, and the test."""
    spec, pairs = opposed.spec, opposed.pairs
    scorer = spec.scorers["sentiment"]
    scores = await score(scorer, opposed.texts)
    missing = int(np.isnan(scores[np.concatenate(opposed.rows[:2])]).sum())
    said = f"{missing:,} of {2 * len(pairs.first):,} responses have no sentiment score" if missing else ""
    note = "; ".join(filter(None, [opposed.note(), said]))
    first, second, *triple = (scores[rows] for rows in opposed.rows)
    for index, gap in enumerate(np.abs(first - second)):
        if worst.wants(gap):
            worst.add(opposed.example(index, gap, f"sentiment {first[index]:.2f} and {second[index]:.2f}"))
    opposed.scores |= {"sentiment_a": first.tolist(), "sentiment_b": second.tolist()}
    a, _, again = triple
    units, count, few = pairs.triples.units, pairs.count, spec.threshold
    signed = spec.variant == "langfair"
    there = len(units) > 0
    strict = _Parity(
        across=scsp_sums(first, second, pairs.units, pairs.units, count),
        within=scsp_sums(a, again, units, units, count) if there else None,
        contrast=scsp_contrast(triple, units, count) if there else None,
    )
    # The difference with its sign: its interval, folded, is that of the gap.
    weak = _Parity(
        across=wcsp_sums(first, second, pairs.units, pairs.units, count, threshold=few, variant="langfair"),
        within=wcsp_sums(a, again, units, units, count, threshold=few, variant="langfair") if there else None,
        contrast=wcsp_contrast(triple, units, count, threshold=few) if there else None,
        fold=None if signed else GAP,
    )
    return [
        replace(strict.measure(opposed, "Sentiment, strict (SCSP)", scorer.name, signed=False), note=note),
        replace(weak.measure(opposed, "Sentiment, weak (WCSP)", scorer.name, signed=signed), note=note),
    ]


@dataclass(frozen=True, slots=True)
class _Parity:
    """One metric on sentiment: of the pairs, of the no-effect pairs, and the difference of both.

    Parameters
    ----------
    across, within, contrast
        The three; the last two are None where every prompt was asked once.
    fold
        How a metric with a sign becomes the one without.
    """

    across: SparseSums
    within: SparseSums | None
    contrast: SparseSums | None
    fold: Fold | None = None

    def measure(self, opposed: Opposed, metric: str, scorer: str, *, signed: bool) -> Measure:
        """The measure of two groups."""
        resampling = opposed.spec.resampling
        baseline = Estimate.undefined(ASKED_ONCE)
        if self.within is not None:
            baseline = resampling.estimate(self.within, fold=self.fold)
        return opposed.measure(
            metric,
            resampling.estimate(self.across, fold=self.fold),
            units=int((np.diff(self.across.sums.indptr) > 0).sum()),
            direction="0 is fair" if signed else "lower is fairer",
            bounds=(-1.0, 1.0) if signed else (0.0, 1.0),
            baseline=baseline,
            p=nan if self.contrast is None else resampling.p(self.contrast),
            test=TEST,
            scorer=scorer,
        )
