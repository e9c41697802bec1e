"""A run as a folder of Parquet files: answers by the million, read and written a row group at a time.

``run.json`` says what the run is; ``questions.parquet`` has a row a question, ``responses-00001.parquet`` and so on the
planned responses, those of a question side by side, ``votes.parquet`` the judges' votes. A dataset is a folder of such
folders.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from biaslens._util.files import json_text, write_text
from biaslens.errors import InputError, StorageError
from biaslens.runfile import JudgeVote, QuestionRow, RoleRow

FORMAT = 1
"""Version of the folder's files; a folder of another version is refused."""

INFO, QUESTIONS, VOTES = "run.json", "questions.parquet", "votes.parquet"

ROW_GROUP = 32_768
"""Rows that are held in memory at a time."""

_TYPES = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "strings": pa.list_(pa.string()),
    "integers": pa.list_(pa.int64()),
}

_QUESTIONS = {
    "question_id": "string", "attribute": "string", "role": "string", "kind": "string", "target": "string",
    "question": "string", "options": "strings", "groups": "strings", "encounter": "string", "theme": "string",
    "disfavoured": "string", "picks": "string", "mirror_of": "string", "mirror": "string",
}  # fmt: skip

_MANY_TIMES = (
    "model", "attribute", "role", "persona", "kind", "target", "question_id", "question", "encounter", "stereotype",
    "theme", "disfavoured", "picks", "condition", "finish_reason", "resolved_model", "outcome", "reason", "oracle",
    "canary",
)  # fmt: skip
"""Columns that say few things many times: read as codes into a dictionary."""

_WHAT_CAME = (
    "question_id",
    "condition",
    "trial",
    "outcome",
    "choice",
    "option_order",
    "finish_reason",
    "resolved_model",
)


def schema(columns: Mapping[str, str]) -> pa.Schema:
    """Arrow's types of columns whose types are "string", "integer", "number", "strings" or "integers"."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])


_MADE_OF = b"biaslens"


def mark(out: pq.ParquetWriter, made_of: str, counts: Iterable[tuple[Sequence[str], int]]) -> None:
    """Write into a file, before it is closed, the hash of all that it was made of, and what was counted in it."""
    out.add_key_value_metadata({_MADE_OF: json.dumps({"made_of": made_of, "counts": list(counts)})})


def marked(path: Path, made_of: str) -> list[tuple[list[str], int]] | None:
    """What was counted in a file that was made of this; None where there is none, or it was made of something else."""
    try:
        known = (pq.read_metadata(path).metadata or {}).get(_MADE_OF)
    except (OSError, pa.ArrowException):
        return None
    found = {} if known is None else json.loads(known)
    return found["counts"] if found.get("made_of") == made_of else None


def table(rows: Sequence[Sequence[object]], of: pa.Schema) -> pa.Table:
    """Put rows into columns; lists may come as JSON text."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(of)
    arrays = [
        pa.array([json.loads(value) if isinstance(value, str) else value for value in values], field.type)
        if pa.types.is_list(field.type)
        else pa.array(values, field.type)
        for field, values in zip(of, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=of)


def writer(path: Path, of: pa.Schema) -> pq.ParquetWriter:
    """Open a Parquet file to write, compressed by zstd."""
    return pq.ParquetWriter(path, of, compression="zstd")


def is_run(path: Path) -> bool:
    """Whether a folder is a run of a dataset."""
    return (path / INFO).is_file()


def runs_in(path: Path) -> list[Path]:
    """The run itself, or the runs of a folder of them, by name.

    Raises `StorageError` when a folder holds none.
    """
    if is_run(path) or not path.is_dir():
        return [path]
    # What `new_run` was killed over begins with a dot.
    found = sorted(each for each in path.iterdir() if is_run(each) and not each.name.startswith("."))
    if not found:
        raise StorageError(
            f"{path}: holds no run; give a run file, or a folder that `biaslens export --rows-per-file` has written"
        )
    return found


@contextmanager
def new_run(folder: Path, *, resume: bool = False) -> Iterator[Path]:
    """Give a folder to write a run into, and when the block ends well put it in the place of `folder`.

    To `resume`, the folder given holds what a block has left there that did not end.

    Raises `InputError` when something else than a run of a dataset lies there.
    """
    if folder.exists() and not is_run(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder}: holds something else than a run of a dataset; name another --out")
    made = folder.with_name(f".{folder.name}.new")
    try:
        if not resume:
            shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True, exist_ok=resume)
        yield made
        shutil.rmtree(folder, ignore_errors=True)
        made.replace(folder)
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{folder}: cannot be written ({reason}); name another --out, or free some space") from error
    finally:
        if not resume:
            shutil.rmtree(made, ignore_errors=True)


