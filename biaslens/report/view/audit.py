"""What people who look through answers object to: kept beside the run, apart from labels of a random sample.

An objection is found because somebody looked where errors were likely. So it says nothing of how frequent they are, and
never enters a corrected rate; it is an example to test a rule or a judge by.
"""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from biaslens._util.text import cells
from biaslens.errors import InputError, StorageError
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
