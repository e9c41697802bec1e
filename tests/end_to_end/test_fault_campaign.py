"""The short form of `scripts/faults.sh`."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_table import SHORT, TABLE, Case, run, wrong
from kill_chain import chain


@pytest.mark.parametrize("case", [case for case in TABLE if case.name in SHORT], ids=lambda case: case.name)
def test_a_fault_comes_to_what_the_table_says(tmp_path: Path, case: Case):
    assert wrong(case, run(case, tmp_path)) == []


def test_a_chain_of_kills_ends_where_an_undisturbed_run_does(tmp_path: Path):
    found = chain(tmp_path, kills=3, concurrency=32, copies=12)
    assert found.kills == 3
    assert found.differences == ()
    assert found.arrived_again <= found.kills