def write_info(folder: Path, info: Mapping[str, object]) -> None:
    """Write what a run is."""
    write_text(folder / INFO, json_text({"format": FORMAT, **info}))


def write_questions(folder: Path, rows: Sequence[Sequence[object]]) -> None:
    """Write the questions: id, attribute, role, kind, target, text, and so on as `runfile.question_rows` has them."""
    of = schema(_QUESTIONS)
    with writer(folder / QUESTIONS, of) as out:
        out.write_table(table(rows, of))


def write_responses(folder: Path, pages: Iterable[Sequence[Sequence[object]]], of: pa.Schema, *, rows: int) -> int:
    """Write responses into files of so many rows at most; how many files it takes."""
    out: pq.ParquetWriter | None = None
    files, room = 0, 0
    try:
        for page in pages:
            rest = page
            while rest:
                if not room:
                    if out is not None:
                        out.close()
                    files, room = files + 1, rows
                    out = writer(folder / f"responses-{files:05}.parquet", of)
                assert out is not None
                out.write_table(table(rest[:room], of))
                rest, room = rest[room:], max(0, room - len(rest))
    finally:
        if out is not None:
            out.close()
    return files


class ParquetRun:
    """A run of a dataset.

    Raises `StorageError` when it is of another version or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _reading(path / INFO):
            self.info: dict[str, Any] = json.loads((path / INFO).read_text(encoding="utf-8"))
            known = self.info["format"]
        if known != FORMAT:
            raise StorageError(f"{path}: dataset format {known}, this version reads format {FORMAT}; export it anew")

    @property
    def files(self) -> list[Path]:
        """The files of responses in their order."""
        return sorted(self.path.glob("responses-*.parquet"))

    def question_bytes(self) -> bytes:
        """The file of questions: runs that ask the same have the same."""
        with _reading(self.path / QUESTIONS):
            return (self.path / QUESTIONS).read_bytes()

    def what_came(self) -> Iterator[pa.Table]:
        """What became of the planned responses, some at a time."""
        for path in self.files:
            yield from row_groups(path, _WHAT_CAME)

    def question_texts(self, ids: Iterable[str]) -> list[tuple[str, str, list[str]]]:
        """Id, text and options of questions; ids that the run does not hold are left out."""
        with _reading(self.path / QUESTIONS):
            rows = pq.read_table(self.path / QUESTIONS, columns=["question_id", "question", "options"])
            rows = rows.filter(pc.is_in(rows["question_id"], pa.array(list(ids), pa.string())))
        return [(row["question_id"], row["question"], row["options"]) for row in rows.to_pylist()]

    def judge_votes(self) -> list[JudgeVote]:
        """All votes that were given, by response, number and judge."""
        columns = ["condition", "response_key", "judge", "vote_number", "vote", "attribute", "role"]
        with _reading(self.path / VOTES):
            rows = pq.read_table(self.path / VOTES, columns=columns)
            rows = rows.filter(pc.is_valid(rows["vote"])).to_pylist()
        code: dict[tuple[str, str], int] = {}
        roles = [code.setdefault((row["attribute"], row["role"]), len(code)) for row in rows]
        votes = [
            JudgeVote._make((*(row[name] for name in columns[:5]), role)) for row, role in zip(rows, roles, strict=True)
        ]
        return sorted(votes, key=lambda vote: (vote.key, vote.number, vote.judge))


def questions_of(data: bytes) -> tuple[list[RoleRow], list[QuestionRow], dict[str, tuple[str, str]]]:
    """Roles by attribute and name, questions by id, and mirrors, of a file of questions."""
    rows = pq.read_table(pa.BufferReader(data)).to_pylist()
    names = sorted({(row["attribute"], row["role"]) for row in rows})
    code = {name: number for number, name in enumerate(names)}
    questions = [
        QuestionRow(
            row["question_id"],
            code[row["attribute"], row["role"]],
            row["kind"],
            row["target"],
            len(row["options"]),
            row["encounter"],
            row["theme"],
            row["disfavoured"],
            row["options"].index(row["picks"]) if row["picks"] in row["options"] else None,
            tuple(row["groups"]),
        )
        for row in rows
    ]
    mirrors = {row["question_id"]: (row["mirror_of"], row["mirror"]) for row in rows if row["mirror_of"] is not None}
    roles = [RoleRow(number, *name) for name, number in code.items()]
    return roles, sorted(questions, key=lambda row: row.question_id), mirrors


def row_groups(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Read a Parquet file of responses, a row group at a time; columns that say few things come as dictionaries."""
    with _reading(path), pq.ParquetFile(path, read_dictionary=list(_MANY_TIMES)) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=columns, use_threads=False).combine_chunks()


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, LookupError, pa.ArrowException) as error:
        said = " ".join(str(error).split())[:200]
        raise StorageError(f"{path}: missing or damaged ({said}); export the run anew") from error
