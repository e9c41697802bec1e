"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Never, Self

from tqdm import tqdm

from biaslens.engine import Observer, Tally
from biaslens.errors import ModelError
from biaslens.schema import Outcome

_WAIT_SHOWN = 2.0
_LINE_EVERY = 30.0
"""Seconds between lines where stderr is a file or a pipe."""


if TYPE_CHECKING:
    _Bar = tqdm[Never]
else:
    _Bar = tqdm  # which takes no type parameter at run time


class ProgressBar(_Bar):
    """A bar on stderr; where that is no terminal, a plain line now and then, and none for what is done sooner."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - tqdm's
        self._live = sys.stderr.isatty()
        if not self._live:
            options |= {
                "delay": _LINE_EVERY,
                "mininterval": _LINE_EVERY,
                "maxinterval": 2 * _LINE_EVERY,
                "dynamic_ncols": False,
                "bar_format": "{desc}: {n_fmt} of {total_fmt}, {elapsed} elapsed, {remaining} left{postfix}",
            }
        merged: dict[str, Any] = {"file": sys.stderr, "dynamic_ncols": True, "unit": "", **options}
        super().__init__(**merged)

    @staticmethod
    def status_printer(file: Any) -> Callable[[str], None]:  # noqa: ANN401 - as tqdm has it
        """Give what shows a state of the bar: in its place on a terminal, on a line of its own elsewhere."""
        if file.isatty():
            return tqdm.status_printer(file)

        def line(text: str) -> None:
            file.write(text + "\n")
            file.flush()

        return line

    def clear(self, nolock: bool = False) -> None:  # noqa: FBT001, FBT002 - as tqdm has it
        """Make room for other output."""
        if self._live:
            super().clear(nolock)

    def close(self) -> None:
        """Show the last state, where any was shown, and end."""
        if not self._live and not self.disable:
            shown = self.last_print_t >= self.start_t + _LINE_EVERY
            if shown and self.last_print_n < self.n:
                self.display()
            self.leave, self.delay = False, float("inf")
        super().close()

    def note(self, text: str) -> None:
        """Say why nothing moves, behind the bar."""
        self.set_postfix_str(text, refresh=self._live)
        now = time.time()
        if not self._live and now - self.last_print_t >= _LINE_EVERY:
            self.refresh()
            self.last_print_t = now


class PhaseBar:
    """A progress bar a phase: what is done, and the time left.

    Use it as a context manager, so that the last bar is closed before anything else is printed. Each bar's title begins
    with the prefix, unless the title says it itself.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._bar: ProgressBar | None = None
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def begin(self, title: str, *, total: int, done: int = 0, **options: Any) -> None:  # noqa: ANN401 - tqdm's
        """End the bar of the last phase and begin one."""
        self.__exit__()
        self._done = done
        title = title if f"{title}: " == self._prefix else self._prefix + title
        self._bar = ProgressBar(total=total, initial=done, desc=title, **options)

    def move(self, place: int, facts: Mapping[str, str]) -> None:
        """Move the bar, and say something behind it."""
        if self._bar is not None:
            self._bar.set_postfix(facts, refresh=False)
            self._bar.update(place - self._bar.n)


class WorkBar(PhaseBar):
    """The progress of what asks no model, in pieces of work; nothing of it shows where all of it takes a moment."""

    def begin(self, title: str, *, total: int, done: int = 0, **options: Any) -> None:  # noqa: ANN401 - tqdm's
        """End the bar of the last phase and begin one, which leaves no line behind."""
        super().begin(title, total=total, done=done, **{"delay": _WAIT_SHOWN, "leave": False, **options})

    def step(self) -> None:
        """Say that a piece of work is done."""
        if self._bar is not None:
            # How many pieces there are is an estimate.
            self._bar.total = max(self._bar.total or 0, self._bar.n + 1)
            self._bar.update()


class AskingBar(PhaseBar, Observer):
    """The progress of a session that asks models: what is done, what it cost, what waits on limits."""

    def phase(self, title: str, *, total: int, done: int) -> None:
        """Begin a bar."""
        self.begin(title, total=total, done=done)

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """Move the bar to what is on disk."""
        del outcomes
        self.asked(tally, {"errors": str(tally.failed)} if tally.failed else {})

    def asked(self, tally: Tally, facts: Mapping[str, str]) -> None:
        """Move the bar to what is on disk, with what it cost and how much waits on limits."""
        cost = {"cost": f"${tally.cost:.2f}"} if tally.cost else {}
        waiting = {"waiting": str(tally.waiting)} if tally.waiting else {}
        self.move(self._done + tally.answered, {**facts, **cost, **waiting})

    def waiting(self, error: ModelError, seconds: float) -> None:
        """Say why nothing moves, when a wait is long enough to notice."""
        if self._bar is not None and seconds >= _WAIT_SHOWN:
            self._bar.note(f"waiting {seconds:.0f} s: {str(error)[:80]}")

    def spent(self, model: str, tally: Tally) -> None:
        """Say that a model spends its limit on thinking, while there is time to stop."""
        say(
            f"{model}: {tally.cut} of the first {tally.answered} answers were cut off at the limit of tokens; a model "
            "that thinks needs more: Ctrl-C, then --max-tokens with another run file (of judges: --judge-max-tokens), "
            "or --retry-cut later for those alone"
        )

    def interrupted(self) -> None:
        """Say that the run stops, and how to stop it harder."""
        say("stopping: waiting for the answers in flight; Ctrl-C again drops them")


class EvaluationBar(AskingBar):
    """The progress of an evaluation, or of judging: answers, and how many are biased so far."""

    def update(self, tally: Tally, outcomes: Mapping[Outcome, int]) -> None:
        """Move the bar to what is on disk."""
        self.asked(tally, {"biased": str(outcomes.get(Outcome.BIASED, 0)), "errors": str(tally.failed)})


def say(line: str) -> None:
    """Print a line on stderr above a bar that may be there."""
    tqdm.write(line, file=sys.stderr)
