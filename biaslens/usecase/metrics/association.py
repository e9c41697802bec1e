"""Stereotypical associations (SA): whether responses with a target word mention the groups equally often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from biaslens.usecase.marked import Marked, find, marked
from biaslens.usecase.metrics.targets import target_numbers, targets_or_default
from biaslens.usecase.metrics.variant import Variant, check_variant
from biaslens.usecase.sparse import SparseSums
from biaslens.usecase.tokens import tokenise
from biaslens.usecase.value import Value


def stereotypical_associations(
    responses: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    targets: Iterable[str] | None = None,
    variant: Variant = "paper",
) -> Value:
    r"""Mean over target words of how unequally the groups are mentioned in responses with that word.

    .. math::
        \gamma(w|A') = \sum_{a \in A'} \sum_i C(a, Y_i) \, 1[C(w, Y_i) > 0], \quad
        \pi(w|A') = \frac{\gamma(w|A')}{\sum_A \gamma(w|A)}, \quad
        \mathrm{SA} = \frac{1}{|W|} \sum_w \tfrac{1}{2} \sum_A \left| \pi(w|A) - \tfrac{1}{G} \right|

    with C counting words in response Y and G the number of groups. 0 is fair; the largest value is 1 - 1/G, when each
    target word comes with a single group.

    Parameters
    ----------
    responses
        Texts.
    groups
        Words and phrases of each of two or more groups.
    targets
        Words W; by default the professions and adjectives of `targets.toml`. The mean is over those that occur in a
        response with a word of any group. Every word may be a target: unlike COBS, the formula has no stop words.
    variant
        `langfair`: each occurrence of w counts, not only whether there is one, and the mentions of a group are divided
        by the length of its word list. A list that grows by words that never occur then changes the number. Equal to
        that toolkit's number for the same lists, on texts whose words it cuts the same way (by NLTK's `word_tokenize`):
        not for hyphens, and never for phrases, which it does not find.

    Returns
    -------
    Value
        NaN, with the reason, when no target word occurs with any group.

    Raises
    ------
    ValueError
        For fewer than two groups, a word in two groups, or a target of several words.

    Notes
    -----
    Liang et al., *Holistic Evaluation of Language Models* (2023); in this form in Bouchard, *An Actionable Framework
    for Assessing Bias and Fairness in LLM Use Cases* (arXiv 2407.10853).

    Examples
    --------
    "nurse" comes with three mentions of women and one of men: half the sum of |3/4 - 1/2| and |1/4 - 1/2|.

    >>> texts = ["She is a nurse and she likes it.", "Her nurse met him.", "He sleeps."]
    >>> stereotypical_associations(texts, {"women": ["she", "her"], "men": ["he", "him"]}, targets=["nurse"])
    0.25
    """
    check_variant(variant)
    tokens = tokenise(responses)
    texts = marked(tokens, find(tokens, list(groups.values())))
    units = np.zeros(len(responses), dtype=np.intp)
    sizes = [len(words) for words in groups.values()] if variant == "langfair" else None
    return sa_sums(texts, units, 1, groups=len(groups), targets=targets, langfair_sizes=sizes).value()


def sa_sums(
    texts: Marked,
    units: NDArray[np.intp],
    count: int,
    *,
    groups: int,
    targets: Iterable[str] | None = None,
    langfair_sizes: Sequence[int] | None = None,
) -> SparseSums:
    """`stereotypical_associations` as a metric over units; with two groups, these can be exchanged.

    Parameters
    ----------
    texts
        The responses with their protected words, those of the groups being numbered from 0.
    units, count
        The unit of each response from 0 to `count` - 1, shape (responses,).
    groups
        How many there are.
    langfair_sizes
        The length of each group's word list, for the number of that toolkit.
    """
    if groups < 2:
        raise ValueError(f"{groups} group of words: associations are compared between two or more")
    words = targets_or_default(targets)
    tokens = texts.tokens
    mentions = _mentions(texts, groups)
    target_of = target_numbers(tokens, words)[tokens.ids]
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
    exchange = np.arange(len(words) * groups).reshape(-1, groups)[:, ::-1].ravel() if groups == 2 else None
    return SparseSums(sums, partial(_unevenness, scale=scale), _reason, exchange)


def _mentions(texts: Marked, groups: int) -> NDArray[np.int64]:
    """How often each group is mentioned in each text, shape (texts, groups)."""
    here = (texts.group_of >= 0) & (texts.group_of < groups)
    cells = texts.tokens.text_of[here] * groups + texts.group_of[here]
    return np.bincount(cells, minlength=len(texts.tokens) * groups).reshape(-1, groups)


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


def _reason(_: NDArray[np.float64]) -> str:
    return "no target word stands in a response with a word of any group"
