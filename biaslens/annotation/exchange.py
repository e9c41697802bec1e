"""Labels given elsewhere: sheets to fill in with any program, and to read back.

A sheet is a CSV table or JSON lines. A row is an answer with all that is needed to label it, and the three fields to
fill in: outcome, sure and comment. Reading needs ``key`` and ``outcome`` only.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from biaslens._util.files import write_text
from biaslens._util.text import cell, uncell
from biaslens.annotation.folder import Item
from biaslens.annotation.label import Label, parse_label
from biaslens.errors import InputError, StorageError
from biaslens.evaluation.prompting import persona_of
from biaslens.schema import Condition, Outcome

SUFFIXES = (".csv", ".jsonl")

_FIELDS = ("key", "outcome", "sure", "comment")
_ALLOWED = f"outcome: {', '.join(outcome for outcome in Outcome if outcome is not Outcome.ERROR)}; sure: sure, unsure"
# Reading a field of more than 131,072 characters is an error unless this is raised.
_LONGEST_FIELD = 2**31 - 1


def lettered(options: Sequence[str]) -> list[tuple[str, str]]:
    """The options of a choice with their letters, as the model saw them."""
    return list(zip(ascii_uppercase, options, strict=False))


def persona_shown(item: Item) -> str:
    """Whom the model was told to be; "" for nobody."""
    return persona_of(Condition(item.condition), item.persona) or ""


def read_labels(path: Path, keys: Collection[str]) -> dict[str, Label]:
    """Read the labels of one person's sheet.

    Rows without an outcome are not labelled yet, and left out. A label may be there twice.

    Parameters
    ----------
    path
        A ``.csv`` file (separated by commas, semicolons or tabs; UTF-8) or a ``.jsonl`` file.
    keys
        Of the answers that can be labelled.

    Raises
    ------
    InputError
        When any row is wrong; the message names file, row and key.
    StorageError
        When the file cannot be read.
    """
    labels: dict[str, Label] = {}
    for row, fields in _rows(path):
        where = f"{path}, row {row}"
        key, label = parse_label(fields, where)
        if key not in keys:
            raise InputError(f"{where}: key {key} is not in this sample")
        if label is not None and label.contradicts(labels.setdefault(key, label)):
            raise InputError(f"{where}: key {key} has another label in an earlier row; remove one of them")
    return labels


def new_labels(path: Path, keys: Collection[str], standing: Mapping[str, Label]) -> list[Label]:
    """Labels of a sheet that are not in a journal yet.

    Parameters
    ----------
    path, keys
        As for `read_labels`.
    standing
        The labels in the journal, by key.

    Raises
    ------
    InputError
        When any row is wrong, or contradicts a label that stands.
    """
    found = read_labels(path, keys)
    for key, label in found.items():
        if key in standing and label.contradicts(standing[key]):
            raise InputError(
                f"{path}: key {key} is {label.outcome}{'' if label.sure else ', unsure'} here, and "
                f"{standing[key].outcome}{'' if standing[key].sure else ', unsure'} in the journal; "
                "make them the same, or clear the row"
            )
    return [
        label for key, label in found.items() if key not in standing or label.comment not in ("", standing[key].comment)
    ]


def write_sheet(
    path: Path,
    items: Iterable[Item],
    labels: Mapping[str, Label],
    *,
    others: Mapping[str, Sequence[Label]] | None = None,
) -> None:
    """Write a sheet: a row an item, with its label where there is one.

    Parameters
    ----------
    path
        A new ``.csv`` or ``.jsonl`` file. In CSV, what a spreadsheet would run as a formula gets an apostrophe in
        front, which `read_labels` takes off; control characters are shown as their pictures.
    items
        In the order of the rows.
    labels
        By key.
    others
        By key: labels that are to be settled, shown in a column of their own.

    Raises
    ------
    InputError
        When the file exists, or its name ends otherwise.
    StorageError
        When it cannot be written.
    """
    suffix = _suffix(path)
    if path.exists():
        raise InputError(f"{path}: is there already; name another file, lest labels in it be lost")
    rows = [_row(item, labels.get(item.key), None if others is None else others[item.key]) for item in items]
    content = _csv(rows) if suffix == ".csv" else "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    # Within JSON, a half of a character is written as its escape, which is how JSON has it.
    write_text(path, content, hint="name a file where you may write")


def _row(item: Item, label: Label | None, others: Sequence[Label] | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "key": item.key,
        "kind": str(item.kind),
        "persona": persona_shown(item),
        "question": item.question,
        "options": list(item.options),
        "answer": item.answer,
        "outcome": None if label is None else label.outcome.value,
        "sure": None if label is None else label.sure,
        "comment": "" if label is None else label.comment,
        "allowed": _ALLOWED,
    }
    if others is not None:
        row["others"] = [f"{other.outcome}, {'sure' if other.sure else 'unsure'}" for other in others]
    return row


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO(newline="")
    # No quotes in the header: a program that overlooks the mark in front of it would take them for part of a name.
    csv.writer(file, lineterminator="\n").writerow(rows[0] if rows else _FIELDS)
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        flat = {
            **row,
            "options": "\n".join(f"({letter}) {option}" for letter, option in lettered(row["options"])),
            "outcome": row["outcome"] or "",
            "sure": {None: "", True: "sure", False: "unsure"}[row["sure"]],
            "others": "\n".join(row.get("others", ())),
        }
        writer.writerow([_cell(flat[name]) for name in row])
    # Spreadsheets take a file without the mark for one in an old encoding.
    return "\ufeff" + file.getvalue()


def _cell(text: str) -> str:
    plain = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    plain = re.sub(r"[\x00-\x08\x0b-\x1f]", lambda found: chr(0x2400 + ord(found[0])), plain)
    return cell(plain)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: give a file whose name ends in {' or '.join(SUFFIXES)}")
    return suffix


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    suffix = _suffix(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8; save it again as CSV UTF-8") from None
    if not text.strip():
        raise InputError(f"{path}: empty; remove it, or give the file with the labels")
    return _csv_rows(path, text) if suffix == ".csv" else _json_rows(path, text)


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    for row, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError(f"{path}, row {row}: not a JSON object")
        yield row, value


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    csv.field_size_limit(_LONGEST_FIELD)
    try:
        (_, header), *rows = enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path, text)), 1)
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV table: {error}") from None
    names = [name.strip().lower() for name in header]
    for row, cells in rows:
        if not any(cells):
            continue
        if any(cells[len(names) :]):
            raise InputError(f"{path}, row {row}: more cells than columns; put texts with separators in quotes")
        fields = {name: uncell(text) for name, text in zip(names, cells, strict=False) if name in _FIELDS}
        yield row, fields


def _delimiter(path: Path, text: str) -> str:
    """What stands between cells: spreadsheets of many countries write semicolons."""
    first = text.partition("\n")[0].rstrip("\r")
    for delimiter in ",;\t":
        names = [name.strip().lower() for name in next(csv.reader([first], delimiter=delimiter))]
        if {"key", "outcome"} <= set(names):
            doubled = [name for name in _FIELDS if names.count(name) > 1]
            if doubled:
                raise InputError(f"{path}: two columns are called {doubled[0]}; remove one")
            return delimiter
    raise InputError(f"{path}, row 1: no columns called key and outcome")
