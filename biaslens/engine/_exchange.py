"""Ask by files: requests are written, answers are read, and nothing leaves this process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biaslens._util.files import replacing
from biaslens.engine._asking import Request, Row, now
from biaslens.errors import InputError, ModelError, RejectedError
from biaslens.models.base import Completion
from biaslens.models.batch import batch_answer, batch_request, require_batchable
from biaslens.runfile import Answer, Failure
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
