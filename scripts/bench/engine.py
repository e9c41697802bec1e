"""Requests per second of an evaluation beside the bare openai SDK, in one run on one machine.

A local server answers at once. (a) asks it with the openai SDK in a plain asyncio loop; (b) is an evaluation as a user
runs it: plan, limits, retry, commit, oracle. Each part runs in a process of its own; the two take turns of half a
second, so that both meet the same machine, however its speed drifts.

    python scripts/bench/engine.py                    # 10,000 requests, concurrency 32
    python scripts/bench/engine.py --requests 98592   # a full plan: time, memory, and the time of a resume
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

CONCURRENCY = 32
TRIALS = 3
SLICE = 0.5


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def bare(requests: int, base_url: str) -> float:
    """Seconds that the SDK alone takes: a fixed pool of workers, nothing kept."""
    import openai

    from biaslens.evaluation.prompting import shipped_wording
    from biaslens.schema import Kind

    client = openai.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)
    numbers = count()
    ask = shipped_wording().messages

    async def worker() -> None:
        while (number := next(numbers)) < requests:
            messages = ask(Kind.YES_NO, f"Is question {number} biased?", (), persona="a teenager")
            reply = await client.chat.completions.create(
                model="fake",
                messages=[{"role": m.role, "content": m.content} for m in messages],  # type: ignore[misc]
                max_completion_tokens=512,
            )
            assert reply.choices[0].message.content

    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    seconds = time.perf_counter() - begun
    await client.close()
    return seconds


def write_benchmark(path: Path, questions: int) -> None:
    from biaslens.benchmark import Benchmark, write
    from biaslens.schema import Attribute, Kind, Question, Role

    attributes = list(Attribute)
    roles = [Role(attributes[n % 11], f"Bench people {n}", f"a bench person {n}") for n in range(550)]
    asked = tuple(
        Question(roles[n % 550], Kind.YES_NO, f"Is question {n} about one group of people or about another one?")
        for n in range(questions)
    )
    write(Benchmark("0-A", "", None, tuple(roles), asked, "bench"), path)


def full(requests: int, folder: Path) -> float:
    """Seconds that an evaluation takes from its start to its end, the plan included."""
    from biaslens.engine import Pace
    from biaslens.evaluation import Spec, evaluate

    spec = Spec(model="openai/fake", run=folder / "bench.sqlite", benchmark=folder / "benchmark", trials=TRIALS)
    begun = time.perf_counter()
    result = evaluate(spec, pace=Pace(concurrency=CONCURRENCY))
    seconds = time.perf_counter() - begun
    assert result.complete, result
    return seconds


def child(part: str, requests: int, base_url: str, folder: Path) -> None:
    os.environ["OPENAI_API_KEY"] = "none"
    os.environ["OPENAI_BASE_URL"] = base_url
    import biaslens.models.openai  # noqa: F401 - imports are nobody's request

    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    if part == "bare":
        asyncio.run(bare(requests, base_url))
    else:
        full(requests, folder)
    print(f"{peak_mb():.0f}", flush=True)


class Part:
    """A child process that runs only while it is told to; `seconds` is how long it ran."""

    def __init__(self, part: str, requests: int, base_url: str, folder: Path) -> None:
        command = [sys.executable, __file__, "--child", part, "--requests", str(requests)]
        self.process = subprocess.Popen(
            [*command, "--base-url", base_url, "--folder", str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        assert self.output.readline() == "ready\n"
        self.seconds = 0.0
        self.peak_mb = ""

    def run(self, slice_seconds: float) -> bool:
        """Run for a slice of time; False once the part is finished."""
        begun = time.perf_counter()
        self.process.send_signal(signal.SIGCONT)
        finished = bool(select.select([self.output], [], [], slice_seconds)[0])
        if not finished:
            self.process.send_signal(signal.SIGSTOP)
        self.seconds += time.perf_counter() - begun
        if finished:
            self.peak_mb = self.output.readline().strip()
            assert self.process.wait() == 0, "the part failed"
        return not finished


def race(*parts: Part) -> None:
    """Run parts in turn, half a second each, so that a machine that slows down slows them all."""
    running = list(parts)
    while running:
        running = [part for part in running if part.run(SLICE)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=9_999)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=("bare", "full"))
    parser.add_argument("--base-url", default="")
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    requests = options.requests - options.requests % TRIALS
    if options.child:
        child(options.child, requests, options.base_url, options.folder)
        return

    from fake_server import server_process

    ratios = []
    with server_process() as base_url, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_benchmark(folder / "benchmark", requests // TRIALS)
        for number in range(1, options.rounds + 1):
            for old in folder.glob("bench.sqlite*"):
                old.unlink()
            a, b = (Part(part, requests, base_url, folder) for part in ("bare", "full"))
            race(a, b)
            resumed = Part("full", requests, base_url, folder)
            race(resumed)
            ratios.append(a.seconds / b.seconds)
            print(
                f"round {number}: {requests:,} requests, concurrency {CONCURRENCY}: "
                f"bare SDK {requests / a.seconds:.0f}/s ({a.peak_mb} MB), "
                f"evaluation {requests / b.seconds:.0f}/s ({b.peak_mb} MB), ratio {ratios[-1]:.2f}; "
                f"resume of the complete run {resumed.seconds:.2f} s ({resumed.peak_mb} MB)",
                flush=True,
            )
    print(f"median ratio, evaluation to bare SDK: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
