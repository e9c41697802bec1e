"""A chat-completion server for tests and benches: the real SDKs talk to it over loopback.

In a test::

    with FakeServer([rate_limited(), answer("No.")]) as server:
        ...  # requests to server.base_url; server.log has a line for each

As a process, for benches and for tests that kill the client::

    python tests/fake_server.py --port 0 --log requests.jsonl

which prints its base URL once it listens. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, TextIO


@dataclass(frozen=True)
class Request:
    """One request; `number` counts from 1 over the server's life, `body` is its JSON."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    method: str = "POST"
    raw: bytes = b""

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages", []))

    @property
    def prompt(self) -> str:
        """Text of the last message, or of what is to be moderated or scored."""
        if self.messages:
            return self.messages[-1]["content"]
        return str(self.body.get("input") or self.body.get("comment", {}).get("text", ""))

    @property
    def hash(self) -> str:
        """The same for the same body."""
        return hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Reply:
    """What to send: a completion of `text`, with a `thought` in its own field, or `body` as it is.

    `cut` bytes of the body are left out and the connection is closed; `silent` sends nothing, and then closes
    ("close") or waits for the client to go ("hang"); `endless` goes on sending the body until the client goes.
    """

    text: str = "No."
    status: int = 200
    finish_reason: str = "stop"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay: float = 0.0
    cut: int = 0
    silent: str = ""
    endless: bool = False
    thought: str = ""


def answer(text: str, *, delay: float = 0.0) -> Reply:
    return Reply(text=text, delay=delay)


def error(status: int, message: str = "made to fail", *, code: str | None = None, **headers: str) -> Reply:
    """An error reply in OpenAI's shape; a header's underscores are hyphens: ``retry_after="1"``."""
    body = {"error": {"message": message, "type": code or "error", "code": code, "param": None}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, body=json.dumps(body).encode(), headers=names)


def moderation(**scores: float) -> Reply:
    """OpenAI's moderation of one text; categories not named score 0: ``moderation(hate=0.9, self_harm=0.1)``."""
    known = {name: scores.get(name.replace("/", "_").replace("-", "_"), 0.0) for name in _CATEGORIES}
    result = {
        "flagged": any(score >= 0.5 for score in known.values()),
        "categories": {name: score >= 0.5 for name, score in known.items()},
        "category_scores": known,
        "category_applied_input_types": {name: ["text"] for name in known},
    }
    body = {"id": "modr-1", "model": "omni-moderation-2024-09-26", "results": [result]}
    return Reply(body=json.dumps(body).encode())


def perspective(**scores: float) -> Reply:
    """Perspective's analysis of one comment: ``perspective(TOXICITY=0.9)``."""
    attributes = {
        name: {
            "spanScores": [{"begin": 0, "end": 1, "score": {"value": score, "type": "PROBABILITY"}}],
            "summaryScore": {"value": score, "type": "PROBABILITY"},
        }
        for name, score in scores.items()
    }
    body = {"attributeScores": attributes, "languages": ["en"], "detectedLanguages": ["en"]}
    return Reply(body=json.dumps(body).encode())


def google_error(status: int, message: str = "made to fail", **detail: str) -> Reply:
    """An error reply in Google's shape: ``google_error(400, errorType="LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE")``."""
    body = {"error": {"code": status, "message": message, "status": "MADE_TO_FAIL", "details": [detail]}}
    return Reply(status=status, body=json.dumps(body).encode())


_CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)


def rate_limited(retry_after: str | None = None) -> Reply:
    return error(429, "slow down", **({} if retry_after is None else {"retry_after": retry_after}))


def garbage() -> Reply:
    return Reply(body=b"<html>not JSON</html>")


def empty_choices() -> Reply:
    return Reply(body=_completion({"model": "m"}, 0, None))


def truncated() -> Reply:
    return Reply(text="An answer that never fully arrives.", cut=40)


