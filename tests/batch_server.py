"""A provider of batches in OpenAI's dialect, for the script of a `FakeServer`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from batch_answers import output_line
from fake_server import Reply, Request, error

Spoil = Callable[[int, list[str]], tuple[str, list[str], list[str]]]
"""Makes of a batch's number and the lines of its output a status, the output and the error file."""


def completed(_: int, lines: list[str]) -> tuple[str, list[str], list[str]]:
    return "completed", lines, []


def as_json(**body: object) -> Reply:
    return Reply(body=json.dumps(body).encode())


@dataclass
class BatchProvider:
    """Answers files and batches as OpenAI does; batches end at once. `submitted` counts how often each key was.

    `before` hears of each call and says whether it gets lost on its way; `after` hears of it before its reply is sent.
    """

    reply: Callable[[Request], Reply]
    spoil: Spoil = completed
    polls: int = 0  #: times that a batch is still in progress when asked after
    before: Callable[[str], bool] = lambda call: False
    after: Callable[[str], None] = lambda call: None
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict] = field(default_factory=dict)
    submitted: Counter[str] = field(default_factory=Counter)
    calls: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        path = request.path.partition("?")[0].removeprefix("/v1")
        if path == "/chat/completions":
            self.calls.append("online")
            return self.reply(request)
        call = f"{request.method} {re.sub(r'(file|batch)-[0-9]+', 'ID', path)}"
        self.calls.append(call)
        if self.before(call):
            return Reply(silent="close")
        found = self._do(request.method, path.strip("/").split("/"), request)
        self.after(call)
        return found

    def _do(self, method: str, path: Sequence[str], request: Request) -> Reply:
        match method, *path:
            case "POST", "files":
                (data,) = re.findall(rb"filename=.*?\r\n\r\n(.*?)\r\n--", request.raw, re.DOTALL)
                return as_json(
                    id=self._keep(data), object="file", bytes=len(data), created_at=1, filename="f", purpose="batch"
                )
            case "GET", "files", file_id, "content":
                return Reply(body=self.files[file_id])
            case "POST", "batches":
                return self._begin(request)
            case "GET", "batches":
                return as_json(object="list", data=list(self.batches.values()), has_more=False)
            case "GET", "batches", batch_id:
                return self._poll(self.batches[batch_id])
            case "POST", "batches", batch_id, "cancel":
                self.batches[batch_id]["status"] = "cancelled"
                return as_json(**self.batches[batch_id])
        return error(404)

    def _keep(self, data: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = data
        return name

    def _begin(self, request: Request) -> Reply:
        batch = {
            "id": f"batch-{len(self.batches) + 1}",
            "object": "batch",
            "status": "in_progress",
            "endpoint": request.body["endpoint"],
            "input_file_id": request.body["input_file_id"],
            "completion_window": request.body["completion_window"],
            "created_at": 1,
            "metadata": request.body["metadata"],
        }
        lines = self.files[batch["input_file_id"]].decode().splitlines()
        self.submitted.update(json.loads(line)["custom_id"] for line in lines)
        self.batches[batch["id"]] = batch
        return as_json(**batch)

    def _poll(self, batch: dict) -> Reply:
        if self.polls:
            self.polls -= 1
        elif batch["status"] == "in_progress":
            lines = [json.loads(line) for line in self.files[batch["input_file_id"]].decode().splitlines()]
            output = [json.dumps(output_line(line, self.reply)) for line in lines]
            batch["status"], good, bad = self.spoil(len(self.batches), output)
            for name, found in (("output_file_id", good), ("error_file_id", bad)):
                batch[name] = self._keep("\n".join(found).encode()) if found else None
        return as_json(**batch)
