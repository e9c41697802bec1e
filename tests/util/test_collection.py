"""Where no garbage is looked for, and that it is looked for again."""

import gc
from collections.abc import Iterator

import pytest

from biaslens._util import without_collection


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


@without_collection()
def looked_for() -> bool:
    return gc.isenabled()


def test_garbage_is_looked_for_again_whatever_happens():
    with pytest.raises(ValueError, match="wrong"), without_collection():
        assert not gc.isenabled()
        raise ValueError("wrong")
    assert gc.isenabled()


def test_one_within_another_leaves_it_to_the_outer_one():
    with without_collection():
        assert not looked_for()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off():
    gc.disable()
    assert not looked_for()
    assert not gc.isenabled()
