"""Ask in batches: at the provider, journalled so that nothing is submitted or paid twice, or by files."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biaslens import runfile
from biaslens._util.files import replacing
from biaslens.engine._asking import Observer, Request, Row, Tally, now
from biaslens.errors import InputError, ModelError, RateLimitError, RejectedError, RunStoppedError, UnavailableError
from biaslens.models._batches import BatchClient, BatchStatus, batch_answer, batch_request, require_batchable
from biaslens.models.base import Completion
from biaslens.runfile import COLLECTED, MADE, SUBMITTED, SUBMITTING, UPLOADED, Answer, BatchRow, Failure, Store
from biaslens.schema import content_hash
from biaslens.settings import Settings

if TYPE_CHECKING:
    from biaslens.engine._ray_vllm import RayVllm


_ATTEMPTS = 3
_REQUESTS = re.compile(r"requests-(\d{3,})\.jsonl")


MOST_LINES = 50_000
MOST_BYTES = 100_000_000
"""Of a file of requests: what OpenAI and Together take in one batch, whichever is less."""


class Place(NamedTuple):
    """Where a line begins."""

    path: Path
    number: int
    offset: int

    def __str__(self) -> str:
        return f"{self.path.name}:{self.number}"


class Exchange:
    """A folder of JSON lines in OpenAI's batch format, through which requests go out and answers come in.

    What is to be asked is written to ``requests-001.jsonl``, and so on: each file is for one model, and holds what no
    earlier one does. Any ``*.jsonl`` that is put there may hold answers; a line is matched by its ``custom_id``, the
    key of the request. The first answer counts. One that is an error is asked for again, at most three times in all,
    unless the provider would refuse it again. The folder is read when the exchange is made, and the answers in it once
    more when they are taken: they need not fit into memory. Several sessions may share an exchange. An `engine` answers
    what waits while a session is at work.

    Attributes
    ----------
    written
        The files of requests written so far, and the model that each is for.
    """

    def __init__(self, folder: Path, engine: RayVllm | None = None) -> None:
        self.folder = folder
        self.engine = engine
        self.written: dict[Path, str] = {}
        self._waiting: set[str] = set()
        self._failed: set[str] = set()
        self._out: dict[str, list[Place]] = {}
        self._lines: dict[str, list[Place]] = {}
        self._foreign: list[Place] = []
        self._known: set[str] = set()
        for path in sorted(folder.glob("*.jsonl")):
            try:
                with path.open("rb") as file:
                    offset = 0
                    for number, line in enumerate(file, 1):
                        if line.strip():
                            self._note(line, Place(path, number, offset))
                        offset += len(line)
            except OSError as error:
                raise _unreadable(path, error) from None

    def _note(self, line: bytes, place: Place) -> None:
        value = _object(line)
        key = value.get("custom_id")
        if isinstance(key, str) and "method" in value:
            self._out.setdefault(key, []).append(place)
        elif isinstance(key, str) and ("response" in value or "error" in value):
            self._lines.setdefault(key, []).append(place)
        else:
            self._foreign.append(place)

    @property
    def waiting(self) -> int:
        """How many requests wait for an answer."""
        return len(self._waiting)

    def take(self, keys: Sequence[str], model: str) -> list[Row]:
        """The answers to some requests, and the failures of those that are not asked for again, each said once."""
        self._known.update(keys)
        rows = [row for key in keys if key not in self._failed and (row := self._row(key, model)) is not None]
        self.settle(rows)
        return rows

    def settle(self, rows: Iterable[Row]) -> None:
        """Be told of answers and failures: nobody waits for them any more."""
        for row in rows:
            self._waiting.discard(row.key)
            if isinstance(row, Failure):
                self._failed.add(row.key)

    def places(self, keys: Iterable[str]) -> list[Place]:
        """Where the requests of the keys stand that wait for an answer; those of one file together, in its order."""
        return sorted(self._out[key][-1] for key in keys if key in self._waiting)

    def _row(self, key: str, model: str) -> Row | None:
        found: list[Completion | ModelError] = []
        for line in self._read(key):
            found.append(batch_answer(line, model))
            if isinstance(found[-1], Completion):
                break
        match found:
            case [*_, Completion() as completion]:
                # A batch costs less than the catalogue says, and who ran this one is not known.
                return answer_row(key, model, completion, price=None, attempts=len(found))
            case [*_, ModelError() as last] if isinstance(last, RejectedError) or len(found) >= _ATTEMPTS:
                return Failure(key, model, type(last).__name__, str(last), last.status, len(found), now())
        return None

    def _read(self, key: str) -> Iterator[Mapping[str, Any]]:
        for place in self._lines.get(key, ()):
            try:
                with place.path.open("rb") as file:
                    file.seek(place.offset)
                    value = _object(file.readline())
            except OSError as error:
                raise _unreadable(place.path, error) from None
            if value.get("custom_id") == key:  # somebody may have replaced the file meanwhile
                yield value

    def due(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that are to be written; all but those that have failed wait for an answer."""
        keys = [key for key in keys if key not in self._failed]
        self._waiting.update(keys)
        return [key for key in keys if len(self._out.get(key, ())) <= len(self._lines.get(key, ()))]

    def write(self, requests: Iterable[Request], model: str, settings: Settings) -> None:
        """Write requests to the next files, where there are any."""
        require_batchable(model, settings)
        requests = iter(requests)
        while (first := next(requests, None)) is not None:
            requests = chain([first], requests)
            path = self.folder / f"requests-{self._last_number() + 1:03}.jsonl"
            out: list[tuple[str, Place]] = []
            size = 0
            hint = "name a folder where you may write"
            with replacing(path, hint=hint) as temporary, temporary.open("wb") as file:
                for one in requests:
                    line = batch_request(one.key, model, one.messages, one.params, settings)
                    text = json.dumps(line).encode() + b"\n"
                    if out and (len(out) == MOST_LINES or size + len(text) > MOST_BYTES):
                        requests = chain([one], requests)
                        break
                    file.write(text)
                    out.append((one.key, Place(path, len(out) + 1, size)))
                    size += len(text)
            for key, place in out:
                self._out.setdefault(key, []).append(place)
            self.written[path] = model

    def _last_number(self) -> int:
        names = (_REQUESTS.fullmatch(path.name) for path in self.folder.glob("*.jsonl"))
        return max((int(found[1]) for found in names if found), default=0)

    def unknown(self) -> list[str]:
        """Keys of answers that nobody has asked for here, as far as is known."""
        return [key for key in self._lines if key not in self._out and key not in self._known]

    def know(self, keys: Iterable[str]) -> None:
        """Be told keys that the run holds answers to."""
        self._known.update(keys)

    @property
    def passed_over(self) -> str:
        """What stands in the folder and was not used, as a clause; "" where there is nothing."""
        again = [places[0] for key, places in self._lines.items() if len(places) > max(len(self._out.get(key, ())), 1)]
        said = (
            ("of no request of this run", [self._lines[key][0] for key in self.unknown()]),
            ("with an answer twice", again),
            ("no batch output", self._foreign),
        )
        return ", ".join(f"{len(places)} {what} (first: {places[0]})" for what, places in said if places)


