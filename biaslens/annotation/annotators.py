"""Who labelled what: the journals and tables in the folder of a sample, read and checked."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biaslens.annotation.exchange import read_labels
from biaslens.annotation.folder import ANNOTATORS, ITEMS, read_design, read_info, read_items
from biaslens.annotation.label import Label, check_name, parse_label
from biaslens.errors import InputError, StorageError

FORMAT = 1
"""Version of the journal; one of another version is refused."""

SETTLES = ".settles.csv"
"""How the name of a table ends whose labels settle; others end in .csv."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """One person's labels.

    Parameters
    ----------
    name
        A pseudonym, from the name of the file.
    settles
        Whether this person decides where the others differ.
    labels
        By key of the response.
    """

    name: str
    settles: bool
    labels: dict[str, Label]


@dataclass(frozen=True, slots=True)
class Journaled:
    """What a journal holds.

    Parameters
    ----------
    header
        The first line; empty where not even that was written completely.
    labels
        The labels that stand, by key, in the order in which they were last given.
    end
        Bytes of the whole lines.
    """

    header: Mapping[str, Any]
    labels: dict[str, Label]
    end: int


def read_journal(path: Path) -> Journaled:
    """Read a journal; a last line that does not end is dropped.

    Raises
    ------
    InputError
        When a whole line is not what it should be.
    StorageError
        When the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    *lines, rest = content.split(b"\n")
    header = _object(lines[0], f"{path}, row 1") if lines else {}
    if lines and (header.get("format") != FORMAT or not {"sample", "annotator", "settles"} <= header.keys()):
        raise InputError(f"{path}: not a journal of labels, or not of format {FORMAT}")
    labels: dict[str, Label] = {}
    for row, line in enumerate(lines[1:], start=2):
        where = f"{path}, row {row}"
        key, label = parse_label(_object(line, where), where)
        labels.pop(key, None)
        if label is not None:
            labels[key] = label
    return Journaled(header, labels, len(content) - len(rest))


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"{where}: not a line of a journal; restore the file from a copy, or remove the line")
    return value


def check_header(path: Path, found: Mapping[str, Any], *, sample: str, annotator: str) -> None:
    """Refuse a journal of another sample or another person.

    Raises
    ------
    InputError
        Naming the file and what differs.
    """
    if found["sample"] != sample:
        raise InputError(f"{path}: labels of another sample ({found['sample']}), not of this one ({sample})")
    if found["annotator"] != annotator:
        raise InputError(f"{path}: the journal of {found['annotator']}; give the file its own name again")


def known_keys(folder: Path) -> frozenset[str]:
    """Keys of the sampled answers, also where they are published without their texts."""
    if (folder / ITEMS).exists():
        return frozenset(item.key for item in read_items(folder))
    return frozenset(placed.key for placed in read_design(folder))


def read_all(folder: Path) -> dict[str, Annotator]:
    """Read everybody's labels: journals (``NAME.jsonl``) and tables (``NAME.csv``, ``NAME.settles.csv``).

    A person may have both; the same label may then be in both.

    Returns
    -------
    dict
        Annotators by name, in the order of names.

    Raises
    ------
    InputError
        When a file is empty, or of another sample; when a label is of an unknown answer, or an unknown outcome; when
        one person gives two labels of one answer, or both labels and settles. The message names file and key.
    StorageError
        When a file cannot be read.
    """
    sample, keys = str(read_info(folder)["sample"]), known_keys(folder)
    people: dict[str, Annotator] = {}
    place = folder / ANNOTATORS
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if path.suffix in (".jsonl", ".csv") and not path.name.startswith("."):
            _add(people, path, _read(path, sample, keys))
    return dict(sorted(people.items()))


def _read(path: Path, sample: str, keys: Collection[str]) -> Annotator:
    settles = path.name.endswith(SETTLES)
    try:
        name = check_name(path.name.removesuffix(SETTLES if settles else path.suffix))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if path.suffix == ".csv":
        return Annotator(name, settles, read_labels(path, keys))
    journal = read_journal(path)
    if not journal.header:
        raise InputError(f"{path}: empty; remove it, or let {name} begin")
    check_header(path, journal.header, sample=sample, annotator=name)
    for key in journal.labels:
        if key not in keys:
            raise InputError(f"{path}: key {key} is not in this sample")
    return Annotator(name, bool(journal.header["settles"]), journal.labels)


def _add(people: dict[str, Annotator], path: Path, new: Annotator) -> None:
    known = people.setdefault(new.name, new)
    if known.settles != new.settles:
        raise InputError(f"{path}: {new.name} labels and settles; whoever labels cannot settle")
    for key, label in new.labels.items():
        if label.contradicts(known.labels.setdefault(key, label)):
            raise InputError(f"{path}: key {key} has another label in another file of {new.name}; remove one of them")