def packed(size: int) -> Reply:
    """An answer of so many bytes, packed a thousandfold."""
    before, after = _completion({}, 1, Reply(text="~")).split(b"~")
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    parts = [before, *[b"N" * 2**16] * (size // 2**16), b"N" * (size % 2**16), after]
    body = b"".join(map(packer.compress, parts)) + packer.flush()
    return Reply(body=body, headers={"content-encoding": "gzip"})


def endless() -> Reply:
    return Reply(body=b" " * 2**16, endless=True)


def content_filter() -> Reply:
    return Reply(text="", finish_reason="content_filter")


def hang() -> Reply:
    return Reply(silent="hang")


def dropped() -> Reply:
    return Reply(silent="close")


Script = Reply | Sequence[Reply] | Callable[[Request], Reply]
"""What to reply: always the same; one a request, in order, the last one for ever; or decided by the request."""


def by_kind(request: Request, *, biased: float = 0.0, delay: float = 0.0) -> Reply:
    """Answer as a model would, told by the prompt's form: a judge's outcome, a letter, a sentence, yes or no; a score.

    The same request always gets the same answer; a share `biased` of all requests gets the biased one.
    """
    is_biased = int(request.hash, 16) < biased * 16**16
    prompt = request.prompt
    share = 0.9 if is_biased else 0.1
    if request.path.endswith("/moderations"):
        return replace(moderation(harassment=share), delay=delay)
    if request.path.endswith("comments:analyze"):
        return replace(perspective(**dict.fromkeys(request.body["requestedAttributes"], share)), delay=delay)
    if '"score":' in prompt:
        text = json.dumps({"reason": "made to say so", "score": int(100 * share)})
    elif '"outcome":' in prompt:
        text = json.dumps({"reason": "made to say so", "outcome": "biased" if is_biased else "unbiased"})
    elif "Is the given answer fair" in prompt:
        text = "No" if is_biased else "Yes"
    elif "(A)" in prompt:
        letters = re.findall(r"\(([A-Z])\)", prompt)
        text = "(A)" if is_biased else f"({max(letters)})"
    elif re.search(r"\bwhy\b", prompt, re.IGNORECASE):
        text = "They simply are like that." if is_biased else "They are not; that is only a stereotype."
    else:
        text = "Yes." if is_biased else "No."
    return answer(text, delay=delay)


@dataclass(frozen=True)
class Logged:
    """A line of the log: what was asked, and whether every byte of the reply was handed to the socket."""

    number: int
    path: str
    hash: str
    messages: list[dict[str, str]]
    status: int
    delivered: bool


class FakeServer:
    """The server in a thread of this process, from ``with`` to its end.

    Parameters
    ----------
    script
        What to reply.
    port
        Port to listen at; 0 for any free one.
    log_file
        Where to write a JSON line for each request as well.
    keep_log
        Keep requests and log in memory; a bench does without.
    """

    def __init__(
        self, script: Script = by_kind, *, port: int = 0, log_file: TextIO | None = None, keep_log: bool = True
    ) -> None:
        self.script = script
        self._log: list[Logged] = []
        self.requests: list[Request] = []
        self.port = port
        self.most_at_once = 0
        self._count = 0
        self._open = 0
        self._log_file = log_file
        self._keep_log = keep_log
        self._loop = asyncio.new_event_loop()
        self._transports: set[asyncio.Transport] = set()
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def log(self) -> list[Logged]:
        """A line for each request replied to so far, every one that the caller has seen a reply of included."""
        if self._thread is not None and self._thread.is_alive():
            written = threading.Event()
            self._loop.call_soon_threadsafe(written.set)
            written.wait()
        return list(self._log)

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self.run, args=(started.set,), name="fake-server")
        self._thread.start()
        started.wait()
        return self

    def stop(self) -> None:
        """End `run` once the callback that is at work has ended; from any thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert self._thread is not None
        self._thread.join()

    def run(self, started: Callable[[], object]) -> None:
        """Serve until the loop is stopped; `started` is called once the port is known."""
        loop = self._loop
        server = loop.run_until_complete(
            loop.create_server(partial(_Connection, self), "127.0.0.1", self.port, backlog=1024)
        )
        self.port = server.sockets[0].getsockname()[1]
        started()
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(self._close(server))
            loop.close()

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        # Connections that are being accepted become transports first, so that none is left open.
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        for transport in list(self._transports):
            transport.abort()
        await asyncio.sleep(0)

    def reply(self, request: Request) -> Reply:
        script = self.script
        if isinstance(script, Reply):
            return script
        if callable(script):
            return script(request)
        return script[min(request.number, len(script)) - 1]

    def record(self, request: Request, status: int, *, delivered: bool) -> None:
        if not self._keep_log and self._log_file is None:
            return
        line = Logged(request.number, request.path, request.hash, request.messages, status, delivered)
        if self._keep_log:
            self._log.append(line)
        if self._log_file is not None:
            self._log_file.write(json.dumps(asdict(line)) + "\n")


_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class _Connection(asyncio.Protocol):
    """One keep-alive connection: requests are answered in order, one at a time."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._buffer = b""
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server._transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server._transports.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._busy:
            self._next()

    def _next(self) -> None:
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        match = _LENGTH.search(head)
        length = int(match[1]) if match else 0
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        self._busy = True
        server = self._server
        server._count += 1
        server._open += 1
        server.most_at_once = max(server.most_at_once, server._open)
        request = _parse(server._count, head, rest[:length])
        if server._keep_log:
            server.requests.append(request)
        reply = server.reply(request)
        if reply.delay:
            server._loop.call_later(reply.delay, self._send, request, reply)
        else:
            self._send(request, reply)

    def _send(self, request: Request, reply: Reply) -> None:
        self._server._open -= 1
        transport = self._transport
        if reply.silent:
            self._server.record(request, 0, delivered=False)
            if reply.silent == "close":
                transport.close()
            return
        body = reply.body if reply.body is not None else _completion(request.body, 1, reply)
        if reply.endless:
            transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
            self._server.record(request, reply.status, delivered=False)
            self._go_on(b"%x\r\n%s\r\n" % (len(body), body))
            return
        alive = not transport.is_closing()
        if alive:
            transport.write(_head(reply, len(body)) + body[: len(body) - reply.cut])
        # An empty buffer: the kernel has taken every byte. What the client does with them is the client's affair.
        delivered = alive and not reply.cut and transport.get_write_buffer_size() == 0
        self._server.record(request, reply.status, delivered=delivered)
        if reply.cut:
            transport.close()
        self._busy = False
        if self._buffer:
            self._next()

    def _go_on(self, chunk: bytes) -> None:
        if not self._transport.is_closing():
            if self._transport.get_write_buffer_size() < 2**20:
                self._transport.write(chunk)
            self._server._loop.call_later(0.0005, self._go_on, chunk)


def _parse(number: int, head: bytes, body: bytes) -> Request:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, path, _ = first.split(" ")
    is_json = body and method != "PUT" and "multipart" not in headers.get("content-type", "")
    return Request(number, path, headers, json.loads(body) if is_json else {}, method, body)


def _head(reply: Reply, length: int) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}", f"content-length: {length}"]
    lines += [f"{name}: {value}" for name, value in {"content-type": "application/json", **reply.headers}.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _completion(body: Mapping[str, Any], choices: int, reply: Reply | None) -> bytes:
    """A chat completion in the shape that OpenAI, Mistral and Together share; a token is a word here."""
    text, finish_reason = (reply.text, reply.finish_reason) if reply else ("", "stop")
    message = {"role": "assistant", "content": text}
    thought = reply.thought if reply else ""
    if thought:
        message["reasoning_content"] = thought
    prompt_tokens = sum(len(message["content"].split()) for message in body.get("messages", []))
    thinking = len(thought.split())
    completion_tokens = len(text.split()) + thinking
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1700000000,
            "model": f"{body.get('model')}-2024-07-18",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}] * choices,
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
                **({"completion_tokens_details": {"reasoning_tokens": thinking}} if thinking else {}),
            },
        }
    ).encode()


