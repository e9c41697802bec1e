"""Providers of batches in the dialects of OpenAI, Mistral and Together, for the script of a `FakeServer`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

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
    model: ClassVar[str] = "openai/gpt-4o-mini"
    setting: ClassVar[str] = "OPENAI"  #: how the variables of address and key begin
    before: Callable[[str], bool] = lambda call: False
    after: Callable[[str], None] = lambda call: None
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict] = field(default_factory=dict)
    submitted: Counter[str] = field(default_factory=Counter)
    calls: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        path = request.path.partition("?")[0].removeprefix("/v1")
        if path in ("/chat/completions", "/moderations"):
            self.calls.append("online")
            return self.reply(request)
        call = f"{request.method} {re.sub(r'(file|batch)-[0-9]+', 'ID', path)}".replace("/batch/jobs", "/batches")
        self.calls.append(call)
        if self.before(call):
            return Reply(silent="close")
        found = self._do(request.method, path.strip("/").split("/"), request)
        self.after(call)
        return found

    def environment(self, base_url: str) -> dict[str, str]:
        return {f"{self.setting}_BASE_URL": base_url, f"{self.setting}_API_KEY": "test"}

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

    def _new(self, file_id: str, **more: object) -> dict:
        """Begin a batch."""
        lines = self.files[file_id].decode().splitlines()
        self.submitted.update(json.loads(line)["custom_id"] for line in lines)
        batch = {"id": f"batch-{len(self.batches) + 1}", "status": "in_progress", "input_file_id": file_id, **more}
        self.batches[batch["id"]] = batch
        return batch

    def _begin(self, request: Request) -> Reply:
        given = {name: request.body[name] for name in ("endpoint", "completion_window", "metadata")}
        return as_json(**self._new(request.body["input_file_id"], object="batch", created_at=1, **given))

    def _end(self, batch: dict) -> tuple[list[str], list[str]] | None:
        """End a batch that has been asked after often enough: its output and its error file."""
        if self.polls:
            self.polls -= 1
        elif batch["status"] == "in_progress":
            lines = [json.loads(line) for line in self.files[batch["input_file_id"]].decode().splitlines()]
            output = [json.dumps(output_line(line, self.reply)) for line in lines]
            batch["status"], good, bad = self.spoil(int(batch["id"].removeprefix("batch-")), output)
            return good, bad
        return None

    def _poll(self, batch: dict) -> Reply:
        for name, found in zip(("output_file_id", "error_file_id"), self._end(batch) or (), strict=False):
            batch[name] = self._keep("\n".join(found).encode()) if found else None
        return as_json(**batch)


class MistralProvider(BatchProvider):
    """Mistral's dialect; the answers of every second batch come inline."""

    model = "mistral/mistral-small-latest"
    setting = "MISTRAL"
    _STATUSES: ClassVar = {"in_progress": "RUNNING", "completed": "SUCCESS", "expired": "TIMEOUT_EXCEEDED"}

    def _do(self, method: str, path: Sequence[str], request: Request) -> Reply:
        match method, *path:
            case "POST", "files":
                (data,) = re.findall(rb"filename=.*?\r\n\r\n(.*?)\r\n--", request.raw, re.DOTALL)
                made = {"id": self._keep(data), "object": "file", "bytes": len(data), "created_at": 1, "filename": "f"}
                return as_json(**made, purpose="batch", sample_type="batch_request", source="upload")
            case "GET", "files", file_id, "content":
                return Reply(body=self.files[file_id], headers={"content-type": "application/octet-stream"})
            case "POST", "batch", "jobs":
                body = request.body
                assert body["model"] == self.model.partition("/")[2]
                batch = self._new(body["input_files"][0], metadata=body["metadata"], endpoint=body["endpoint"])
                return as_json(**self._job(batch))
            case "GET", "batch", "jobs":
                page = int(re.findall(r"[?&]page=(\d+)", request.path)[0])
                data = [self._job(batch) for batch in list(self.batches.values())[100 * page : 100 * (page + 1)]]
                return as_json(object="list", total=len(self.batches), data=data)
            case "GET", "batch", "jobs", batch_id:
                batch = self.batches[batch_id]
                good, bad = self._end(batch) or ((), ())
                if good and int(batch_id.removeprefix("batch-")) % 2:
                    batch["outputs"] = [found for line in good if isinstance(found := _json(line), dict)]
                elif good:
                    batch["output_file"] = self._keep("\n".join(good).encode())
                batch["error_file"] = self._keep("\n".join(bad).encode()) if bad else batch.get("error_file")
                return as_json(**self._job(batch, inline="inline=true" in request.path))
            case "POST", "batch", "jobs", batch_id, "cancel":
                self.batches[batch_id]["status"] = "cancelled"
                return as_json(**self._job(self.batches[batch_id]))
        return error(404)

    def _job(self, batch: dict, *, inline: bool = False) -> dict:
        counts = dict.fromkeys(("total_requests", "completed_requests", "succeeded_requests", "failed_requests"), 0)
        kept = {name: batch.get(name) for name in ("id", "endpoint", "metadata", "output_file", "error_file")}
        return {
            **kept,
            **counts,
            "object": "batch",
            "status": self._STATUSES.get(batch["status"], batch["status"].upper()),
            "input_files": [batch["input_file_id"]],
            "errors": [{"message": text} for text in batch.get("said", ())],
            "created_at": 1,
            "outputs": batch.get("outputs") if inline else None,
        }


