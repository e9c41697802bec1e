"""The progress of what asks no model."""

from __future__ import annotations

import io
import sys

import pytest

from biaslens.cli import progress
from biaslens.cli.progress import WorkBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("wait", "shown"), [(1e6, False), (0, True)])
def test_only_work_that_takes_long_shows_progress_and_it_leaves_no_line(monkeypatch, wait, shown):
    monkeypatch.setattr(progress, "_WAIT_SHOWN", wait)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with WorkBar() as bar:
        bar.begin("reading", total=1)
        bar.step()
        bar.step()  # more than was thought
    text = sys.stderr.getvalue()
    assert ("reading" in text) is shown
    assert not text.rpartition("\r")[0].rpartition("\r")[2].strip()  # wiped out at the end


def test_a_file_gets_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with WorkBar() as bar:
        bar.begin("reading", total=1)
        bar.step()
    assert sys.stderr.getvalue() == ""
