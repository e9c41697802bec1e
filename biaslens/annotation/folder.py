"""The folder of a sample: what it was drawn from, the answers to label, and how each was drawn."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from biaslens.errors import InputError, StorageError

INFO, ITEMS, DESIGN = "sample.json", "items.jsonl", "design.csv"


@dataclass(frozen=True, slots=True)
class Item:
    """An answer to label, with all that an annotator may see.

    Parameters
    ----------
    key
        Of the response.
    kind, attribute, role, persona, condition
        What was asked of whom.
    question, options
        The question without the role, and the options in the order shown.
    answer
        Whatever the model wrote.
    """

    key: str
    kind: str
    attribute: str
    role: str
    persona: str
    condition: str
    question: str
    options: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Placed:
    """How an answer came into the sample; annotators never see it, because the stratum tells an oracle's outcome.

    Parameters
    ----------
    key, kind, attribute, condition
        As in `Item`.
    stratum
        Name of the stratum.
    inclusion
        Probability with which the answer was drawn, in (0, 1].
    """

    key: str
    kind: str
    attribute: str
    condition: str
    stratum: str
    inclusion: float


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample.

    Parameters
    ----------
    info
        What it was drawn from, and how: the content of ``sample.json``. "sample" is its id.
    items
        The answers in the order in which they are shown.
    design
        How each was drawn, in the order of keys.
    """

    info: Mapping[str, Any]
    items: tuple[Item, ...]
    design: tuple[Placed, ...]


def write_folder(folder: Path, sample: Sample) -> None:
    """Write a sample; nothing of the annotators is touched.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / INFO).write_text(json.dumps(dict(sample.info), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        with (folder / DESIGN).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Placed.__slots__)
            writer.writerows(
                (placed.key, placed.kind, placed.attribute, placed.condition, placed.stratum, f"{placed.inclusion:.9g}")
                for placed in sample.design
            )
        with (folder / ITEMS).open("w", encoding="utf-8", newline="\n") as file:
            # One line an item, whatever line ends an answer holds.
            file.writelines(json.dumps(asdict(item)) + "\n" for item in sample.items)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error


def read_info(folder: Path) -> dict[str, Any]:
    """Read what a sample says about itself.

    Raises
    ------
    InputError
        When the folder holds no sample.
    """
    path = folder / INFO
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"{folder}: holds no sample ({INFO} is missing); `biaslens sample` draws one") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("sample"), str):
        raise InputError(f"{path}: not the description of a sample; draw it again with `biaslens sample`")
    return found


def read_items(folder: Path) -> tuple[Item, ...]:
    """Read the answers to label, in the order in which they are shown.

    Raises
    ------
    InputError
        When they are missing, as where labels are published without texts, or broken.
    """
    read_info(folder)
    path = folder / ITEMS
    items: list[Item] = []
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                values = json.loads(line)
                items.append(Item(**values | {"options": tuple(values["options"])}))
    except OSError:
        raise InputError(
            f"{folder}: {ITEMS} is missing; labels that are published without texts cannot be added to"
        ) from None
    except (ValueError, TypeError, KeyError):
        where = f"{path}, line {len(items) + 1}"
        raise InputError(f"{where}: not an item; draw the sample again with `biaslens sample`") from None
    return tuple(items)


def read_design(folder: Path) -> tuple[Placed, ...]:
    """Read how each answer was drawn.

    Raises
    ------
    InputError
        When the table is missing or broken.
    """
    read_info(folder)
    path = folder / DESIGN
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{folder}: {DESIGN} is missing or unreadable; draw the sample again") from None
    placed = []
    for number, row in enumerate(rows, start=2):
        try:
            inclusion = float(row["inclusion"])
            names = {name: row[name] for name in ("key", "kind", "attribute", "condition", "stratum")}
        except (KeyError, TypeError, ValueError):
            inclusion, names = 0.0, {}
        if not 0 < inclusion <= 1:
            raise InputError(f"{path}, row {number}: needs {', '.join(Placed.__slots__)}; the last in (0, 1]")
        placed.append(Placed(**names, inclusion=inclusion))
    return tuple(placed)