def answer_row(key: str, model: str, found: Completion, *, price: float | None, attempts: int) -> Answer:
    """The row of an answer that came in a file; how long it took is not known."""
    return Answer(
        key=key,
        model=model,
        text=found.text,
        finish_reason=found.finish_reason,
        resolved_model=found.model,
        prompt_tokens=found.prompt_tokens,
        completion_tokens=found.completion_tokens,
        price=price,
        latency=None,
        attempts=attempts,
        answered_at=now(),
        thought=found.thought or None,
        reasoning_tokens=found.reasoning_tokens,
    )


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object in a line; an empty one where there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be read ({error.strerror}); move it away or mend it")


_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_LOOK_AGAIN = 3.0
"""Seconds after which a batch is looked for once more that may have been submitted a moment before a crash."""


Missing = Callable[[], Iterator[list[str]]]
Requests = Callable[[list[str]], Iterable[Request]]


class Batches:
    """The batches of one model in one session."""

    def __init__(
        self,
        model: str,
        store: Store,
        client: BatchClient,
        *,
        settings: Settings,
        observer: Observer,
        stop: asyncio.Event,
        price: Callable[[int | None, int | None], float | None],
        retry: bool,
    ) -> None:
        self.tally = Tally()
        self._model, self._store, self._client = model, store, client
        self._settings, self._observer, self._stop, self._price = settings, observer, stop, price
        self._most = _ATTEMPTS if retry else 1
        self._tried: Counter[str] = Counter()
        self._given_up: set[str] = set()

    async def ask_all(self, missing: Missing, requests: Requests) -> None:
        """Send off what is missing and not under way, and wait for what is, until nothing is or `stop` is set.

        A batch that is under way goes on at the provider when this ends; the next session finds it in the ledger.

        Raises `RunStoppedError` when the provider refuses a batch, or cannot be reached.
        """
        try:
            await self._ask_all(missing, requests)
        except ModelError as error:
            raise RunStoppedError(f"{error}; nothing is lost: the same command goes on where this one ended") from error

    async def _ask_all(self, missing: Missing, requests: Requests) -> None:
        runfile.forget_unsent(self._store, self._model)
        wait = _FIRST_WAIT
        while not self._stop.is_set():
            out = runfile.batches(self._store, self._model, collected=False)
            ended = [await self._advance(batch) for batch in out]
            if not self._stop.is_set() and await self._send(missing, requests):
                wait = _FIRST_WAIT
                continue
            if all(ended):
                if not out:
                    return
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _send(self, missing: Missing, requests: Requests) -> bool:
        """Begin batches of what is due; whether there was anything."""
        keys: list[str] = []
        lines: list[bytes] = []
        url, size, sent = "", 0, False
        for part in missing():
            out = runfile.keys_out(self._store, part) if part else set()
            due = [key for key in part if key not in out and key not in self._given_up]
            for one in requests(due) if due else ():
                line = batch_request(one.key, self._model, one.messages, one.params, self._settings)
                text = json.dumps({name: line[name] for name in self._client.line_fields}).encode() + b"\n"
                if keys and (len(keys) >= self._client.most_lines or size + len(text) > self._client.most_bytes):
                    await self._begin(keys, b"".join(lines), url)
                    keys, lines, size, sent = [], [], 0, True
                url = line["url"]
                keys.append(one.key)
                lines.append(text)
                size += len(text)
                if self._stop.is_set():
                    return sent
        if keys:
            await self._begin(keys, b"".join(lines), url)
        return sent or bool(keys)

    async def _begin(self, keys: list[str], data: bytes, url: str) -> None:
        sha256 = hashlib.sha256(data).hexdigest()
        made_at = now()
        batch = BatchRow(
            content_hash("batch", sha256, made_at), self._model, url, sha256, len(keys), None, None, MADE, None, made_at
        )
        runfile.add_batch(self._store, batch, keys)
        self._tried.update(keys)
        file_id = await self._client.upload(f"biaslens-{batch.name}", data)
        runfile.note_batch(self._store, batch.name, UPLOADED, file_id=file_id)
        await self._submit(batch._replace(file_id=file_id))

    async def _submit(self, batch: BatchRow) -> BatchStatus:
        """Submit a batch that no provider has seen."""
        assert batch.file_id is not None
        runfile.note_batch(self._store, batch.name, SUBMITTING)
        try:
            found = await self._client.submit(f"biaslens-{batch.name}", batch.file_id, batch.url)
        except ModelError as error:
            if error.status is not None and error.status < 500 and error.status not in (408, 409):
                runfile.note_batch(self._store, batch.name, UPLOADED)  # refused: there is no such batch
            raise
        runfile.note_batch(self._store, batch.name, SUBMITTED, batch_id=found.batch_id, status=found.status)
        return found

    async def _advance(self, batch: BatchRow) -> bool:
        """Take a batch as far as it goes now; whether it is done with."""
        try:
            found = await self._find(batch)
            if not found.ended:
                runfile.note_batch(self._store, batch.name, SUBMITTED, status=found.status)
                return False
            await self._collect(batch, found)
        except (RateLimitError, UnavailableError) as error:
            if batch.batch_id is None:
                raise
            self._observer.waiting(error, _LONGEST_WAIT)
            return False
        return True

    async def _find(self, batch: BatchRow) -> BatchStatus:
        """The batch at the provider, reattached to or submitted where it was not."""
        if batch.batch_id is not None:
            return await self._client.status(batch.batch_id)
        if batch.state == SUBMITTING:
            found = await self._look_for(batch)
            if found is None:
                await asyncio.sleep(_LOOK_AGAIN)
                found = await self._look_for(batch)
            if found is not None:
                runfile.note_batch(self._store, batch.name, SUBMITTED, batch_id=found.batch_id, status=found.status)
                return found
        return await self._submit(batch)

    async def _look_for(self, batch: BatchRow) -> BatchStatus | None:
        assert batch.file_id is not None
        known = {each.batch_id for each in runfile.batches(self._store) if each.batch_id is not None}
        since = datetime.fromisoformat(batch.made_at)
        return await self._client.find(f"biaslens-{batch.name}", batch.file_id, known=known, since=since)

    async def _collect(self, batch: BatchRow, found: BatchStatus) -> None:
        """Store every answer of a batch that has ended, however it did, and what is given up."""
        keys = set(runfile.batch_keys(self._store, batch.name))
        rows: dict[str, Row] = {}
        for file_id in found.files:
            async for text in self._client.lines(file_id):
                self._read(text, keys, rows)
        for key in keys - rows.keys():
            said = f"{batch.model}: no answer in a batch that is {found.status}"
            rows[key] = Failure(key, batch.model, "UnavailableError", said, None, 1, now())
        for key, row in list(rows.items()):
            if isinstance(row, Answer):
                continue
            last = row.error == RejectedError.__name__ or self._tried[key] >= self._most or found.status == "cancelled"
            if last:
                self._given_up.add(key)
            else:
                del rows[key]  # goes into the next batch
        with self._store.transaction() as connection:
            self._store.save(connection, list(rows.values()))
        self._store.sync()
        runfile.note_batch(self._store, batch.name, COLLECTED, status=found.status)
        self.tally.count(list(rows.values()))
        self._observer.update(self.tally, {})
        if found.status == "failed" and found.said:
            raise RunStoppedError(f"{batch.model}: the provider refused batch {found.batch_id}: {found.said}")

    def _read(self, text: str, keys: set[str], rows: dict[str, Row]) -> None:
        """Read one line; a bad one is its own failure and nothing else. The first answer to a request counts."""
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            return
        key = line.get("custom_id") if isinstance(line, dict) else None
        if not isinstance(key, str) or key not in keys or isinstance(rows.get(key), Answer):
            return
        found = batch_answer(line, self._model)
        if isinstance(found, Completion):
            price = self._price(found.prompt_tokens, found.completion_tokens)
            rows[key] = answer_row(key, self._model, found, price=price, attempts=max(self._tried[key], 1))
        else:
            rows[key] = Failure(key, self._model, type(found).__name__, str(found), found.status, 1, now())
