"""A folder of answers to label, and what a label is."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from biaslens._util.files import write_text
from biaslens.errors import InputError, StorageError
from biaslens.schema import Attribute, Condition, Kind, Outcome, content_hash

LONGEST_COMMENT = 5000
"""Characters of a comment."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
"""What an annotator may be called: the name becomes a file name, on any system."""


@dataclass(frozen=True, slots=True)
class Label:
    """What one person says an answer is."""

    key: str  #: of the response
    outcome: Outcome  #: one of the five outcomes
    sure: bool = True  #: whether the person is
    comment: str = ""  #: anything worth saying; plain text, as `tidy` leaves it
    at: str = ""  #: when it was given: UTC, ISO 8601; "" where that is not known

    def contradicts(self, other: Label) -> bool:
        """Whether no one person can mean both: another outcome, or sure of one and unsure of the other."""
        return (self.outcome, self.sure) != (other.outcome, other.sure)


def check_name(annotator: str) -> str:
    """Give back a name that can be used; an InputError where it cannot."""
    if not NAME.fullmatch(annotator):
        raise InputError(
            f"annotator {annotator!r}: a name is 1 to 40 letters (a to z), digits, hyphens and underscores, "
            "and begins with a letter or digit; a pseudonym is best"
        )
    return annotator


def tidy(comment: str) -> str:
    r"""Plain text: one kind of line break, no control characters, no halves of characters, no space around it.

    >>> tidy(" one\r\ntwo\x00 ")
    'one\ntwo'
    """
    text = comment.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text).strip()


def parse_label(row: Mapping[str, object], where: str) -> tuple[str, Label | None]:
    """Read the fields of a label: ``key``, ``outcome``, ``sure``, ``comment`` and, where there is one, ``at``.

    They are texts of a table, or values of a JSON object; ``sure`` is "sure", "unsure", true or false, and blank is
    sure. The label is None where the outcome is blank. Raises `InputError` when a field cannot be read.
    """
    key = row.get("key")
    if not isinstance(key, str) or not key.strip():
        raise InputError(f"{where}: no key; the column key says which answer is meant")
    key = key.strip()
    where = f"{where}, key {_short(key)}"
    sure, comment, at = (_text(row.get(name), f"{where}: {name}") for name in ("sure", "comment", "at"))
    outcome = _text(row.get("outcome"), f"{where}: outcome").lower()
    if sure.lower() not in _SURE:
        raise InputError(f"{where}: sure is {_short(sure)!r}; write sure or unsure")
    if len(comment) > LONGEST_COMMENT:
        raise InputError(f"{where}: the comment has {len(comment):,} characters; at most {LONGEST_COMMENT:,} are kept")
    if not outcome:
        return key, None
    if outcome not in _OUTCOMES:
        raise InputError(f"{where}: unknown outcome {_short(outcome)!r}; it is one of {', '.join(_OUTCOMES)}")
    return key, Label(key, Outcome(outcome), _SURE[sure.lower()], comment, at)


_OUTCOMES = tuple(outcome.value for outcome in Outcome)
_SURE = {"": True, "sure": True, "true": True, "unsure": False, "false": False}


def _text(value: object, where: str) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value)
    if not isinstance(value, str):
        raise InputError(f"{where} is not text")
    return tidy(value)


