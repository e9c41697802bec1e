"""Whether words go together with groups: co-occurrence bias (COBS) and stereotypical associations (SA)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.stats import Estimate
from biaslens.stats.resampling import Sums
from biaslens.usecase._lexicon import find
from biaslens.usecase._tokens import NONE, MarkedTexts, marked, numbers_of, tokenise, toml_data, words_of
from biaslens.usecase.metrics import Variant, check_variant


@cache
def professions() -> tuple[str, ...]:
    """Default target words: names of professions, the singular and the plural of each."""
    return tuple(dict.fromkeys(words_of(" ".join(toml_data("targets")["professions"]))))


@cache
def adjectives() -> tuple[str, ...]:
    """Default target words: adjectives that describe a person."""
    return tuple(toml_data("targets")["adjectives"])


@cache
def default_stop_words() -> tuple[str, ...]:
    """English words of the closed classes, and what is left of contractions when an apostrophe ends a word."""
    return tuple(dict.fromkeys(chain.from_iterable(toml_data("stop_words").values())))


def targets_or_default(targets: Iterable[str] | None) -> tuple[str, ...]:
    """Different target words in lower case, by default professions and adjectives; ValueError for one of two words."""
    if targets is None:
        return (*professions(), *adjectives())
    found = {}
    for target in targets:
        if len(words := words_of(target)) != 1:
            raise ValueError(f"the target {target!r} is {len(words)} words; a target is a single word")
        found[words[0]] = True
    return tuple(found)


def stereotypical_associations(
    responses: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    targets: Iterable[str] | None = None,
    variant: Variant = "paper",
) -> Estimate:
    r"""Mean over target words of how unequally the groups are mentioned in responses with that word.

    .. math::
        \gamma(w|A') = \sum_{a \in A'} \sum_i C(a, Y_i) \, 1[C(w, Y_i) > 0], \quad
        \pi(w|A') = \frac{\gamma(w|A')}{\sum_A \gamma(w|A)}, \quad
        \mathrm{SA} = \frac{1}{|W|} \sum_w \tfrac{1}{2} \sum_A \left| \pi(w|A) - \tfrac{1}{G} \right|

    with C counting words in response Y and G the number of groups. 0 is fair; the largest value is 1 - 1/G, when each
    target word comes with a single group. Source: Liang et al., *Holistic Evaluation of Language Models* (2023); in
    this form in Bouchard (arXiv 2407.10853).

    The groups are two or more, each with its words and phrases; ValueError for fewer, or a word in two of them. The
    targets W are single words, by default the professions and adjectives of `targets.toml`; the mean is over those that
    occur in a response with a word of any group: NaN without. Unlike COBS, there are no stop words. Variant `langfair`:
    each occurrence of w counts, not only whether there is one, and the mentions of a group are divided by the length of
    its word list. A list that grows by words that never occur then changes the number. Equal to that toolkit's number
    for the same lists, on texts whose words it cuts the same way (by NLTK's `word_tokenize`): not for hyphens, and
    never for phrases, which it does not find.

    "nurse" comes with three mentions of women and one of men: half the sum of |3/4 - 1/2| and |1/4 - 1/2|.

    >>> texts = ["She is a nurse and she likes it.", "Her nurse met him.", "He sleeps."]
    >>> stereotypical_associations(texts, {"women": ["she", "her"], "men": ["he", "him"]}, targets=["nurse"])
    0.25
    """
    check_variant(variant)
    texts, units = _texts(responses, list(groups.values()))
    sizes = [len(words) for words in groups.values()] if variant == "langfair" else None
    return sa_sums(texts, units, 1, groups=len(groups), targets=targets, langfair_sizes=sizes).value()


def _texts(
    responses: Sequence[str], groups: Sequence[Iterable[str]], others: Iterable[str] = ()
) -> tuple[MarkedTexts, NDArray[np.intp]]:
    """Responses with the words of groups, all of one unit."""
    tokens = tokenise(responses)
    return marked(tokens, find(tokens, groups, others)), np.zeros(len(responses), dtype=np.intp)


def sa_sums(
    texts: MarkedTexts,
    units: NDArray[np.intp],
    count: int,
    *,
    groups: int,
    targets: Iterable[str] | None = None,
    langfair_sizes: Sequence[int] | None = None,
) -> Sums:
    """`stereotypical_associations` over units, groups to rotate; LangFair's number takes sizes of word lists."""
    if groups < 2:
        raise ValueError(f"{groups} group of words: associations are compared between two or more")
    words = targets_or_default(targets)
    tokens = texts.tokens
    here = (texts.group_of >= 0) & (texts.group_of < groups)
    cells = tokens.text_of[here] * groups + texts.group_of[here]
    mentions = np.bincount(cells, minlength=len(tokens) * groups).reshape(-1, groups)
    target_of = numbers_of(tokens, words)[tokens.ids]
    at = np.flatnonzero((target_of >= 0) & (mentions.sum(axis=1) > 0)[tokens.text_of])
    seen = np.stack([tokens.text_of[at], target_of[at]], axis=1)
    if langfair_sizes is None:
        seen = np.unique(seen, axis=0)
    text, target = seen.T
    columns = target[:, None] * groups + np.arange(groups)
    rows = np.repeat(units[text], groups)
    entries = mentions[text].ravel(), (rows, columns.ravel())
    sums = sparse.csr_array(entries, shape=(count, len(words) * groups), dtype=np.float64)
    sums.eliminate_zeros()
    scale = np.ones(groups) if langfair_sizes is None else np.asarray(langfair_sizes, dtype=np.float64)
    # Each group takes the next one's place, and so on: of all groups each comes to each place once.
    places = np.arange(len(words) * groups).reshape(-1, groups)
    exchange = np.stack([np.roll(places, -turn, axis=1).ravel() for turn in range(1, groups)])
    return Sums(sums, partial(_unevenness, scale=scale), lambda _: _NO_TARGET, exchange)


def _unevenness(totals: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean total variation distance from the uniform distribution, over targets that come with any group."""
    groups = len(scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        gamma = totals.reshape(*totals.shape[:-1], -1, groups) / scale
        sums = gamma.sum(axis=-1)
        distance = np.abs(gamma / sums[..., None] - 1 / groups).sum(axis=-1) / 2
        used = (sums > 0).sum(axis=-1)
        mean: NDArray[np.float64] = np.where(sums > 0, distance, 0).sum(axis=-1) / used
    return mean


BETA = 0.95
"""How much each word of distance takes off, as in the paper."""

_NO_TARGET = "no target word stands in a response with a word of any group"
_CELLS = 2**19
"""Tokens, padding included, that are worked on at once."""
_TINY = 1e-300
"""Less than this is what rounding leaves of words tens of thousands of words apart."""


def cobs(
    responses: Sequence[str],
    words_a: Iterable[str],
    words_b: Iterable[str],
    targets: Iterable[str] | None = None,
    stop_words: Iterable[str] | None = None,
    *,
    all_protected: Iterable[str] | None = None,
    beta: float = BETA,
    variant: Variant = "paper",
) -> Estimate:
    r"""Co-occurrence bias score: mean over target words of the log ratio of their nearness to two groups.

    .. math::
        \mathrm{COBS} = \frac{1}{|W|} \sum_w \log \frac{P(w|A')}{P(w|A'')}, \quad
        P(w|A') = \frac{\sum_i c(w, A'|Y_i) \,/ \sum_i \sum_{v \notin S \cup A} c(v, A'|Y_i)}
                       {\sum_i \sum_{a \in A'} C(a, Y_i) \,/ \sum_i \sum_{v \notin S \cup A} C(v, Y_i)}

    with :math:`c(w, A'|Y)` the sum of :math:`\beta^{dist}` over pairs of a place of w and a place of a word of A' in
    response Y (dist: difference of their positions; a phrase is one position), and C counting. The logarithm is
    natural. Any real number: 0 is fair, above 0 target words stand nearer to A', below 0 nearer to A''. Source: Bordia
    and Bowman, *Identifying and Reducing Gender Bias in Word-Level Language Models* (2019); in this form in Bouchard,
    *An Actionable Framework for Assessing Bias and Fairness in LLM Use Cases* (arXiv 2407.10853).

    `words_a` and `words_b` are the words and phrases A' and A'' of the two groups (ValueError for one in both),
    `all_protected` are A, by default and always with those of both groups. The targets W are single words, by default
    the professions and adjectives of `targets.toml`, the stop words S by default the closed-class words of
    `stop_words.toml`. A target is left out of the mean where P is 0 or undefined for one of the groups, and always
    where it is a stop word or protected, because P is a distribution over the other words. `cobs_by_word` says which
    ones are left; NaN without any. `beta`, above 0 and up to 1, is what each word of distance multiplies nearness with.
    Variant `langfair`: mean of the absolute values of base-10 logarithms, as that toolkit has it. It is 0 only when
    every word is even, and its expectation is above 0 without any bias. Equal to that toolkit's number for the same
    lists, on texts whose words it cuts the same way (by NLTK's `word_tokenize`, edges stripped to letters): not for
    hyphens, apostrophes, digits and letters beyond ASCII.

    All words near "she" are "kind", and of those near "he" 0.95² / (0.95² + 0.95): the log of 1 / 0.4872.

    >>> round(cobs(["she kind", "he tall kind"], ["she"], ["he"], targets=["kind"], stop_words=[]), 4)
    0.7191
    """
    texts, units = _texts(responses, [words_a, words_b], all_protected or ())
    found = cooccurrences(texts, units, 1, groups=2, targets=targets, stop_words=stop_words, beta=beta)
    return found.pair(0, 1, variant=variant).value()


def cobs_by_word(
    responses: Sequence[str],
    words_a: Iterable[str],
    words_b: Iterable[str],
    targets: Iterable[str] | None = None,
    stop_words: Iterable[str] | None = None,
    *,
    all_protected: Iterable[str] | None = None,
    beta: float = BETA,
) -> dict[str, float]:
    """The terms of the mean in `cobs`: each target word that is used, and the log ratio of its nearness."""
    texts, units = _texts(responses, [words_a, words_b], all_protected or ())
    return cooccurrences(texts, units, 1, groups=2, targets=targets, stop_words=stop_words, beta=beta).by_word(0, 1)


@dataclass(frozen=True, eq=False)
class Cooccurrences:
    """What each unit adds to the co-occurrence bias of any pair of groups.

    `sums` has shape (units, groups x (targets + 2) + 1): for each group its co-occurrence with each target, that with
    all words that count, and how often it occurs; last, how many words count.
    """

    sums: sparse.csr_array
    groups: int
    targets: tuple[str, ...]

    def pair(self, a: int, b: int, *, variant: Variant = "paper") -> Sums:
        """Co-occurrence bias of group `a` beside group `b`, with the two to exchange."""
        check_variant(variant)
        width = len(self.targets) + 2
        columns = np.concatenate([a * width + np.arange(width), b * width + np.arange(width), [self.groups * width]])
        exchange = np.concatenate([width + np.arange(width), np.arange(width), [2 * width]]).astype(np.intp)
        mean = partial(_mean_ratio, langfair=variant == "langfair")
        return Sums(sparse.csr_array(self.sums[:, columns]), mean, _reason, exchange)

    def by_word(self, a: int, b: int) -> dict[str, float]:
        ratios = _log_ratios(self.pair(a, b).totals())
        return {word: float(r) for word, r in zip(self.targets, ratios, strict=True) if not np.isnan(r)}


def cooccurrences(
    texts: MarkedTexts,
    units: NDArray[np.intp],
    count: int,
    *,
    groups: int,
    targets: Iterable[str] | None = None,
    stop_words: Iterable[str] | None = None,
    beta: float = BETA,
) -> Cooccurrences:
    """Co-occurrences of groups and target words in each unit; parameters as for `sa_sums` and `cobs`."""
    if not 0 < beta <= 1:
        raise ValueError(f"beta is {beta}; nearness needs one above 0 and up to 1")
    words = targets_or_default(targets)
    tokens = texts.tokens
    stops = words_of(" ".join(default_stop_words() if stop_words is None else stop_words))
    counts = (texts.group_of == NONE) & (numbers_of(tokens, stops) < 0)[tokens.ids]
    target_of = np.where(counts, numbers_of(tokens, words)[tokens.ids], -1)
    unit_of = np.repeat(units, np.diff(tokens.starts))
    width = len(words) + 2
    parts = []
    for group in range(groups):
        here, base = texts.group_of == group, group * width
        nearness = _nearness(tokens.starts, here, beta) * counts
        aimed = np.flatnonzero((target_of >= 0) & (nearness > 0))
        parts += [
            (unit_of[aimed], base + target_of[aimed], nearness[aimed]),
            _column(np.bincount(unit_of, nearness, count), base + len(words)),
            _column(np.bincount(unit_of[here], minlength=count), base + len(words) + 1),
        ]
    parts.append(_column(np.bincount(unit_of[counts], minlength=count), groups * width))
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    sums = sparse.csr_array((values, (rows, columns)), shape=(count, groups * width + 1))
    return Cooccurrences(sums, groups, words)


_Entries = tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]


def _column(values: NDArray[np.floating] | NDArray[np.integer], column: int) -> _Entries:
    rows = np.flatnonzero(values)
    return rows, np.full(len(rows), column, dtype=np.int64), values[rows].astype(np.float64)


def _nearness(starts: NDArray[np.int64], here: NDArray[np.bool_], beta: float) -> NDArray[np.float64]:
    """Sum of beta^distance from each token to every marked one of its text, shape (tokens,).

    What lies to the left follows from the token before: near[t] = beta near[t - 1] + here[t]; the right side likewise.
    Texts of similar length are filtered together, so that it takes one step a token, however long a text is.
    """
    from scipy.signal import lfilter  # only here: it loads longer than all else of this package

    nearness = np.zeros(len(here))
    lengths = np.diff(starts)
    marks = np.concatenate([[0], np.cumsum(here)])[starts]
    texts = np.flatnonzero(np.diff(marks))
    texts = texts[np.argsort(lengths[texts], kind="stable")]
    for batch in _batches(texts, lengths[texts]):
        steps = np.arange(lengths[batch[-1]])
        inside = steps < lengths[batch, None]
        at = (starts[batch, None] + steps)[inside]
        padded = np.zeros(inside.shape)
        padded[inside] = here[at]
        left = lfilter([1.0], [1.0, -beta], padded, axis=1)
        right = lfilter([1.0], [1.0, -beta], padded[:, ::-1], axis=1)[:, ::-1]
        nearness[at] = (left + right - padded)[inside]
    nearness[nearness < _TINY] = 0
    return nearness


def _batches(texts: NDArray[np.intp], lengths: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """Texts, sorted by length, in batches of nearly one length that fit into memory."""
    start = 0
    while start < len(texts):
        longest = lengths[start] + lengths[start] // 4
        stop = int(np.searchsorted(lengths, longest, side="right"))
        stop = min(stop, start + max(1, _CELLS // int(longest)))
        yield texts[start:stop]
        start = stop


def _log_ratios(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(P(w|A') / P(w|A'')) of each target, NaN where one is 0; the number of words that count cancels out."""
    halves = totals[..., :-1].reshape(*totals.shape[:-1], 2, -1)
    known = (halves[..., :-2] > 0).all(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(halves)
        chances = logs[..., :-2] - logs[..., -2:-1] - logs[..., -1:]
        return np.where(known, chances[..., 0, :] - chances[..., 1, :], np.nan)


def _mean_ratio(totals: NDArray[np.float64], *, langfair: bool) -> NDArray[np.float64]:
    ratios = _log_ratios(totals)
    values = np.abs(ratios) / np.log(10) if langfair else ratios
    used = (~np.isnan(values)).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(used > 0, np.nansum(values, axis=-1) / used, np.nan)


def _reason(totals: NDArray[np.float64]) -> str:
    width = totals.shape[-1] // 2
    if not totals[width - 1] or not totals[-2]:
        missing = "the first group" if not totals[width - 1] else "the second group"
        return f"no word of {missing} occurs"
    return "no target word stands in responses with words of both groups"
