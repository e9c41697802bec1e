"""Ask in batches at the provider: journalled before each step, so that nothing is submitted or paid twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from biaslens import runfile
from biaslens.engine._asking import Observer, Request, Row, Tally, now
from biaslens.engine._exchange import answer_row
from biaslens.errors import ModelError, RateLimitError, RejectedError, RunStoppedError, UnavailableError
from biaslens.models._batches import BatchClient, BatchStatus
from biaslens.models.base import Completion
from biaslens.models.batch import batch_answer, batch_request
from biaslens.runfile import COLLECTED, MADE, SUBMITTED, SUBMITTING, UPLOADED, Answer, BatchRow, Failure, Store
from biaslens.schema import content_hash
from biaslens.settings import Settings

_ATTEMPTS = 3
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