def _short(text: str) -> str:
    """A foreign value within a message of one line."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return line if len(line) <= 60 else line[:57] + "..."


INFO, ITEMS, DESIGN = "sample.json", "items.jsonl", "design.csv"
ANNOTATORS = "annotators"
"""Folder of the labels, within that of the sample."""


@dataclass(frozen=True, slots=True)
class Item:
    """An answer to label, with all that an annotator may see."""

    key: str  #: of the response
    #: what was asked of whom
    kind: str
    attribute: str
    role: str
    persona: str
    condition: str
    #: the question without the role, and the options in the order shown
    question: str
    options: tuple[str, ...]
    answer: str  #: whatever the model wrote


@dataclass(frozen=True, slots=True)
class Placed:
    """How an answer came into the sample; annotators never see it, because the stratum tells an oracle's outcome."""

    #: as in `Item`
    key: str
    kind: str
    attribute: str
    condition: str
    stratum: str  #: name of the stratum
    inclusion: float  #: probability with which the answer was drawn, in (0, 1]


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample."""

    info: Mapping[str, Any]  #: what it was drawn from, and how: the content of ``sample.json``. "sample" is its id.
    items: tuple[Item, ...]  #: the answers in the order in which they are shown
    design: tuple[Placed, ...]  #: how each was drawn, in the order of keys


_NAMED = 3

_COLUMNS = tuple(field.name for field in fields(Placed))


def write_folder(folder: Path, sample: Sample) -> bool:
    """Write a sample; nothing of the annotators is touched.

    Where the folder holds this sample already, only files that are missing are written, such as the texts of labels
    that were published without them. Gives whether anything was written.

    Raises `InputError` when the folder holds another sample, or files that a sample would take the place of;
    `StorageError` when the folder cannot be written.
    """
    if (folder / INFO).exists():
        if read_info(folder)["sample"] != sample.info["sample"]:
            raise InputError(f"{folder}: holds another sample; nothing was changed. Name another folder")
    else:
        _require_free(folder)
    design = io.StringIO(newline="")
    csv.writer(design, lineterminator="\n").writerows([_COLUMNS, *map(astuple, sample.design)])
    # The description first: without it a folder that was left half written would be taken for somebody else's.
    missing = {
        folder / name: content
        for name, content in (
            (INFO, json.dumps(dict(sample.info), indent=1, ensure_ascii=False) + "\n"),
            (DESIGN, design.getvalue()),
            # One line an item, whatever line ends an answer holds.
            (ITEMS, "".join(json.dumps(asdict(item)) + "\n" for item in sample.items)),
        )
        if not (folder / name).exists()
    }
    for path, content in missing.items():
        write_text(path, content, hint="name a folder where you may write")
    return bool(missing)


def _require_free(folder: Path) -> None:
    for name in (ITEMS, DESIGN, ANNOTATORS):
        if (folder / name).exists():
            raise InputError(f"{folder}: holds {name}, but no sample; nothing was changed. Name another folder")
    samples = sorted(path.parent.name for path in folder.glob(f"*/{INFO}"))
    if samples:
        named = ", ".join(samples[:_NAMED]) + (", …" if samples[_NAMED:] else "")
        raise InputError(
            f"{folder}: holds the labels of other runs ({named}); nothing was changed. Name a folder of its own, "
            "also one within it"
        )


def answers_hash(answers: Iterable[tuple[str, str]]) -> str:
    """Hash of keys and texts of answers, in any order; it tells whether labels are of the answers of a run."""
    return content_hash(*sorted(answers))


def read_info(folder: Path) -> dict[str, Any]:
    """Read what a sample says about itself.

    Raises `InputError` when the folder holds no sample and `StorageError` when it cannot be read.
    """
    path = folder / INFO
    content = read_bytes(path, f"{folder}: holds no sample ({INFO} is missing); `biaslens sample` draws one")
    fault = f"{path}: not the description of a sample; draw it again with `biaslens sample`"
    found = parse_object(content, fault)
    if not isinstance(found.get("sample"), str):
        raise InputError(fault)
    return found


def read_items(folder: Path) -> tuple[Item, ...]:
    """Read the answers to label, in the order in which they are shown.

    Raises `InputError` when they are missing, as where labels are published without texts, or broken; `StorageError`
    when they cannot be read.
    """
    read_info(folder)
    path = folder / ITEMS
    content = read_bytes(
        path, f"{folder}: {ITEMS} is missing; labels that are published without texts cannot be added to"
    )
    items: dict[str, Item] = {}
    # Not splitlines: a line may hold other characters that it takes for line ends.
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), start=1):
        fault = f"{path}, line {number}: not an item; draw the sample again with `biaslens sample`"
        item = _item(parse_object(line, fault), fault)
        if item.key in items:
            raise InputError(f"{path}, line {number}: key {item.key} occurs twice; draw the sample again")
        items[item.key] = item
    return tuple(items.values())


def _item(values: dict[str, Any], fault: str) -> Item:
    options = values.pop("options", None)
    if {"options", *values} != {field.name for field in fields(Item)} or not isinstance(options, list):
        raise InputError(fault)
    if not all(isinstance(text, str) for text in (*options, *values.values())):
        raise InputError(fault)
    return Item(**values, options=tuple(options))


def read_design(folder: Path) -> tuple[Placed, ...]:
    """Read how each answer was drawn.

    Raises `InputError` when the table is missing or broken and `StorageError` when it cannot be read.
    """
    read_info(folder)
    path = folder / DESIGN
    content = read_bytes(path, f"{folder}: {DESIGN} is missing; draw the sample again with `biaslens sample`")
    try:
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    except (ValueError, csv.Error):
        raise InputError(f"{path}: not a CSV table in UTF-8; draw the sample again with `biaslens sample`") from None
    design: dict[str, Placed] = {}
    for number, row in enumerate(rows, start=2):
        placed = _placed(row)
        if placed is None:
            raise InputError(f"{path}, row {number}: needs {', '.join(_COLUMNS)}; the last above 0 and at most 1")
        if placed.key in design:
            raise InputError(f"{path}, row {number}: key {placed.key} occurs twice; draw the sample again")
        design[placed.key] = placed
    return tuple(design.values())


def _placed(row: Mapping[str, str | None]) -> Placed | None:
    try:
        key, kind, attribute, condition, stratum, inclusion = (row[name] or "" for name in _COLUMNS)
        placed = Placed(
            key, Kind(kind), Attribute(attribute), Condition(condition), stratum, inclusion=float(inclusion)
        )
    except (KeyError, ValueError):
        return None
    return placed if key and stratum and 0 < placed.inclusion <= 1 else None


def read_bytes(path: Path, missing: str = "") -> bytes:
    """Read a file; a StorageError where it cannot be read, and an InputError that says `missing` where it is not."""
    try:
        return path.read_bytes()
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError | NotADirectoryError):
            raise InputError(missing) from None
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


def parse_object(text: str | bytes, fault: str) -> dict[str, Any]:
    """Read a JSON object; an InputError that says `fault` where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(fault)
    return value
