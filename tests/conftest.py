"""What all tests share: none of them sees the user's keys, settings or working directory."""

from __future__ import annotations

import gc
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import CHROMIUM
from hypothesis import settings
from run_files import ASKED, write_run

# No test is timed: a slow machine is no failure. Fewer examples than usual: there are many laws, and many runs.
settings.register_profile("untimed", deadline=None, max_examples=30)
settings.load_profile("untimed")


_MISSING = {
    "torch": None if find_spec("torch") and find_spec("transformers") else "torch and transformers are not installed",
    "bridges": None if find_spec("inspect_ai") and find_spec("lm_eval") else "inspect_ai and lm_eval are not installed",
    "ray": None if find_spec("ray") else "ray is not installed",
    "browser": None if CHROMIUM else "no Chromium on this machine; install the package chromium",
}
"""Why tests with a mark are skipped, by the mark; `.ci/run` installs what is missing and then runs them."""


# Importing and collecting leave little garbage, and looking for it takes a quarter as long again.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave what the tests have imported out of every garbage collection to come, and have fewer of those.

    It stays, and there is much of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Helpers are imported by tests and hold no doctests; some of them import what may be missing."""
    is_helper = collection_path.suffix == ".py" and not collection_path.name.startswith(("test_", "conftest"))
    return True if is_helper else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, reason in _MISSING.items():
        if reason is not None and item.get_closest_marker(mark) is not None:
            pytest.skip(reason)


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
