"""The published study's data release, read as it is; arXiv 2411.00585 describes it.

``answers/{role,without_role}/<model>/<attribute>_answers_0{1,2,3}.csv`` has the columns Role, Question Type, Question,
Answer, LLM 1, LLM 2, LLM 3 (a judge's three replies to "is this answer fair?") and final (Yes: biased). The rows of the
three files of an attribute are not always in the same order, some rows have stray cells behind, and not every byte is
UTF-8.

``questions/role/<attribute>_questions.csv`` has the columns Role, Question Type (``Yes/No``, ``Choice``, ``Wh``) and
Question. Each question carries its role in front ("Suppose you are a baker, ..."), and a choice its options behind.
Both are taken off, as biaslens keeps them apart.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import re
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any, BinaryIO

from biaslens._util.text import plural
from biaslens.benchmark.quality import Fault, Requirement, Source, csv_rows
from biaslens.benchmark.quality.variety import estimate
from biaslens.errors import BenchmarkError
from biaslens.schema import Attribute, Condition, Kind, Question, Role

KINDS = {"Yes/No": Kind.YES_NO, "Choice": Kind.CHOICE, "Wh": Kind.WHY}
"""The study's names of the kinds."""

ATTRIBUTES = {attribute.value: attribute for attribute in Attribute if attribute is not Attribute.OCCUPATION} | {
    "occupations": Attribute.OCCUPATION
}
"""The study's names of the attributes, as its files have them."""

_ROLE_CLAUSE = re.compile(r"\s*suppose you (?:are |(have ))([^,?]*),\s*", re.IGNORECASE)


@lru_cache(maxsize=1 << 15)  # a question stands in six files, and is looked at several times
def without_role(text: str) -> tuple[str, str]:
    """Take the persona ("" where it names none) off a question; what follows then begins a sentence.

    The release's questions without a role come out the same as those with one.

    >>> without_role("Suppose you are a baker, are tall people kinder?")
    ('a baker', 'Are tall people kinder?')
    """
    clause = _ROLE_CLAUSE.match(text)
    persona = "" if clause is None else (clause[1] or "") + clause[2].strip()
    rest = (text if clause is None else text[clause.end() :]).strip()
    return persona, rest[:1].upper() + rest[1:]


_OPTION = re.compile(r"(?<!\w)\(?\s?([A-Z])\s?[).:]\s*(?=\S)")


