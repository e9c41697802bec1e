"""What one annotator has to do, and a journal that loses no label.

A text file of JSON lines. The first says whose it is and of which sample; each further one is an event,
``{"key", "outcome", "sure", "comment", "at"}``, whose outcome is null where a label is withdrawn. The last event of a
key counts. A line that does not end is what a killed process was writing: it is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from biaslens._util.files import lock, sync_folder, write_bytes
from biaslens.annotation.annotators import FORMAT, Journaled, check_header, disputed, read_all, read_journal
from biaslens.annotation.folder import ANNOTATORS, Item, Label, check_name, read_info, read_items, tidy
from biaslens.errors import InputError, StorageError

_HINT = "free some space, or check that you may write there"


@dataclass(frozen=True, slots=True)
class Assignment:
    """The work of one person."""

    items: Sequence[Item]  #: to be labelled, in the order of the sample
    #: who adjudicates: the labels that differ, by key. None for everybody else, who must not see any.
    others: Mapping[str, Sequence[Label]] | None = None


def open_task(folder: Path, annotator: str, *, adjudicates: bool) -> Assignment:
    """Find out what a person has to label.

    Raises `InputError` when the folder cannot be used, or there is nothing to adjudicate, or nobody else to adjudicate
    between.
    """
    check_name(annotator)
    items = read_items(folder)
    if not items:
        raise InputError(f"{folder}: the sample is empty; draw another one with `biaslens sample`")
    if not adjudicates:
        return Assignment(items)
    people = read_all(folder)
    labelling = [person.name for person in people.values() if not person.adjudicates]
    if annotator in labelling:
        raise InputError(f"{folder}: {annotator} has labelled; whoever labels cannot adjudicate")
    if len(labelling) < 2:
        names = ", ".join(labelling) or "none"
        raise InputError(f"{folder}: adjudication needs two people who differ; labels so far: {names}")
    others = disputed(people)
    if not others:
        raise InputError(f"{folder}: nothing to adjudicate: {', '.join(labelling)} agree wherever two of them labelled")
    return Assignment([item for item in items if item.key in others], others)


class Journal:
    """One annotator's journal, open for writing. No other process can open it meanwhile.

    Who adjudicates decides where the others differ. `labels` are those that stand, by key, in the order in which they
    were last given.

    Raises `InputError` when the folder or an existing journal cannot be used: of another sample, another person, or one
    who adjudicates and did not before; `RunLockedError` when another process writes the journal; `StorageError` when it
    cannot be written.
    """

    def __init__(self, folder: Path, annotator: str, *, adjudicates: bool = False) -> None:
        self.annotator = check_name(annotator)
        self.path = folder / ANNOTATORS / f"{annotator}.jsonl"
        sample = str(read_info(folder)["sample"])
        busy = f"{self.path}: another process is writing these labels"
        self._lock = lock(
            self.path.with_name(f".{annotator}.lock"),
            busy=f"{busy}; stop the other `biaslens annotate` of {annotator}",
            hint="check that you may write there",
        )
        try:
            self._refuse_doubles()
            found = read_journal(self.path) if self.path.exists() else Journaled({}, {}, 0)
            self.labels, self._end = found.labels, found.end
            if found.header:
                check_header(self.path, found.header, sample=sample, annotator=annotator)
                self._check_adjudicates(now=adjudicates, before=bool(found.header["adjudicates"]))
            else:
                self._begin({"format": FORMAT, "sample": sample, "annotator": annotator, "adjudicates": adjudicates})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write the journal."""
        self._lock.release()

    def record(self, label: Label) -> Label:
        """Give a label, in place of an earlier one of the same answer; it is on disk when this returns.

        It is returned as it is kept: the comment tidied, the time filled in. Raises `StorageError` when it cannot be
        written; nothing is changed then.
        """
        return self.extend([label])[0]

    def extend(self, labels: Iterable[Label]) -> list[Label]:
        """Give several labels: all of them are kept, or none, whatever happens meanwhile."""
        kept = [replace(label, comment=tidy(label.comment), at=label.at or _now()) for label in labels]
        self._append(*map(asdict, kept))
        for label in kept:
            self.labels.pop(label.key, None)
            self.labels[label.key] = label
        return kept

    def undo(self) -> Label | None:
        """Withdraw the label that was given last; None where no label stands."""
        if not self.labels:
            return None
        key = next(reversed(self.labels))
        self._append({"key": key, "outcome": None, "sure": None, "comment": "", "at": _now()})
        return self.labels.pop(key)

    def _append(self, *events: Mapping[str, object]) -> None:
        lines = b"".join(map(_line, events))
        try:
            if len(events) > 1:
                # No single write would put all of many lines there, or none.
                whole = self.path.read_bytes()[: self._end] + lines
                write_bytes(self.path, whole, hint=_HINT)
            else:
                _write_at(self.path, self._end, lines)
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be written: {error.strerror or error}; {_HINT}") from error
        self._end += len(lines)

    def _begin(self, header: Mapping[str, object]) -> None:
        # The beginning of a first line is a killed process's; anything else here is somebody's file.
        if self.path.exists() and not _line(header).startswith(self.path.read_bytes()):
            raise InputError(f"{self.path}: not a journal of labels; move it elsewhere")
        self._append(header)

    def _check_adjudicates(self, *, now: bool, before: bool) -> None:
        if now and not before:
            raise InputError(f"{self.path}: {self.annotator} has labelled; whoever labels cannot adjudicate")
        if before and not now:
            raise InputError(
                f"{self.path}: {self.annotator} adjudicates; give --adjudicate, or label under another name"
            )

    def _refuse_doubles(self) -> None:
        for other in self.path.parent.iterdir():
            name = other.name.partition(".")[0]
            if other.suffix not in (".jsonl", ".csv") or name.casefold() != self.annotator.casefold():
                continue
            if name != self.annotator:
                raise InputError(f"{other}: an annotator with almost this name exists; use {name}, or another name")
            if other != self.path:
                raise InputError(
                    f"{other}: labels of {name} are already in a table; move it elsewhere and import it with --import"
                )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _line(event: Mapping[str, object]) -> bytes:
    # ASCII only, so that no comment can hold what the file cannot.
    return json.dumps(event).encode("ascii") + b"\n"


def _write_at(path: Path, end: int, lines: bytes) -> None:
    """Write after the whole lines, over whatever a killed process left there."""
    new = end == 0 and not path.exists()
    with path.open("xb" if new else "r+b", buffering=0) as file:
        file.seek(end)
        file.truncate()
        if file.write(lines) != len(lines):
            raise OSError(None, "the disk is full")
        os.fsync(file.fileno())
    if new:
        sync_folder(path.parent)
