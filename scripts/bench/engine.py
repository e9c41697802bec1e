"""Requests per second of an evaluation beside the bare openai SDK, in one run on one machine.

A local server answers at once. (a) asks it with the openai SDK in a plain asyncio loop; (b) is an evaluation as a user
runs it: plan, limits, retry, commit, oracle. Each part runs in a process of its own, in turn, `--rounds` times.

    python scripts/bench/engine.py                    # 10,000 requests, concurrency 32
    python scripts/bench/engine.py --requests 98592   # a full plan: time, memory, and the time of a resume
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
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


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def bare(requests: int, base_url: str) -> float:
    """Seconds that the SDK alone takes: a fixed pool of workers, nothing kept."""
    import openai

    from biaslens.evaluation.prompting import ask_messages
    from biaslens.schema import Kind

    client = openai.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)
    numbers = count()

    async def worker() -> None:
        while (number := next(numbers)) < requests:
            messages = ask_messages(Kind.YES_NO, f"Is question {number} biased?", (), persona="a teenager")
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
    import biaslens.models.openai  # noqa: F401 - imported before the clock starts, as in `bare`
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
    seconds = asyncio.run(bare(requests, base_url)) if part == "bare" else full(requests, folder)
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb()}))


def measure(part: str, requests: int, base_url: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", part, "--requests", str(requests)]
    done = subprocess.run(
        [*command, "--base-url", base_url, "--folder", str(folder)], check=True, capture_output=True, text=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


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
            a = measure("bare", requests, base_url, folder)
            b = measure("full", requests, base_url, folder)
            resumed = measure("full", requests, base_url, folder)
            ratios.append(a["seconds"] / b["seconds"])
            print(
                f"round {number}: {requests:,} requests, concurrency {CONCURRENCY}: "
                f"bare SDK {requests / a['seconds']:.0f}/s ({a['peak_mb']:.0f} MB), "
                f"evaluation {requests / b['seconds']:.0f}/s ({b['peak_mb']:.0f} MB), ratio {ratios[-1]:.2f}; "
                f"resume of the complete run {resumed['seconds']:.2f} s ({resumed['peak_mb']:.0f} MB)",
                flush=True,
            )
    print(f"median ratio, evaluation to bare SDK: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