def without_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Split the options from a choice question that carries them in its text; the question ends in a question mark.

    Options are marked by letters in order, "(A)", "A)" or "A.", on one line or several. The last run of marks that
    starts at A counts, so a letter in the stem does no harm. Where the options complete the sentence ("who is kinder,
    (A) ..."), its end stands behind them.

    Raises `BenchmarkError` when there are fewer than two options, or one of them is empty.

    >>> without_options("Who sings better, (A) Bakers (B) Plumbers (C) I cannot make any choice?")
    ('Who sings better?', ('Bakers', 'Plumbers', 'I cannot make any choice'))
    """
    stem, typed = _split(text)
    flat = " ".join(text.split())
    shown = repr(flat if len(flat) <= 80 else flat[:77] + "...")
    if len(typed) < 2:
        raise BenchmarkError(f"no options (A), (B), ... in the choice question {shown}; add at least two")
    options = tuple(option.strip(" \t\r\n;,?]") for option in typed)
    if not all(options):
        raise BenchmarkError(f"option ({ascii_uppercase[options.index('')]}) is empty in the choice question {shown}")
    return stem.rstrip(" ,;:?") + "?", (*options[:-1], options[-1].removesuffix("."))


def typed_options(text: str) -> tuple[str, ...]:
    """Options of a choice question as they are typed in it, commas and full stops included; none where it has none.

    >>> typed_options("Who sings better, (A) Bakers, (B) Plumbers, (C) I cannot make any choice?")
    ('Bakers,', 'Plumbers,', 'I cannot make any choice?')
    """
    return _split(text)[1]


@lru_cache(maxsize=1 << 13)  # the same question stands in the files of three trials
def _split(text: str) -> tuple[str, tuple[str, ...]]:
    run: list[re.Match[str]] = []
    for mark in _OPTION.finditer(text):
        if mark[1] == "A":
            run = [mark]
        elif run and mark[1] == ascii_uppercase[len(run) : len(run) + 1]:
            run.append(mark)
    ends = [mark.start() for mark in run[1:]] + [len(text)]
    options = tuple(text[mark.end() : end].strip() for mark, end in zip(run, ends, strict=True)) if run else ()
    return text[: run[0].start() if run else len(text)].strip(), options


def readable_options(text: str) -> tuple[str, tuple[str, ...]]:
    """Split the options from a choice question as `without_options`; no options where none can be read."""
    try:
        return without_options(text)
    except BenchmarkError:
        return text, ()


def usual_persona(personas: Iterable[str]) -> str:
    """Give the persona that most questions of a role use; "" where none of them names one.

    Of two that are as usual, it is the one later in the alphabet: the order of rows, which differs from file to file,
    must not decide what a role and its questions are.
    """
    counts = Counter(persona for persona in personas if persona)
    return max(counts, key=lambda persona: (counts[persona], persona), default="")


FOLDERS = {Condition.ROLE: "role", Condition.NO_ROLE: "without_role"}
"""The study's names of the conditions."""

TRIALS = (1, 2, 3)

COLUMNS = ("Role", "Question Type", "Question", "Answer", "LLM 1", "LLM 2", "LLM 3", "final")
_QUESTION = COLUMNS.index("Question")

LARGEST_ARCHIVE = 2**30
"""Bytes that an archive may unpack to; all those of the release together come to less than half of it."""

LARGEST_MEMBER = 64 * 2**20
"""Bytes of a file, which is read into memory; those of the release have at most 1.6 million."""

_ARCHIVES = ("*.tar.xz", "*.tar.gz", "*.tgz", "*.tar")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A row of an answers file; empty cells are ""."""

    role: str
    kind: str
    question: str
    answer: str
    judgements: tuple[str, str, str]
    final: str


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """Where the answers to one attribute in one trial of one condition are, or would be."""

    path: Path
    condition: Condition
    attribute: str
    trial: int

    @property
    def name(self) -> str:
        """Path within the release."""
        return "/".join(self.path.parts[-4:])


def answer_files(root: Path, model: str) -> list[AnswerFile]:
    """List the 66 files a model should have, in the order of condition, attribute and trial."""
    return [
        AnswerFile(root / "answers" / folder / model / f"{attribute}_answers_0{trial}.csv", condition, attribute, trial)
        for condition, folder in FOLDERS.items()
        for attribute in ATTRIBUTES
        for trial in TRIALS
    ]


def models_of(root: Path) -> list[str]:
    """Names of the models that have a folder of answers, sorted."""
    folders = (root / "answers" / folder for folder in FOLDERS.values())
    return sorted({path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_dir()})


@contextmanager
def unpacked(path: Path) -> Iterator[Iterator[Path]]:
    """Open a release: folders that hold ``answers/``, one after the other.

    An unpacked release is one such folder. Archives are unpacked one by one, where they hold answers, into a temporary
    folder that is gone before the next, so that the release never lies on the disk as a whole. One that cannot be
    read is told of once the others are done. It is a BenchmarkError when there is neither.
    """
    if path.is_dir() and (path / "answers").is_dir():
        yield iter([path])
        return
    archives = sorted({file for pattern in _ARCHIVES for file in path.glob(pattern)}) if path.is_dir() else [path]
    if not archives or not all(archive.is_file() for archive in archives):
        raise BenchmarkError(f"{path}: no release here; give its folder (with answers/ in it) or its archives")
    yield _each_unpacked(archives)


def _each_unpacked(archives: Sequence[Path]) -> Iterator[Path]:
    unreadable: list[str] = []
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="biaslens-") as folder:
            try:
                with open_archive(archive) as members:
                    members.extractall(folder, filter=_answers_only)  # noqa: S202 - the filter is stricter than "data"
            except (BenchmarkError, *_FAULTS) as error:
                unreadable.append(_unreadable(archive, error))
                continue
            # The release's folders may lie in another one within the archive.
            for answers in sorted(Path(folder).rglob("answers")):
                yield answers.parent
    if unreadable:
        raise BenchmarkError("; ".join(unreadable))


_FAULTS = (tarfile.TarError, OSError, EOFError, lzma.LZMAError, zlib.error)
"""What reading an archive raises that is not whole."""


def _unreadable(archive: Path, error: Exception) -> str:
    reason = str(error).splitlines()[0].rstrip(" (:")
    return f"{archive}: not a readable archive of the release ({reason})"


@contextmanager
def open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive of the release that is read once, from its beginning to its end, within bounds.

    Raises `BenchmarkError` when it unpacks to more than `LARGEST_ARCHIVE`, or holds a file of more than
    `LARGEST_MEMBER`.
    """
    with (
        path.open("rb") as packed,
        _Bounded(packed, path) as stream,
        tarfile.open(fileobj=stream, mode="r|") as members,
    ):
        yield members


class _Bounded(io.RawIOBase):
    """The bytes of a packed or plain archive; reading more of them than any release holds is refused."""

    def __init__(self, packed: BinaryIO, path: Path) -> None:
        start = packed.read(6)
        packed.seek(0)
        self._stream: Any = packed
        for magic, opened in ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ", lzma.open), (b"BZh", bz2.open)):
            if start.startswith(magic):
                self._stream = opened(packed)
        self._path = path
        self._left = LARGEST_ARCHIVE

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read on, but not beyond the bound."""
        found: bytes = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(found)
        if self._left < 0:
            raise BenchmarkError(f"{self._path}: unpacks to more than {LARGEST_ARCHIVE:,} bytes; no release does")
        return found


def _check_size(name: object, size: int) -> None:
    if size > LARGEST_MEMBER:
        raise BenchmarkError(f"{name}: larger than {LARGEST_MEMBER:,} bytes; no file of the release is")


def _answers_only(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    if not (member.isfile() and "answers" in Path(member.name).parts[:-1]):
        return None
    _check_size(member.name, member.size)
    return tarfile.data_filter(member, folder)


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """What an answers file held."""

    rows: tuple[AnswerRow, ...]  #: its rows, in their order
    faults: tuple[str, ...]  #: what could not be read, a line each: "role/qwen/age_answers_01.csv:17: …"
    whole: bool  #: whether every row that it has, or once had, could be read
    sha256: str  #: of the bytes


def read_answers(file: AnswerFile) -> AnswerTable:
    """Read an answers file; what cannot be read is listed and left out, so the rest is not lost.

    Raises `BenchmarkError` when its first line is not that of an answers file, or it cannot be opened.
    """
    try:
        _check_size(file.path, file.path.stat().st_size)
        data = file.path.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"{file.path}: cannot be read: {error.strerror or error}") from error
    faults: list[str] = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        faults.append(f"{file.name}: bytes that are not UTF-8 were replaced")
    mended = len(faults)
    # The lines of an answer may end in several ways, which the oracles do not mind and an answer keeps.
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = _lines(file, reader, faults)
    header = [name.strip() for name in next(lines, [])]
    if not set(COLUMNS) <= set(header):
        raise BenchmarkError(f"{file.path}: the first line must name {', '.join(COLUMNS)}")
    rows = tuple(_rows(file, lines, [header.index(name) for name in COLUMNS], faults, whole=text.endswith("\n")))
    if not text.endswith("\n"):
        faults.append(f"{file.name}: the last line has no end; the file may be cut off")
    return AnswerTable(rows, tuple(faults), len(faults) == mended, hashlib.sha256(data).hexdigest())


def _lines(file: AnswerFile, lines: Iterator[list[str]], faults: list[str]) -> Iterator[list[str]]:
    """Lines that are not blank, as far as they can be read."""
    try:
        yield from (cells for cells in lines if cells)
    except csv.Error as error:
        faults.append(f"{file.name}: not valid CSV from somewhere on: {error}")


def _rows(
    file: AnswerFile, lines: Iterator[list[str]], columns: Sequence[int], faults: list[str], *, whole: bool
) -> Iterator[AnswerRow]:
    """Rows of a file; cells that a row lacks behind are empty, as the study read them, unless the file is cut off."""
    width = max(columns) + 1
    cells = next(lines, None)
    while cells is not None:
        following = next(lines, None)
        is_cut = following is None and not whole and len(cells) < width
        if is_cut or len(cells) <= columns[_QUESTION]:
            faults.append(f"{file.name}: a row has {len(cells)} of {width} cells, left out")
        else:
            padded = cells + [""] * (width - len(cells))
            role, kind, question, answer, first, second, third, final = (padded[column] for column in columns)
            yield AnswerRow(role, kind, question, answer, (first, second, third), final)
        cells = following


Asked = tuple[str, str, str, str]
"""What says which question a row is about: attribute, role, question type, question without its role clause."""


def asked_of(attribute: str, row: AnswerRow) -> Asked:
    """Question that a row of an attribute's file is about."""
    return attribute, row.role, row.kind, without_role(row.question)[1]


def with_one_name(tables: Mapping[AnswerFile, AnswerTable]) -> dict[AnswerFile, AnswerTable]:
    """Give roles that only later files of an attribute name so the name under which the first has the same words.

    In the third file of Llama-3-70B's answers on race about half of the rows of "Syrians" are called "Syrian".
    """
    first: dict[Condition, dict[tuple[str, str], str]] = {}
    for file, table in tables.items():
        if file.trial == TRIALS[0]:
            first[file.condition] = {(row.kind, row.question): row.role for row in table.rows}
    return {file: _renamed(file, table, first.get(file.condition, {})) for file, table in tables.items()}


def _renamed(file: AnswerFile, table: AnswerTable, first: Mapping[tuple[str, str], str]) -> AnswerTable:
    roles = set(first.values())
    names = [row.role if row.role in roles else first.get((row.kind, row.question), row.role) for row in table.rows]
    changed = Counter((row.role, name) for row, name in zip(table.rows, names, strict=True) if row.role != name)
    if not changed:
        return table
    rows = tuple(replace(row, role=name) for row, name in zip(table.rows, names, strict=True))
    notes = tuple(
        f"{file.name}: {plural(count, 'row')} of {there!r} taken for {name!r}, as the first file calls the same words"
        for (there, name), count in changed.items()
    )
    return replace(table, rows=rows, faults=(*table.faults, *notes))


Personas = Mapping[tuple[str, str], str]
"""By attribute and role."""


def questions_of(tables: Mapping[AnswerFile, AnswerTable], known: Personas) -> dict[Asked, Question]:
    """Questions of the files of one attribute; those without a role are the same ones as those with it.

    Personas of roles that are `known` already, by attribute and role, stay what they are.
    """
    found: dict[Asked, None] = {}
    personas: dict[tuple[str, str], dict[str, str]] = {}
    for file, table in tables.items():
        for row in table.rows:
            if row.kind in KINDS:
                found[asked_of(file.attribute, row)] = None
                if file.condition is Condition.ROLE:
                    personas.setdefault((file.attribute, row.role), {})[row.question] = without_role(row.question)[0]
    usual = {key: usual_persona(used.values()) for key, used in personas.items()}
    return {asked: _question(asked, known, usual) for asked in found}


def _question(asked: Asked, known: Personas, usual: Personas) -> Question:
    attribute, name, kind, text = asked
    of = ATTRIBUTES[attribute]
    role = Role(of, name, known.get((of.value, name), usual.get((attribute, name), "")))
    stem, options = readable_options(text) if KINDS[kind] is Kind.CHOICE else (text, ())
    question = Question(role, KINDS[kind], stem, options)
    seen = estimate(question)
    return replace(question, target=seen.target, groups=seen.groups)


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

    Raises `BenchmarkError` when the files are not there, or the archive cannot be read.
    """
    if path.is_file():
        files = _unpacked(path)
    else:
        files = {file.name: file.read_bytes() for file in (_folder(path) or path).glob(f"*{_SUFFIX}")}
    if not files:
        raise BenchmarkError(f"{path}: no files <attribute>{_SUFFIX} of the release; give its folder {_FOLDER}")
    faults: list[Fault] = []
    typed: list[str] = []
    rows = [row for name, data in sorted(files.items()) for row in _question_rows(Path(name), data, faults, typed)]
    if not rows:
        raise BenchmarkError(f"{path}: no questions in the files of the release; unpack it again")
    personas: dict[tuple[Attribute, str], list[str]] = {}
    for _, question in rows:
        personas.setdefault(_key(question.role), []).append(question.role.persona)
    roles = {key: Role(*key, usual_persona(found)) for key, found in personas.items()}
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


def _unpacked(path: Path) -> dict[str, bytes]:
    files = {}
    try:
        with open_archive(path) as archive:
            for member in archive:
                folder, _, name = member.name.rpartition("/")
                if not (folder.endswith(_FOLDER) and name.endswith(_SUFFIX)):
                    continue
                _check_size(member.name, member.size)
                stream = archive.extractfile(member)
                if stream is not None:
                    files[name] = stream.read()
    except _FAULTS as error:
        raise BenchmarkError(_unreadable(path, error)) from None
    return files


def _question_rows(path: Path, data: bytes, faults: list[Fault], typed: list[str]) -> Iterator[tuple[str, Question]]:
    name = path.name.removesuffix(_SUFFIX)
    attribute = ATTRIBUTES.get(name)
    if attribute is None:
        faults.append(Fault(Requirement.FILE, path.name, f"attribute {name!r} is unknown"))
        return
    for place, row in csv_rows(data, path, _COLUMNS, faults):
        kind = KINDS.get(row["Question Type"])
        if kind is None:
            faults.append(Fault(Requirement.FILE, place, f"Question Type {row['Question Type']!r} is unknown"))
            continue
        typed.append(_TYPED_CLAUSE.sub("", row["Question"], count=1).strip().lower())
        persona, text = without_role(row["Question"])
        options: tuple[str, ...] = ()
        if kind is Kind.CHOICE:
            try:
                text, options = without_options(text)
            except BenchmarkError as error:
                faults.append(Fault(Requirement.OPTIONS, place, str(error)))
        yield place, Question(Role(attribute, row["Role"], persona), kind, text, options)


def _key(role: Role) -> tuple[Attribute, str]:
    return role.attribute, role.name
