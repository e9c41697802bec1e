"""Co-occurrence bias (COBS): whether words stand nearer to the words of one group than to those of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.usecase.marked import NONE, Marked, find, marked, numbers_of
from biaslens.usecase.metrics.targets import stop_words as default_stop_words
from biaslens.usecase.metrics.targets import target_numbers, targets_or_default
from biaslens.usecase.metrics.variant import Variant, check_variant
from biaslens.usecase.sparse import SparseSums
from biaslens.usecase.tokens import tokenise, words_of
from biaslens.usecase.value import Value

BETA = 0.95
"""How much each word of distance takes off, as in the paper."""

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
) -> Value:
    r"""Co-occurrence bias score: mean over target words of the log ratio of their nearness to two groups.

    .. math::
        \mathrm{COBS} = \frac{1}{|W|} \sum_w \log \frac{P(w|A')}{P(w|A'')}, \quad
        P(w|A') = \frac{\sum_i c(w, A'|Y_i) \,/ \sum_i \sum_{v \notin S \cup A} c(v, A'|Y_i)}
                       {\sum_i \sum_{a \in A'} C(a, Y_i) \,/ \sum_i \sum_{v \notin S \cup A} C(v, Y_i)}

    with :math:`c(w, A'|Y)` the sum of :math:`\beta^{dist}` over pairs of a place of w and a place of a word of A' in
    response Y (dist: difference of their positions; a phrase is one position), and C counting. The logarithm is
    natural. Any real number: 0 is fair, above 0 target words stand nearer to A', below 0 nearer to A''.

    Parameters
    ----------
    responses
        Texts.
    words_a, words_b
        Words and phrases A' and A'' of the two groups.
    targets
        Words W; by default the professions and adjectives of `targets.toml`. A target is left out of the mean where
        P is 0 or undefined for one of the groups, and always where it is a stop word or protected, because P is a
        distribution over the other words. `cobs_by_word` says which ones are left.
    stop_words
        Words S; by default the closed-class words of `targets.toml`.
    all_protected
        Words A; by default those of both groups. Words of the groups always belong to them.
    beta
        What each word of distance multiplies nearness with, above 0 and up to 1.
    variant
        `langfair`: mean of the absolute values of base-10 logarithms, as that toolkit has it. It is 0 only when every
        word is even, and its expectation is above 0 without any bias. Equal to that toolkit's number for the same
        lists, on texts whose words it cuts the same way (by NLTK's `word_tokenize`, edges stripped to letters): not for
        hyphens, apostrophes, digits and letters beyond ASCII.

    Returns
    -------
    Value
        NaN, with the reason, when no target is left.

    Raises
    ------
    ValueError
        For a word in both groups, a target of several words, or an impossible beta.

    Notes
    -----
    Bordia and Bowman, *Identifying and Reducing Gender Bias in Word-Level Language Models* (2019); in this form in
    Bouchard, *An Actionable Framework for Assessing Bias and Fairness in LLM Use Cases* (arXiv 2407.10853).

    Examples
    --------
    All words near "she" are "kind", and of those near "he" 0.95² / (0.95² + 0.95): the log of 1 / 0.4872.

    >>> round(cobs(["she kind", "he tall kind"], ["she"], ["he"], targets=["kind"], stop_words=[]), 4)
    0.7191
    """
    tokens = tokenise(responses)
    texts = marked(tokens, find(tokens, [words_a, words_b], all_protected or ()))
    units = np.zeros(len(responses), dtype=np.intp)
    return cobs_sums(texts, units, 1, targets=targets, stop_words=stop_words, beta=beta, variant=variant).value()


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
    tokens = tokenise(responses)
    texts = marked(tokens, find(tokens, [words_a, words_b], all_protected or ()))
    units = np.zeros(len(responses), dtype=np.intp)
    return cooccurrences(texts, units, 1, groups=2, targets=targets, stop_words=stop_words, beta=beta).by_word(0, 1)


def cobs_sums(
    texts: Marked,
    units: NDArray[np.intp],
    count: int,
    *,
    pair: tuple[int, int] = (0, 1),
    targets: Iterable[str] | None = None,
    stop_words: Iterable[str] | None = None,
    beta: float = BETA,
    variant: Variant = "paper",
) -> SparseSums:
    """`cobs` of two groups as a metric over units; for several pairs, see `cooccurrences`.

    Parameters
    ----------
    texts
        The responses with their protected words.
    units, count
        The unit of each response from 0 to `count` - 1, shape (responses,).
    pair
        The two groups.
    """
    found = cooccurrences(texts, units, count, groups=max(pair) + 1, targets=targets, stop_words=stop_words, beta=beta)
    return found.pair(*pair, variant=variant)


@dataclass(frozen=True, eq=False)
class Cooccurrences:
    """What each unit adds to the co-occurrence bias of any pair of groups.

    Parameters
    ----------
    sums
        Shape (units, groups x (targets + 2) + 1): for each group its co-occurrence with each target, that with all
        words that count, and how often it occurs; last, how many words count.
    groups
        How many there are.
    targets
        The target words.
    """

    sums: sparse.csr_array
    groups: int
    targets: tuple[str, ...]

    def pair(self, a: int, b: int, *, variant: Variant = "paper") -> SparseSums:
        """Co-occurrence bias of group `a` beside group `b`, with the two to exchange."""
        check_variant(variant)
        width = len(self.targets) + 2
        columns = np.concatenate([a * width + np.arange(width), b * width + np.arange(width), [self.groups * width]])
        exchange = np.concatenate([width + np.arange(width), np.arange(width), [2 * width]]).astype(np.intp)
        mean = _langfair if variant == "langfair" else _signed
        return SparseSums(sparse.csr_array(self.sums[:, columns]), mean, _reason, exchange)

    def by_word(self, a: int, b: int) -> dict[str, float]:
        """Log ratio of the nearness of each target word that is used."""
        ratios = _log_ratios(self.pair(a, b).totals())
        return {word: float(r) for word, r in zip(self.targets, ratios, strict=True) if not np.isnan(r)}


def cooccurrences(
    texts: Marked,
    units: NDArray[np.intp],
    count: int,
    *,
    groups: int,
    targets: Iterable[str] | None = None,
    stop_words: Iterable[str] | None = None,
    beta: float = BETA,
) -> Cooccurrences:
    """Co-occurrences of groups and target words in each unit, for `groups` groups; parameters as for `cobs_sums`."""
    if not 0 < beta <= 1:
        raise ValueError(f"beta is {beta}; nearness needs one above 0 and up to 1")
    words = targets_or_default(targets)
    tokens = texts.tokens
    stops = words_of(" ".join(default_stop_words() if stop_words is None else stop_words))
    counts = (texts.group_of == NONE) & (numbers_of(tokens, dict.fromkeys(stops, 1)) < 0)[tokens.ids]
    target_of = np.where(counts, target_numbers(tokens, words)[tokens.ids], -1)
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


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    used = (~np.isnan(values)).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(used > 0, np.nansum(values, axis=-1) / used, np.nan)


def _signed(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return _mean(_log_ratios(totals))


def _langfair(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return _mean(np.abs(_log_ratios(totals)) / np.log(10))


def _reason(totals: NDArray[np.float64]) -> str:
    width = totals.shape[-1] // 2
    if not totals[width - 1] or not totals[-2]:
        missing = "the first group" if not totals[width - 1] else "the second group"
        return f"no word of {missing} occurs"
    return "no target word stands in responses with words of both groups"
