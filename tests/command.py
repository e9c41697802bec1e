"""Run the real command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-m", "biaslens")


def environment(base_url: str | None = None, **more: str) -> dict[str, str]:
    values = {**os.environ, **more}
    if base_url is not None:
        values |= {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": base_url}
    return values


def biaslens(
    *arguments: str | Path, base_url: str | None = None, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `more` are environment variables."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env=environment(base_url, **more),
    )
