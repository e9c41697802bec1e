"""Parse the files of a benchmark folder; every fault is one line that names file, line and remedy."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from biaslens.benchmark.validation import SEPARATOR, check_questions, check_roles
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Kind, Mirror, Question, Role

ROLES, QUESTIONS, ABOUT = "roles.csv", "questions.csv", "benchmark.toml"

ROLE_COLUMNS = ("attribute", "name", "persona")
QUESTION_COLUMNS = ("attribute", "role", "kind", "target", "groups", "text", "options")
MIRROR_COLUMNS = ("mirror", "mirror_of")
"""Of questions.csv, only where a benchmark has mirrors."""

ENCOUNTER_COLUMNS = ("encounter", "stereotype", "theme", "disfavoured")
"""Of questions.csv, only where questions come from encounters."""

_OPTIONAL_COLUMNS = frozenset({"target", "groups", *MIRROR_COLUMNS, *ENCOUNTER_COLUMNS})

_ATTRIBUTES = {attribute.value: attribute for attribute in Attribute}
_KINDS = {kind.value: kind for kind in Kind}
_MIRRORS = {mirror.value: mirror for mirror in Mirror}

_Term = TypeVar("_Term", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class About:
    """What benchmark.toml says; a text is "" and the seed None where it says nothing."""

    version: str
    hash: str
    generator: str
    seed: int | None
    command: str


def read_text(path: Path) -> str:
    """Read a UTF-8 file, with or without a byte order mark, with Unix or Windows line ends."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BenchmarkError(
            f"{path}: no such file; a benchmark folder holds {ROLES}, {QUESTIONS} and {ABOUT}"
        ) from None
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BenchmarkError(f"{path}:{line}: not valid UTF-8; save the file as UTF-8") from None


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BenchmarkError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise BenchmarkError(f"{path}: not valid TOML: nested too deep") from None


def read_about(path: Path) -> About:
    """Read benchmark.toml; only the version must be there."""
    table = read_toml(path)

    def text(name: str) -> str:
        value = table.get(name, "")
        if not isinstance(value, str):
            raise BenchmarkError(f"{path}: {name} = {value!r} should be a text in quotes")
        return value

    seed = table.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise BenchmarkError(f"{path}: seed = {seed!r} should be a whole number")
    if not text("version"):
        raise BenchmarkError(f'{path}: no version; add a line such as version = "1-A"')
    return About(text("version"), text("hash"), text("generator"), seed, text("command"))


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each row's first line number and its cells in the columns; an optional column that is missing is empty."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        missing = [name for name in columns if name not in header and name not in _OPTIONAL_COLUMNS]
        if missing:
            raise BenchmarkError(
                f"{path}: no column {', '.join(map(repr, missing))}; the first line must name "
                f"{', '.join(name for name in columns if name not in (*MIRROR_COLUMNS, *ENCOUNTER_COLUMNS))}"
            )
        # What no column holds is read from an empty cell put behind the last one.
        pick = itemgetter(*(header.index(name) if name in header else len(header) for name in columns))
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                if len(cells) != len(header):
                    raise BenchmarkError(
                        f"{path}:{line}: {len(cells)} cells where the first line has {len(header)}; "
                        "put a cell that contains a comma in double quotes"
                    )
                cells.append("")
                yield line, pick(cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise BenchmarkError(f"{path}:{reader.line_num}: not valid CSV: {error}") from None


def read_roles(path: Path) -> tuple[Role, ...]:
    """Read and check roles.csv."""
    lines: list[int] = []
    roles: list[Role] = []
    for line, (attribute, name, persona) in _read_rows(path, ROLE_COLUMNS):
        lines.append(line)
        roles.append(Role(_term(_ATTRIBUTES, attribute, "attribute", path, line), name, persona))
    check_roles(roles, _places(path, lines))
    return tuple(roles)


def read_questions(path: Path, roles: Sequence[Role]) -> tuple[Question, ...]:
    """Read and check questions.csv, whose roles are those given."""
    by_name: dict[tuple[str, str], Role] = {(role.attribute, role.name): role for role in roles}
    lines: list[int] = []
    questions: list[Question] = []
    items = cache(_items)  # most lists occur many times: keep one of each
    for line, row in _read_rows(path, (*QUESTION_COLUMNS, *MIRROR_COLUMNS, *ENCOUNTER_COLUMNS)):
        of, name, form, on, groups, text, options, how, mirror_of, *origin = row
        attribute = _term(_ATTRIBUTES, of, "attribute", path, line)
        role = by_name.get((attribute, name))
        if role is None:
            raise BenchmarkError(
                f"{path}:{line}: role {name!r} of {attribute} is not in {ROLES}; add it there or correct it here"
            )
        kind = _term(_KINDS, form, "kind", path, line)
        target = _term(_ATTRIBUTES, on, "target", path, line) if on else None
        mirror = _term(_MIRRORS, how, "mirror", path, line) if how else None
        lines.append(line)
        asked = (text, items(options), target, items(groups))
        questions.append(Question(role, kind, *asked, mirror_of or None, mirror, *origin))
    check_questions(questions, _places(path, lines))
    return tuple(questions)


def _items(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split(SEPARATOR.strip())) if cell else ()


def _places(path: Path, lines: Sequence[int]) -> Callable[[int], str]:
    return lambda index: f"{path}:{lines[index]}" if lines else str(path)


def _term(terms: Mapping[str, _Term], cell: str, column: str, path: Path, line: int) -> _Term:
    term = terms.get(cell)
    if term is None:
        raise BenchmarkError(f"{path}:{line}: {column} {cell!r} is unknown; use one of {', '.join(terms)}")
    return term
