"""What each fault of a server comes to: the line, the exit code, what is stored, and what is asked again.

    python tests/fault_table.py                    # all of them, as a table
    python tests/fault_table.py 403 long           # those of these names

A fault is met by one prompt of 24, asked three times, or by all. Then it is mended, and the same command must ask what
is missing and nothing else.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from command import biaslens
from fake_server import FAULTS, FakeServer, Reply, Request, by_kind
from small import small_benchmark

PLANNED = 72  # 2 roles, 4 questions of each of 3 kinds, 3 trials
PROMPT = "kinder at work Teenagers 1?"


@dataclass(frozen=True)
class Case:
    """A named mode of the fake server and what it must come to; `stored` of the 72 answers."""

    fault: str
    line: str
    code: int = 3
    stored: int = PLANNED - 3
    everywhere: bool = False

    @property
    def name(self) -> str:
        return f"{self.fault}, {'all prompts' if self.everywhere else 'one prompt'}"


def _whole(fault: str) -> Case:
    return Case(fault, "72 requests answered, 0 failed", code=0, stored=PLANNED)


def _always(fault: str, line: str) -> Case:
    return Case(fault, line, code=1, stored=0, everywhere=True)


TABLE = (
    *map(_whole, ("filter", "filter-400", "parts", "tokens", "surrogate")),
    Case("400", "3 of 3 failures: openai: HTTP 400: made to fail"),
    Case("403", "3 of 3 failures: openai: HTTP 403: made to fail; check OPENAI_API_KEY"),
    Case("422", "HTTP 422"),
    Case("429", "HTTP 429"),
    Case("500", "HTTP 500"),
    Case("html", "HTTP 502"),
    Case("garbage", "the reply is not JSON"),
    Case("deep", "the reply is not"),
    Case("null", "the reply is not a chat completion"),
    Case("empty", "the reply is not a chat completion"),
    Case("choices-object", "the reply is not a chat completion"),
    Case("refusal-true", "the reply is not a chat completion"),
    Case("refusal-object", "the reply is not a chat completion"),
    Case("surrogate-error", "HTTP 400: odd ?"),
    Case("truncated", "the reply broke off"),
    Case("dropped", "no answer from"),
    Case("hang", "no answer within 5 seconds"),
    Case("endless", "the reply has more than 8,388,608 bytes"),
    Case("packed", "the reply has more than 8,388,608 bytes"),
    Case("long", "openai: the reply's text has 1,000,001 characters; 1,000,000 are read"),
    _always("401", "check OPENAI_API_KEY"),
    _always("403", "all of the first 5 requests failed"),
    _always("404", "check the model's name"),
    _always("quota", "the account's quota or balance is used up"),
    _always("429-tomorrow", "asks to wait 86400 s"),
    _always("500", "all of the first 5 requests failed"),
    _always("garbage", "all of the first 5 requests failed"),
    _always("dropped", "all of the first 5 requests failed"),
    _always("choices-object", "all of the first 5 requests failed"),
)

SHORT = ("400, one prompt", "403, one prompt", "choices-object, one prompt", "parts, one prompt", "401, all prompts")
"""Names of the cases that every run of the tests goes through."""


@dataclass(frozen=True)
class Found:
    """What a case came to; `again` counts requests asked once more although their answers had arrived."""

    code: int
    stored: int
    again: int
    err: str
    mended: int


def run(case: Case, folder: Path) -> Found:
    faulty = True
    reply = FAULTS[case.fault]()

    def script(request: Request) -> Reply:
        met = faulty and (case.everywhere or PROMPT in request.prompt)
        return reply if met else by_kind(request)

    file = folder / "r.sqlite"
    command = ["evaluate", "openai/fake", "--benchmark", small_benchmark(folder / "benchmark", copies=4)]
    command += ["--run", file, "--concurrency", "4", "--max-attempts", "2"]
    with FakeServer(script) as server:
        first = biaslens(*command, base_url=server.base_url, BIASLENS_REQUEST_TIMEOUT="5")
        stored = _stored(file)
        faulty, before = False, len(server.log)
        second = biaslens(*command, base_url=server.base_url)
        asked = len(server.log) - before
    assert "Traceback" not in first.stderr + second.stderr, first.stderr + second.stderr
    assert _stored(file) == PLANNED
    return Found(first.returncode, stored, asked - (PLANNED - stored), first.stderr, second.returncode)


def _stored(file: Path) -> int:
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    finally:
        connection.close()


def wrong(case: Case, found: Found) -> list[str]:
    """What of a case is not as it must be."""
    checks = {
        f"exit {found.code}, not {case.code}": found.code == case.code,
        f"{found.stored} stored, not {case.stored}": found.stored == case.stored,
        f"{found.again} asked again": found.again == 0,
        f"exit {found.mended} once mended": found.mended == 0,
        f"does not say {case.line!r}: {found.err[-400:]!r}": case.line in " ".join(found.err.split()),
    }
    return [text for text, right in checks.items() if not right]


def main() -> None:
    failed = False
    print(f"{'fault':<32} {'exit':>4} {'stored':>6} {'again':>5}  line")
    for case in [case for case in TABLE if case.fault in sys.argv[1:] or not sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            found = run(case, Path(folder))
        faults = wrong(case, found)
        failed |= bool(faults)
        told = "; ".join(faults) if faults else case.line
        print(f"{case.name:<32} {found.code:>4} {found.stored:>6} {found.again:>5}  {told}", flush=True)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
