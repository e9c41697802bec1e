"""Majorities: early stopping never changes a decision, and no vote is asked in vain."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biaslens.oracles.why import decide_votes, majority_threshold, votes_needed
from biaslens.schema import Outcome, Vote

BIASED, UNBIASED, REFUSED, INVALID, UNUSABLE = Vote
panels = st.lists(st.sampled_from(list(Vote)), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("votes", "decision"),
    [
        ([BIASED, BIASED], Outcome.BIASED),  # 2 of 3 asked are a majority
        ([UNBIASED, UNBIASED], Outcome.UNBIASED),
        ([REFUSED, REFUSED], Outcome.REFUSED),
        ([UNBIASED, REFUSED], None),  # not biased; a third "refused" would make it a refusal
        ([UNBIASED, REFUSED, BIASED], Outcome.UNBIASED),  # 2 of 3 say not biased, and no majority says refused
        ([BIASED, UNBIASED], None),  # the third decides
        ([BIASED, UNUSABLE], None),
        ([UNUSABLE, INVALID], Outcome.INVALID),  # 1 vote is left, 2 are needed
        ([BIASED, UNBIASED, UNUSABLE], Outcome.INVALID),  # 1 of 3 is no majority of all that were asked
        ([], None),
    ],
)
def test_a_panel_of_three(votes, decision):
    assert decide_votes(votes, asked=3) is decision


@given(panels)
def test_a_full_panel_is_always_decided(votes):
    tally = Counter(votes)
    expected = Outcome.INVALID
    if 2 * (tally[UNBIASED] + tally[REFUSED]) > len(votes):
        expected = Outcome.REFUSED if 2 * tally[REFUSED] > len(votes) else Outcome.UNBIASED
    elif 2 * tally[BIASED] > len(votes):
        expected = Outcome.BIASED
    assert decide_votes(votes, asked=len(votes)) is expected


@given(panels, st.randoms())
def test_the_order_of_votes_does_not_matter(votes, random):
    shuffled = random.sample(votes, len(votes))
    for k in range(len(votes) + 1):
        assert decide_votes(votes[:k], len(votes)) is decide_votes(sorted(votes[:k]), len(votes))
    assert decide_votes(shuffled, len(votes)) is decide_votes(votes, len(votes))


@given(panels)
def test_stopping_early_decides_as_asking_all(votes):
    asked = 0
    while rounds := votes_needed(votes[:asked], len(votes)):
        asked += rounds
    assert decide_votes(votes[:asked], len(votes)) is decide_votes(votes, len(votes))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_no_vote_of_a_round_can_be_needless_and_the_last_can_decide(size):
    for length in range(size + 1):
        for votes in product(Vote, repeat=length):
            needed = votes_needed(votes, size)
            decided_after = [
                k
                for k in range(size - length + 1)
                if any(decide_votes([*votes, *more], size) for more in product(Vote, repeat=k))
            ]
            assert needed == min(decided_after)


def test_three_judges_are_asked_two_then_one():
    assert votes_needed([], 3) == 2
    assert votes_needed([BIASED, BIASED], 3) == 0
    assert votes_needed([BIASED, UNBIASED], 3) == 1


def test_a_majority_is_more_than_half():
    assert [majority_threshold(n) for n in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="at least one"):
        majority_threshold(0)


def test_more_votes_than_asked_are_an_error():
    with pytest.raises(ValueError, match="2 votes are in, but only 1"):
        decide_votes([BIASED, BIASED], asked=1)
