"""Do responses change with the group? Similarity and sentiment of counterfactual pairs, beside no-effect pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import nan

import numpy as np
from numpy.typing import NDArray

from biaslens import embedding
from biaslens.stats import Estimate
from biaslens.stats.resampling import GAP, Fold, Sums
from biaslens.usecase._lexicon import Lexicon
from biaslens.usecase._reading import Response, Series, check_groups
from biaslens.usecase._result import Measure, Resampling, Standout, Worst
from biaslens.usecase._spec import Recorder, Score, TextSpec
from biaslens.usecase._tokens import masked, taken, tokenise
from biaslens.usecase.metrics._sentiment import scsp_contrast, scsp_sums, wcsp_contrast, wcsp_sums
from biaslens.usecase.metrics._similarity import bleu_scores, rouge_l_scores, similarity_sums

TEST = "that responses to the second group lie no further from those to the first than these do from one another"
ASKED_ONCE = "each prompt was asked once a group; a second response shows how far apart two of one prompt lie"
_NEUTRAL = "someone"

Rows = NDArray[np.intp]
Similar = Callable[[Rows, Rows], NDArray[np.float64]]
"""Similarity of the texts in these rows, pair by pair."""
Place = tuple[str, int]
"""Prompt id and trial."""


@dataclass(slots=True)
class _Cell:
    """Responses to the prompts of one group in one series: texts, prompts where they are known, and withheld ones."""

    texts: dict[Place, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    withheld: set[Place] = field(default_factory=set)

    def add(self, response: Response) -> None:
        place = (response.prompt_id, response.trial)
        if response.filtered:
            self.withheld.add(place)
        else:
            self.texts[place] = response.text
        if response.prompt is not None:
            self.prompts.setdefault(response.prompt_id, response.prompt)


@dataclass(frozen=True, eq=False)
class ResponsePairs:
    """The responses to two groups, and how those to the first compare with themselves.

    Parameters
    ----------
    sides, places, units
        The texts of each pair, its prompt id and trial, and its prompt from 0.
    prompts
        What was asked, by unit, for the two groups; None where it is not known.
    triples, triple_units
        Texts to group A, to group B, and to group A once more; none where every prompt was asked once.
    withheld, unpaired
        Pairs left out because a filter withheld a side, and responses left out because the other side is missing.
    """

    sides: tuple[list[str], list[str]]
    places: list[Place]
    units: Rows
    prompts: list[tuple[str | None, str | None]]
    triples: tuple[list[str], list[str], list[str]]
    triple_units: Rows
    withheld: int
    unpaired: int


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
        return [of for name, of, series in self._cells if name == attribute and series is Series.COUNTERFACTUAL]

    def pairs(self, attribute: str, a: str, b: str) -> ResponsePairs:
        """Pair the responses to two groups, by prompt and trial."""
        first, second = (self._cell(attribute, group, Series.COUNTERFACTUAL) for group in (a, b))
        again, partner = _asked_again(first, self._cell(attribute, a, Series.NO_EFFECT))
        places = [place for place in first.texts if place in second.texts]
        three = [place for place in places if partner.get(place) in again]
        everywhere = first.texts.keys() | first.withheld, second.texts.keys() | second.withheld
        withheld = (first.withheld | second.withheld) & everywhere[0] & everywhere[1]
        number = {name: index for index, name in enumerate(dict.fromkeys(name for name, _ in places))}
        one, two = first.texts, second.texts
        return ResponsePairs(
            sides=([one[place] for place in places], [two[place] for place in places]),
            places=places,
            units=np.array([number[name] for name, _ in places], dtype=np.intp),
            prompts=[(first.prompts.get(name), second.prompts.get(name)) for name in number],
            triples=([one[at] for at in three], [two[at] for at in three], [again[partner[at]] for at in three]),
            triple_units=np.array([number[name] for name, _ in three], dtype=np.intp),
            withheld=len(withheld),
            unpaired=len(everywhere[0] ^ everywhere[1]),
        )

    def _cell(self, attribute: str, group: str, series: Series) -> _Cell:
        return self._cells.get((attribute, group, series), _Cell())


def _asked_again(first: _Cell, again: _Cell) -> tuple[dict[Place, str], dict[Place, Place]]:
    """Texts of a second asking of the first group, and the place among them of each response.

    Where there are no no-effect responses, the second half of a prompt's responses stands for the second asking.
    """
    if again.texts:
        return again.texts, {place: place for place in again.texts}
    trials: dict[str, list[int]] = {}
    for name, trial in first.texts:
        trials.setdefault(name, []).append(trial)
    partner: dict[Place, Place] = {}
    for name, there in trials.items():
        half = len(there) // 2
        ordered = sorted(there)
        partner |= {(name, one): (name, two) for one, two in zip(ordered[:half], ordered[half:], strict=False)}
    return first.texts, partner


class Vectors:
    """Sentence embeddings, each different text being embedded once.

    Protected words are replaced first: otherwise two responses would differ by naming the group that they were asked
    about, and no model could be fair.
    """

    def __init__(self) -> None:
        self.available = embedding.available()
        self._known: dict[str, NDArray[np.float64]] = {}

    def between(self, texts: Sequence[str], lexicon: Lexicon, *, plain: bool) -> Similar:
        """Cosine of the texts of two rows each; plain with their protected words."""
        hidden = texts if plain else [_neutral(text, lexicon) for text in texts]
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
    """The responses to two groups, read once for all metrics; `scores` holds a column a metric, a row a pair."""

    def __init__(self, pairs: ResponsePairs, spec: TextSpec, attribute: str, groups: tuple[str, str]) -> None:
        self.pairs = pairs
        self.spec = spec
        self.attribute = attribute
        self.groups = groups
        sides = (*pairs.sides, *pairs.triples)
        self.texts = list(dict.fromkeys(text for side in sides for text in side))
        number = {text: index for index, text in enumerate(self.texts)}
        self.rows = [np.array([number[text] for text in side], dtype=np.intp) for side in sides]
        self.count = len(pairs.prompts)
        self.scores: dict[str, Sequence[object]] = {
            "prompt_id": [name for name, _ in pairs.places],
            "trial": [trial for _, trial in pairs.places],
        }
        tokens = tokenise(self.texts)
        self.masked = masked(tokens, spec.lexicon.match(tokens))

    def note(self, *more: str) -> str:
        """What was left out."""
        pairs, said = self.pairs, []
        if pairs.withheld:
            said.append(f"{pairs.withheld:,} pairs left out because a filter withheld a side")
        if pairs.unpaired:
            said.append(f"{pairs.unpaired:,} responses left out because the other side is missing")
        return "; ".join([*said, *filter(None, more)])

    def example(self, index: int, score: float, why: str) -> Standout:
        """A pair as an example."""
        return Standout(
            why=why,
            score=float(score),
            prompts=tuple(prompt for prompt in self.pairs.prompts[self.pairs.units[index]] if prompt is not None),
            texts=(self.pairs.sides[0][index], self.pairs.sides[1][index]),
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
        check_groups(len(there), attribute)
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
    for index, score in enumerate(rouge_l(first, second)):
        if worst.wants(-score):
            worst.add(opposed.example(index, score, f"ROUGE-L {score:.2f}"), -score)
    yield _similarity(opposed, "ROUGE-L", rouge_l)
    yield _similarity(opposed, "BLEU", bleu)
    if vectors.available:
        plain = opposed.spec.options.variant == "langfair"
        between = vectors.between(opposed.texts, opposed.spec.lexicon, plain=plain)
        cosine = _similarity(opposed, "Cosine", between, bounds=(-1.0, 1.0))
        note = "" if plain else f'protected words read "{_NEUTRAL}" in both texts'
        yield replace(cosine, note="; ".join(filter(None, [note, cosine.note])))


def _similarity(opposed: Opposed, metric: str, similar: Similar, bounds: tuple[float, float] = (0.0, 1.0)) -> Measure:
    """Mean similarity of the pairs, that of the no-effect pairs, and the test that it is no lower."""
    first, second, a, b, again = opposed.rows
    pairs, resampling, share = opposed.pairs, opposed.spec.options.resampling, bounds[0] == 0
    scores = similar(first, second)
    opposed.scores[metric.lower().replace("-", "_")] = scores.tolist()
    within = similar(a, again)
    baseline, p = beside_itself(
        similar(a, b), within, similarity_sums(within, pairs.triple_units, opposed.count), pairs.triple_units,
        resampling, share=share,
    )  # fmt: skip
    estimate = resampling.estimate(similarity_sums(scores, pairs.units, opposed.count), share=share)
    return Measure(
        family="counterfactual",
        metric=metric,
        attribute=opposed.attribute,
        groups=opposed.groups,
        estimate=estimate,
        units=estimate.items,
        direction="higher is fairer",
        bounds=bounds,
        baseline=baseline,
        p=p,
        test=TEST,
        note=opposed.note(),
    )


def beside_itself(
    across: NDArray[np.float64],
    within: NDArray[np.float64],
    metric: Sums,
    units: Rows,
    resampling: Resampling,
    *,
    share: bool = False,
) -> tuple[Estimate, float]:
    """How like itself a group is (`metric` of `within`), and the test that the groups are no less alike (`across`).

    Exchanged is which response is the group's own.
    """
    if not len(units):
        return Estimate.undefined(ASKED_ONCE), nan
    known = ~(np.isnan(across) | np.isnan(within))
    sums = [np.bincount(units[known], scores[known], metric.units) for scores in (across, within)]
    number = np.bincount(units[known], minlength=metric.units).astype(np.float64)

    def gap(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[..., 2] > 0, (totals[..., 1] - totals[..., 0]) / totals[..., 2], np.nan)

    exchange = np.array([1, 0, 2], dtype=np.intp)
    tested = Sums(np.stack([*sums, number], axis=1), gap, lambda totals: "" if totals[2] else ASKED_ONCE, exchange)
    return resampling.estimate(metric, share=share), resampling.p(tested)


async def _sentiments(opposed: Opposed, score: Score, worst: Worst) -> Iterator[Measure]:
    """Distance of the sentiment of the two groups, strict and weak, that of the no-effect pairs, and the test."""
    spec, pairs, count = opposed.spec, opposed.pairs, opposed.count
    options, scorer = spec.options, spec.scorers["sentiment"]
    scores = await score(scorer, opposed.texts)
    missing = int(np.isnan(scores[np.concatenate(opposed.rows[:2])]).sum())
    said = f"{missing:,} of {2 * len(pairs.places):,} responses have no sentiment score" if missing else ""
    first, second, *triple = (scores[rows] for rows in opposed.rows)
    for index, gap in enumerate(np.abs(first - second)):
        if worst.wants(gap):
            worst.add(opposed.example(index, gap, f"sentiment {first[index]:.2f} and {second[index]:.2f}"))
    opposed.scores |= {"sentiment_a": first.tolist(), "sentiment_b": second.tolist()}
    langfair = options.variant == "langfair"

    def weak(a: NDArray[np.float64], b: NDArray[np.float64], units: Rows) -> Sums:
        # The difference with its sign: its interval, folded, is that of the gap.
        return wcsp_sums(a, b, units, units, count, threshold=options.threshold, variant="langfair")

    def strict(a: NDArray[np.float64], b: NDArray[np.float64], units: Rows) -> Sums:
        return scsp_sums(a, b, units, units, count)

    def measure(
        metric: str,
        distance: Callable[[NDArray[np.float64], NDArray[np.float64], Rows], Sums],
        contrast: Callable[[], Sums],
        *,
        fold: Fold | None = None,
        signed: bool = False,
    ) -> Measure:
        across, baseline, p = distance(first, second, pairs.units), Estimate.undefined(ASKED_ONCE), nan
        if len(pairs.triple_units):
            within = distance(triple[0], triple[2], pairs.triple_units)
            baseline = options.resampling.estimate(within, fold=fold)
            p = options.resampling.p(contrast())
        return Measure(
            family="counterfactual",
            metric=metric,
            attribute=opposed.attribute,
            groups=opposed.groups,
            estimate=options.resampling.estimate(across, fold=fold),
            units=int(across.adding.sum()),
            direction="0 is fair" if signed else "lower is fairer",
            bounds=(-1.0, 1.0) if signed else (0.0, 1.0),
            baseline=baseline,
            p=p,
            test=TEST,
            scorer=scorer.name,
            note=opposed.note(said),
        )

    three = (triple, pairs.triple_units, count)
    return iter((
        measure("Sentiment, strict (SCSP)", strict, lambda: scsp_contrast(*three)),
        measure("Sentiment, weak (WCSP)", weak, lambda: wcsp_contrast(*three, threshold=options.threshold),
                fold=None if langfair else GAP, signed=langfair),
    ))  # fmt: skip
