"""Read the questions of the study's public release, so that a benchmark can be measured beside them.

The release is described in arXiv 2411.00585: ``questions/role/<attribute>_questions.csv`` with the columns Role,
Question Type (``Yes/No``, ``Choice``, ``Wh``) and Question. Each question carries its role in front ("Suppose you
are a baker, ..."), and a choice its options behind. Both are taken off, as biaslens keeps them apart.
"""

from __future__ import annotations

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from biaslens.benchmark.quality import Fault, Rule, Source, csv_rows
from biaslens.errors import BenchmarkError
from biaslens.replication.release import check_member, open_archive
from biaslens.replication.wording import ATTRIBUTES, KINDS, usual_persona, without_options, without_role
from biaslens.schema import Attribute, Kind, Question, Role

_COLUMNS = ("Role", "Question Type", "Question")
_SUFFIX = "_questions.csv"
_FOLDER = "questions/role"
_TYPED_CLAUSE = re.compile("Suppose you are [^,]*, *")


def is_published(path: Path) -> bool:
    """Whether a path looks like the release: an archive, or a folder with its question files."""
    return path.is_file() or _folder(path) is not None


def published_questions(path: Path) -> Source:
    """Read the release's questions from its folder, its ``questions/role`` folder, or ``questions.tar.xz``.

    Roles are taken off the questions and options split from them. Whatever cannot be read is listed as a fault.
    A note gives the number of repeats in the way in which the study's data were first counted: with the clause
    "Suppose you are ..." off and the options as they were typed, letter for letter but for case. More questions are
    alike once options are compared by their text, and twenty roles that open with "Suppose you have ..." are off too.

    Raises
    ------
    BenchmarkError
        When the files are not there, or the archive cannot be read.
    """
    files = _unpacked(path) if path.is_file() else _beside(path)
    if not files:
        raise BenchmarkError(f"{path}: no files <attribute>{_SUFFIX} of the release; give its folder {_FOLDER}")
    faults: list[Fault] = []
    typed: list[str] = []
    rows = [row for name, data in sorted(files.items()) for row in _rows(Path(name), data, faults, typed)]
    if not rows:
        raise BenchmarkError(f"{path}: no questions in the files of the release; unpack it again")
    roles = _roles(rows)
    return Source(
        name=str(path),
        version="published",
        roles=tuple(roles.values()),
        questions=tuple(replace(question, role=roles[_key(question.role)]) for _, question in rows),
        role_places=tuple(f"{role.attribute}, {role.name}" for role in roles.values()),
        question_places=tuple(place for place, _ in rows),
        faults=tuple(faults),
        notes=(
            f"{len(typed) - len(set(typed)):,} of {len(typed):,} questions repeat another one as typed, "
            "“Suppose you are …,” and case apart.",
        ),
    )


def _folder(path: Path) -> Path | None:
    return next((folder for folder in (path / _FOLDER, path) if any(folder.glob(f"*{_SUFFIX}"))), None)


def _beside(path: Path) -> dict[str, bytes]:
    folder = _folder(path)
    return {} if folder is None else {file.name: file.read_bytes() for file in folder.glob(f"*{_SUFFIX}")}


def _unpacked(path: Path) -> dict[str, bytes]:
    files = {}
    try:
        with open_archive(path) as archive:
            for member in archive:
                folder, _, name = member.name.rpartition("/")
                if not (folder.endswith(_FOLDER) and name.endswith(_SUFFIX)):
                    continue
                check_member(member)
                stream = archive.extractfile(member)
                if stream is not None:
                    files[name] = stream.read()
    except (tarfile.TarError, OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = str(error).splitlines()[0].rstrip(" (:")
        raise BenchmarkError(f"{path}: not a readable archive of the release ({reason})") from None
    return files


def _rows(path: Path, data: bytes, faults: list[Fault], typed: list[str]) -> Iterator[tuple[str, Question]]:
    name = path.name.removesuffix(_SUFFIX)
    attribute = ATTRIBUTES.get(name)
    if attribute is None:
        faults.append(Fault(Rule.FILE, path.name, f"attribute {name!r} is unknown"))
        return
    for place, row in csv_rows(data, path, _COLUMNS, faults):
        kind = KINDS.get(row["Question Type"])
        if kind is None:
            faults.append(Fault(Rule.FILE, place, f"Question Type {row['Question Type']!r} is unknown"))
            continue
        typed.append(_TYPED_CLAUSE.sub("", row["Question"], count=1).strip().lower())
        persona, text = without_role(row["Question"])
        options: tuple[str, ...] = ()
        if kind is Kind.CHOICE:
            text, options = _split(text, place, faults)
        yield place, Question(Role(attribute, row["Role"], persona), kind, text, options)


def _split(text: str, place: str, faults: list[Fault]) -> tuple[str, tuple[str, ...]]:
    try:
        return without_options(text)
    except BenchmarkError as error:
        faults.append(Fault(Rule.OPTIONS, place, str(error)))
        return text, ()


def _roles(rows: list[tuple[str, Question]]) -> dict[tuple[Attribute, str], Role]:
    """Give each role the persona that most of its questions use."""
    personas: dict[tuple[Attribute, str], list[str]] = {}
    for _, question in rows:
        personas.setdefault(_key(question.role), []).append(question.role.persona)
    return {key: Role(*key, usual_persona(found)) for key, found in personas.items()}


def _key(role: Role) -> tuple[Attribute, str]:
    return role.attribute, role.name