class TogetherProvider(BatchProvider):
    """Together's dialect: files go to a store of their own, one of known bytes is there already, no metadata."""

    model = "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"
    setting = "TOGETHER"

    def _do(self, method: str, path: Sequence[str], request: Request) -> Reply:
        match method, *path:
            case "POST", "files":
                checksum = re.findall(rb'name="checksum"\r\n\r\n(\w+)', request.raw)[0].decode()
                assert b"batch-api" in request.raw
                known = self.sums.get(checksum)
                if known is not None and known in self.files:
                    return Reply(status=409, body=json.dumps({"file_id": known}).encode())
                self.sums[checksum] = name = f"file-{len(self.sums) + 1}"
                to = f"http://{request.headers['host']}/v1/store/{name}"
                return Reply(status=302, body=b"", headers={"location": to, "x-together-file-id": name})
            case "PUT", "store", file_id:
                self.files[file_id] = request.raw
                return Reply(body=b"")
            case ("POST", "files", file_id, "preprocess") | ("GET", "files", file_id):
                kept = {"id": file_id, "object": "file", "bytes": 1, "created_at": 1, "filename": "f"}
                return as_json(
                    **kept, FileType="jsonl", Processed=True, purpose="batch-api", processing_status="COMPLETED"
                )
            case "GET", "files", file_id, "content":
                return Reply(body=self.files[file_id])
            case "POST", "batches":
                made = datetime.now(UTC).isoformat()
                return as_json(job=self._job(self._new(request.body["input_file_id"], created_at=made)))
            case "GET", "batches":
                return Reply(body=json.dumps([self._job(batch) for batch in self.batches.values()]).encode())
            case "GET", "batches", batch_id:
                batch = self.batches[batch_id]
                for name, found in zip(("output_file_id", "error_file_id"), self._end(batch) or (), strict=False):
                    batch[name] = f"{name}-{batch_id}" if found else None
                    self.files[f"{name}-{batch_id}"] = "\n".join(found).encode()
                return as_json(**self._job(batch))
            case "POST", "batches", batch_id, "cancel":
                self.batches[batch_id]["status"] = "cancelled"
                return as_json(**self._job(self.batches[batch_id]))
        return error(404)

    @property
    def sums(self) -> dict[str, str]:
        """Ids of files by their checksums."""
        return self.__dict__.setdefault("_sums", {})

    def _job(self, batch: dict) -> dict:
        return batch | {"status": batch["status"].upper()}


def _json(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


PROVIDERS = (BatchProvider, MistralProvider, TogetherProvider)
