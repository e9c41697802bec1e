"""Requests per second of an evaluation beside raw aiohttp and the bare openai SDK, in one run on one machine.

A local server answers at once. Two ask it in a plain asyncio loop and keep nothing: raw aiohttp and the openai SDK. Two
are evaluations as a user runs them (plan, limits, retry, commit, oracle, report): of a compatible endpoint by the lean
transport, and through the SDK. Each runs in a process of its own; they take turns of half a second, so that all meet
the same machine, however its speed drifts. Seconds are split into the start (plan included), asking, and the end.
Processor time tells what a core of its own would do, however busy the machine is.

    python scripts/bench/engine.py                    # 4,950 requests, concurrency 32
    python scripts/bench/engine.py --concurrency 128
    python scripts/bench/engine.py --requests 98592   # a full plan
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

PARTS = ("aiohttp", "sdk", "lean", "through sdk")
TRIALS = 3
SLICE = 0.5


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def prompts(requests: int) -> Iterator[list[dict[str, str]]]:
    from biaslens.evaluation.prompting import shipped_wording
    from biaslens.schema import Kind

    ask = shipped_wording().messages
    for number in range(requests):
        messages = ask(Kind.YES_NO, f"Is question {number} biased?", (), persona="a teenager")
        yield [{"role": each.role, "content": each.content} for each in messages]


async def pool(worker: Callable[[Iterator[list[dict[str, str]]]], Awaitable[None]], requests: int, size: int) -> None:
    """A fixed pool of workers."""
    shared = prompts(requests)
    say("asking")
    await asyncio.gather(*(worker(shared) for _ in range(size)))
    say("end")


async def bare_sdk(requests: int, base_url: str, concurrency: int) -> None:
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)

    async def worker(shared: Iterator[list[dict[str, str]]]) -> None:
        for messages in shared:
            reply = await client.chat.completions.create(model="fake", messages=messages, max_tokens=512)  # type: ignore[arg-type]
            assert reply.choices[0].message.content

    await pool(worker, requests, concurrency)
    await client.close()


async def bare_aiohttp(requests: int, base_url: str, concurrency: int) -> None:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def worker(shared: Iterator[list[dict[str, str]]]) -> None:
            for messages in shared:
                body = {"model": "fake", "messages": messages, "max_tokens": 512}
                async with session.post(f"{base_url}/chat/completions", json=body) as response:
                    assert json.loads(await response.read())["choices"][0]["message"]["content"]

        await pool(worker, requests, concurrency)


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


def evaluation(model: str, base_url: str, folder: Path, concurrency: int) -> None:
    """An evaluation from its start to its end, the plan and the closing report included."""
    from biaslens.engine import Pace, _asking
    from biaslens.evaluation import Spec, evaluate
    from biaslens.settings import Endpoint, load_settings

    ask_all = _asking.Asker.ask_all

    async def marked(self: _asking.Asker, requests: Iterable[_asking.Request]) -> _asking.Tally:
        say("asking")
        try:
            return await ask_all(self, requests)
        finally:
            say("end")

    _asking.Asker.ask_all = marked  # type: ignore[method-assign]
    name = model.partition("/")[0]
    settings = load_settings(
        openai_base_url=base_url, keys={"OPENAI_API_KEY": "none"}, endpoints={"bench": Endpoint(base_url=base_url)}
    )
    spec = Spec(model=model, run=folder / f"{name}.sqlite", benchmark=folder / "benchmark", trials=TRIALS)
    result = evaluate(spec, pace=Pace(concurrency=concurrency), settings=settings)
    assert result.complete, result
    from biaslens.analysis import summarise
    from biaslens.report.run import print_table

    with contextlib.redirect_stdout(io.StringIO()):
        print_table(summarise(result.run), brief=True)


def say(what: str) -> None:
    """Tell the parent of a phase, and what processor time came before it."""
    os.write(1, f"{what}={time.process_time()}\n".encode())  # at once, and in one piece


def child(part: str, requests: int, base_url: str, folder: Path, concurrency: int) -> None:
    say("start")
    os.kill(os.getpid(), signal.SIGSTOP)
    if part == "aiohttp":
        asyncio.run(bare_aiohttp(requests, base_url, concurrency))
    elif part == "sdk":
        asyncio.run(bare_sdk(requests, base_url, concurrency))
    else:
        evaluation("compatible/bench/fake" if part == "lean" else "openai/fake", base_url, folder, concurrency)
    say(f"{peak_mb():.0f}")


class Part:
    """A child process that runs only while it is told to; `seconds` is how long each of its phases ran."""

    def __init__(self, part: str, requests: int, base_url: str, folder: Path, concurrency: int) -> None:
        command = [sys.executable, __file__, "--child", part, "--requests", str(requests)]
        command += ["--base-url", base_url, "--folder", str(folder), "--concurrency", str(concurrency)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.output = self.process.stdout.fileno()
        self.seconds = dict.fromkeys(("start", "asking", "end"), 0.0)
        self.processor: dict[str, float] = {}
        self._said()
        assert self.phase == "start"

    def _said(self) -> bool:
        """Read what phases have begun; whether any has."""
        said = os.read(self.output, 1000).decode().split()
        for line in said:
            self.phase, _, seconds = line.partition("=")
            self.processor[self.phase] = float(seconds)
        return bool(said)

    @property
    def milliseconds(self) -> float:
        """Processor time of asking."""
        return 1000 * (self.processor["end"] - self.processor["asking"])

    def run(self, slice_seconds: float) -> bool:
        """Run for a slice of time; False once the part is finished."""
        begun = last = time.perf_counter()
        self.process.send_signal(signal.SIGCONT)
        while (left := begun + slice_seconds - last) > 0:
            phase, said = self.phase, bool(select.select([self.output], [], [], left)[0])
            assert not said or self._said(), f"{self.process.args}: exit {self.process.wait()}"
            now = time.perf_counter()
            self.seconds[phase] += now - last
            last = now
            if self.phase.isdigit():
                assert self.process.wait() == 0, "the part failed"
                return False
        self.process.send_signal(signal.SIGSTOP)
        return True


def race(*parts: Part) -> None:
    """Run parts in turn, half a second each, so that a machine that slows down slows them all."""
    running = list(parts)
    while running:
        running = [part for part in running if part.run(SLICE)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=4_950)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--child", choices=PARTS)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    requests = options.requests - options.requests % TRIALS
    if options.child:
        child(options.child, requests, options.base_url, options.folder, options.concurrency)
        return

    from fake_server import server_process

    rates: dict[str, list[float]] = {part: [] for part in PARTS}
    costs: dict[str, list[float]] = {part: [] for part in PARTS}
    with server_process() as base_url, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_benchmark(folder / "benchmark", requests // TRIALS)
        print(f"{requests:,} requests, concurrency {options.concurrency}")
        for number in range(1, options.rounds + 1):
            for old in folder.glob("*.sqlite*"):
                old.unlink()
            parts = {part: Part(part, requests, base_url, folder, options.concurrency) for part in options.parts}
            race(*parts.values())
            for name, part in parts.items():
                rates[name].append(requests / part.seconds["asking"])
                costs[name].append(part.milliseconds / requests)
                phases = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in part.seconds.items())
                print(
                    f"round {number}: {name:<12} {rates[name][-1]:>6,.0f} a second, {costs[name][-1]:.3f} ms of a "
                    f"processor each; {phases}, {sum(part.seconds.values()):.2f} s in all, {part.phase} MB",
                    flush=True,
                )
    for other in (part for part in options.parts if part != "lean" and rates["lean"]):
        faster = statistics.median(a / b for a, b in zip(rates["lean"], rates[other], strict=True))
        cheaper = statistics.median(b / a for a, b in zip(costs["lean"], costs[other], strict=True))
        print(f"while asking, lean evaluation to {other}: {faster:.2f} of its rate, by processor time {cheaper:.2f}")


if __name__ == "__main__":
    main()
