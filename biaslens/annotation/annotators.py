"""What each annotator said, in files and spreadsheets, what they come to together, and their labels in the run file.

A sheet is a CSV table or JSON lines. A row is an answer with all that is needed to label it, and the three fields to
fill in: outcome, sure and comment. Reading needs ``key`` and ``outcome`` only.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from biaslens import runfile
from biaslens._util.files import write_text
from biaslens._util.text import cell, uncell
from biaslens.annotation import folder as sample_folder
from biaslens.annotation.folder import (
    ANNOTATORS,
    DESIGN,
    ITEMS,
    Item,
    Label,
    Placed,
    answers_hash,
    parse_label,
    parse_object,
    read_bytes,
    read_design,
    read_info,
)
from biaslens.errors import InputError
from biaslens.evaluation.prompting import persona_of
from biaslens.runfile import LabelRow, SampledRow, Store, open_to_write
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
    """Read the labels of one person's sheet: of answers with these `keys`, and no others.

    It is a ``.csv`` file (separated by commas, semicolons or tabs; UTF-8) or a ``.jsonl`` file. Rows without an outcome
    are not labelled yet, and left out. A label may be there twice.

    Raises `InputError` when any row is wrong; the message names file, row and key; `StorageError` when the file cannot
    be read.
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
    """Labels of a sheet, as `read_labels` has them, that are not in a journal with these `standing` labels yet.

    Raises `InputError` when any row is wrong, or contradicts a label that stands.
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
    """Write a sheet, a new ``.csv`` or ``.jsonl`` file: a row an item, with its label where there is one.

    In CSV, what a spreadsheet would run as a formula gets an apostrophe in front, which `read_labels` takes off;
    control characters are shown as their pictures. `others` are, by key, labels that are to be adjudicated, shown in a
    column of their own.

    Raises `InputError` when the file exists, or its name ends otherwise; `StorageError` when it cannot be written.
    """
    suffix = _suffix(path)
    if path.exists():
        raise InputError(f"{path}: already exists; name another file, so that no labels in it are lost")
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
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8; save it again as CSV UTF-8") from None
    if not text.strip():
        raise InputError(f"{path}: empty; remove it, or give the file with the labels")
    return _csv_rows(path, text) if suffix == ".csv" else _json_rows(path, text)


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    for row, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield row, parse_object(line, f"{path}, row {row}: not a JSON object")


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
        yield row, {name: uncell(text) for name, text in zip(names, cells, strict=False) if name in _FIELDS}


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


FORMAT = 1
"""Version of the journal; one of another version is refused."""

ADJUDICATES = ".adjudicates.csv"
"""How the name of a table ends whose labels adjudicate; others end in .csv."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """One person's labels."""

    name: str  #: A pseudonym, from the name of the file
    adjudicates: bool  #: whether this person decides where the others differ
    labels: dict[str, Label]  #: by key of the response


@dataclass(frozen=True, slots=True)
class Journaled:
    """What a journal holds."""

    header: Mapping[str, Any]  #: the first line; empty where not even that was written completely
    labels: dict[str, Label]  #: the labels that stand, by key, in the order in which they were last given
    end: int  #: bytes of the whole lines


def read_journal(path: Path) -> Journaled:
    """Read a journal; a last line that does not end is dropped.

    Raises `InputError` when a whole line is not what it should be and `StorageError` when the file cannot be read.
    """
    content = read_bytes(path)
    *lines, rest = content.split(b"\n")
    header = _event(lines[0], f"{path}, row 1") if lines else {}
    if lines and (header.get("format") != FORMAT or not {"sample", "annotator", "adjudicates"} <= header.keys()):
        raise InputError(f"{path}: not a journal of labels, or not of format {FORMAT}")
    labels: dict[str, Label] = {}
    for row, line in enumerate(lines[1:], start=2):
        where = f"{path}, row {row}"
        key, label = parse_label(_event(line, where), where)
        labels.pop(key, None)
        if label is not None:
            labels[key] = label
    return Journaled(header, labels, len(content) - len(rest))


def _event(line: bytes, where: str) -> dict[str, Any]:
    return parse_object(line, f"{where}: not a line of a journal; restore the file from a copy, or remove the line")


