"""Ask by files: requests are written, answers are read, and nothing leaves this process."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from biaslens._util.files import replacing
from biaslens.engine._asking import Request, Row, now
from biaslens.errors import InputError, ModelError, RejectedError
from biaslens.models.base import Completion
from biaslens.models.batch import batch_answer, batch_request
from biaslens.runfile import Answer, Failure
from biaslens.settings import Settings

_ATTEMPTS = 3
_REQUESTS = re.compile(r"requests-(\d{3,})\.jsonl")


class Exchange:
    """A folder of JSON lines in OpenAI's batch format, through which requests go out and answers come in.

    What is to be asked is written to ``requests-001.jsonl``, and so on: each file holds what no earlier one does. Any
    ``*.jsonl`` that is put there may hold answers; a line is matched by its ``custom_id``, the key of the request. The
    first answer counts. One that is an error is asked for again, at most three times in all, unless the provider would
    refuse it again.

    Attributes
    ----------
    written
        The files of requests written by this session.
    waiting
        How many requests wait for an answer.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[Path] = []
        self.waiting = 0
        self._out: Counter[str] = Counter()
        self._lines: dict[str, tuple[str, list[Mapping[str, Any]]]] = {}
        self._foreign: list[str] = []
        self._wanted: set[str] = set()
        for path in sorted(folder.glob("*.jsonl")):
            try:
                data = path.read_bytes()
            except OSError as error:
                raise InputError(f"{path}: cannot be read ({error.strerror}); move it away or mend it") from None
            for number, line in enumerate(data.splitlines(), 1):
                if line.strip():
                    self._read(line, f"{path.name}:{number}")

    def _read(self, line: bytes, place: str) -> None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        key = value.get("custom_id") if isinstance(value, dict) else None
        if not isinstance(key, str):
            self._foreign.append(place)
        elif "method" in value:
            self._out[key] += 1
        elif "response" in value or "error" in value:
            self._lines.setdefault(key, (place, []))[1].append(value)
        else:
            self._foreign.append(place)

    def take(self, keys: Sequence[str], model: str) -> list[Row]:
        """The answers to some requests, and the failures of those that are not asked for again."""
        self._wanted.update(keys)
        return [row for key in keys if (row := self._row(key, model)) is not None]

    def _row(self, key: str, model: str) -> Row | None:
        _, lines = self._lines.get(key, ("", []))
        found = [batch_answer(line, model) for line in lines]
        completion = next((one for one in found if isinstance(one, Completion)), None)
        if completion is not None:
            return Answer(
                key=key,
                model=model,
                text=completion.text,
                finish_reason=completion.finish_reason,
                resolved_model=completion.model,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                price=None,  # a batch costs less than the catalogue says
                latency=None,
                attempts=len(lines),
                answered_at=now(),
                thought=completion.thought or None,
                reasoning_tokens=completion.reasoning_tokens,
            )
        errors = [one for one in found if isinstance(one, ModelError)]
        if errors and (isinstance(errors[-1], RejectedError) or len(errors) >= _ATTEMPTS):
            last = errors[-1]
            return Failure(key, model, type(last).__name__, str(last), last.status, len(errors), now())
        return None

    def due(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that are to be written; all of them wait for an answer."""
        keys = list(keys)
        self.waiting += len(keys)
        return [key for key in keys if self._out[key] <= len(self._lines.get(key, ("", []))[1])]

    def write(self, requests: Iterable[Request], model: str, settings: Settings) -> None:
        """Write requests to the next file, where there are any."""
        requests = iter(requests)
        first = next(requests, None)
        if first is None:
            return
        numbers = [int(found[1]) for path in self.folder.glob("*.jsonl") if (found := _REQUESTS.fullmatch(path.name))]
        path = self.folder / f"requests-{max(numbers, default=0) + 1:03}.jsonl"
        hint = "name a folder where you may write"
        with replacing(path, hint=hint) as temporary, temporary.open("w", encoding="utf-8") as file:
            for one in chain([first], requests):
                line = batch_request(one.key, model, one.messages, one.params, settings)
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                self._out[one.key] += 1
        self.written.append(path)

    @property
    def passed_over(self) -> str:
        """What stands in the folder and was not used, as a clause; "" where there is nothing."""
        unknown = [place for key, (place, _) in self._lines.items() if not (key in self._out or key in self._wanted)]
        again = [place for key, (place, lines) in self._lines.items() if len(lines) > max(self._out[key], 1)]
        said = (
            ("of no request of this run", unknown),
            ("with an answer twice", again),
            ("no batch output", self._foreign),
        )
        return ", ".join(f"{len(places)} {what} (first: {places[0]})" for what, places in said if places)
