"""One person labelling: where they are, what is next, and when a break is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from biaslens.annotation.folder import Item
from biaslens.annotation.journal import Journal
from biaslens.annotation.label import Label

BREAK_LABELS = 50
"""Labels after which a break is suggested."""

BREAK_SECONDS = 30 * 60
"""Time at work after which a break is suggested."""

REST_SECONDS = 10 * 60
"""A pause of this length was a break."""


class Sitting:
    """One person, from the start of the server to its end.

    Parameters
    ----------
    items
        What is to be labelled, in order. Items go by their number, from 1.
    journal
        Where labels are kept.
    others
        Who settles sees these: by key, the labels that differ.
    clock
        Seconds, never going back.

    Attributes
    ----------
    accepted
        Whether the content warning has been accepted.
    """

    def __init__(
        self,
        items: Sequence[Item],
        journal: Journal,
        *,
        others: Mapping[str, Sequence[Label]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.items = items
        self.journal = journal
        self.others = others
        self.accepted = False
        self._number = {item.key: number for number, item in enumerate(items, start=1)}
        self._clock = clock
        self._begun = self._latest = clock()
        self._labels = 0

    def label_of(self, number: int) -> Label | None:
        """The label that stands."""
        return self.journal.labels.get(self.items[number - 1].key)

    @property
    def done(self) -> int:
        """How many items are labelled."""
        return len(self._number.keys() & self.journal.labels.keys())

    def next_open(self, after: int = 0) -> int | None:
        """Number of the next item without a label, going round at the end; None where all have one."""
        count = len(self.items)
        numbers = ((after + step) % count + 1 for step in range(count))
        return next((number for number in numbers if self.label_of(number) is None), None)

    def record(self, label: Label) -> None:
        """Keep a label, and count it."""
        self.journal.record(label)
        now = self._clock()
        if now - self._latest >= REST_SECONDS:
            self._begun, self._labels = now, 0
        self._latest = now
        self._labels += 1

    def undo(self) -> int | None:
        """Withdraw the label given last, and say of which item; None where there is none to withdraw."""
        latest = next(reversed(self.journal.labels), None)
        number = None if latest is None else self._number.get(latest)
        if number is not None:
            self.journal.undo()
        return number

    def break_due(self) -> bool:
        """Whether to suggest a break; said once, then counted anew."""
        now = self._clock()
        due = self._labels >= BREAK_LABELS or (self._labels > 0 and now - self._begun >= BREAK_SECONDS)
        if due:
            self._begun, self._labels = now, 0
        return due
