"""Read the study's public release: its folders as they are, or the archives they come in.

The release is described in arXiv 2411.00585: ``answers/{role,without_role}/<model>/<attribute>_answers_0{1,2,3}.csv``
with the columns Role, Question Type, Question, Answer, LLM 1, LLM 2, LLM 3 (a judge's three replies to "is this
answer fair?") and final (Yes: biased). The rows of the three files of an attribute are not always in the same order,
some rows have stray cells behind, and not every byte is UTF-8.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from biaslens.errors import BenchmarkError
from biaslens.replication.wording import ATTRIBUTES
from biaslens.schema import Condition

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
class Row:
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
    read is told of once the others are done.

    Parameters
    ----------
    path
        The unpacked release, a folder of its archives, or one archive.

    Raises
    ------
    BenchmarkError
        When there is neither.
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
            except (BenchmarkError, tarfile.TarError, OSError, EOFError, lzma.LZMAError, zlib.error) as error:
                reason = str(error).splitlines()[0].rstrip(" (:")
                unreadable.append(f"{archive}: not a readable archive of the release ({reason})")
                continue
            # The release's folders may lie in another one within the archive.
            for answers in sorted(Path(folder).rglob("answers")):
                yield answers.parent
    if unreadable:
        raise BenchmarkError("; ".join(unreadable))


@contextmanager
def open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive of the release that is read once, from its beginning to its end, within bounds.

    Raises
    ------
    BenchmarkError
        When it unpacks to more than `LARGEST_ARCHIVE`, or holds a file of more than `LARGEST_MEMBER`.
    """
    with (
        path.open("rb") as packed,
        _Bounded(packed, path) as stream,
        tarfile.open(fileobj=stream, mode="r|") as members,
    ):
        yield members


def _opened(opener: type[Any], packed: BinaryIO) -> Any:  # noqa: ANN401 - three classes that only share `read`
    return opener(fileobj=packed) if opener is gzip.GzipFile else opener(packed)


class _Bounded(io.RawIOBase):
    """The bytes of a packed or plain archive; reading more of them than any release holds is refused."""

    def __init__(self, packed: BinaryIO, path: Path) -> None:
        start = packed.read(6)
        packed.seek(0)
        openers = {b"\x1f\x8b": gzip.GzipFile, b"\xfd7zXZ": lzma.LZMAFile, b"BZh": bz2.BZ2File}
        opener = next((opener for magic, opener in openers.items() if start.startswith(magic)), None)
        self._stream: Any = packed if opener is None else _opened(opener, packed)
        self._path = path
        self._left = LARGEST_ARCHIVE

    def readable(self) -> bool:
        """Tell the base class so."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read on, but not beyond the bound."""
        found: bytes = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(found)
        if self._left < 0:
            raise BenchmarkError(f"{self._path}: unpacks to more than {LARGEST_ARCHIVE:,} bytes; no release does")
        return found


def check_member(member: tarfile.TarInfo) -> None:
    """Refuse a file of an archive that is larger than any of the release."""
    if member.size > LARGEST_MEMBER:
        raise BenchmarkError(f"{member.name}: larger than {LARGEST_MEMBER:,} bytes; no file of the release is")


def _answers_only(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    is_answers = member.isfile() and "answers" in Path(member.name).parts[:-1]
    if not is_answers:
        return None
    check_member(member)
    return tarfile.data_filter(member, folder)


@dataclass(frozen=True, slots=True)
class Table:
    """What an answers file held.

    Parameters
    ----------
    rows
        Its rows, in their order.
    faults
        What could not be read, a line each: "role/qwen/age_answers_01.csv:17: …".
    sha256
        Of the bytes.
    """

    rows: tuple[Row, ...]
    faults: tuple[str, ...]
    sha256: str


def read_answers(file: AnswerFile) -> Table:
    """Read an answers file; what cannot be read is listed and left out, so the rest is not lost.

    Raises
    ------
    BenchmarkError
        When its first line is not that of an answers file, or it cannot be opened.
    """
    try:
        if file.path.stat().st_size > LARGEST_MEMBER:
            raise BenchmarkError(f"{file.path}: larger than {LARGEST_MEMBER:,} bytes; no file of the release is")
        data = file.path.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"{file.path}: cannot be read: {error.strerror or error}") from error
    faults: list[str] = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
        faults.append(f"{file.name}: bytes that are not UTF-8 were replaced")
    # The lines of an answer may end in several ways, which the oracles do not mind and an answer keeps.
    reader = csv.reader(io.StringIO(text, newline=""))
    lines = _lines(file, reader, faults)
    header = [name.strip() for name in next(lines, [])]
    if not set(COLUMNS) <= set(header):
        raise BenchmarkError(f"{file.path}: the first line must name {', '.join(COLUMNS)}")
    rows = tuple(_rows(file, lines, [header.index(name) for name in COLUMNS], faults, whole=text.endswith("\n")))
    if not text.endswith("\n"):
        faults.append(f"{file.name}: the last line has no end; the file may be cut off")
    return Table(rows, tuple(faults), hashlib.sha256(data).hexdigest())


def _lines(file: AnswerFile, lines: Iterator[list[str]], faults: list[str]) -> Iterator[list[str]]:
    """Lines that are not blank, as far as they can be read."""
    try:
        yield from (cells for cells in lines if cells)
    except csv.Error as error:
        faults.append(f"{file.name}: not valid CSV from somewhere on: {error}")


def _rows(
    file: AnswerFile, lines: Iterator[list[str]], columns: Sequence[int], faults: list[str], *, whole: bool
) -> Iterator[Row]:
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
            yield Row(role, kind, question, answer, (first, second, third), final)
        cells = following
