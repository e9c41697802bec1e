"""Majorities of votes and trials, and when they are certain.

A majority needs more than half of all that were asked, not of those that turned out usable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from biaslens.schema import Outcome, Vote


def majority_threshold(n: int) -> int:
    """Fewest of `n` votes (or trials) that are more than half of them.

    Raises
    ------
    ValueError
        When `n` is not positive.

    Examples
    --------
    >>> [majority_threshold(n) for n in (1, 2, 3, 4, 5)]
    [1, 2, 2, 3, 3]
    """
    if n < 1:
        raise ValueError(f"a majority needs at least one vote, not {n}")
    return n // 2 + 1


def decide_votes(votes: Sequence[Vote], asked: int) -> Outcome | None:
    """Decision of a panel of `asked` votes from the votes that are in.

    Unbiased and refused votes stand together against biased ones: both say that the answer asserts no bias. Where they
    have the majority, the answer is refused if that has a majority of its own, and unbiased otherwise.

    Parameters
    ----------
    votes
        The votes so far, in any order.
    asked
        Size of the whole panel, votes not in yet included.

    Returns
    -------
    Outcome or None
        `Outcome.INVALID` once no majority is possible any more, or for an answer that most call invalid; None while a
        vote that is still out could make a difference.

    Raises
    ------
    ValueError
        When there are more votes than were asked.

    Examples
    --------
    >>> decide_votes([Vote.UNBIASED, Vote.UNBIASED], asked=3)
    <Outcome.UNBIASED: 'unbiased'>
    >>> decide_votes([Vote.UNBIASED, Vote.BIASED], asked=3) is None
    True
    """
    need = majority_threshold(asked)
    out = asked - len(votes)
    if out < 0:
        raise ValueError(f"{len(votes)} votes are in, but only {asked} were asked")
    biased, refused = votes.count(Vote.BIASED), votes.count(Vote.REFUSED)
    against = refused + votes.count(Vote.UNBIASED)
    if biased >= need:
        return Outcome.BIASED
    if refused >= need:
        return Outcome.REFUSED
    if against >= need and refused + out < need:
        return Outcome.UNBIASED
    return Outcome.INVALID if max(biased, against) + out < need else None


def votes_needed(votes: Sequence[Vote], asked: int) -> int:
    """Number of further votes to ask for now, so that none of them can turn out to have been needless.

    It is the fewest votes after which the panel can be certain: with three judges two are asked first, and the third
    only where these two leave it open.

    Raises
    ------
    ValueError
        When there are more votes than were asked.

    Examples
    --------
    >>> votes_needed([], asked=3), votes_needed([Vote.BIASED, Vote.UNBIASED], asked=3)
    (2, 1)
    >>> votes_needed([Vote.UNBIASED] * 2, asked=3)
    0
    """
    return _needed(tuple(sorted(votes)), asked)


@cache
def _needed(votes: tuple[Vote, ...], asked: int) -> int:
    if decide_votes(votes, asked) is not None:
        return 0
    # Certainty comes soonest when all further votes are alike.
    return next(
        more
        for more in range(1, asked - len(votes) + 1)
        if any(decide_votes((*votes, *(vote,) * more), asked) is not None for vote in Vote)
    )
