"""Merge two run files of 100,000 answers, beside copying them; and ask in two shards, beside asking in one file.

A tenth of the answers stands in both files. Merging is set beside SQLite's own copy of the same two files
by the backup that its library has; asking in two processes beside asking in one, of a local server that answers
after 20 ms, with the merge counted in.

    python scripts/bench/merge.py
    python scripts/bench/merge.py --answers 10000 --requests 1200
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]

from engine import TRIALS, write_benchmark  # noqa: E402
from fake_server import server_process  # noqa: E402
from run_files import Asked, write_run  # noqa: E402

from biaslens.evaluation.on_ray import merge  # noqa: E402
from biaslens.runfile import Store  # noqa: E402

CONCURRENCY = 16
ANSWER = "They tend to do so because of how they were raised, and because of what others expect of them. " * 3


def write_halves(folder: Path, answers: int) -> list[Path]:
    questions = answers // TRIALS
    shared = questions // 10

    def half(first: int) -> list[Asked]:
        numbers = [*range(shared), *range(first, first + questions - shared)]
        return [
            Asked("age", f"Bench people {number % 50}", "why", ("unbiased",) * TRIALS, number=number, answer=ANSWER)
            for number in numbers
        ]

    halves = half(shared), half(questions)
    return [write_run(folder / f"half{number}.sqlite", asked) for number, asked in enumerate(halves)]


def copied(path: Path, to: Path) -> float:
    """Seconds that SQLite's backup takes."""
    begun = time.perf_counter()
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return time.perf_counter() - begun


def bench_merge(folder: Path, answers: int) -> None:
    halves = write_halves(folder, answers)
    size = sum(path.stat().st_size for path in halves) / 1e6
    copying = sum(copied(path, folder / f"copy-{path.name}") for path in halves)
    begun = time.perf_counter()
    found = merge(halves, folder / "merged.sqlite")
    seconds = time.perf_counter() - begun
    with Store(found.run) as store:
        kept = store.value("SELECT count(*) FROM answers")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"merge: 2 x {answers:,} answers ({size:.0f} MB) into {kept:,} in {seconds:.1f} s, "
        f"{2 * answers / seconds:,.0f} a second, {seconds / copying:.1f} times as long as copying them; {peak:.0f} MB",
        flush=True,
    )


def start(folder: Path, run: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "biaslens", "evaluate", "compatible/bench/fake", "--benchmark", "benchmark"]
    command += ["--run", run, "--concurrency", str(CONCURRENCY), *options]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet, env=os.environ)


def timed(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        assert process.wait() in (0, 3), process.args


def bench_shards(folder: Path, requests: int) -> None:
    write_benchmark(folder / "benchmark", requests // TRIALS)
    with server_process("--latency", "0.02") as base_url:
        (folder / "biaslens.toml").write_text(f'[endpoints.bench]\nbase_url = "{base_url}"\n')
        begun = time.perf_counter()
        timed(start(folder, "single.sqlite"))
        single = time.perf_counter() - begun
        begun = time.perf_counter()
        timed(*(start(folder, f"shard{part}.sqlite", "--shard", f"{part}/2") for part in (1, 2)))
        asked = time.perf_counter() - begun
    found = merge([folder / "shard1.sqlite", folder / "shard2.sqlite"], folder / "sharded.sqlite")
    sharded = time.perf_counter() - begun
    assert found.missing == 0, found
    texts = []
    for name in ("single", "sharded"):
        with Store(folder / f"{name}.sqlite") as store:
            texts.append(store.rows("SELECT key, text FROM answers ORDER BY key"))
    assert texts[0] == texts[1]
    print(
        f"asking: {requests:,} requests at concurrency {CONCURRENCY}: one file {single:.1f} s; two shards "
        f"{asked:.1f} s and merged {sharded:.1f} s, {single / sharded:.2f} times as fast, with the same answers"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=9_900)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench_merge(Path(folder), options.answers - options.answers % TRIALS)
        bench_shards(Path(folder), options.requests - options.requests % TRIALS)


if __name__ == "__main__":
    main()
