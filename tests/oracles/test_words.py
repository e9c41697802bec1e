"""The patterns of ``words.toml``: they are compiled when they are first used, so a mistake in one would show late."""

from __future__ import annotations

import pytest

from biaslens.oracles.text import CUES, WORDS, RulePatterns


@pytest.mark.parametrize("oracle", WORDS["patterns"])
def test_every_pattern_compiles_with_its_parts_put_in(oracle):
    patterns = RulePatterns(oracle)
    for name in WORDS["patterns"][oracle].keys() - {"parts"}:
        assert not any(f"%{part}%" in getattr(patterns, name).pattern for part in WORDS["parts"])
    with pytest.raises(AttributeError):
        _ = patterns.no_such_pattern


def test_every_cue_compiles_and_none_is_met_by_nothing():
    for name in WORDS["cues"]:
        assert getattr(CUES, name).search("") is None
