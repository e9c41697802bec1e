"""What is looked at now: runs that may grow meanwhile, and what people object to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from biaslens.analysis.frame import STATES
from biaslens.errors import BiasLensError
from biaslens.report.view.answers import Answers
from biaslens.report.view.audit import Objections
from biaslens.report.view.index import RunColumns, index_words, open_run, state_of

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