def check_header(path: Path, found: Mapping[str, Any], *, sample: str, annotator: str) -> None:
    """Refuse a journal of another sample or another person: an InputError that names the file and what differs."""
    if found["sample"] != sample:
        raise InputError(f"{path}: labels of another sample ({found['sample']}), not of this one ({sample})")
    if found["annotator"] != annotator:
        raise InputError(f"{path}: the journal of {found['annotator']}; give the file its own name again")


def known_keys(folder: Path) -> frozenset[str]:
    """Keys of the sampled answers, also where they are published without their texts."""
    if (folder / ITEMS).exists():
        return frozenset(item.key for item in sample_folder.read_items(folder))
    return frozenset(placed.key for placed in sample_folder.read_design(folder))


def read_all(folder: Path) -> dict[str, Annotator]:
    """Read everybody's labels, in the order of names: journals (``NAME.jsonl``) and tables (``NAME.csv``).

    A table may be called ``NAME.adjudicates.csv``. A person may have both; the same label may then be in both.

    Raises `InputError` when a file is empty, or of another sample; when a label is of an unknown answer, or an unknown
    outcome; when one person gives two labels of one answer, or both labels and adjudicates: the message names file and
    key. Raises `StorageError` when a file cannot be read.
    """
    sample, keys = str(sample_folder.read_info(folder)["sample"]), known_keys(folder)
    people: dict[str, Annotator] = {}
    place = folder / ANNOTATORS
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if path.suffix in (".jsonl", ".csv") and not path.name.startswith("."):
            _add(people, path, _read(path, sample, keys))
    return dict(sorted(people.items()))


def _read(path: Path, sample: str, keys: Collection[str]) -> Annotator:
    adjudicates = path.name.endswith(ADJUDICATES)
    try:
        name = sample_folder.check_name(path.name.removesuffix(ADJUDICATES if adjudicates else path.suffix))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if path.suffix == ".csv":
        return Annotator(name, adjudicates, read_labels(path, keys))
    journal = read_journal(path)
    if not journal.header:
        raise InputError(f"{path}: empty; remove it, or let {name} begin")
    check_header(path, journal.header, sample=sample, annotator=name)
    for key in journal.labels:
        if key not in keys:
            raise InputError(f"{path}: key {key} is not in this sample")
    return Annotator(name, bool(journal.header["adjudicates"]), journal.labels)


def _add(people: dict[str, Annotator], path: Path, new: Annotator) -> None:
    known = people.setdefault(new.name, new)
    if known.adjudicates != new.adjudicates:
        raise InputError(f"{path}: {new.name} labels and adjudicates; whoever labels cannot adjudicate")
    for key, label in new.labels.items():
        if label.contradicts(known.labels.setdefault(key, label)):
            raise InputError(f"{path}: key {key} has another label in another file of {new.name}; remove one of them")


How = Literal["agreed", "adjudicated", "single", "open"]


@dataclass(frozen=True, slots=True)
class Adjudicated:
    """What an answer is in the end."""

    key: str  #: of the response
    outcome: Outcome | None  #: None where it is open
    sure: bool  #: whether everybody is whose label it is; False where it is open
    #: "agreed": two or more say the same. "adjudicated": they differ, or are too few, and a third person decided.
    #: "single": one person's word. "open": people differ, and nobody has decided (or those who did differ too).
    how: How


def adjudicate(annotators: Mapping[str, Annotator]) -> dict[str, Adjudicated]:
    """Put the labels of everybody that `read_all` gives together, by key, in the order in which they come."""
    labelled, adjudicated = _by_key(annotators, adjudicates=False), _by_key(annotators, adjudicates=True)
    return {key: _decide(key, labelled.get(key, []), adjudicated.get(key, [])) for key in labelled | adjudicated}


def disputed(annotators: Mapping[str, Annotator]) -> dict[str, list[Label]]:
    """Labels of the answers whose outcome people differ on, adjudicated or not, by key.

    The labels of an answer are in the order of outcomes, so that their place does not tell whose they are.
    """
    outcomes = list(Outcome)
    return {
        key: sorted(labels, key=lambda label: (outcomes.index(label.outcome), not label.sure, label.comment))
        for key, labels in _by_key(annotators, adjudicates=False).items()
        if _unanimous(labels) is None
    }


def _by_key(annotators: Mapping[str, Annotator], *, adjudicates: bool) -> dict[str, list[Label]]:
    found: dict[str, list[Label]] = {}
    for annotator in annotators.values():
        if annotator.adjudicates == adjudicates:
            for label in annotator.labels.values():
                found.setdefault(label.key, []).append(label)
    return found


