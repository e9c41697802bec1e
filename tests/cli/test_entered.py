"""How much of the package the command that users run most goes through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fake_server import FakeServer
from small import small_benchmark

TRACED = """
import inspect, sys, threading
from biaslens.cli import main
entered = set()
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and "/biaslens/" in code.co_filename:
        entered.add(code.co_filename.rpartition("/biaslens/")[2])
sys.setprofile(note)
threading.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    loaded = [name for name in sys.modules if name.startswith("biaslens.") or name in ("openai", "httpx2")]
    print(*sorted(entered), "|", *loaded, file=sys.stderr)
"""


def test_an_evaluation_enters_few_files_and_loads_no_sdk():
    small_benchmark(Path("benchmark"))
    options = ("evaluate", "compatible/mine/m", "--benchmark", "benchmark", "--run", "r.sqlite")
    with FakeServer() as server:
        Path("biaslens.toml").write_text(f'[endpoints.mine]\nbase_url = "{server.base_url}"\n')
        done = subprocess.run(
            [sys.executable, "-c", TRACED, *options], capture_output=True, text=True, timeout=120, env=os.environ
        )
    assert done.returncode == 0, done.stderr
    entered, _, loaded = done.stderr.splitlines()[-1].partition("|")
    assert len(entered.split()) <= 43, entered
    assert len(loaded.split()) <= 55, loaded
    unwanted = {"openai", "httpx2", "biaslens.engine._batching", "biaslens.runfile._merge"}
    assert not unwanted & set(loaded.split())
