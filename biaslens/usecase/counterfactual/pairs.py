"""Counterfactual pairs of prompts, and a pair without an effect beside each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import overload

from biaslens.errors import InputError
from biaslens.usecase.counterfactual.substitute import Variant, substitute
from biaslens.usecase.reading import check_groups
from biaslens.usecase.words import AttributeWords, Lexicon

COUNTERFACTUAL, NO_EFFECT = "counterfactual", "no_effect"
"""Kinds of pairs."""

COLUMNS = (
    "pair",
    "kind",
    "prompt",
    "attribute",
    "group_a",
    "group_b",
    "prompt_a",
    "prompt_b",
    "swapped_a",
    "swapped_b",
    "note",
)
"""Columns of a table of pairs."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two prompts that differ in the group they name, or the same prompt twice.

    Parameters
    ----------
    number
        Number of the counterfactual pair, from 0; its pair without an effect has the same.
    kind
        "counterfactual", or "no_effect": the prompt of group a twice, the baseline of every comparison.
    prompt
        Index of the prompt that it was made from.
    attribute
        What the groups are groups of.
    group_a, group_b
        The groups; equal in a pair without an effect.
    text_a, text_b
        The prompts.
    swapped_a, swapped_b
        What was swapped in the original: "his -> her; Mr -> Ms"; empty where nothing was.
    original_a, original_b
        Whether the side is the original prompt, word for word.
    notes
        Where a substitution is uncertain.
    """

    number: int
    kind: str
    prompt: int
    attribute: str
    group_a: str
    group_b: str
    text_a: str
    text_b: str
    swapped_a: str
    swapped_b: str
    original_a: bool
    original_b: bool
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Pairs(Sequence[Pair]):
    """The pairs of a set of prompts: each counterfactual one, and the one without an effect behind it.

    Parameters
    ----------
    pairs
        All of them.
    without
        How many prompts name no group of the attribute, and so give no pair.
    same
        How many pairs of groups were left out because both sides came out equal: no form for the one group.
    """

    pairs: tuple[Pair, ...]
    without: int
    same: int

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        return self.pairs[index]

    @property
    def counterfactual(self) -> tuple[Pair, ...]:
        """Those that differ in the group."""
        return tuple(pair for pair in self.pairs if pair.kind == COUNTERFACTUAL)


def make_pairs(
    prompts: Sequence[str], attribute: AttributeWords, groups: Sequence[str] | None, lexicon: Lexicon
) -> Pairs:
    """Make the counterfactual pairs of prompts.

    Parameters
    ----------
    prompts
        The user's prompts.
    attribute
        What to vary.
    groups
        Which groups to compare, each with each; None for those that the attribute's words name as compared.
    lexicon
        The words; may hold other attributes, too.

    Raises
    ------
    InputError
        When a group is unknown, or there are fewer than two.

    Examples
    --------
    >>> from biaslens.usecase.words import load_words
    >>> lexicon = load_words(["gender"])
    >>> pairs = make_pairs(["He lost his book.", "Hello!"], lexicon.attributes["gender"], None, lexicon)
    >>> [(pair.kind, pair.text_a, pair.text_b) for pair in pairs][0]
    ('counterfactual', 'She lost her book.', 'He lost his book.')
    >>> len(pairs), pairs.without
    (2, 1)
    """
    chosen = _chosen(groups, attribute)
    check_groups(len(chosen), attribute.name)
    made: list[Pair] = []
    without = same = number = 0
    for index, prompt in enumerate(prompts):
        if not any(found.attribute == attribute.name for found in lexicon.find(prompt, prefer=attribute.name)):
            without += 1
            continue
        variants = {group: substitute(prompt, attribute, group, lexicon) for group in chosen}
        for a, b in combinations(chosen, 2):
            if variants[a].text == variants[b].text:
                same += 1
                continue
            made += _pair(number, index, attribute.name, (a, b), (variants[a], variants[b]))
            number += 1
    return Pairs(tuple(made), without, same)


def _chosen(groups: Sequence[str] | None, attribute: AttributeWords) -> list[str]:
    chosen = list(dict.fromkeys(attribute.compared if groups is None else groups))
    for group in chosen:
        if group not in attribute.groups:
            raise InputError(f"{attribute.name} has no group {group!r}; there are: {', '.join(attribute.groups)}")
    if len(chosen) < 2:
        raise InputError(f"{attribute.name}: give two groups or more to compare, of: {', '.join(attribute.groups)}")
    return chosen


def _pair(
    number: int, index: int, attribute: str, groups: tuple[str, str], sides: tuple[Variant, Variant]
) -> tuple[Pair, Pair]:
    a, b = sides
    texts, swapped = (a.text, b.text), (a.swapped, b.swapped)
    same = (not a.swaps, not b.swaps)
    notes = tuple(dict.fromkeys(a.notes + b.notes))
    first = Pair(number, COUNTERFACTUAL, index, attribute, *groups, *texts, *swapped, *same, notes)
    twice = (groups[0], groups[0], a.text, a.text, a.swapped, a.swapped, same[0], same[0])
    return first, Pair(number, NO_EFFECT, index, attribute, *twice, a.notes)


def pair_rows(pairs: Sequence[Pair]) -> list[dict[str, str]]:
    """Rows of a table of pairs with :data:`COLUMNS`, all text."""
    return [
        {
            "pair": str(pair.number),
            "kind": pair.kind,
            "prompt": str(pair.prompt),
            "attribute": pair.attribute,
            "group_a": pair.group_a,
            "group_b": pair.group_b,
            "prompt_a": pair.text_a,
            "prompt_b": pair.text_b,
            "swapped_a": pair.swapped_a,
            "swapped_b": pair.swapped_b,
            "note": "; ".join(pair.notes),
        }
        for pair in pairs
    ]
