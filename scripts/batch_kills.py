"""Kill an evaluation in batches, judges included, with SIGKILL again and again, and count what the provider was sent.

A local provider of the dialect tells before or after which call, or how long after it, the process dies. In the end
every request must have been submitted once, by the provider's own count, and the run must hold what an undisturbed one
holds.

    python scripts/batch_kills.py                       # 50 kills for each dialect
    python scripts/batch_kills.py --dialect mistral --kills 10 --seed 3
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from batch_server import PROVIDERS, BatchProvider  # noqa: E402
from fake_server import FakeServer, Reply, Request, by_kind  # noqa: E402
from small import small_benchmark  # noqa: E402

ANSWERS = "SELECT key, text FROM answers ORDER BY key"
VERDICTS = "SELECT * FROM verdicts ORDER BY 1, 2"
MOST_CALLS = 9


def model(request: Request) -> Reply:
    body = {name: value for name, value in request.body.items() if name != "stream"}
    return by_kind(replace(request, body=body), biased=0.4)


def start(provider: BatchProvider, base_url: str, folder: Path, run: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "biaslens", "evaluate", provider.model, "--judge", provider.model, "--batch"]
    command += ["--benchmark", str(folder / "benchmark"), "--run", str(folder / run)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command, env=os.environ | provider.environment(base_url), stdout=quiet, stderr=quiet, cwd=folder
    )


def rows(path: Path) -> list[list[tuple[object, ...]]]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return [connection.execute(query).fetchall() for query in (ANSWERS, VERDICTS)]


def kill_once(provider: BatchProvider, base_url: str, folder: Path, chance: random.Random) -> bool:
    """Start the command and kill it around some call of its; whether it lived that long."""
    calls, when = chance.randint(1, MOST_CALLS), chance.choice(["before", "after", "later"])
    process = start(provider, base_url, folder, "killed.sqlite")
    due = threading.Event()

    def hear(_: str) -> bool:
        nonlocal calls
        calls -= 1
        if calls == 0 and when != "later":
            process.send_signal(signal.SIGKILL)
        if calls == 0:
            due.set()
        return calls == 0 and when == "before"

    provider.before = hear if when == "before" else lambda _: False
    provider.after = hear if when != "before" else lambda _: None
    while process.poll() is None and not due.wait(0.01):
        pass
    if due.is_set() and when == "later":
        time.sleep(chance.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def chain(dialect: type[BatchProvider], kills: int, seed: int, folder: Path) -> list[str]:
    """What is wrong after so many kills; nothing, it is hoped."""
    chance = random.Random(seed)
    provider = dialect(model)
    killed = starts = 0
    with FakeServer(provider, keep_log=False) as server:
        while killed < kills and starts < 3 * kills:
            starts += 1
            provider.polls = chance.randint(0, 2)
            alive = kill_once(provider, server.base_url, folder, chance)
            killed += alive
            if not alive and (folder / "killed.sqlite").exists():
                # Done before its time: it is judged, and the next one begins.
                break
        provider.before, provider.after, provider.polls = lambda _: False, lambda _: None, 0
        code = start(provider, server.base_url, folder, "killed.sqlite").wait()
    undisturbed = dialect(model)
    with FakeServer(undisturbed, keep_log=False) as server:
        assert start(undisturbed, server.base_url, folder, "whole.sqlite").wait() == 0
    twice = Counter(count for count in provider.submitted.values() if count > 1)
    wrong = [] if code == 0 else [f"the last session ended with {code}"]
    wrong += [f"{number} requests were submitted {times} times" for times, number in twice.items()]
    if rows(folder / "killed.sqlite") != rows(folder / "whole.sqlite"):
        wrong.append("the run differs from an undisturbed one")
    print(
        f"{dialect.setting.lower():<10} {killed:>3} kills, {len(provider.batches):>3} batches, "
        f"{provider.submitted.total():>5} requests submitted, {sum(twice.values())} of them twice: "
        f"{'; '.join(wrong) or 'equals the undisturbed run'}",
        flush=True,
    )
    return [str(killed), *wrong]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--dialect", choices=[each.setting.lower() for each in PROVIDERS])
    options = parser.parse_args()
    failed = False
    for dialect in PROVIDERS:
        if options.dialect not in (None, dialect.setting.lower()):
            continue
        left, number = options.kills, 0
        while left > 0:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                small_benchmark(folder / "benchmark")
                killed, *wrong = chain(dialect, left, options.seed + number, folder)
            left, number, failed = left - int(killed), number + 1, failed or bool(wrong)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
