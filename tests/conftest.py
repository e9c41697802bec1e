"""What all tests share: none of them sees the user's keys, settings or working directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from run_files import ASKED, write_run

# No test is timed: a slow machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _no_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("BIASLENS_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run file that is counted by hand in run_files."""
    return write_run(tmp_path / "run.sqlite", ASKED)
