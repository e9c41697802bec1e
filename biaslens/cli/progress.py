"""Progress of an evaluation on stderr."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Never, TextIO

from tqdm import tqdm

from biaslens.engine import Tally
from biaslens.errors import ModelError
from biaslens.schema import Outcome

_WAIT_SHOWN = 2.0


class Unfailing:
    """A stream whose reader may go away, as a closed terminal or pipe does: what cannot be written is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """The rest is the stream's."""
        return getattr(self._stream, name)


class Bar:
    """One progress bar a phase: done, biased so far, errors, cost, waits on limits, time left.

    Use it as a context manager, so that the last bar is closed before anything else is printed.
    """

    def __init__(self) -> None:
        self._bar: tqdm[Never] | None = None
        self._done = 0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Begin a bar."""
        self.__exit__()
        self._done = done
        self._bar = tqdm(total=total, initial=done, desc=title, unit="", file=sys.stderr, dynamic_ncols=True)

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """Move the bar to what is on disk."""
        if self._bar is None:
            return
        facts = {"biased": str(outcomes.get(Outcome.BIASED, 0)), "errors": str(tally.failed)}
        if tally.cost:
            facts["cost"] = f"${tally.cost:.2f}"
        if tally.waiting:
            facts["waiting"] = str(tally.waiting)
        self._bar.set_postfix(facts, refresh=False)
        self._bar.update(self._done + tally.answered - self._bar.n)

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Say why nothing moves, when a wait is long enough to notice."""
        if self._bar is not None and seconds >= _WAIT_SHOWN:
            self._bar.set_postfix_str(f"waiting {seconds:.0f} s: {str(error)[:80]}")

    def interrupted(self) -> None:
        """Say that the run stops, and how to stop it harder."""
        tqdm.write("stopping: waiting for the answers in flight; Ctrl-C again drops them", file=sys.stderr)