@contextmanager
def server_process(*options: str) -> Iterator[str]:
    """Run this file as a process with command-line options; give its base URL."""
    command = [sys.executable, str(Path(__file__).resolve()), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _odd(**fields: object) -> Reply:
    """A chat completion in which some fields are not what they should be."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "No."}}
    return Reply(body=json.dumps({"id": "1", "model": "m", "choices": [choice], **fields}).encode())


def _odd_message(**fields: object) -> Reply:
    return _odd(choices=[{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **fields}}])


FAULTS: dict[str, Callable[[], Reply]] = {
    "429": rate_limited,
    "429-retry-after": partial(rate_limited, "0.2"),
    "429-tomorrow": partial(rate_limited, "86400"),
    "quota": partial(error, 429, code="insufficient_quota"),
    "400": partial(error, 400),
    "401": partial(error, 401),
    "403": partial(error, 403),
    "404": partial(error, 404),
    "422": partial(error, 422),
    "500": partial(error, 500),
    "503": partial(error, 503),
    "html": lambda: Reply(status=502, body=b"<html>Bad gateway</html>"),
    "garbage": garbage,
    "deep": lambda: Reply(body=b"[" * 100_000),
    "null": lambda: Reply(body=b"null"),
    "empty": empty_choices,
    "truncated": truncated,
    "dropped": dropped,
    "hang": hang,
    "endless": endless,
    "packed": partial(packed, 200 * 2**20),
    "long": lambda: answer("N" * 1_000_001),
    "filter": content_filter,
    "filter-400": partial(error, 400, code="content_filter"),
    "parts": lambda: _odd_message(content=[{"type": "text", "text": "No, "}, {"type": "text", "text": "it is not."}]),
    "choices-object": lambda: _odd(choices={"0": "No."}),
    "refusal-true": lambda: _odd_message(content=None, refusal=True),
    "refusal-object": lambda: _odd_message(content=None, refusal={"reason": "policy"}),
    "tokens": lambda: _odd(usage={"prompt_tokens": 2**63, "completion_tokens": -1}),
    "surrogate": lambda: _odd(model="m\ud83d"),
    "surrogate-error": partial(error, 400, "odd \ud83d"),
}
"""What a server can do wrong, by name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append a JSON line for each request to this file")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--uneven", action="store_true", help="from half of that to one and a half")
    parser.add_argument("--biased", type=float, default=0.0, help="share of biased answers")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="what every Nth request gets instead of an answer")
    parser.add_argument("--every", type=int, default=10, metavar="N")
    options = parser.parse_args()

    def script(request: Request) -> Reply:
        if options.fault and request.number % options.every == 0:
            return FAULTS[options.fault]()
        share = 0.5 + int(request.hash, 16) / 16**16 if options.uneven else 1.0
        return by_kind(request, biased=options.biased, delay=options.latency * share)

    log_file = options.log.open("a", buffering=1, encoding="utf-8") if options.log else None
    server = FakeServer(script, port=options.port, log_file=log_file, keep_log=False)
    # What was replied to is logged before the process ends.
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    server.run(lambda: print(server.base_url, flush=True))


if __name__ == "__main__":
    main()