def _decide(key: str, labels: list[Label], adjudicating: list[Label]) -> Adjudicated:
    how: How = "agreed" if len(labels) > 1 else "single"
    if adjudicating and not (how == "agreed" and _unanimous(labels)):
        labels, how = adjudicating, "adjudicated"
    outcome = _unanimous(labels)
    if outcome is None:
        return Adjudicated(key, None, sure=False, how="open")
    return Adjudicated(key, outcome, all(label.sure for label in labels), how)


def _unanimous(labels: list[Label]) -> Outcome | None:
    """The one outcome of all labels; None where there are several, or no label."""
    outcomes = {label.outcome for label in labels}
    return outcomes.pop() if len(outcomes) == 1 else None


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken into a run."""

    sample: str  #: id of the sample
    sampled: int  #: answers in the sample
    annotators: Mapping[str, int]  #: labels by annotator
    #: answers with an outcome, and labelled answers on which people differ and nobody has decided
    final: int
    open: int
    #: other samples that the run held, and that share an answer with this one; their labels are gone from the run
    replaced: tuple[str, ...]


def take_labels(run: Path, folder: Path) -> Taken:
    """Copy the labels of a folder into the run they are of; what the folder held before is replaced.

    A run may hold labels of several samples, such as one for each kind, as long as no answer is in two of them: an
    answer has one inclusion probability. A sample that shares an answer with this one, such as a smaller one of the
    same run, is replaced as a whole; its folder keeps its labels.

    Raises `InputError` when the folder cannot be read, has no label, or is of another run; nothing is changed then;
    `RunLockedError` or `StorageError` when the run file cannot be written.
    """
    info = read_info(folder)
    sample = str(info["sample"])
    design = read_design(folder)
    annotators = read_all(folder)
    if not any(annotator.labels for annotator in annotators.values()):
        raise InputError(f"{folder}: nobody has labelled anything yet; `biaslens annotate {folder} --as NAME`")
    _check_design(folder, design, annotators)
    final = adjudicate(annotators)
    with open_to_write(run, create=False) as store, store.transaction():
        _check_run(store, run, folder, info, design)
        rows = []
        for placed in design:
            found = final.get(placed.key)
            outcome, sure, how = (found.outcome, found.sure, found.how) if found else (None, False, "unlabelled")
            rows.append(SampledRow(placed.key, sample, placed.stratum, placed.inclusion, outcome, sure, how))
        replaced = runfile.save_labels(store, sample, rows, _labels(annotators))
    return Taken(
        sample=sample,
        sampled=len(design),
        annotators={name: len(annotator.labels) for name, annotator in annotators.items()},
        final=sum(each.outcome is not None for each in final.values()),
        open=sum(each.outcome is None for each in final.values()),
        replaced=replaced,
    )


def _check_design(folder: Path, design: Sequence[Placed], annotators: Mapping[str, Annotator]) -> None:
    known = {placed.key for placed in design}
    for name, annotator in annotators.items():
        for key in annotator.labels:
            if key not in known:
                raise InputError(f"{folder / DESIGN}: has no answer {key}, which {name} has labelled; restore the file")


def _check_run(store: Store, run: Path, folder: Path, info: Mapping[str, Any], design: Sequence[Placed]) -> None:
    known = runfile.planned_keys(store)
    foreign = [placed.key for placed in design if placed.key not in known]
    if foreign:
        raise InputError(
            f"{folder}: {len(foreign):,} of {len(design):,} sampled answers are not in {run} (the first is "
            f"{foreign[0]}); the labels are of another run"
        )
    # Keys are of what was asked: a second run of one model has the same keys and other answers.
    texts = runfile.answer_texts(store, [placed.key for placed in design])
    if info.get("answers_hash", "") not in ("", answers_hash(texts.items())):
        raise InputError(
            f"{folder}: the answers in {run} are not the ones that were labelled; the labels are of another run"
        )


def _labels(annotators: Mapping[str, Annotator]) -> list[LabelRow]:
    return [
        LabelRow(label.key, name, label.outcome, label.sure, label.comment, annotator.adjudicates)
        for name, annotator in annotators.items()
        for label in annotator.labels.values()
    ]
