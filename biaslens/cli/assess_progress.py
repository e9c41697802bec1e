"""Progress of an assessment on stderr."""

from __future__ import annotations

import sys

from tqdm import tqdm

from biaslens.cli.progress import ProgressBar
from biaslens.engine import Tally
from biaslens.errors import ModelError
from biaslens.usecase import AssessmentWatcher

_WAIT_SHOWN = 2.0
_LOCAL_SHOWN = 1000


class ScoringBar(AssessmentWatcher):
    """One progress bar a phase: prompts asked, texts scored.

    Use it as a context manager, so that the last bar is closed before anything else is printed.
    """

    def __init__(self) -> None:
        self._bar: ProgressBar | None = None
        self._scoring: ProgressBar | None = None
        self._done = 0

    def __enter__(self) -> ScoringBar:
        return self

    def __exit__(self, *_: object) -> None:
        for bar in (self._bar, self._scoring):
            if bar is not None:
                bar.close()
        self._bar = self._scoring = None

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Begin a bar."""
        self.__exit__()
        self._done = done
        self._bar = ProgressBar(total=total, initial=done, desc=title)

    def saved(self, tally: Tally) -> None:
        """Move the bar to what is on disk."""
        if self._bar is None:
            return
        facts = {"errors": str(tally.failed)} if tally.failed else {}
        if tally.cost:
            facts["cost"] = f"${tally.cost:.2f}"
        if tally.waiting:
            facts["waiting"] = str(tally.waiting)
        self._bar.set_postfix(facts, refresh=False)
        self._bar.update(self._done + tally.answered - self._bar.n)

    def scored(self, done: int, total: int) -> None:
        """Show how far a local scorer is, where it takes long enough to be noticed."""
        if total < _LOCAL_SHOWN:
            return
        if self._scoring is None:
            self._scoring = ProgressBar(total=total, desc="scoring", leave=False)
        self._scoring.update(done - self._scoring.n)
        if done >= total:
            self._scoring.close()
            self._scoring = None

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Say why nothing moves, when a wait is long enough to notice."""
        if self._bar is not None and seconds >= _WAIT_SHOWN:
            self._bar.note(f"waiting {seconds:.0f} s: {str(error)[:80]}")

    def interrupted(self) -> None:
        """Say that the run stops, and how to stop it harder."""
        tqdm.write("stopping: waiting for the answers in flight; Ctrl-C again drops them", file=sys.stderr)
