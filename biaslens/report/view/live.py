"""What is looked at now: runs that may grow meanwhile, and what people object to.

An objection is found because somebody looked where errors were likely. So it says nothing of how frequent they are, and
never enters a corrected rate; it is an example to test a rule or a judge by. Objections are kept beside the run.
"""

from __future__ import annotations

import csv
import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from biaslens._util.text import cells
from biaslens.analysis.frame import STATES
from biaslens.errors import BiasLensError, InputError, StorageError
from biaslens.report.view.answers import Answers
from biaslens.report.view.index import RunColumns, index_words, open_run, state_of
from biaslens.schema import Outcome

LONGEST_REASON = 2000
"""Characters."""


@dataclass(frozen=True)
class Objection:
    """That an answer is something else than the run says, and why; with outcome "" an earlier one is taken back."""

    key: str
    outcome: str
    reason: str
    at: str


class Objections:
    """Objections to the verdicts of one run: a file of JSON lines, ``RUN.objections.jsonl``; the last of a key counts.

    Several threads may add to it. A line that a killed process left unfinished is ended before the next one.
    """

    def __init__(self, run: Path) -> None:
        self.path = run.with_name(run.name + ".objections.jsonl")
        self._lock = threading.Lock()
        self.standing: dict[str, Objection] = {}
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be read ({error.strerror})") from None
        for line in text.splitlines():
            try:
                self._take(Objection(**json.loads(line)))
            except (ValueError, TypeError):
                continue

    def _take(self, objection: Objection) -> None:
        self.standing.pop(objection.key, None)
        if objection.outcome:
            self.standing[objection.key] = objection

    def add(self, key: str, outcome: str, reason: str) -> None:
        """Keep an objection, on disk before this returns; an InputError where it is none."""
        if outcome and outcome not in set(Outcome) - {Outcome.ERROR}:
            raise InputError(f"outcome {outcome}: one of biased, unbiased, refused, invalid")
        if len(reason) > LONGEST_REASON:
            raise InputError(f"a reason has at most {LONGEST_REASON} characters")
        made = Objection(key, outcome, reason.strip(), datetime.now(UTC).isoformat(timespec="seconds"))
        line = json.dumps(asdict(made), ensure_ascii=False) + "\n"
        with self._lock:
            try:
                with self.path.open("ab+") as file:
                    if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                        line = "\n" + line
                    file.write(line.encode("utf-8", "surrogatepass"))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise StorageError(
                    f"{self.path}: the objection was not kept ({error.strerror}); free some space"
                ) from None
            self._take(made)


def as_csv(objections: Iterable[Objection], told: Mapping[str, Mapping[str, Any]]) -> str:
    """Objections with what was asked and answered, as hand-labelled cases for a rule's test."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(
        ["kind", "question", "options", "answer", "finish_reason", "decided", "reason", "oracle", "label", "comment"]
    )
    for objection in objections:
        of = told.get(objection.key)
        if of is not None:
            shown = [
                of["kind"],
                of["question"],
                " | ".join(of["options"]),
                of["answer"] or "",
                of["finish_reason"] or "",
            ]
            decided = [of["outcome"] or "", of["reason"] or "", of["oracle"] or ""]
            rows.writerow(cells([*shown, *decided, objection.outcome, objection.reason]))
    return out.getvalue()


REFRESH_SECONDS = 3.0
"""How often a run that is being written is read again, at most."""


UNASKED = STATES.index("unasked")


@dataclass(frozen=True)
class Shown:
    """What is looked at now: the answers, and a number that grows whenever they are read again.

    `progress` is how many answers each run plans, and has asked.
    """

    answers: Answers
    version: int
    progress: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, runs: Sequence[RunColumns], version: int) -> Self:
        """Prepare what the first page needs, so that it is there at once."""
        answers = Answers(runs)
        _ = answers.columns, answers.doubt, answers.by_number
        return cls(answers, version, [(len(run.key), int((run.state != UNASKED).sum())) for run in runs])


class Viewer:
    """Runs that are looked at; those that another process adds to are read again from time to time.

    It never writes into a run.
    """

    def __init__(self, paths: Sequence[Path], *, tell: Callable[[str], None] = lambda _: None) -> None:
        self.paths = list(paths)
        self._states = [state_of(path) for path in paths]
        runs = []
        for path in paths:
            tell(f"{path}: reading")
            runs.append(open_run(path))
        self.shown = Shown.of(runs, 0)
        self.objections = [Objections(path) for path in paths]
        self.accepted = False
        self._reading = threading.Lock()
        self._read_at = time.monotonic()
        threading.Thread(target=self._index, daemon=True).start()

    def _index(self) -> None:
        for run in self.shown.answers.runs:
            with suppress(BiasLensError):  # searching says what is wrong
                index_words(run)

    def refresh(self) -> None:
        """Begin to read again what has changed, unless that is being done or was done a moment ago."""
        if time.monotonic() - self._read_at < REFRESH_SECONDS or not self._reading.acquire(blocking=False):
            return
        states = [state_of(path) for path in self.paths]
        if states == self._states:
            self._reading.release()
            return
        threading.Thread(target=self._read_again, args=(states,), daemon=True).start()

    def _read_again(self, states: list[str]) -> None:
        try:
            runs = [
                run if before == now else open_run(run.info.path)
                for run, before, now in zip(self.shown.answers.runs, self._states, states, strict=True)
            ]
            self.shown = Shown.of(runs, self.shown.version + 1)
            self._states = states
            self._index()
        except BiasLensError:
            pass  # what was read before is still true; the next look tries again
        finally:
            self._read_at = time.monotonic()
            self._reading.release()
