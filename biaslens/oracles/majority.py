"""Majorities of votes and trials, and when they are certain.

A majority needs more than half of all that were asked, not of those that turned out usable. A panel in which neither
yes nor no reaches it is undecided: `Vote.UNUSABLE`.
"""

from __future__ import annotations

from collections.abc import Sequence

from biaslens.schema import Vote


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


def decide_votes(votes: Sequence[Vote], asked: int) -> Vote | None:
    """Decision of a panel of `asked` votes from the votes that are in.

    Parameters
    ----------
    votes
        The votes so far, in any order.
    asked
        Size of the whole panel, votes not in yet included.

    Returns
    -------
    Vote or None
        `Vote.YES` or `Vote.NO` once more than half of the panel says so; `Vote.UNUSABLE` once neither can reach that
        any more; None while a vote that is still out could make a difference.

    Raises
    ------
    ValueError
        When there are more votes than were asked.

    Examples
    --------
    >>> decide_votes([Vote.NO, Vote.NO], asked=3)
    <Vote.NO: 'no'>
    >>> decide_votes([Vote.NO, Vote.YES], asked=3) is None
    True
    """
    need, out = majority_threshold(asked), _still_out(votes, asked)
    tallies = {vote: sum(v is vote for v in votes) for vote in (Vote.YES, Vote.NO)}
    for vote, count in tallies.items():
        if count >= need:
            return vote
    if all(count + out < need for count in tallies.values()):
        return Vote.UNUSABLE
    return None


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
    >>> votes_needed([], asked=3), votes_needed([Vote.YES, Vote.NO], asked=3), votes_needed([Vote.NO] * 2, asked=3)
    (2, 1, 0)
    """
    if decide_votes(votes, asked) is not None:
        return 0
    need, out = majority_threshold(asked), _still_out(votes, asked)
    tallies = [sum(v is vote for v in votes) for vote in (Vote.YES, Vote.NO)]
    # Certain of a majority after `need - most` equal votes; certain that there is none once the votes still out can
    # lift neither side: that takes `out - (need - most) + 1` unusable ones.
    to_majority = need - max(tallies)
    to_deadlock = out - to_majority + 1
    return min(to_majority, to_deadlock, out)


def _still_out(votes: Sequence[Vote], asked: int) -> int:
    if len(votes) > asked:
        raise ValueError(f"{len(votes)} votes are in, but only {asked} were asked")
    return asked - len(votes)
