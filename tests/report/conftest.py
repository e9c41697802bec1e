"""Gives the tests of this folder one run that is counted by hand."""

import pytest
from run_files import ASKED, write_run


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run.sqlite", ASKED)
