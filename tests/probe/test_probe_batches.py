"""Batches of texts of about one length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from biaslens.probe.tuning import Buckets, by_length

LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=300)


@given(LENGTHS, st.integers(1, 40), st.integers(0, 5))
def test_every_text_is_once_in_an_epoch(lengths, size, epoch) -> None:
    batches = Buckets(lengths, size, seed=3).epoch(epoch)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert len(batches) == Buckets(lengths, size, seed=3).per_epoch
    assert sum(len(batch) != size for batch in batches) <= 1  # the last texts may not fill one


@given(LENGTHS, st.integers(1, 40))
def test_every_text_is_evaluated_once(lengths, size) -> None:
    assert sorted(place for batch in by_length(lengths, size) for place in batch) == list(range(len(lengths)))


def test_seeds_and_epochs_have_orders_of_their_own_that_repeat() -> None:
    lengths = [1 + number % 30 for number in range(200)]
    assert Buckets(lengths, 8, 1).epoch(0) == Buckets(lengths, 8, 1).epoch(0)
    assert Buckets(lengths, 8, 1).epoch(0) != Buckets(lengths, 8, 1).epoch(1)
    assert Buckets(lengths, 8, 1).epoch(0) != Buckets(lengths, 8, 2).epoch(0)


def test_little_padding_is_wasted() -> None:
    lengths = [1 + number % 30 for number in range(1600)]
    padded = sum(max(lengths[place] for place in batch) * len(batch) for batch in Buckets(lengths, 32, 1).epoch(0))
    # Batches of 32 drawn at random would be padded to nearly 30 tokens, so 1600 x 30; the texts have 1600 x 15.5.
    assert padded < 1.05 * sum(lengths)
