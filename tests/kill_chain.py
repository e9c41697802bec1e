"""Kill an evaluation with its judge again and again, and compare what it comes to with one that nobody disturbed.

    python tests/kill_chain.py                     # 50 kills at each of concurrency 4, 32 and 128

The server counts what it has delivered, and the killed process what has arrived in it: the difference lay in sockets.
What had arrived and is asked again was lost between its arrival and the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from command import environment
from fake_server import server_process
from small import small_benchmark

REQUESTS_A_SECOND = 50
"""Asked at this pace a client has no queue of its own; with one, what a kill costs is the length of the queue."""

COMPARED = {
    "plan": "key, question_id, condition, trial, option_order",
    "answers": "key, model, text, finish_reason, resolved_model, prompt_tokens, completion_tokens",
    "votes": "key, response_key, ballot, vote_number, vote, reason",
    "verdicts": "response_key, panel, outcome, reason, choice, oracle",
}


@dataclass(frozen=True)
class Chain:
    """What a chain of kills came to: replies delivered, arrived, and asked again though delivered or arrived."""

    kills: int
    delivered: int
    delivered_again: int
    arrived: int
    arrived_again: int
    differences: tuple[str, ...]


def chain(folder: Path, *, kills: int, concurrency: int, copies: int, seed: int = 0) -> Chain:
    benchmark = small_benchmark(folder / "benchmark", copies=copies)
    latency = ["--latency", str(concurrency / REQUESTS_A_SECOND), "--uneven", "--biased", "0.4"]
    log, arrivals = folder / "log.jsonl", folder / "arrivals"
    moments = random.Random(seed)
    killed = 0
    with server_process("--log", str(log), *latency) as base_url:
        while True:
            process = _start(benchmark, folder / "killed.sqlite", base_url, concurrency, arrivals)
            if killed < kills and _wait(process, log, more=moments.randint(1, 2 * copies)):
                time.sleep(moments.uniform(0, 0.1))
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed += 1
            elif process.wait() == 0:
                break
            else:
                raise AssertionError(f"exit {process.returncode}")
    with server_process("--biased", "0.4") as base_url:
        assert _start(benchmark, folder / "whole.sqlite", base_url, concurrency, folder / "unused").wait() == 0
    lines = map(json.loads, log.read_text().splitlines())
    delivered = Counter(line["hash"] for line in lines if line["delivered"])
    arrived = arrivals.stat().st_size
    rows = _rows(folder / "killed.sqlite"), _rows(folder / "whole.sqlite")
    return Chain(
        kills=killed,
        delivered=delivered.total(),
        delivered_again=delivered.total() - len(delivered),
        arrived=arrived,
        arrived_again=arrived - len(rows[0]["answers"]),
        differences=tuple(table for table in COMPARED if rows[0][table] != rows[1][table]),
    )


def _start(benchmark: Path, run: Path, base_url: str, concurrency: int, arrivals: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--client", str(arrivals), "evaluate", "openai/fake"]
    command += ["--benchmark", str(benchmark), "--run", str(run), "--concurrency", str(concurrency)]
    command += ["--judge", "openai/judge"]
    output = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment(base_url), stdout=output, stderr=output)


def _wait(process: subprocess.Popen[bytes], log: Path, *, more: int) -> bool:
    """Wait for so many more replies; False where the process ended first."""
    size = log.stat().st_size if log.exists() else 0
    end = time.monotonic() + 120
    while process.poll() is None:
        if log.exists():
            with log.open("rb") as file:
                file.seek(size)
                if file.read().count(b"\n") >= more:
                    return True
        assert time.monotonic() < end
        time.sleep(0.005)
    return False


def _rows(run: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(f"file:{run}?mode=ro", uri=True)
    try:
        return {
            table: connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()
            for table, columns in COMPARED.items()
        }
    finally:
        connection.close()


def client(arrivals: str, arguments: list[str]) -> None:
    """The command line, with a byte written for each reply that has arrived, before anything is done with it."""
    from biaslens.cli import main as biaslens
    from biaslens.models.openai import OpenAIModel

    file = os.open(arrivals, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    complete = OpenAIModel.complete

    async def counted(self, messages, params):  # type: ignore[no-untyped-def]
        completion = await complete(self, messages, params)
        os.write(file, b".")
        return completion

    OpenAIModel.complete = counted  # type: ignore[method-assign]
    sys.argv = ["biaslens", *arguments]
    biaslens()


def main() -> None:
    if sys.argv[1:2] == ["--client"]:
        client(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[4, 32, 128])
    options = parser.parse_args()
    failed = False
    print("concurrency  kills  delivered  again (a kill)  arrived  again (a kill)  finished file")
    for concurrency in options.concurrency:
        with tempfile.TemporaryDirectory() as folder:
            found = chain(Path(folder), kills=options.kills, concurrency=concurrency, copies=3 * options.kills)
        same = f"differs in {', '.join(found.differences)}" if found.differences else "equals the undisturbed one"
        shares = [again / max(found.kills, 1) for again in (found.delivered_again, found.arrived_again)]
        print(
            f"{concurrency:>11}  {found.kills:>5}  {found.delivered:>9}  {found.delivered_again:>5} ({shares[0]:.2f})  "
            f"  {found.arrived:>7}  {found.arrived_again:>5} ({shares[1]:.2f})    {same}",
            flush=True,
        )
        failed |= bool(found.differences) or found.arrived_again > found.kills or found.kills < options.kills
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
